"""The services around the games, what stock tools do with the server, and what holds for every call."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from tests.server.api.arena import Arena
from tests.server.harness import HOSTING, Outcome, called, end_of, method_named, serving, settings

from happycity import CARDS
from happycity.v1 import catalogue_service_pb2, server_service_pb2
from happycity.v1.catalogue_service_pb2_grpc import CatalogueServiceStub
from happycity.v1.server_service_pb2_grpc import ServerServiceStub
from happycity.wire.messages import PROTOCOL_VERSION
from happycity_server.access.roles import ANYONE, CONTRACT, ROLES
from happycity_server.app import run_server
from happycity_server.errors import ApiError, ListenError, Reason

METHODS = tuple(
    path
    for path in ROLES
    if path.startswith("/happycity.") and HOSTING not in path and not method_named(path).client_streaming
)
"""The methods of the contract that take one message."""


async def outcomes(call: Callable[[str], Awaitable[Outcome]]) -> dict[str, str]:
    """Return the status and reason with which each method ends, all called at once."""
    ended = await asyncio.gather(*(call(path) for path in METHODS))
    return {path: f"{end.status.name} {end.reason}" for path, end in zip(METHODS, ended, strict=True)}


async def called_without_message(channel: grpc.aio.Channel, path: str, *, closed: bool = False) -> Outcome:
    """Begin a call and send no message; `closed` says whether the client says that none will come."""
    method: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(path)
    call = method()
    if closed:
        await call.done_writing()
    return await end_of(call)


async def test_malformed_request_is_the_caller_s_mistake(
    arena: Arena, capfd: pytest.CaptureFixture[str]
) -> None:
    """Bytes that are no message of a method, or no message at all, are an INVALID_FIELD of every method.

    So they are in a stream of gRPC's own services.
    """
    expected = dict.fromkeys(METHODS, "INVALID_ARGUMENT INVALID_FIELD")
    assert await outcomes(lambda path: called(arena.channel, path, request=b"\xff" * 9)) == expected
    assert await outcomes(lambda path: called_without_message(arena.channel, path, closed=True)) == expected
    stream = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    outcome = await called(arena.channel, stream, request=b"\xff" * 9)
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert "Traceback" not in capfd.readouterr().err


async def test_calls_are_checked_before_their_message_is_read(tmp_path: Path) -> None:
    """A caller without a token is refused although its message never comes."""
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"tokens": []}')
    hosting: dict[str, Any] = {
        "hosted": tmp_path / "hosted",
        "sandbox": "true {socket} {folder} {command}",
    }  # never run
    async with serving(tmp_path, tokens=tokens, **hosting) as (_, channel):
        guarded = [path for path, needed in ROLES.items() if needed is not ANYONE]
        ended = await asyncio.gather(*(called_without_message(channel, path) for path in guarded))
        assert {end.reason for end in ended} == {"UNAUTHENTICATED"}
        assert len(ended) > 15


@pytest.mark.level(2)
async def test_calls_without_a_message_hold_up_nobody(arena: Arena) -> None:
    """Other calls are answered while many wait for their message."""
    waiting = [
        asyncio.create_task(called_without_message(arena.channel, path))
        for path in METHODS
        for _ in range(20)
    ]
    assert not (await arena.matches.ListMatches()).matches
    assert not any(task.done() for task in waiting)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)


@pytest.mark.level(2)
async def test_message_has_to_come_in_time(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls whose message never comes end, however many there are."""
    monkeypatch.setattr("happycity_server.access.interceptor.REQUEST_SECONDS", 0.3)
    waiting = (outcomes(lambda path: called_without_message(arena.channel, path)) for _ in range(20))
    ends = {end for ended in await asyncio.gather(*waiting) for end in ended.values()}
    assert ends == {"ABORTED STALLED"}


def test_reasons_for_another_attempt() -> None:
    """These are all that a client may see pass by itself."""
    delays = {reason: ApiError(reason, "text").details.retry_seconds for reason in Reason}
    assert {reason.name: delay for reason, delay in delays.items() if delay is not None} == {
        "STALLED": 0.0,
        "RATE_LIMITED": 1.0,
        "TOO_MANY_STREAMS": 1.0,
        "TOO_MANY_OPEN": 1.0,
    }
    assert {reason.name for reason in Reason if reason.status is grpc.StatusCode.UNAVAILABLE} == {
        "SHUTTING_DOWN",
        "STORE_UNAVAILABLE",
    }
    assert ApiError(Reason.RATE_LIMITED, "text", retry_seconds=0.25).details.retry_seconds == 0.25


