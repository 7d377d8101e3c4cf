"""Fields of messages that have the names of an object's attributes. Each caller lists those that it means."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from google.protobuf.message import Message

from happycity.wire.enums import enum_number

_M = TypeVar("_M", bound=Message)


def to_message(kind: type[_M], entry: object, *names: str, **own: Any) -> _M:
    """Write a message with the attributes of an entry that are named, and with `own` fields.

    What is None or an empty text is absent; the member of an enum is the value of its name.
    """
    for name in names:
        if (value := getattr(entry, name)) not in (None, ""):
            enum = kind.DESCRIPTOR.fields_by_name[name].enum_type
            own[name] = enum_number(enum, value) if isinstance(value, Enum) else value
    return kind(**own)


def present_fields(message: Message, *names: str) -> dict[str, Any]:
    """Return the named fields of a message without those that are absent; lists as tuples."""
    fields: dict[str, Any] = {}
    for name in names:
        field, value = message.DESCRIPTOR.fields_by_name[name], getattr(message, name)
        if not field.has_presence or message.HasField(name):
            fields[name] = tuple(value) if field.is_repeated else value
    return fields
