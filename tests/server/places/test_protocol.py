"""A worker that has joined a server over real gRPC, with its lobby in this process and scripted bots."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from structlog.testing import capture_logs
from tests.server.api.arena import RemoteProgram
from tests.server.harness import (
    connected,
    end_of,
    ended_match,
    matches_at,
    outcome_of,
    serving,
    tournaments_at,
)
from tests.server.play.arena import Arena, LocalProgram
from tests.server.program import Program
from tests.server.test_workers import POLLED, begun, over

from happycity import Config, VoidReason
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play_pb
from happycity.wire.enums import enum_number
from happycity.wire.messages import config_message
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity.worker.v1.worker_service_pb2_grpc import WorkerServiceStub
from happycity_server.places import protocol
from happycity_server.places.protocol import VERSION, ServerLink, WorkCall
from happycity_server.play.clock import FairClock
from happycity_server.play.lobby import SWEEP_SECONDS, Lobby
from happycity_tournament.storage.async_store import AsyncStore


class WorkerArena:
    """A worker's lobby, to which scripted bots connect directly."""

    def __init__(self) -> None:
        self.lobby = Lobby(FairClock(time.monotonic, tick_seconds=SWEEP_SECONDS), time.time)

    @property
    def now(self) -> float:
        return self.lobby.clock()

    def connect(self, name: str, **hello: Any) -> LocalProgram:
        return LocalProgram(cast(Arena, self), name, **hello)


async def work(channel: grpc.aio.Channel, version: str = VERSION) -> WorkCall:
    """Open the stream of a worker, which says hello."""
    call: WorkCall = WorkerServiceStub(channel).Work()
    await call.write(pb.WorkRequest(hello=pb.Hello(name="rack", version=version)))
    return call


@asynccontextmanager
async def joined(channel: grpc.aio.Channel, *, message_bytes: int = 2**20) -> AsyncIterator[WorkerArena]:
    arena = WorkerArena()
    call = await work(channel)
    first = await call.read()
    assert isinstance(first, pb.WorkResponse)
    assert first.HasField("conditions")
    link = ServerLink(arena.lobby, time.time, message_bytes=message_bytes)
    arena.lobby.start_sweeping()
    serving = asyncio.create_task(link.serve(call))
    try:
        yield arena
    finally:
        call.cancel()
        arena.lobby.stop_sweeping()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await arena.lobby.close(0.0)


@asynccontextmanager
async def at_a_worker(
    folder: Path, *, rounds: int = 1, message_bytes: int = 2**20
) -> AsyncIterator[SimpleNamespace]:
    """Begin a tournament between bots that are at a worker alone, so that all games are played there."""
    async with (
        serving(folder, **POLLED) as (_, channel),
        joined(channel, message_bytes=message_bytes) as arena,
    ):
        bots = {name: arena.connect(name) for name in ("anna", "ben")}
        tournament_id = await begun(channel, *bots, rounds=rounds, begin_incomplete=True)
        yield SimpleNamespace(channel=channel, matches=matches_at(channel), id=tournament_id, **bots)


async def play(*bots: Program, games: int) -> None:
    """Let bots play until so many games are over; what they choose follows from what they are asked."""

    async def answer_all(bot: Program) -> None:
        answered = 0
        while len(bot.received.games_over) < games:
            await bot.read()
            for decision in bot.received.decisions[answered:]:
                await bot.answer(decision, decision.decision_id % len(decision.moves))
            answered = len(bot.received.decisions)

    await asyncio.gather(*map(answer_all, bots))


