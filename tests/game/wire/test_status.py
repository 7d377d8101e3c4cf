"""The typed part of an error: what is written is what google.rpc's own classes read, and back."""

import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, Help, RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st

from happycity.wire.status import DOMAIN, StatusDetails, decode_status, encode_status

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
DETAILS = st.builds(
    StatusDetails,
    reason=TEXT,
    metadata=st.dictionaries(TEXT, TEXT, max_size=3),
    fields=st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
    retry_seconds=st.none() | st.integers(0, 3600 * 10**9).map(lambda number: number / 10**9),
)


def status_with(*details: object) -> bytes:
    """Return a status with details, written by google.rpc's own classes."""
    status = Status(code=14, message="text")
    for detail in details:
        status.details.add().Pack(detail)
    encoded: bytes = status.SerializeToString()
    return encoded


@pytest.mark.level(1)
@given(DETAILS)
def test_details_survive_status_and_back(details: StatusDetails) -> None:
    assert decode_status(encode_status(5, "text", details)) == details


def test_googles_own_classes_read_it() -> None:
    """The bytes are a google.rpc.Status, for clients in any language."""
    details = StatusDetails(
        reason="RATE_LIMITED",
        metadata={"limit": "5", "name": "anna"},
        fields=(("bots[0]", "is empty"), ("config", "is missing")),
        retry_seconds=1.25,
    )
    status = Status.FromString(encode_status(8, "too many calls", details))
    info, bad, retry = ErrorInfo(), BadRequest(), RetryInfo()
    assert [status.details[0].Unpack(info), status.details[1].Unpack(bad), status.details[2].Unpack(retry)]
    assert (status.code, status.message, len(status.details)) == (8, "too many calls", 3)
    assert (info.reason, info.domain, dict(info.metadata)) == ("RATE_LIMITED", DOMAIN, details.metadata)
    assert [(field.field, field.description) for field in bad.field_violations] == list(details.fields)
    assert retry.retry_delay == Duration(seconds=1, nanos=250_000_000)


def test_it_reads_what_googles_own_classes_write() -> None:
    """Servers in any language are understood; other details are left out."""
    encoded = status_with(
        Help(),
        RetryInfo(retry_delay=Duration(seconds=2)),
        ErrorInfo(reason="STALLED", domain=DOMAIN, metadata={"a": "b"}),
        BadRequest(field_violations=[BadRequest.FieldViolation(field="seed", description="is odd")]),
    )
    assert decode_status(encoded) == StatusDetails(
        reason="STALLED", metadata={"a": "b"}, fields=(("seed", "is odd"),), retry_seconds=2
    )


def test_what_is_not_of_this_contract_is_left_out() -> None:
    """Whatever stands in the metadata, reading it raises nothing."""
    for encoded in [
        b"",
        b"\xff\xff\xff",
        b"not a status at all",
        status_with(),
        status_with(ErrorInfo(reason="STALLED")),
        status_with(ErrorInfo(reason="STALLED", domain="googleapis.com", metadata={"a": "b"})),
        Status(
            details=[Any(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff")]
        ).SerializeToString(),
        Status(details=[Any(type_url="", value=b"\x00")]).SerializeToString(),
        b"\x1a\x04\x0a\x02\xc3\x28",  # a text that isn't UTF-8
    ]:
        assert decode_status(encoded) == StatusDetails()


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(encoded: bytes) -> None:
    """A hostile server can't raise anything by its status."""
    retry_seconds = decode_status(encoded).retry_seconds
    assert retry_seconds is None or 0 <= retry_seconds <= 3600


def test_retry_delays() -> None:
    # A client never waits a negative time, and never forever.
    for delay, seconds in [
        (Duration(seconds=-5), 0),
        (Duration(nanos=-1), 0),
        (Duration(seconds=-(2**63)), 0),
        (Duration(nanos=1_000_000), 0.001),
        (Duration(seconds=3600), 3600),
        (Duration(seconds=3601), 3600),
        (Duration(seconds=2**63 - 1, nanos=2**31 - 1), 3600),
    ]:
        encoded = status_with(ErrorInfo(reason="RATE_LIMITED", domain=DOMAIN), RetryInfo(retry_delay=delay))
        assert decode_status(encoded).retry_seconds == seconds

    # A proxy in front of a server says by a RetryInfo, too, when another attempt may succeed.
    for info in [(), (ErrorInfo(reason="QUOTA", domain="proxy.example"),)]:
        encoded = status_with(*info, RetryInfo(retry_delay=Duration(seconds=9)))
        assert decode_status(encoded) == StatusDetails(retry_seconds=9.0)
