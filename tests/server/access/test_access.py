"""Who may call what, on a real server."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pool
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tests.server import harness as h
from tests.server.api.tournaments import config as tournament_config

from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import PROTOCOL_VERSION
from happycity_client.matches import WAIT_SECONDS
from happycity_runtime.addresses import address_of_peer
from happycity_runtime.tokens import Role
from happycity_server.access.gate import Authenticator
from happycity_server.access.roles import ROLES, PublicRole
from happycity_server.access.token_file import revoke_token
from happycity_server.app import Clocks

ALL = {Role.BOT, Role.OBSERVER, Role.ORGANISER}
WORK = "/happycity.worker.v1.WorkerService/Work"
CARRY = "/happycity.gateway.v1beta1.GatewayService/Carry"
GET_MATCH = "/happycity.v1.MatchService/GetMatch"
STREAMS_PER_TOKEN = 3


def _expected() -> Iterator[tuple[str, set[Role | PublicRole] | None]]:
    for line in Path(__file__).with_name("roles.txt").read_text().splitlines():
        path, *words = line.split()
        roles = {
            PublicRole(word) if word == "public" else Role(word) for word in words if word != "everybody"
        }
        yield path, roles or None


EXPECTED = dict(_expected())
"""The roles that may call each method, `public` where a server is run so; None: everybody.

Written out a second time on purpose.

RenewToken is the last one, as it replaces the token with which it is called.
"""


@dataclass(frozen=True)
class Guarded:
    channel: grpc.aio.Channel
    tokens: Path
    clear: dict[Role, str]
    as_role: dict[Role, h.Metadata]
    """The metadata of a call with a token of each role."""

    def issued(self, role: Role, name: str, **options: Any) -> tuple[str, h.Metadata]:
        """Add a token; return its id, and the metadata of a call with it."""
        clear = h.issued_token(self.tokens, role, name, **options)
        return clear.split("_")[1], h.bearer(clear)

    async def asked(self, metadata: h.Metadata) -> h.Outcome:
        """Make a call that every reader may make, of a match that there isn't."""
        return await h.called(self.channel, GET_MATCH, metadata)

    async def match(self, *bots: str) -> int:
        created = await h.matches_at(self.channel).CreateMatch(self.as_role[Role.ORGANISER], **h.terms(*bots))
        return int(created.match_id)


@pytest.fixture
def wall() -> list[float]:
    """Return the Unix time of the server, which a test may change."""
    return [datetime.now(UTC).timestamp()]


@pytest.fixture(params=[False])
async def guarded(
    tmp_path: Path, wall: list[float], request: pytest.FixtureRequest
) -> AsyncIterator[Guarded]:
    """Yield a server that needs tokens; the parameter says whether the public may look."""
    path = tmp_path / "tokens.json"
    clear = {role: h.issued_token(path, role, role.value) for role in Role}
    clocks = Clocks(wall=lambda: wall[0])
    values = {"tokens": path, "streams_per_token": STREAMS_PER_TOKEN, "public": request.param}
    values |= {"hosted": tmp_path / "hosted", "sandbox": "true {socket} {folder} {command}"}  # never run
    async with h.serving(tmp_path, clocks=clocks, **values) as (_, channel):
        yield Guarded(channel, path, clear, {role: h.bearer(token) for role, token in clear.items()})


async def test_every_method_has_roles(guarded: Guarded) -> None:
    """The table has each method of each service that the server reflects, and the internal ones."""
    call = reflection_pb2_grpc.ServerReflectionStub(guarded.channel).ServerReflectionInfo()
    await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
    answer = await call.read()
    call.cancel()
    pool = descriptor_pool.Default()
    methods = {
        f"/{service.name}/{method.name}"
        for service in answer.list_services_response.service
        for method in pool.FindServiceByName(service.name).methods
    }
    assert methods | {WORK, CARRY} == set(ROLES) == set(EXPECTED)


@pytest.mark.level(2)
@pytest.mark.parametrize(("guarded", "public"), [(False, False), (True, True)], indirect=["guarded"])
async def test_roles_may_call_what_the_table_says(guarded: Guarded, *, public: bool) -> None:
    """Each method is tried with no token, a wrong one, and a token of each role; the public has no token."""
    for path, allowed in EXPECTED.items():
        is_public = public and allowed is not None and PublicRole.PUBLIC in allowed
        for metadata in ((), h.bearer("hc_00000000_wrong")):
            outcome = await h.called(guarded.channel, path, metadata)
            is_refused = allowed is not None and not (is_public and not metadata)
            assert (outcome.reason == "UNAUTHENTICATED") is is_refused, path
        for role in Role:
            outcome = await h.called(guarded.channel, path, h.bearer(guarded.clear[role]))
            if allowed is None or role in allowed or is_public:
                assert outcome.reason not in ("UNAUTHENTICATED", "WRONG_ROLE"), (path, role)
            else:
                assert outcome.reason == "WRONG_ROLE", (path, role)
                needed = ",".join(sorted(one.value for one in allowed if isinstance(one, Role)))
                assert outcome.metadata == {"role": role.value, "needed": needed}