@pytest.mark.level(2)
async def test_match_at_a_worker_is_seen_at_the_server(tmp_path: Path) -> None:
    """Lists show what a worker plays and how far it is, and the record is secret."""
    async with at_a_worker(tmp_path) as at:
        await at.anna.until(lambda received: len(received.games_started) == 2)
        listed = (await at.matches.ListMatches()).matches
        assert [match.match_id for match in listed] == [2, 1]
        assert listed[0].state in (match_pb2.MATCH_STATE_WAITING, match_pb2.MATCH_STATE_RUNNING)
        for bot in (at.anna, at.ben):
            await bot.answer(await bot.decision())  # in one game each
        while not (match := await at.matches.GetMatch(match_id=1)).decisions:
            pass
        assert match.state == match_pb2.MATCH_STATE_RUNNING
        assert match.HasField("start_time")
        secret = await outcome_of(at.matches.GetMatchRecord(match_id=1))
        assert secret.reason == "MATCH_RUNNING"


async def test_stopped_tournament_leaves_no_long_match_at_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bots get to know that it is voided; it doesn't count as a voided game, as it is played again."""
    monkeypatch.setattr("happycity_tournament.play.runner.STOP_SECONDS", 0.0)
    async with at_a_worker(tmp_path) as at:
        await at.anna.until(lambda received: len(received.games_started) == 2)
        tournaments = tournaments_at(at.channel)
        await tournaments.StopTournament(tournament_id=at.id)
        await at.anna.until(lambda received: len(received.games_over) == 2)
        assert {over.outcome.void_reason for over in at.anna.received.games_over} == {
            match_pb2.VOID_REASON_STOPPED
        }
        while (status := await tournaments.GetTournament(tournament_id=at.id)).progress.games_running:
            pass
        assert (status.progress.games_finished, status.progress.games_voided) == (0, 0)


async def test_watcher_gets_every_step_and_finds_the_match_in_the_store(tmp_path: Path) -> None:
    """A match at a worker ends for its watcher with the result once it is stored; no step is missing.

    So it does for a caller that only waits for the end.
    """
    async with at_a_worker(tmp_path) as at:
        await at.anna.until(lambda received: len(received.games_started) == 2)
        waiting = asyncio.create_task(ended_match(at.matches, 1))
        playing = asyncio.create_task(play(at.anna, at.ben, games=2))
        steps = [response async for response in at.matches.WatchMatch(match_id=1)]
        got = await at.matches.GetMatch(match_id=1)
        last = await over(at.channel, at.id)
        waited = await waiting
        await playing
    for match in (waited, got):
        for name in ("deal", "watchable"):  # which come once the tournament is over
            match.ClearField(name)
    assert waited == got
    assert got.state == match_pb2.MATCH_STATE_FINISHED
    assert steps[-1].end.outcome == got.outcome
    assert [step.step.decisions for step in steps[:-1]] == list(range(steps[-1].end.decisions + 1))
    assert last.progress.games_finished == 2


async def everything_sent(
    channel: grpc.aio.Channel, tournament_id: int, *bots: Program
) -> tuple[list[bytes], list[bytes]]:
    """Play a tournament of two games; return what each bot got, and a watcher of the first game.

    Times are left out.
    """

    def got_by(bot: Program) -> bytes:
        got = bot.received
        got.ClearField("ping")
        got.ClearField("welcome")
        # On a busy machine the server says that it was late, which costs nothing.
        notices = [notice for notice in got.notices if notice.kind != play_pb.NOTICE_KIND_SERVER_LATE]
        got.ClearField("notices")
        got.notices.extend(notices)
        for decision in got.decisions:
            decision.ClearField("clock")
        for part in (got.games_started, got.decisions, got.games_over):
            part.sort(key=lambda message: message.match_id)
        return got.SerializeToString()

    matches = matches_at(channel)
    while not (await matches.ListMatches()).matches:
        pass
    steps: list[bytes] = []
    playing = asyncio.create_task(play(*bots, games=2))
    async for update in matches.WatchMatch(match_id=1):
        update.step.ClearField("think_us")
        steps.append(update.step.SerializeToString())
    await over(channel, tournament_id)
    await playing
    return list(map(got_by, bots)), steps


