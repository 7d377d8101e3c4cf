"""The typed part of an error status: google.rpc's details, read and written without their stubs.

Only the three details that the contract uses are known here. Their stubs are in a package that a bot would
have to install for nothing else; the wire format of these messages is fixed for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import any_pb2, duration_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as _Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from happycity.v1 import errors_pb2
from happycity.wire.match import duration_message, seconds_of

DOMAIN = "happycity.dev"
"""The domain of this contract's reasons."""
STATUS_METADATA = "grpc-status-details-bin"
"""The trailing metadata in which gRPC carries a status with details."""
_PREFIX = "type.googleapis.com/"
_LONGEST_RETRY = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusDetails:
    """The details of an error status."""

    reason: str = ""
    """The name of an `ErrorReason` without its prefix; "" if the contract has no such reason."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What else belongs to the reason."""
    fields: tuple[tuple[str, str], ...] = ()
    """The fields of the request that were refused, each with why."""
    retry_seconds: float = 0.0
    """How long to wait before another attempt; 0 if nothing was said."""

    @property
    def retryable(self) -> bool | None:
        """Whether the same call may succeed later; None for a reason that is unknown."""
        traits = _TRAITS.get(self.reason)
        return None if traits is None else traits.retryable


_TRAITS = {
    value.name.removeprefix("ERROR_REASON_"): value.GetOptions().Extensions[errors_pb2.traits]
    for value in errors_pb2.ErrorReason.DESCRIPTOR.values
    if value.number
}


def traits_of(reason: str) -> errors_pb2.ReasonTraits:
    """Return the traits of a reason, by its name without the prefix."""
    return _TRAITS[reason]


def encode_status(code: int, message: str, details: StatusDetails) -> bytes:
    """Return a google.rpc.Status in wire format; `message` is one line for a person."""
    status = _Status(code=code, message=message)
    entries = [{"key": key, "value": value} for key, value in details.metadata.items()]
    _pack(status, _ErrorInfo(reason=details.reason, domain=DOMAIN, metadata=entries))
    if details.fields:
        violations = [{"field": name, "description": why} for name, why in details.fields]
        _pack(status, _BadRequest(field_violations=violations))
    if details.retry_seconds:
        delay = duration_message(details.retry_seconds)
        _pack(status, _RetryInfo(retry_delay={"seconds": delay.seconds, "nanos": delay.nanos}))
    encoded: bytes = status.SerializeToString()
    return encoded


def decode_status(encoded: bytes) -> StatusDetails:
    """Read what `encode_status` wrote, or any other bytes: what is malformed is left out."""
    try:
        status = _Status.FromString(encoded)
        info, bad, retry = _ErrorInfo(), _BadRequest(), _RetryInfo()
        for detail in status.details:
            for message in (info, bad, retry):
                if detail.type_url == _PREFIX + message.DESCRIPTOR.full_name:
                    message.ParseFromString(detail.value)
    except DecodeError:
        return StatusDetails()
    if info.domain != DOMAIN:
        return StatusDetails()
    return StatusDetails(
        reason=info.reason,
        metadata={entry.key: entry.value for entry in info.metadata},
        fields=tuple((violation.field, violation.description) for violation in bad.field_violations),
        retry_seconds=min(max(0.0, seconds_of(retry.retry_delay)), _LONGEST_RETRY),
    )


def _pack(status: Any, message: Any) -> None:
    status.details.add(type_url=_PREFIX + message.DESCRIPTOR.full_name, value=message.SerializeToString())


_MESSAGES = {
    "Status": ("int32 code", "string message", "google.protobuf.Any[] details"),
    "ErrorInfo": ("string reason", "string domain", "google.rpc.Entry[] metadata"),
    "Entry": ("string key", "string value"),  # a map is on the wire what such a list is
    "BadRequest": ("google.rpc.FieldViolation[] field_violations",),
    "FieldViolation": ("string field", "string description"),
    "RetryInfo": ("google.protobuf.Duration retry_delay",),
}
"""The fields of google.rpc's messages, numbered from 1."""


def _classes() -> dict[str, Any]:
    """Make the messages' classes, in a pool of their own: another package may bring the official ones."""
    pool = DescriptorPool()
    file = FileDescriptorProto(name="happycity/status.proto", package="google.rpc", syntax="proto3")
    for used in (any_pb2.DESCRIPTOR, duration_pb2.DESCRIPTOR):
        pool.AddSerializedFile(used.serialized_pb)
        file.dependency.append(used.name)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (kind, _, field_name) in enumerate((entry.partition(" ") for entry in fields), start=1):
            label = _Field.LABEL_REPEATED if kind.endswith("[]") else _Field.LABEL_OPTIONAL
            added = message.field.add(name=field_name, number=number, label=label)
            if "." in kind:
                added.type_name = "." + kind.removesuffix("[]")
            else:
                added.type = _Field.TYPE_INT32 if kind == "int32" else _Field.TYPE_STRING
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"google.rpc.{name}")) for name in _MESSAGES}


_CLASSES = _classes()
_Status, _ErrorInfo = _CLASSES["Status"], _CLASSES["ErrorInfo"]
_BadRequest, _RetryInfo = _CLASSES["BadRequest"], _CLASSES["RetryInfo"]
