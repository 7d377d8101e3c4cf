"""Who may call what, on a real server."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import grpc
import pytest
from google.protobuf import descriptor_pool
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tests.server.harness import (
    PATIENT,
    Metadata,
    Outcome,
    bearer,
    between,
    called,
    connected,
    end_of,
    hello,
    issued_token,
    next_response,
    refused,
    serving,
)

from happycity import Config
from happycity.runtime.tokens import Role, revoke_token
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament
from happycity.v1 import bot_service_pb2 as bot_pb
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.messages import config_message
from happycity_server.access.gate import Authenticator
from happycity_server.access.roles import EVERYBODY, ROLES
from happycity_server.app import Clocks

ALL = {Role.BOT, Role.OBSERVER, Role.ORGANISER}
WORK = "/happycity.worker.v1.WorkerService/Work"
PLAY = "/happycity.v1.PlayService/Play"
CREATE_MATCH = "/happycity.v1.MatchService/CreateMatch"
GET_MATCH = "/happycity.v1.MatchService/GetMatch"
WAIT_MATCH = "/happycity.v1.MatchService/WaitMatch"
STREAMS_PER_TOKEN = 3

EXPECTED = {
    PLAY: {Role.BOT},
    WORK: {Role.WORKER},
    CREATE_MATCH: {Role.ORGANISER},
    "/happycity.v1.BotService/ListBots": ALL,
    "/happycity.v1.MatchService/CreatePracticeMatch": {Role.BOT},
    GET_MATCH: ALL,
    WAIT_MATCH: ALL,
    "/happycity.v1.MatchService/ListMatches": ALL,
    "/happycity.v1.MatchService/WatchMatch": ALL,
    "/happycity.v1.MatchService/GetMatchRecord": ALL,
    "/happycity.tournament.v1beta1.TournamentService/CreateTournament": {Role.ORGANISER},
    "/happycity.tournament.v1beta1.TournamentService/GetTournament": ALL,
    "/happycity.tournament.v1beta1.TournamentService/ListTournaments": ALL,
    "/happycity.tournament.v1beta1.TournamentService/StopTournament": {Role.ORGANISER},
    "/happycity.tournament.v1beta1.TournamentService/DeleteTournament": {Role.ORGANISER},
    "/happycity.tournament.v1beta1.TournamentService/ResumeTournament": {Role.ORGANISER},
    "/happycity.tournament.v1beta1.TournamentService/AddBots": {Role.ORGANISER},
    "/happycity.tournament.v1beta1.TournamentService/WithdrawBot": {Role.ORGANISER},
    "/happycity.tournament.v1beta1.TournamentService/WatchTournament": ALL,
    "/happycity.tournament.v1beta1.TournamentService/GetStandings": ALL,
    "/happycity.ladder.v1beta1.LadderService/GetLadder": ALL,
    "/happycity.ladder.v1beta1.LadderService/GetLeaderboard": ALL,
    "/happycity.ladder.v1beta1.LadderService/GetLadderBot": ALL,
    "/happycity.ladder.v1beta1.LadderService/ListLadderDeals": ALL,
    "/happycity.ladder.v1beta1.LadderService/CompareVersions": ALL,
    "/happycity.ladder.v1beta1.LadderService/ListSeasons": ALL,
    "/happycity.ladder.v1beta1.LadderService/CloseSeason": {Role.ORGANISER},
    "/happycity.ladder.v1beta1.LadderService/CreateChallenge": {Role.BOT},
    "/happycity.ladder.v1beta1.LadderService/AcceptChallenge": {Role.BOT},
    "/happycity.ladder.v1beta1.LadderService/DeclineChallenge": {Role.BOT},
    "/happycity.ladder.v1beta1.LadderService/WithdrawChallenge": {Role.BOT},
    "/happycity.ladder.v1beta1.LadderService/ListChallenges": ALL,
    "/happycity.ladder.v1beta1.LadderService/ListFlags": {Role.ORGANISER},
    "/happycity.model.v1beta1.ModelService/ApplyMoves": {Role.BOT, Role.ORGANISER},
    "/happycity.model.v1beta1.ModelService/Rollout": {Role.BOT, Role.ORGANISER},
    "/happycity.v1.CatalogueService/GetCatalogue": None,
    "/grpc.health.v1.Health/Check": None,
    "/grpc.health.v1.Health/List": None,
    "/grpc.health.v1.Health/Watch": None,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": None,
}
"""The roles that may call each method; None: everybody. Written out a second time on purpose."""


@dataclass(frozen=True)
class Guarded:
    """A server with a token of each role."""

    channel: grpc.aio.Channel
    tokens: Path
    clear: dict[Role, str]


@pytest.fixture
def wall() -> list[float]:
    """Return the Unix time of the server, which a test may change."""
    return [datetime.now(UTC).timestamp()]


@pytest.fixture
async def guarded(tmp_path: Path, wall: list[float]) -> AsyncIterator[Guarded]:
    """Yield a server that needs tokens."""
    path = tmp_path / "tokens.json"
    clear = {role: issued_token(path, role, role.value) for role in Role}
    clocks = Clocks(wall=lambda: wall[0])
    values = {"tokens": path, "streams_per_token": STREAMS_PER_TOKEN}
    async with serving(tmp_path, clocks=clocks, **values) as (_, channel):
        yield Guarded(channel, path, clear)


async def test_every_method_has_roles(guarded: Guarded) -> None:
    """The table has each method of each service that the server reflects, and the one for workers."""
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
    assert methods | {WORK} == set(ROLES) == set(EXPECTED)


async def test_roles_may_call_what_the_table_says(guarded: Guarded) -> None:
    """Each method is tried with no token, a wrong one, and a token of each role."""
    for path, allowed in EXPECTED.items():
        for metadata in ((), bearer("hc_00000000_wrong")):
            outcome = await called(guarded.channel, path, metadata)
            assert (outcome.reason == "UNAUTHENTICATED") is (allowed is not None), path
        for role in Role:
            outcome = await called(guarded.channel, path, bearer(guarded.clear[role]))
            if allowed is None or role in allowed:
                assert outcome.reason not in ("UNAUTHENTICATED", "WRONG_ROLE"), (path, role)
            else:
                assert outcome.reason == "WRONG_ROLE", (path, role)
                needed = ",".join(sorted(one.value for one in allowed))
                assert outcome.metadata == {"role": role.value, "needed": needed}


def test_empty_roles_mean_everybody() -> None:
    """Only the methods that everybody may call have no roles."""
    assert {path for path, roles in ROLES.items() if roles is EVERYBODY} == {
        path for path, roles in EXPECTED.items() if roles is None
    }
    assert all(roles for roles in ROLES.values() if roles is not EVERYBODY)


@pytest.mark.parametrize("shown", ["Basic YWxpY2U6cHc=", "Bearer", "Bearer ", "hc_00000000_x"])
async def test_only_bearer_tokens_are_accepted(guarded: Guarded, shown: str) -> None:
    """Other schemes and empty tokens are refused like unknown tokens."""
    outcome = await called(guarded.channel, GET_MATCH, (("authorization", shown),))
    assert outcome.reason == "UNAUTHENTICATED"


async def test_scheme_is_written_in_any_case(guarded: Guarded) -> None:
    """The word Bearer is not case-sensitive, as RFC 7235 has it."""
    outcome = await called(
        guarded.channel, GET_MATCH, (("authorization", f"bearer {guarded.clear[Role.BOT]}"),)
    )
    assert outcome.reason == "UNKNOWN_MATCH"


async def test_bot_plays_under_the_name_of_its_token(guarded: Guarded) -> None:
    """The token's name is welcomed; another one is refused, with the right one in the metadata."""
    call = await connected(guarded.channel, "bot", bearer(guarded.clear[Role.BOT]))
    call.cancel()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await connected(guarded.channel, "mallory", bearer(guarded.clear[Role.BOT]))
    outcome = refused(caught.value)
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.PERMISSION_DENIED, "WRONG_NAME")
    assert outcome.metadata == {"name": "bot"}