@pytest.mark.level(2)
async def test_worker_sends_what_the_server_would(tmp_path: Path) -> None:
    """Bots and watchers get the same bytes, so they learn no more of what is hidden than without workers."""
    folders = [tmp_path / "alone", tmp_path / "worker"]
    for folder in folders:
        folder.mkdir()
    async with serving(folders[0], **POLLED) as (_, channel):
        bots = [RemoteProgram(name, await connected(channel, name)) for name in ("anna", "ben")]
        tournament_id = await begun(channel, "anna", "ben", rounds=1)
        alone = await everything_sent(channel, tournament_id, *bots)
    async with at_a_worker(folders[1]) as at:
        at_worker = await everything_sent(at.channel, at.id, at.anna, at.ben)
    assert at_worker == alone
    assert all(at_worker[0])
    assert len(at_worker[1]) > 20


async def test_record_is_waited_for_while_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match that a worker has finished is not refused as running, as one of the server's own isn't."""
    saving, stored, save = asyncio.Event(), asyncio.Event(), AsyncStore.save

    async def save_later(store: AsyncStore, *args: Any) -> None:
        saving.set()
        await stored.wait()
        await save(store, *args)

    monkeypatch.setattr(AsyncStore, "save", save_later)
    async with at_a_worker(tmp_path) as at:
        playing = asyncio.create_task(play(at.anna, at.ben, games=2))
        await saving.wait()
        await playing
        calls = [at.matches.GetMatchRecord(match_id=match_id) for match_id in (1, 2)]
        asking = [asyncio.create_task(outcome_of(call)) for call in calls]
        # Both are over, so both calls wait; the answer of another call shows that they have been taken.
        await at.matches.ListMatches()
        stored.set()
        outcomes = [await asked for asked in asking]
        await over(at.channel, at.id)
    assert all("shares its deal" in outcome.text or not outcome.reason for outcome in outcomes)


async def test_games_of_many_messages_arrive(tmp_path: Path) -> None:
    """A worker that finishes more at once than a message may have sends several."""
    async with at_a_worker(tmp_path, rounds=4, message_bytes=1) as at:
        playing = asyncio.create_task(play(at.anna, at.ben, games=8))
        last = await over(at.channel, at.id)
        await playing
    assert last.progress.games_finished == 8


async def test_strikes_and_activity_at_a_worker_reach_the_watchers_of_the_tournament(tmp_path: Path) -> None:
    """An illegal answer is an incident, and counts among the bot's strikes."""
    async with at_a_worker(tmp_path) as at:
        watching = tournaments_at(at.channel).WatchTournament(tournament_id=at.id)
        await watching.read()
        decision = await at.anna.decision()  # one of the games begins with anna
        await at.anna.answer(decision, 99)
        incidents: list[tournament_pb.MatchIncident] = []
        strikes = 0
        while not (incidents and strikes):
            update = await watching.read()
            incidents += update.incidents
            strikes += sum(activity.strikes for activity in update.activity)
        assert (incidents[0].match_id, incidents[0].bot) == (decision.match_id, "anna")
        watching.cancel()


async def test_log_of_a_worker_names_the_deal_of_the_ladder(tmp_path: Path) -> None:
    """So an operator finds the games of a deal wherever they were played."""
    arena = WorkerArena()
    link = ServerLink(arena.lobby, time.time, message_bytes=2**20)
    chunk = pb.Chunk(games=[pb.Game(match_id=7, bots=["anna", "ben"], bot_seeds=[1, 2], ladder_deal_id=5)])
    chunk.config.CopyFrom(config_message(Config(players=2)))
    with capture_logs() as logs:
        link._begin(chunk)
        await asyncio.gather(*link._tasks)
    (entry,) = [entry for entry in logs if entry["event"] == "match_over"]
    assert (entry["match"], entry["ladder_deal"]) == (7, 5)


