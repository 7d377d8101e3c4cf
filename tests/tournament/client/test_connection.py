"""Calls to a server, and how a tournament is followed over lost connections; the server follows a script."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from happycity import Config, ConfigError, HappyCityError
from happycity.access.v1beta1 import access_service_pb2 as access_pb
from happycity.access.v1beta1.access_service_pb2_grpc import (
    AccessServiceServicer,
    add_AccessServiceServicer_to_server,
)
from happycity.hosting.v1beta1 import hosting_service_pb2 as hosting_pb
from happycity.hosting.v1beta1.hosting_service_pb2_grpc import (
    HostingServiceServicer,
    add_HostingServiceServicer_to_server,
)
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import (
    TournamentServiceServicer,
    add_TournamentServiceServicer_to_server,
)
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1.match_service_pb2_grpc import MatchServiceServicer, add_MatchServiceServicer_to_server
from happycity.v1.rating_pb2 import Rating
from happycity.wire.messages import config_message
from happycity.wire.status import STATUS_METADATA, StatusDetails, encode_status
from happycity_runtime.transport import Access
from happycity_tournament.client.connection import (
    Connection,
    ServerError,
    UnavailableError,
    connect,
    finished_game,
    listed_game,
    translate_errors,
)
from happycity_tournament.client.watch import TournamentWatch
from happycity_tournament.config import TournamentConfig, TournamentState
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.wire import tournament_config_message

WAITING, RUNNING, FINISHED, STOPPED, INTERRUPTED = (
    pb.TournamentState.Value(f"TOURNAMENT_STATE_{name}")
    for name in ("WAITING", "RUNNING", "FINISHED", "STOPPED", "INTERRUPTED")
)
LOST, UNKNOWN = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED
CLOSING = grpc.StatusCode.CANCELLED
CONFIG = tournament_config_message(TournamentConfig(bots=("ann", "bob"), game=Config(players=2), seed=5))
TOURNAMENT = pb.Tournament(tournament_id=7, config=CONFIG)
Script = list[Any]
"""What one call sends: responses, or states for short; a status code ends it with that error."""


GAME = config_message(Config(players=2))


class ScriptedServer(
    TournamentServiceServicer, MatchServiceServicer, HostingServiceServicer, AccessServiceServicer
):
    def __init__(self, *scripts: Script) -> None:
        self._scripts = iter(scripts)
        self.requests: list[Any] = []

    async def _steps(self, request: object, context: Any) -> AsyncIterator[Any]:
        assert ("authorization", "Bearer x") in context.invocation_metadata()
        self.requests.append(request)
        for step in next(self._scripts):
            if isinstance(step, grpc.StatusCode):
                await context.abort(step, "as the script says")
            if isinstance(step, StatusDetails):
                context.set_trailing_metadata([(STATUS_METADATA, encode_status(8, "", step))])
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED)
            yield step

    async def WatchTournament(  # noqa: N802
        self, request: pb.WatchTournamentRequest, context: Any
    ) -> AsyncIterator[pb.WatchTournamentResponse]:
        """Send responses; a state stands for the message that has it."""
        async for step in self._steps(request, context):
            is_state = isinstance(step, int)
            yield changes(tournament=TOURNAMENT, progress=progress(step)) if is_state else step

    async def _answer(self, request: object, context: Any) -> Any:
        return await anext(self._steps(request, context))

    StopTournament = GetTournament = ListTournaments = ListMatches = GetMatchRecord = _answer
    ListSubmissions = ListInvitations = _answer


def progress(state: Any, **fields: Any) -> pb.TournamentProgress:
    return pb.TournamentProgress(state=state, **fields)


def changes(**fields: Any) -> pb.WatchTournamentResponse:
    return pb.WatchTournamentResponse(**fields)


@asynccontextmanager
async def scripted(*scripts: Script) -> AsyncIterator[tuple[ScriptedServer, Connection]]:
    servicer, server = ScriptedServer(*scripts), grpc.aio.server()  # type: ignore[abstract]  # the rest is not called
    add_TournamentServiceServicer_to_server(servicer, server)
    add_MatchServiceServicer_to_server(servicer, server)
    add_HostingServiceServicer_to_server(servicer, server)
    add_AccessServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with connect(f"127.0.0.1:{port}", Access(token="x")) as connection:
        yield servicer, connection
    await server.stop(None)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every pause between two attempts as short as possible."""
    for module in ("connection", "watch"):
        monkeypatch.setattr(f"happycity_tournament.client.{module}.FIRST_PAUSE_SECONDS", 0.0)


async def followed(
    *scripts: Script, patience: float = 60.0, remark: Callable[[str], None] = lambda text: None
) -> list[TournamentState]:
    async with scripted(*scripts) as (server, connection):
        watch = TournamentWatch(connection, 7, patience=patience, remark=remark)
        states = [snapshot.state async for snapshot in watch.snapshots()]
    assert [request.tournament_id for request in server.requests] == [7] * len(scripts)
    return states