async def test_bot_without_a_name_plays_under_that_of_its_token(guarded: Guarded) -> None:
    """A hello may leave the name out, as the token has one; an empty name is not an absent one."""
    call = PlayServiceStub(guarded.channel).Play(metadata=bearer(guarded.clear[Role.BOT]))
    await call.write(play.PlayRequest(hello=play.Hello(max_games=3)))
    assert (await next_response(call)).HasField("welcome")
    listed = await BotServiceStub(guarded.channel).ListBots(
        bot_pb.ListBotsRequest(), metadata=bearer(guarded.clear[Role.OBSERVER])
    )
    assert [(bot.name, bot.max_games) for bot in listed.bots] == [("bot", 3)]
    call.cancel()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await connected(guarded.channel, "", bearer(guarded.clear[Role.BOT]))
    outcome = refused(caught.value)
    assert (outcome.reason, outcome.fields) == ("INVALID_FIELD", ("hello.name",))


async def test_bot_without_a_name_and_a_token_is_refused(tmp_path: Path) -> None:
    """On an open server nothing says who the bot is."""
    async with serving(tmp_path) as (_, channel):
        call = PlayServiceStub(channel).Play()
        await call.write(play.PlayRequest(hello=play.Hello()))
        outcome = await end_of(call)
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert outcome.fields == ("hello.name",)


