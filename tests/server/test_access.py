"""Who may call what, on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import product
from pathlib import Path
from typing import Self

import grpc
import pytest
from google.protobuf import descriptor_pool
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tests.server.trust import (
    Metadata,
    bearer,
    called,
    connected,
    end_of,
    hello,
    new_token,
    refused,
    settings,
)

from happycity import Config
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1 import tournament_service_pb2 as tournament
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire import config_message
from happycity_server.access import EVERYBODY, ROLES
from happycity_server.app import running
from happycity_server.tokens import Role, revoke_token

ALL = {Role.BOT, Role.OBSERVER, Role.ORGANISER}
PLAY = "/happycity.v1.PlayService/Play"
CREATE_MATCH = "/happycity.v1.MatchService/CreateMatch"
GET_MATCH = "/happycity.v1.MatchService/GetMatch"

EXPECTED = {
    PLAY: {Role.BOT},
    CREATE_MATCH: {Role.ORGANISER},
    GET_MATCH: ALL,
    "/happycity.v1.MatchService/ListMatches": ALL,
    "/happycity.v1.MatchService/WatchMatch": ALL,
    "/happycity.v1.MatchService/GetMatchRecord": ALL,
    "/happycity.v1.TournamentService/CreateTournament": {Role.ORGANISER},
    "/happycity.v1.TournamentService/GetTournament": ALL,
    "/happycity.v1.TournamentService/ListTournaments": ALL,
    "/happycity.v1.TournamentService/StopTournament": {Role.ORGANISER},
    "/happycity.v1.TournamentService/ResumeTournament": {Role.ORGANISER},
    "/happycity.v1.TournamentService/AddBots": {Role.ORGANISER},
    "/happycity.v1.TournamentService/WithdrawBot": {Role.ORGANISER},
    "/happycity.v1.TournamentService/WatchTournament": ALL,
    "/happycity.v1.TournamentService/GetStandings": ALL,
    "/happycity.v1.SimulationService/Explore": {Role.BOT, Role.ORGANISER},
    "/happycity.v1.SimulationService/RollOut": {Role.BOT, Role.ORGANISER},
    "/happycity.v1.CatalogueService/GetCatalogue": None,
    "/grpc.health.v1.Health/Check": None,
    "/grpc.health.v1.Health/List": None,
    "/grpc.health.v1.Health/Watch": None,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": None,
}
"""The roles that may call each method; None is everybody. Written out a second time on purpose."""


@dataclass(frozen=True)
class Guarded:
    """A server with a token of each role."""

    channel: grpc.aio.Channel
    tokens: Path
    clear: dict[Role, str]


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    """Give a server that wants tokens."""
    path = tmp_path / "tokens.json"
    clear = {role: new_token(path, role, role.value) for role in Role}
    async with (
        running(settings(tmp_path, tokens=path)) as arena,
        grpc.aio.insecure_channel(arena.address) as channel,
    ):
        yield Guarded(channel, path, clear)


async def test_every_method_has_an_entry(guarded: Guarded) -> None:
    """Each method of each service that the server has by reflection is in the table, and nothing else is."""
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


@pytest.mark.parametrize("path", EXPECTED)
async def test_roles_may_call_what_the_table_says(guarded: Guarded, path: str) -> None:
    """Each method is tried with no token, a wrong one, and a token of each role."""
    allowed = EXPECTED[path]
    without = await called(guarded.channel, path)
    wrong = await called(guarded.channel, path, bearer("hc_00000000_wrong"))
    for outcome in (without, wrong):
        if allowed is None:
            assert outcome.reason not in ("UNAUTHENTICATED", "WRONG_ROLE")
        else:
            assert (outcome.status, outcome.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
    for role in Role:
        outcome = await called(guarded.channel, path, bearer(guarded.clear[role]))
        if allowed is None or role in allowed:
            assert outcome.reason not in ("UNAUTHENTICATED", "WRONG_ROLE"), role
        else:
            assert (outcome.status, outcome.reason) == (grpc.StatusCode.PERMISSION_DENIED, "WRONG_ROLE"), role
            needed = ",".join(sorted(one.value for one in allowed))
            assert outcome.metadata == {"role": role.value, "needed": needed}


def test_table_has_no_method_for_nobody() -> None:
    """An empty set means everybody, so only what is meant for everybody may have it."""
    assert {path for path, roles in ROLES.items() if roles is EVERYBODY} == {
        path for path, roles in EXPECTED.items() if roles is None
    }
    assert all(roles for roles in ROLES.values() if roles is not EVERYBODY)


@pytest.mark.parametrize("shown", ["Basic YWxpY2U6cHc=", "Bearer", "Bearer ", "hc_00000000_x"])
async def test_what_is_no_bearer_token_is_unauthenticated(guarded: Guarded, shown: str) -> None:
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
    """The token's name is welcomed, another one is refused and told."""
    call = await connected(guarded.channel, "bot", bearer(guarded.clear[Role.BOT]))
    call.cancel()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await connected(guarded.channel, "mallory", bearer(guarded.clear[Role.BOT]))
    outcome = refused(caught.value)
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.PERMISSION_DENIED, "WRONG_NAME")
    assert outcome.metadata == {"name": "bot"}


