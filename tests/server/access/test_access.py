"""Who may call what, on a real server."""

from __future__ import annotations

import os
import resource
from collections.abc import AsyncIterator, Iterator
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
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1 import tournament_service_pb2 as tournament
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire import config_message
from happycity_server.access.roles import EVERYBODY, ROLES
from happycity_server.app import Clocks

ALL = {Role.BOT, Role.OBSERVER, Role.ORGANISER}
PLAY = "/happycity.v1.PlayService/Play"
CREATE_MATCH = "/happycity.v1.MatchService/CreateMatch"
GET_MATCH = "/happycity.v1.MatchService/GetMatch"

EXPECTED = {
    PLAY: {Role.BOT},
    CREATE_MATCH: {Role.ORGANISER},
    "/happycity.v1.BotService/ListBots": ALL,
    "/happycity.v1.MatchService/CreatePracticeMatch": {Role.BOT},
    GET_MATCH: ALL,
    "/happycity.v1.MatchService/ListMatches": ALL,
    "/happycity.v1.MatchService/WatchMatch": ALL,
    "/happycity.v1.MatchService/GetMatchRecord": ALL,
    "/happycity.v1.TournamentService/CreateTournament": {Role.ORGANISER},
    "/happycity.v1.TournamentService/GetTournament": ALL,
    "/happycity.v1.TournamentService/ListTournaments": ALL,
    "/happycity.v1.TournamentService/StopTournament": {Role.ORGANISER},
    "/happycity.v1.TournamentService/DeleteTournament": {Role.ORGANISER},
    "/happycity.v1.TournamentService/ResumeTournament": {Role.ORGANISER},
    "/happycity.v1.TournamentService/AddBots": {Role.ORGANISER},
    "/happycity.v1.TournamentService/WithdrawBot": {Role.ORGANISER},
    "/happycity.v1.TournamentService/WatchTournament": ALL,
    "/happycity.v1.TournamentService/GetStandings": ALL,
    "/happycity.v1.LadderService/GetLadder": ALL,
    "/happycity.v1.LadderService/GetLeaderboard": ALL,
    "/happycity.v1.LadderService/GetLadderBot": ALL,
    "/happycity.v1.LadderService/ListLadderDeals": ALL,
    "/happycity.v1.LadderService/CompareVersions": ALL,
    "/happycity.v1.LadderService/ListSeasons": ALL,
    "/happycity.v1.LadderService/CloseSeason": {Role.ORGANISER},
    "/happycity.v1.LadderService/CreateChallenge": {Role.BOT},
    "/happycity.v1.LadderService/AnswerChallenge": {Role.BOT},
    "/happycity.v1.LadderService/ListChallenges": ALL,
    "/happycity.v1.LadderService/ListFlags": {Role.ORGANISER},
    "/happycity.v1.SimulationService/ApplyMoves": {Role.BOT, Role.ORGANISER},
    "/happycity.v1.SimulationService/Rollout": {Role.BOT, Role.ORGANISER},
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
    async with serving(tmp_path, clocks=clocks, tokens=path) as (_, channel):
        yield Guarded(channel, path, clear)


async def test_every_method_has_roles(guarded: Guarded) -> None:
    """The table has each method of each service that the server reflects, and nothing else."""
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
    assert methods == set(ROLES) == set(EXPECTED)


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


async def test_open_server_lets_everybody_do_everything(tmp_path: Path) -> None:
    """Without tokens no call is refused for who makes it, also if it shows some token."""
    async with serving(tmp_path) as (_, channel):
        for path, metadata in product(EXPECTED, ((), bearer("hc_00000000_any"))):
            outcome = await called(channel, path, metadata)
            assert outcome.reason not in ("UNAUTHENTICATED", "WRONG_ROLE"), path
        call = await connected(channel, "anybody", bearer("hc_00000000_any"))
        call.cancel()


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
    await second.write(hello("bot", resume_token=welcome.resume_token, match_ids=[match_id]))
    response = await next_response(second)
    assert response.welcome.resumed
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
    return created.match.match_id


@pytest.mark.parametrize("role", Role)
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


@pytest.mark.parametrize("role", Role)
async def test_bots_get_no_final_ratings_of_running_tournaments(guarded: Guarded, role: Role) -> None:
    """They change with each game, and the server computes each time for a while."""
    config = tournament.TournamentConfig(
        bots=["absent1", "absent2"],
        game=config_message(Config(players=2)),
        random_rounds=tournament.RandomRounds(rounds=1),
        time_control=PATIENT,
    )
    service = "/happycity.v1.TournamentService"
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