BACK = "back"
FOLLOWED: dict[str, tuple[list[Script], str, list[str]]] = {
    "to its end": ([[WAITING, RUNNING, FINISHED]], "waiting running finished", []),
    "stopped": ([[RUNNING, STOPPED]], "running stopped", []),
    "each absence and each return is remarked once": (
        [[RUNNING, LOST], [LOST], [LOST], [RUNNING, RUNNING, LOST], [FINISHED]],
        "running running running finished",
        ["can't be reached: as the script says", BACK, "as the script says", BACK],
    ),
    "an interruption is not the end": (
        [[RUNNING, INTERRUPTED], [LOST], [INTERRUPTED], [RUNNING, FINISHED]],
        "running running finished",
        ["gone (it shut down); it has 60 s to come back", BACK],
    ),
    "a break after the last message": ([[RUNNING, FINISHED, LOST]], "running finished", []),
    "an early end": ([[RUNNING], [FINISHED]], "running finished", ["gone (it shut down)", BACK]),
}
"""By what happens: the scripts of the calls, the states that are seen, and the remarks."""


@pytest.mark.parametrize("what", FOLLOWED)
async def test_a_tournament_is_followed(what: str) -> None:
    """Through restarts of its server, until it is finished or stopped."""
    scripts, seen, remarks = FOLLOWED[what]
    lines: list[str] = []
    states = await followed(*scripts, remark=lines.append)
    assert [state.value for state in states] == seen.split()
    for line, remark in zip(lines, remarks, strict=True):
        assert line.startswith("the server is ")
        assert remark in line


async def test_patience_ends() -> None:
    """The error says why the server is gone, and how the tournament continues; a refusal is final."""
    gone = changes(progress=progress(INTERRUPTED, remarks=["no space"]))
    for last, problem in [(LOST, "can't be reached: as the script says"), (gone, r"\(no space\)")]:
        with pytest.raises(UnavailableError, match=f"{problem}.*a server on the same store continues it"):
            await followed([RUNNING, last], patience=0.0)
    with pytest.raises(ServerError, match="refused: as the script says"):
        await followed([RUNNING, LOST], [grpc.StatusCode.NOT_FOUND])


async def test_a_stop_reaches_a_server_that_is_away() -> None:
    stopped = pb.Tournament(tournament_id=7, config=CONFIG, progress=progress(STOPPED))
    async with scripted([LOST], [LOST], [stopped]) as (server, connection):
        await TournamentWatch(connection, 7, patience=60.0, remark=print).stop()
    assert len(server.requests) == 3


@pytest.mark.parametrize(("step", "waiting"), [(WAITING, True), (RUNNING, False), (LOST, True)])
async def test_a_tournament_may_still_wait_for_its_bots(step: object, *, waiting: bool) -> None:
    """The server is asked; where it is gone, the last known state holds."""
    answer = step
    if isinstance(step, int):
        answer = pb.Tournament(tournament_id=7, config=CONFIG, progress=progress(step))
    async with scripted([answer]) as (_, connection):
        assert await TournamentWatch(connection, 7, patience=0.0, remark=print).is_waiting() is waiting


async def test_changes_add_up() -> None:
    ann, bob = (pb.Standing(rank=1, bot=bot, rating=Rating(elo=1500.0)) for bot in ("ann", "bob"))
    better = pb.Standing(rank=1, bot="bob", rating=Rating(elo=1510.0, low=1495.0), games=1)
    worse = pb.Standing(rank=2, bot="ann", rating=Rating(elo=1490.0))
    begun = progress(WAITING, games_total=9, missing_bots=["bob"])
    final = pb.FinalRatings(model="the model", anchor_elo=1500.0)
    script = [
        changes(tournament=TOURNAMENT, progress=begun, standings=[ann, bob]),
        changes(progress=progress(RUNNING, games_total=9)),
        changes(standings=[better, worse]),
        changes(progress=progress(FINISHED, games_total=9, games_finished=9), final_ratings=final),
    ]
    async with scripted(script) as (_, connection):
        first, second, third, last = [snapshot async for snapshot in connection.watch(7)]
    assert [snapshot.bots for snapshot in (first, second, third, last)] == [("ann", "bob")] * 4
    assert (first.missing_bots, second.missing_bots) == (("bob",), ())
    assert [line.bot for line in second.standings] == ["ann", "bob"]
    assert [(line.bot, line.elo, line.low, line.high) for line in last.standings] == [
        ("bob", 1510.0, 1495.0, None),
        ("ann", 1490.0, None, None),
    ]
    assert (third.state, third.final, last.games) == (TournamentState.RUNNING, None, 9)
    assert last.final is not None
    assert last.final.model == "the model"


async def test_lists_are_read_page_by_page() -> None:
    pages = []
    for number, token in ((3, "two"), (2, "three"), (1, "")):
        listed = pb.Tournament(tournament_id=number, config=CONFIG, progress=progress(FINISHED))
        pages.append([pb.ListTournamentsResponse(tournaments=[listed], next_page_token=token)])
    async with scripted(*pages) as (server, connection):
        snapshots: list[Snapshot] = await connection.tournaments()
    assert [snapshot.tournament_id for snapshot in snapshots] == [3, 2, 1]
    assert [request.page_token for request in server.requests] == ["", "two", "three"]