async def test_open_server_lets_everybody_do_everything(tmp_path: Path) -> None:
    """Without tokens no call is refused for who makes it, also if it shows some token."""
    async with serving(tmp_path) as (_, channel):
        for path, metadata in product(EXPECTED, ((), bearer("hc_00000000_any"))):
            outcome = await called(channel, path, metadata)
            assert outcome.reason not in ("UNAUTHENTICATED", "WRONG_ROLE"), path
        call = await connected(channel, "anybody", bearer("hc_00000000_any"))
        call.cancel()


@pytest.mark.parametrize(
    ("peer", "joins"),
    [
        ("ipv4:127.0.0.1:4000", True),
        ("ipv6:%5B::1%5D:4000", True),
        ("unix:/tmp/own", True),
        ("ipv4:10.0.0.7:4000", False),
        ("ipv6:%5B2001:db8::7%5D:4000", False),
    ],
)
def test_without_tokens_workers_join_from_the_same_machine_alone(peer: str, joins: bool) -> None:  # noqa: FBT001
    """A worker is believed whatever results it sends; all else is open to everybody."""
    caller = Authenticator(None, now=lambda: datetime.now(UTC)).identify(None, peer)
    assert (Role.WORKER in caller.roles, caller.roles >= ALL) == (joins, True)


async def test_new_token_is_valid_at_once(guarded: Guarded) -> None:
    """A token that is created while the server runs works without a wait."""
    clear = issued_token(guarded.tokens, Role.OBSERVER, "late")
    assert (await called(guarded.channel, GET_MATCH, bearer(clear))).reason == "UNKNOWN_MATCH"


async def test_revoked_token_is_refused_at_once(guarded: Guarded) -> None:
    """The first call after the revocation fails, without a restart."""
    clear = guarded.clear[Role.OBSERVER]
    assert (await called(guarded.channel, GET_MATCH, bearer(clear))).reason == "UNKNOWN_MATCH"
    revoke_token(guarded.tokens, clear.split("_")[1])
    outcome = await called(guarded.channel, GET_MATCH, bearer(clear))
    assert outcome.reason == "UNAUTHENTICATED"
    assert clear not in outcome.text


async def test_streams_of_a_revoked_token_end(guarded: Guarded) -> None:
    """A stream in use ends with the reason; those of other tokens continue."""
    other = issued_token(guarded.tokens, Role.BOT, "other")
    call = await connected(guarded.channel, "bot", bearer(guarded.clear[Role.BOT]))
    untouched = await connected(guarded.channel, "other", bearer(other))
    revoke_token(guarded.tokens, guarded.clear[Role.BOT].split("_")[1])
    outcome = await end_of(call)
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.PERMISSION_DENIED, "REVOKED")
    await untouched.write(play.PlayRequest(goodbye=play.Goodbye()))
    assert (await end_of(untouched)).status is grpc.StatusCode.OK


