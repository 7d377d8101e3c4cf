"""The typed part of an error status: google.rpc's details, as the contract uses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from happycity.wire.match import duration_message, seconds_of

if TYPE_CHECKING:
    from grpc.aio import AioRpcError

DOMAIN = "happycity.dev"
"""The domain of this contract's reasons."""
STATUS_METADATA = "grpc-status-details-bin"
"""The trailing metadata in which gRPC carries a status with details."""
_LONGEST_RETRY = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusDetails:
    """The details of an error status."""

    reason: str = ""
    """The name in an `ErrorReason` of the contract, without its prefix; "" if there is no such reason."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What else belongs to the reason."""
    fields: tuple[tuple[str, str], ...] = ()
    """The fields of the request that were refused, each with why."""
    retry_seconds: float | None = None
    """The least time before another attempt; None: it is pointless, unless the code is UNAVAILABLE."""


def encode_status(code: int, message: str, details: StatusDetails) -> bytes:
    """Return a google.rpc.Status in wire format; `message` is one line for a person."""
    status = status_pb2.Status(code=code, message=message)
    status.details.add().Pack(
        error_details_pb2.ErrorInfo(reason=details.reason, domain=DOMAIN, metadata=details.metadata)
    )
    if details.fields:
        violations = [
            error_details_pb2.BadRequest.FieldViolation(field=name, description=why)
            for name, why in details.fields
        ]
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=violations))
    if details.retry_seconds is not None:
        delay = duration_message(details.retry_seconds)
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    encoded: bytes = status.SerializeToString()
    return encoded


def decode_status(encoded: bytes) -> StatusDetails:
    """Read what `encode_status` wrote, or any other bytes: what is malformed is left out."""
    info, bad, retry = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RetryInfo(),
    )
    retry_seconds = None
    try:
        for detail in status_pb2.Status.FromString(encoded).details:
            detail.Unpack(info)
            detail.Unpack(bad)
            if detail.Unpack(retry):
                retry_seconds = min(max(0.0, seconds_of(retry.retry_delay)), _LONGEST_RETRY)
    except DecodeError:
        return StatusDetails()
    if info.domain != DOMAIN:
        return StatusDetails(retry_seconds=retry_seconds)
    return StatusDetails(
        reason=info.reason,
        metadata=dict(info.metadata),
        fields=tuple((violation.field, violation.description) for violation in bad.field_violations),
        retry_seconds=retry_seconds,
    )


def details_of(error: AioRpcError) -> StatusDetails:
    """Return the details of a call's error; those that are missing or malformed are left out."""
    encoded = dict(error.trailing_metadata() or ()).get(STATUS_METADATA)
    return decode_status(encoded) if isinstance(encoded, bytes) else StatusDetails()