async def test_lists_of_submissions_and_invitations_are_read_to_their_ends() -> None:
    """A bot on a second page plays as well as one on the first."""
    playing, digest = hosting_pb.SUBMISSION_STATE_PLAYING, "0" * 64
    submitted = [
        hosting_pb.Submission(bot=hosting_pb.HostedBot(name=name), digest=digest, state=playing)
        for name in ("ann", "bob")
    ]
    invited = [access_pb.Invitation(id=name) for name in ("one", "two")]
    pages: list[Script] = [
        [hosting_pb.ListSubmissionsResponse(submissions=submitted[:1], next_page_token="more")],
        [hosting_pb.ListSubmissionsResponse(submissions=submitted[1:])],
        [access_pb.ListInvitationsResponse(invitations=invited[:1], next_page_token="more")],
        [access_pb.ListInvitationsResponse(invitations=invited[1:])],
    ]
    async with scripted(*pages) as (_, connection):
        assert await connection.hosted_digests(["bob"]) == {"bob": digest}
        assert await connection.invitations() == invited


async def test_games_are_read_at_the_pace_of_the_server() -> None:
    """A call beyond the limit is repeated; the order is the server's, and records get the bots' names."""
    record = {
        "format": "happycity-record/1",
        "config": {"players": 2, "mode": "family", "scoring": "product"},
        "deal": {"seed": 5},
        "moves": [],
        "outcome": {key: [1, 1] for key in ("points", "coins", "inhabitants", "hearts", "ranks")},
        "endings": ["finished", "finished"],
    }
    busy = [StatusDetails(reason="RATE_LIMITED")]
    matches = [
        match_pb.Match(match_id=number, bots=["ann", "bob"], decisions=3, config=GAME) for number in (2, 1)
    ]
    page_of_two = [match_pb.ListMatchesResponse(matches=matches, next_page_token="two")]
    scripts: list[Script] = [busy, page_of_two, busy, busy, [match_pb.MatchRecord(json=json.dumps(record))]]
    async with scripted(*scripts) as (server, connection):
        page, token = await connection.newest_games(7, bot="", token="")
        read = await connection.record(page[0])
    assert ([listed_game(match).match_id for match in page], token) == ([2, 1], "two")
    assert json.loads(read)["bots"] == ["ann", "bob"]
    listing = [request for request in server.requests if isinstance(request, match_pb.ListMatchesRequest)]
    assert [(request.page_token, request.tournament_id) for request in listing] == [("", 7)] * 2


async def test_games_of_a_running_tournament_are_secret() -> None:
    """They can be listed without their deals, but not rated."""
    match = match_pb.Match(match_id=2, bots=["ann", "bob"], decisions=3, tournament_id=7, config=GAME)
    assert listed_game(match).deal_seed == 0
    with pytest.raises(HappyCityError, match="tournament 7 is being played, and its deals are secret"):
        finished_game(match)
    match.deal.seed, match.deal.round = 5, 3
    match.config.CopyFrom(config_message(Config(players=2)))
    game = finished_game(match)
    assert (game.deal_seed, game.position) == (5, (3, 0, 0))


async def test_no_server_costs_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("happycity_tournament.client.connection.CONNECT_SECONDS", 0.05)
    none = "nothing listens on 127.0.0.1:9; start a server there with: happycity serve"
    for address, problem in [
        *((f"{scheme}127.0.0.1:9", none) for scheme in ("", "grpc://", "grpcs://")),
        *((wrong, "{!r} is not an address such as") for wrong in ("127.0.0.1", "https://127.0.0.1:9")),
    ]:
        with pytest.raises((ServerError, ConfigError), match=re.escape(problem.format(address))):
            async with connect(address, Access()):
                pass


def test_errors_are_lines_for_people() -> None:
    """A server's text can't break the line, nor colour a terminal; its details stay readable for programs."""
    for code, reason, text in [
        (grpc.StatusCode.NOT_FOUND, "", "the server h:1 refused: a b"),
        (UNKNOWN, "UNAUTHENTICATED", "the server h:1 refused: a b"),
        (LOST, "", "h:1 can't be reached: a b"),
        (LOST, "STORE_UNAVAILABLE", "the server h:1 can't serve: a b"),
        (CLOSING, "", "h:1 can't be reached: a b"),
        (CLOSING, "UNAUTHENTICATED", "the server h:1 refused: a b"),
    ]:
        encoded = encode_status(code.value[0], "", StatusDetails(reason=reason))
        trailing = grpc.aio.Metadata(*([(STATUS_METADATA, encoded)] if reason else []))
        error = grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details="a\n\x1bb")
        with pytest.raises(ServerError) as refused, translate_errors("h:1", Access()):
            raise error
        assert isinstance(refused.value, UnavailableError) is ("refused" not in text)
        assert str(refused.value) == text
        assert refused.value.details.reason == reason
