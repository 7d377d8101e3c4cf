"""Any call of any caller is answered or refused, and is no error of the server."""

from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from structlog.testing import capture_logs
from tests.server import harness as h
from tests.server.gateways import served

from happycity_runtime.tokens import Role
from happycity_server.access.roles import CONTRACT, ROLES

HEALTH, REFLECTION = "/grpc.health.v1.Health", "/grpc.reflection.v1alpha.ServerReflection"
GET_MATCH = "/happycity.v1.MatchService/GetMatch"
GARBAGE = (b"", b"\xff\xff\xff\xff", b"\x0a\x05grpc.", b"\x08\x01\x10\x01", b"\x3a\x00", b"\x1a\x01x")
"""Messages that some methods take for one, and others for none."""


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("public", "by_gateway"),
    [(False, False), (True, False), pytest.param(True, True, marks=pytest.mark.nightly)],
)
async def test_no_call_of_a_stranger_is_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, public: bool, by_gateway: bool
) -> None:
    """Operators are woken by errors in the log; no method of any service logs one for what it is sent."""
    path = tmp_path / "tokens.json"
    bot = h.bearer(h.issued_token(path, Role.BOT, "anna"))
    with capture_logs() as lines:
        values: dict[str, Any] = {"tokens": path, "public": public, "calls_burst": 100_000}
        async with served(tmp_path, by_gateway=by_gateway, **values) as channel:
            for method in ROLES:
                for metadata in ((), bot, h.bearer("hc_00000000_any"), (("authorization", "Basic x"),)):
                    for message in GARBAGE:
                        await h.called(channel, method, metadata, message)
            assert (await h.called(channel, f"{HEALTH}/Check")).status is grpc.StatusCode.OK
    assert not h.alarms(lines)
    assert not caplog.records


async def test_health_of_all_services_is_listed(tmp_path: Path) -> None:
    """By the standard's own method, without a token."""
    path = tmp_path / "tokens.json"
    h.issued_token(path, Role.BOT, "anna")
    async with h.serving(tmp_path, tokens=path) as (_, channel):
        call = channel.unary_unary(
            f"{HEALTH}/List",
            request_serializer=health_pb2.HealthListRequest.SerializeToString,
            response_deserializer=health_pb2.HealthListResponse.FromString,
        )
        listed: health_pb2.HealthListResponse = await call(health_pb2.HealthListRequest())
    states = {name: one.status for name, one in listed.statuses.items()}
    hosting = {h.HOSTING}
    assert states == dict.fromkeys(("", *(CONTRACT.keys() - hosting)), health_pb2.HealthCheckResponse.SERVING)


async def test_each_question_of_a_stream_counts_as_a_call(tmp_path: Path) -> None:
    """A stranger's stream of questions is limited like as many calls."""
    question = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
    async with h.serving(tmp_path, calls_per_second=0.001, calls_burst=5) as (_, channel):
        stream: Any = channel.stream_stream(f"{REFLECTION}/ServerReflectionInfo")()
        for _ in range(8):
            await stream.write(question)
        assert all([await stream.read() for _ in range(4)])
        assert (await h.end_of(stream)).reason == "RATE_LIMITED"


async def test_clients_of_a_proxy_have_rates_of_their_own(tmp_path: Path) -> None:
    """Calls without a token count by the address that a trusted proxy names, IPv6 by its network."""
    for trusted, reasons in (
        ("127.0.0.1", ["UNKNOWN_MATCH", "RATE_LIMITED", "UNKNOWN_MATCH", "UNKNOWN_MATCH", "RATE_LIMITED"]),
        ("10.0.0.0/8", ["UNKNOWN_MATCH", *["RATE_LIMITED"] * 4]),
    ):
        values: dict[str, Any] = {"calls_per_second": 0.001, "calls_burst": 1, "trusted_proxy": trusted}
        folder = tmp_path / trusted.partition("/")[0]
        folder.mkdir()
        async with h.serving(folder, **values) as (_, channel):
            clients = (
                ("x-forwarded-for", "6.6.6.6, 2001:db8::1"),
                ("x-forwarded-for", "7.7.7.7, 2001:db8::2"),
                ("x-forwarded-for", "2001:db8:0:1::1"),
                ("forwarded", "for=7.7.7.7"),
                ("x-forwarded-for", "7.7.7.7"),
            )
            asked = [(await h.called(channel, GET_MATCH, (client,))).reason for client in clients]
        assert asked == reasons


async def test_who_comes_through_a_proxy_is_not_on_this_machine(tmp_path: Path) -> None:
    """On an open server a worker's results are believed, so none joins through a proxy."""
    work = "/happycity.worker.v1.WorkerService/Work"
    async with h.serving(tmp_path, trusted_proxy="127.0.0.1") as (_, channel):
        outcome = await h.called(channel, work, (("x-forwarded-for", "7.7.7.7"),))
        assert outcome.reason == "WRONG_ROLE"
        assert (await h.called(channel, work)).reason != "WRONG_ROLE"