async def test_bot_resumes_its_games_with_a_new_token(guarded: Guarded) -> None:
    """Tokens can be replaced while their bots play: a revocation by itself forfeits nothing at once."""
    other = await connected(guarded.channel, "other", bearer(issued_token(guarded.tokens, Role.BOT, "other")))
    first = PlayServiceStub(guarded.channel).Play(metadata=bearer(guarded.clear[Role.BOT]))
    await first.write(hello("bot"))
    welcome = (await next_response(first)).welcome
    match_id = await new_match(guarded.channel, bearer(guarded.clear[Role.ORGANISER]), "bot", "other")
    await next_response(first)
    revoke_token(guarded.tokens, guarded.clear[Role.BOT].split("_")[1])
    assert (await end_of(first)).reason == "REVOKED"
    second = PlayServiceStub(guarded.channel).Play(
        metadata=bearer(issued_token(guarded.tokens, Role.BOT, "bot"))
    )
    await second.write(hello("bot", resume_token=welcome.resume_token))
    response = await next_response(second)
    assert response.welcome.match_ids == [match_id]
    assert not response.games_over
    for call in (other, second):
        call.cancel()


async def test_streams_end_when_their_token_expires(guarded: Guarded, wall: list[float]) -> None:
    """No stream outlives its token."""
    clear = issued_token(guarded.tokens, Role.BOT, "brief", hours=1)
    call = await connected(guarded.channel, "brief", bearer(clear))
    wall[0] += 7200
    outcome = await end_of(call)
    assert outcome.reason == "REVOKED"
    assert "has expired" in outcome.text


async def test_watchers_lose_their_stream_with_their_token(guarded: Guarded) -> None:
    """Streams from the server to its caller end as well."""
    organiser = bearer(guarded.clear[Role.ORGANISER])
    match_id = await new_match(guarded.channel, organiser, "absent1", "absent2")
    stub = MatchServiceStub(guarded.channel)
    clear = issued_token(guarded.tokens, Role.OBSERVER, "olaf")
    watching = stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id), metadata=bearer(clear))
    assert isinstance(await watching.read(), pb.WatchMatchResponse)
    revoke_token(guarded.tokens, clear.split("_")[1])
    assert (await end_of(watching)).reason == "REVOKED"


async def new_match(channel: grpc.aio.Channel, organiser: Metadata, *bots: str) -> int:
    """Set up a match between bots that may never come."""
    created = await MatchServiceStub(channel).CreateMatch(between(*bots), metadata=organiser)
    return created.match_id


@pytest.mark.parametrize("role", sorted(ALL, key=str))
async def test_running_matches_are_not_shown_to_bots(guarded: Guarded, role: Role) -> None:
    """A bot would see how others play the deal that it plays itself."""
    organiser = bearer(guarded.clear[Role.ORGANISER])
    match_id = await new_match(guarded.channel, organiser, "absent1", "absent2")
    request = pb.WatchMatchRequest(match_id=match_id).SerializeToString()
    outcome = await called(
        guarded.channel, "/happycity.v1.MatchService/WatchMatch", bearer(guarded.clear[role]), request
    )
    if role is Role.BOT:
        assert (outcome.reason, outcome.metadata["needed"]) == ("WRONG_ROLE", "observer,organiser")
    else:
        assert outcome.status is grpc.StatusCode.OK


@pytest.mark.parametrize("role", [Role.OBSERVER, Role.ORGANISER])
async def test_bots_do_not_wait_for_running_matches(guarded: Guarded, role: Role) -> None:
    """The end of a match is for those that may watch it; once it is over, every reader gets it."""
    organiser = bearer(guarded.clear[Role.ORGANISER])
    names = ("one", "two")
    bots = [bearer(issued_token(guarded.tokens, Role.BOT, name)) for name in names]
    request = pb.WaitMatchRequest(match_id=await new_match(guarded.channel, organiser, *names))
    stub = MatchServiceStub(guarded.channel)
    for metadata in (bearer(guarded.clear[Role.BOT]), bots[0]):
        outcome = await called(guarded.channel, WAIT_MATCH, metadata, request.SerializeToString())
        assert (outcome.reason, outcome.metadata["needed"]) == ("WRONG_ROLE", "observer,organiser")
    waiting = stub.WaitMatch(request, metadata=bearer(guarded.clear[role]))
    calls = [await connected(guarded.channel, name, bot) for name, bot in zip(names, bots, strict=True)]
    for call in calls:
        await call.write(play.PlayRequest(goodbye=play.Goodbye()))
    match = await waiting
    assert match.state == match_pb2.MATCH_STATE_FINISHED
    assert await stub.WaitMatch(request, metadata=bots[0]) == match