async def test_only_bearer_tokens_are_accepted(guarded: Guarded) -> None:
    """Other schemes and empty tokens are not; the word may be in any case, as RFC 7235 has it."""
    clear = guarded.clear[Role.BOT]
    shown = ("Basic YWxpY2U6cHc=", "Bearer", "Bearer ", clear, f"bearer {clear}")
    reasons = [(await guarded.asked((("authorization", each),))).reason for each in shown]
    assert reasons == [*["UNAUTHENTICATED"] * 4, "UNKNOWN_MATCH"]


async def test_bot_plays_under_the_name_of_its_token(guarded: Guarded) -> None:
    """A hello may leave the name out, as the token has one; another name, or an empty one, is refused."""
    own = guarded.as_role[Role.BOT]
    (await h.connected(guarded.channel, "bot", own)).cancel()
    wrong = await h.outcome_of(h.connected(guarded.channel, "mallory", own))
    assert (wrong.status, wrong.reason) == (grpc.StatusCode.PERMISSION_DENIED, "WRONG_NAME")
    assert wrong.metadata == {"name": "bot"}
    empty = await h.outcome_of(h.connected(guarded.channel, "", own))
    assert (empty.reason, empty.fields) == ("INVALID_FIELD", ("hello.name",))
    call = PlayServiceStub(guarded.channel).Play(metadata=own)
    await call.write(play.PlayRequest(hello=play.Hello(protocol_version=PROTOCOL_VERSION, max_games=3)))
    assert (await h.next_response(call)).HasField("welcome")
    bots = h.Service(guarded.channel, "happycity.v1.BotService")
    listed = await bots.ListBots(guarded.as_role[Role.OBSERVER])
    assert [(bot.name, bot.max_games) for bot in listed.bots] == [("bot", 3)]
    call.cancel()


@pytest.mark.level(2)
async def test_open_server_lets_everybody_do_everything(tmp_path: Path) -> None:
    """Without tokens no call is refused for who makes it, also if it shows some token."""
    async with h.serving(tmp_path) as (_, channel):
        for path, metadata in product(EXPECTED, ((), h.bearer("hc_00000000_any"))):
            outcome = await h.called(channel, path, metadata)
            assert outcome.reason not in ("UNAUTHENTICATED", "WRONG_ROLE"), path
        call = await h.connected(channel, "anybody", h.bearer("hc_00000000_any"))
        call.cancel()


def test_without_tokens_workers_and_gateways_join_from_the_same_machine_alone() -> None:
    """They are believed what results they send, or whom they name; all else is open to everybody."""
    for peer, joins in {
        "ipv4:127.0.0.1:4000": True,
        "ipv6:%5B::1%5D:4000": True,
        "unix:/tmp/own": True,
        "ipv4:10.0.0.7:4000": False,
        "ipv6:%5B2001:db8::7%5D:4000": False,
    }.items():
        address = address_of_peer(peer)
        caller = Authenticator(None, now=lambda: datetime.now(UTC), is_open=True).identify(None, address)
        held = Role.WORKER in caller.roles, Role.GATEWAY in caller.roles, caller.roles >= ALL
        assert held == (joins, joins, True)


async def test_token_is_valid_from_its_creation_to_its_revocation(guarded: Guarded) -> None:
    """Without a restart, from the first call on."""
    number, metadata = guarded.issued(Role.OBSERVER, "late")
    assert (await guarded.asked(metadata)).reason == "UNKNOWN_MATCH"
    revoke_token(guarded.tokens, number)
    outcome = await guarded.asked(metadata)
    assert outcome.reason == "UNAUTHENTICATED"
    assert metadata[0][1].removeprefix("Bearer ") not in outcome.text


async def test_streams_of_a_revoked_token_end(guarded: Guarded) -> None:
    """Bots' and watchers' streams end with the reason; those of other tokens continue."""
    tokens = {role: guarded.issued(role, role.value) for role in (Role.BOT, Role.OBSERVER)}
    match_id = await guarded.match("absent1", "absent2")
    call = await h.connected(guarded.channel, "bot", tokens[Role.BOT][1])
    watching = h.matches_at(guarded.channel).WatchMatch(tokens[Role.OBSERVER][1], match_id=match_id)
    assert await watching.read() is not grpc.aio.EOF
    untouched = await h.connected(guarded.channel, "other", guarded.issued(Role.BOT, "other")[1])
    for number, _ in tokens.values():
        revoke_token(guarded.tokens, number)
    for stream in (call, watching):
        outcome = await h.end_of(stream)
        assert (outcome.status, outcome.reason) == (grpc.StatusCode.PERMISSION_DENIED, "REVOKED")
    await untouched.write(play.PlayRequest(goodbye=play.Goodbye()))
    assert (await h.end_of(untouched)).status is grpc.StatusCode.OK


