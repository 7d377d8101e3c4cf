"""Messages of the contract as JSON for scripts and people."""

from __future__ import annotations

from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from happycity.records.record import Json
from happycity.wire.enums import enum_word
from happycity.wire.match import seconds_of


def message_json(message: Message) -> Json:
    """Return a message by its fields; times are in UTC, durations in seconds, absent fields null."""
    return {field.name: _field_json(message, field) for field in message.DESCRIPTOR.fields}


def _field_json(message: Message, field: Any) -> Any:
    value = getattr(message, field.name)
    if field.is_repeated:
        return [_value_json(field, entry) for entry in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _value_json(field, value)


def _value_json(field: Any, value: Any) -> Any:
    if isinstance(value, Timestamp):
        return value.ToJsonString()
    if isinstance(value, Duration):
        return seconds_of(value)
    if isinstance(value, Message):
        return message_json(value)
    return value if field.enum_type is None else enum_word(field.enum_type, value)