async def test_waiting_for_a_match_ends_with_the_token(guarded: Guarded, tmp_path: Path) -> None:
    """A call that waits is held open no longer than a stream would be."""
    organiser = bearer(guarded.clear[Role.ORGANISER])
    request = pb.WaitMatchRequest(match_id=await new_match(guarded.channel, organiser, "absent1", "absent2"))
    clear = issued_token(guarded.tokens, Role.OBSERVER, "olaf")
    stub = MatchServiceStub(guarded.channel)
    waiting = [stub.WaitMatch(request, metadata=bearer(clear)) for _ in range(STREAMS_PER_TOKEN + 1)]
    done, open_calls = await asyncio.wait(
        [asyncio.create_task(outcome_of(call)) for call in waiting], return_when=asyncio.FIRST_COMPLETED
    )
    assert [task.result().reason for task in done] == ["TOO_MANY_STREAMS"]  # so all others are served
    revoke_token(guarded.tokens, clear.split("_")[1])
    assert {outcome.reason for outcome in await asyncio.gather(*open_calls)} == {"REVOKED"}


async def outcome_of(call: Awaitable[object]) -> Outcome:
    """Return how a call ends."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return refused(error)
    return Outcome()


@pytest.mark.parametrize("role", sorted(ALL, key=str))
async def test_bots_get_no_final_ratings_of_running_tournaments(guarded: Guarded, role: Role) -> None:
    """They change with each game, and the server computes each time for a while."""
    config = tournament.TournamentConfig(
        bots=["absent1", "absent2"],
        game=config_message(Config(players=2)),
        random_rounds=tournament.RandomRounds(rounds=1),
        time_control=PATIENT,
    )
    service = "/happycity.tournament.v1beta1.TournamentService"
    organiser = bearer(guarded.clear[Role.ORGANISER])
    creating = tournament.CreateTournamentRequest(config=config).SerializeToString()
    assert (await called(guarded.channel, f"{service}/CreateTournament", organiser, creating)).reason == ""
    asking = tournament.GetStandingsRequest(tournament_id=1, with_final_ratings=True).SerializeToString()
    outcome = await called(guarded.channel, f"{service}/GetStandings", bearer(guarded.clear[role]), asking)
    assert outcome.reason == ("WRONG_ROLE" if role is Role.BOT else "")


async def test_malformed_tokens_file_changes_nothing(guarded: Guarded) -> None:
    """The tokens that were read before stay valid."""
    guarded.tokens.write_text("{")
    clear = guarded.clear[Role.OBSERVER]
    assert (await called(guarded.channel, GET_MATCH, bearer(clear))).reason == "UNKNOWN_MATCH"


@contextmanager
def no_file_can_be_opened() -> Iterator[None]:
    """Take all file descriptors of this process, as idle connections take those of a server."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_revocation_is_never_lost(guarded: Guarded) -> None:
    """If the file can't be opened when it has changed, it is read as soon as it can be."""
    clear = guarded.clear[Role.ORGANISER]
    assert (await called(guarded.channel, GET_MATCH, bearer(clear))).reason == "UNKNOWN_MATCH"
    revoke_token(guarded.tokens, clear.split("_")[1])
    with no_file_can_be_opened():
        assert (await called(guarded.channel, GET_MATCH, bearer(clear))).reason == "UNKNOWN_MATCH"
    assert (await called(guarded.channel, GET_MATCH, bearer(clear))).reason == "UNAUTHENTICATED"