@pytest.mark.level(2)
async def test_bot_resumes_its_games_with_a_new_token(guarded: Guarded) -> None:
    """Tokens can be replaced while their bots play: a revocation by itself forfeits nothing at once."""
    number, metadata = guarded.issued(Role.BOT, "bot")
    other = await h.connected(guarded.channel, "other", guarded.issued(Role.BOT, "other")[1])
    first = PlayServiceStub(guarded.channel).Play(metadata=metadata)
    await first.write(h.hello("bot"))
    welcome = (await h.next_response(first)).welcome
    match_id = await guarded.match("bot", "other")
    await h.next_response(first)
    revoke_token(guarded.tokens, number)
    assert (await h.end_of(first)).reason == "REVOKED"
    second = PlayServiceStub(guarded.channel).Play(metadata=guarded.issued(Role.BOT, "bot")[1])
    await second.write(h.hello("bot", resume_token=welcome.resume_token))
    response = await h.next_response(second)
    assert response.welcome.match_ids == [match_id]
    assert not response.games_over
    for call in (other, second):
        call.cancel()


@pytest.mark.level(2)
async def test_streams_end_when_their_token_expires(guarded: Guarded, wall: list[float]) -> None:
    call = await h.connected(guarded.channel, "brief", guarded.issued(Role.BOT, "brief", hours=1)[1])
    wall[0] += 7200
    outcome = await h.end_of(call)
    assert outcome.reason == "REVOKED"
    assert "has expired" in outcome.text


WAIT = duration_message(WAIT_SECONDS)


async def test_running_matches_are_not_shown_to_bots(guarded: Guarded) -> None:
    """A bot would see how others play the deal that it plays itself; nor does it wait for the end.

    Once a match is over, every reader gets it.
    """
    names = ("one", "two")
    own = [guarded.issued(Role.BOT, name)[1] for name in names]
    matches, match_id = h.matches_at(guarded.channel), await guarded.match(*names)
    for metadata in (guarded.as_role[Role.BOT], own[0]):
        watching = matches.WatchMatch(metadata, match_id=match_id)
        for call in (watching.read(), matches.GetMatch(metadata, match_id=match_id, wait=WAIT)):
            outcome = await h.outcome_of(call)
            assert (outcome.reason, outcome.metadata["needed"]) == ("WRONG_ROLE", "observer,organiser")
    readers = [guarded.as_role[role] for role in (Role.OBSERVER, Role.ORGANISER)]
    for metadata in readers:
        watching = matches.WatchMatch(metadata, match_id=match_id)
        assert (await h.outcome_of(watching.read())).status is grpc.StatusCode.OK
        watching.cancel()
    waiting = [asyncio.create_task(h.ended_match(matches, match_id, metadata)) for metadata in readers]
    calls = [await h.connected(guarded.channel, name, bot) for name, bot in zip(names, own, strict=True)]
    for call in calls:
        await call.write(play.PlayRequest(goodbye=play.Goodbye()))
    first, second = await asyncio.gather(*waiting)
    assert first.state == match_pb2.MATCH_STATE_FINISHED
    assert first == second == await h.ended_match(matches, match_id, own[0])


async def test_waiting_for_a_match_ends_with_the_token(guarded: Guarded) -> None:
    """A call that waits is held open no longer than a stream would be, and counts like one for its token."""
    match_id, matches = await guarded.match("absent1", "absent2"), h.matches_at(guarded.channel)
    number, metadata = guarded.issued(Role.OBSERVER, "olaf")
    waiting = [matches.GetMatch(metadata, match_id=match_id, wait=WAIT) for _ in range(STREAMS_PER_TOKEN + 1)]
    done, open_calls = await asyncio.wait(
        [asyncio.create_task(h.outcome_of(call)) for call in waiting], return_when=asyncio.FIRST_COMPLETED
    )
    assert [task.result().reason for task in done] == ["TOO_MANY_STREAMS"]  # so all others are served
    others = matches.WatchMatch(guarded.as_role[Role.OBSERVER], match_id=match_id)
    assert (await h.outcome_of(others.read())).status is grpc.StatusCode.OK
    others.cancel()
    revoke_token(guarded.tokens, number)
    assert {outcome.reason for outcome in await asyncio.gather(*open_calls)} == {"REVOKED"}


async def test_bots_get_no_final_ratings_of_running_tournaments(guarded: Guarded) -> None:
    """They change with each game, and the server computes each time for a while."""
    tournaments = h.tournaments_at(guarded.channel)
    config = tournament_config("absent1", "absent2", rounds=1)
    await tournaments.CreateTournament(guarded.as_role[Role.ORGANISER], config=config)
    for role in ALL:
        asking = {"tournament_id": 1, "with_final_ratings": True}
        outcome = await h.outcome_of(tournaments.GetStandings(guarded.as_role[role], **asking))
        assert outcome.reason == ("WRONG_ROLE" if role is Role.BOT else ""), role