async def test_catalogue_is_the_card_tables(arena: Arena) -> None:
    """A bot in any language can have the values of all cards."""
    request = catalogue_service_pb2.GetCatalogueRequest()
    catalogue = await CatalogueServiceStub(arena.channel).GetCatalogue(request)
    cards = catalogue.cards
    assert catalogue.digest == (await arena.connect("anna")).received.welcome.catalogue_digest
    assert [(info.card, info.id, info.cost, info.hearts) for info in cards] == [
        (card.number, card.id, card.cost, card.hearts) for card in CARDS
    ]


async def test_a_server_says_what_it_is(tmp_path: Path) -> None:
    """Anybody may ask. The limits are those of the settings; a service that it doesn't offer isn't listed."""
    async with serving(tmp_path, games_per_bot=0, calls_burst=7, hello_time=2.5) as (_, channel):
        about = await ServerServiceStub(channel).GetServer(server_service_pb2.GetServerRequest())
    assert (about.version, about.protocol_version) == (version("happycity"), PROTOCOL_VERSION)
    missing = CONTRACT.keys() - set(about.services)
    assert missing == {HOSTING, "happycity.ladder.v1beta1.LadderService"}
    limits = about.limits
    assert (limits.calls_burst, limits.hello_time.ToSeconds(), limits.hello_time.nanos) == (7, 2, 500_000_000)
    assert not limits.HasField("games_per_bot")


async def test_service_that_is_turned_off_is_not_offered(tmp_path: Path) -> None:
    """Neither health checks nor reflection know the hosting of a server that hosts no bots."""
    async with serving(tmp_path) as (_, channel):
        call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        reflected = {service.name for service in (await call.read()).list_services_response.service}
        call.cancel()
        assert CONTRACT.keys() - reflected == {HOSTING}
        request = health_pb2.HealthCheckRequest(service=HOSTING).SerializeToString()
        outcome = await called(channel, "/grpc.health.v1.Health/Check", request=request)
        assert outcome.status is grpc.StatusCode.NOT_FOUND
        assert (await called(channel, f"/{HOSTING}/Submit")).status is grpc.StatusCode.UNIMPLEMENTED


class Reflective:
    """Calls a server by what its reflection says, with messages as JSON has them."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._pool: Any = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))

    def call(self, service: str, name: str, request: dict[str, Any]) -> dict[str, Any]:
        method = self._pool.FindServiceByName(f"happycity.v1.{service}").methods_by_name[name]
        unary: Any = self._channel.unary_unary(
            f"/happycity.v1.{service}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        return MessageToDict(unary(ParseDict(request, GetMessageClass(method.input_type)())))


async def test_reflection_is_enough_to_call(arena: Arena) -> None:
    """A client without any file of the project sets up a match, finds it, and looks a card up."""

    def use() -> None:
        with grpc.insecure_channel(arena.address) as channel:
            client = Reflective(channel)
            catalogue = client.call("CatalogueService", "GetCatalogue", {})
            assert {"card": "CARD_MUSEUM", "id": "museum"}.items() <= catalogue["cards"][14].items()
            config = {"players": 2, "mode": "MODE_FAMILY", "scoring": "SCORING_PRODUCT"}
            request = {"config": config, "bots": ["anna", "ben"], "timeControl": {"connectTime": "30s"}}
            created = client.call("MatchService", "CreateMatch", request)
            assert created["state"] == "MATCH_STATE_WAITING"
            assert client.call("MatchService", "ListMatches", {})["matches"] == [created]

    await asyncio.to_thread(use)


async def test_second_server_cannot_share_the_port(arena: Arena, tmp_path: Path) -> None:
    """A port that is taken is an error in one line, never a silent share."""
    second = settings(tmp_path, listen=arena.address, store=f"sqlite:///{tmp_path}/other.sqlite")
    with pytest.raises(ListenError, match="can't be listened on") as caught:
        async with run_server(second):
            pass
    assert "\n" not in str(caught.value)