async def test_open_server_lets_everybody_do_everything(tmp_path: Path) -> None:
    """Without tokens no call is refused for who makes it, also if it shows some token."""
    async with (
        running(settings(tmp_path)) as arena,
        grpc.aio.insecure_channel(arena.address) as channel,
    ):
        for path, metadata in product(EXPECTED, ((), bearer("hc_00000000_any"))):
            outcome = await called(channel, path, metadata)
            assert outcome.reason not in ("UNAUTHENTICATED", "WRONG_ROLE"), path
        call = await connected(channel, "anybody", bearer("hc_00000000_any"))
        call.cancel()


async def test_new_token_is_good_at_once(guarded: Guarded) -> None:
    """A token that is made while the server runs need not wait for anything."""
    clear = new_token(guarded.tokens, Role.OBSERVER, "late")
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
    """A stream in use ends with the reason; those of other tokens go on."""
    other = new_token(guarded.tokens, Role.BOT, "other")
    call = await connected(guarded.channel, "bot", bearer(guarded.clear[Role.BOT]))
    untouched = await connected(guarded.channel, "other", bearer(other))
    revoke_token(guarded.tokens, guarded.clear[Role.BOT].split("_")[1])
    outcome = await end_of(call)
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.PERMISSION_DENIED, "REVOKED")
    await untouched.write(play.PlayRequest(heartbeat=play.Heartbeat(nonce=5)))
    answer = await untouched.read()
    assert isinstance(answer, play.PlayResponse)
    untouched.cancel()


async def test_bot_resumes_its_games_with_a_new_token(guarded: Guarded) -> None:
    """Tokens can be exchanged while their bots play: a revocation by itself forfeits nothing at once."""
    other = await connected(guarded.channel, "other", bearer(new_token(guarded.tokens, Role.BOT, "other")))
    first = PlayServiceStub(guarded.channel).Play(metadata=bearer(guarded.clear[Role.BOT]))
    await first.write(hello("bot"))
    welcomed = await first.read()
    assert isinstance(welcomed, play.PlayResponse)
    match_id = await new_match(guarded.channel, bearer(guarded.clear[Role.ORGANISER]), "bot", "other")
    assert isinstance(await first.read(), play.PlayResponse)
    revoke_token(guarded.tokens, guarded.clear[Role.BOT].split("_")[1])
    assert (await end_of(first)).reason == "REVOKED"
    second = PlayServiceStub(guarded.channel).Play(
        metadata=bearer(new_token(guarded.tokens, Role.BOT, "bot"))
    )
    again = hello("bot")
    again.hello.resume_token = welcomed.welcome.resume_token
    again.hello.games.append(match_id)
    await second.write(again)
    answer = await second.read()
    assert isinstance(answer, play.PlayResponse)
    assert answer.welcome.resumed
    assert not answer.games_over
    for call in (other, second):
        call.cancel()


async def test_streams_end_when_their_token_expires(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody stays connected beyond the time of the token."""
    clear = new_token(guarded.tokens, Role.BOT, "brief", hours=1)
    call = await connected(guarded.channel, "brief", bearer(clear))

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(hours=2)

    monkeypatch.setattr("happycity_server.app.datetime", Later)
    outcome = await end_of(call)
    assert outcome.reason == "REVOKED"
    assert "has expired" in outcome.text


async def test_watchers_lose_their_stream_with_their_token(guarded: Guarded) -> None:
    """Streams from the server to its caller end as well."""
    organiser = bearer(guarded.clear[Role.ORGANISER])
    match_id = await new_match(guarded.channel, organiser, "absent1", "absent2")
    stub = MatchServiceStub(guarded.channel)
    clear = new_token(guarded.tokens, Role.OBSERVER, "olaf")
    watching = stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id), metadata=bearer(clear))
    assert isinstance(await watching.read(), pb.WatchMatchResponse)
    revoke_token(guarded.tokens, clear.split("_")[1])
    assert (await end_of(watching)).reason == "REVOKED"


async def new_match(channel: grpc.aio.Channel, organiser: Metadata, *bots: str) -> int:
    """Set up a match between bots that may never come."""
    request = pb.CreateMatchRequest(
        config=config_message(Config(players=2)),
        bots=bots,
        time_control=pb.TimeControl(connect_ms=60_000),
    )
    created = await MatchServiceStub(channel).CreateMatch(request, metadata=organiser)
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
async def test_bots_have_no_final_ratings_computed_again_and_again(guarded: Guarded, role: Role) -> None:
    """While a tournament runs they change with each game, and each time they cost the server a while."""
    config = tournament.TournamentConfig(
        bots=["absent1", "absent2"],
        game=config_message(Config(players=2)),
        rounds=1,
        time_control=pb.TimeControl(connect_ms=60_000),
    )
    service = "/happycity.v1.TournamentService"
    organiser = bearer(guarded.clear[Role.ORGANISER])
    creating = tournament.CreateTournamentRequest(config=config).SerializeToString()
    assert (await called(guarded.channel, f"{service}/CreateTournament", organiser, creating)).reason == ""
    asking = tournament.GetStandingsRequest(tournament_id=1, with_final_ratings=True).SerializeToString()
    outcome = await called(guarded.channel, f"{service}/GetStandings", bearer(guarded.clear[role]), asking)
    assert outcome.reason == ("WRONG_ROLE" if role is Role.BOT else "")


async def test_broken_tokens_file_leaves_the_server_as_it_was(guarded: Guarded) -> None:
    """What can't be read changes nothing."""
    guarded.tokens.write_text("{")
    clear = guarded.clear[Role.OBSERVER]
    assert (await called(guarded.channel, GET_MATCH, bearer(clear))).reason == "UNKNOWN_MATCH"