async def test_game_that_a_worker_voids_is_played_once_more(tmp_path: Path) -> None:
    """The server takes the worker's word for it."""
    for reason in (VoidReason.STOPPED, VoidReason.SERVER_ERROR):
        (folder := tmp_path / reason.name).mkdir()
        async with serving(folder) as (_, channel):
            call = await work(channel)
            await call.read()
            activity = [tournament_pb.BotActivity(bot=name, connected=True) for name in ("anna", "ben")]
            await call.write(pb.WorkRequest(bots=pb.Bots(activity=activity)))
            tournament_id = await begun(channel, "anna", "ben", rounds=1, begin_incomplete=True)
            games = await games_sent(call, 2)
            number = enum_number(match_pb2.VoidReason, reason)
            voided = [pb.VoidedMatch(match_id=game, reason=number) for game in games]
            await call.write(pb.WorkRequest(voided=voided))
            assert await games_sent(call, 2) == [game + 2 for game in games]
            status = await tournaments_at(channel).GetTournament(tournament_id=tournament_id)
            assert status.progress.games_voided == 2
            call.cancel()


def test_worker_plays_the_version_of_a_hosted_bot_that_its_server_plays() -> None:
    """While it plays another one, or one that was withdrawn, it gets no games of that bot."""
    service = protocol.WorkerService(time.time, pb.Conditions())
    worker = protocol.Worker(service, "rack", pb.Conditions())
    service.note_joined(worker)

    def connected(wanted: dict[str, str], plays: dict[str, str]) -> list[str]:
        service.host(wanted)
        activity = [tournament_pb.BotActivity(bot=name, connected=True) for name in ("anna", "ben")]
        worker._take(pb.WorkRequest(bots=pb.Bots(activity=activity, digests=plays)))
        return [name for name in ("anna", "ben", "carl") if worker.is_connected(name)]

    new, old = {"anna": "2"}, {"anna": "1"}
    assert connected({}, {}) == connected(new, new) == ["anna", "ben"]
    assert connected(new, {}) == connected(new, old) == connected({}, old) == ["ben"]
    assert connected({"carl": "3"}, {"carl": "3"}) == ["anna", "ben"]


async def games_sent(call: WorkCall, count: int) -> list[int]:
    """Return the ids of the next games that a worker is to play."""
    games: list[int] = []
    while len(games) < count:
        response = await call.read()
        assert isinstance(response, pb.WorkResponse)
        games += [game.match_id for game in response.chunk.games]
    return games


async def test_games_of_a_lost_worker_begin_again_at_another(tmp_path: Path) -> None:
    """None of them counts as voided or is forfeited."""
    async with serving(tmp_path) as (_, channel), AsyncExitStack() as first:
        lost = await first.enter_async_context(joined(channel))
        anna, _ben = lost.connect("anna"), lost.connect("ben")
        tournament_id = await begun(channel, "anna", "ben", rounds=1, begin_incomplete=True)
        await anna.until(lambda received: len(received.games_started) == 2)
        async with joined(channel) as other:
            bots = other.connect("anna"), other.connect("ben")
            second = await begun(channel, "anna", "ben", rounds=1, begin_incomplete=True)
            await bots[0].until(lambda received: len(received.games_started) == 2)  # it is the less busy one
            await first.aclose()
            playing = asyncio.create_task(play(*bots, games=4))
            ends = [await over(channel, each) for each in (tournament_id, second)]
            await playing
    for last in ends:
        assert (last.progress.games_finished, last.progress.games_voided) == (2, 0)
        assert not any(line.forfeits for line in last.standings)


async def test_worker_of_another_version_is_refused(tmp_path: Path) -> None:
    """The line says what to install."""
    async with serving(tmp_path) as (_, channel):
        outcome = await end_of(await work(channel, "0.0.1"))
    assert outcome.reason == "INVALID_FIELD"
    assert outcome.text == (
        f"hello.version: the worker is of version 0.0.1, the server of version {VERSION}; "
        f"install happycity {VERSION} for the worker too"
    )
