"""The feed of a tournament that is watched: how often it is computed, and by whom it is shared."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from typing import Any, cast

import pytest
from tests.server.play.arena import Arena
from tests.tournament.games import BOTS, finished, fixtures_of

from happycity import Config, Ending
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.v1 import match_pb2
from happycity_server.broadcast import BroadcastError
from happycity_server.tournaments.registry import Tournaments
from happycity_server.tournaments.watch import (
    DEFAULT_INTERVAL_SECONDS,
    LINGER_SECONDS,
    MAX_INCIDENTS,
    TournamentWatches,
)
from happycity_tournament.config import RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.play.progress import TournamentStatus
from happycity_tournament.play.snapshot import Snapshot, played
from happycity_tournament.schedule import schedule_of

CONFIG = TournamentConfig(bots=BOTS, game=Config(players=4), format=RandomRounds(rounds=30), seed=1)
FIXTURES = fixtures_of(CONFIG)
Update = pb.WatchTournamentResponse


class Threads(ThreadPoolExecutor):
    """Computes at once what is to be computed in threads, or when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        """The time, in seconds."""
        self.seconds = 0.0
        """How long a computation takes."""
        self.held: list[Callable[[], None]] | None = None
        """What isn't computed yet, if it is held back."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = Future[Any]()

        def compute() -> None:
            self.now += self.seconds
            future.set_result(fn(*args, **kwargs))

        if self.held is None:
            compute()
        else:
            self.held.append(compute)
        return future

    def release(self) -> None:
        """Compute what was held back, and hold nothing back from now on."""
        held, self.held = self.held or [], None
        for compute in held:
            compute()


class Watched:
    """A tournament that is played and watched, whose time passes when the test says so."""

    def __init__(self) -> None:
        self.status_now = TournamentStatus(1, CONFIG, schedule_of(CONFIG), created_at=0.0)
        self.status_now.state = TournamentState.RUNNING
        self.is_storing_its_end = False
        self.computed = 0
        """How often the standings were computed."""
        self.pauses: list[float] = []
        """What was waited for since time passed last."""
        self._waiting: list[asyncio.Future[None]] = []
        self.arena = Arena()
        """Where its bots play."""
        self.threads = Threads()
        asyncio.get_running_loop().set_default_executor(self.threads)
        self._watches = TournamentWatches(
            cast(Tournaments, self), self.arena.places, clock=lambda: self.threads.now
        )
        self.feeds = self._watches._watched
        """By tournament whose changes are collected."""

    def play(self, games: int) -> None:
        first = self.status_now.progress.games
        for fixture in FIXTURES[first : first + games]:
            self.status_now.standings.expect(fixture)
            self.status_now.add_result(finished(fixture, points=range(4)))

    async def pass_time(self, times: int = 1) -> list[float]:
        """Let all pauses end, or so often; return how long the last ones were."""
        for _ in range(times):
            await settle()
            pauses, waiting = self.pauses, self._waiting
            self.pauses, self._waiting = [], []
            for future in waiting:
                future.set_result(None)
            await settle()
        return pauses

    async def stop(self) -> None:
        """Stop the tournament, and let its watchers see that."""
        self.status_now.state = TournamentState.STOPPED
        await self.pass_time()

    def watch(self, interval: float = 0.0, *, with_incidents: bool = True) -> AsyncGenerator[Update]:
        updates = self._watches.updates(
            1, interval=interval, with_final_ratings=False, with_incidents=with_incidents
        )
        return cast("AsyncGenerator[Update]", updates)

    async def follow(self, **options: Any) -> asyncio.Task[list[Update]]:
        """Let somebody watch who has the first message; return all messages to come."""
        watching = self.watch(**options)
        await anext(watching)
        return asyncio.create_task(rest(watching))

    # What the feeds ask of `Tournaments`:

    async def status(self, tournament_id: int) -> TournamentStatus:
        return self.status_now

    def playing(self, tournament_id: int) -> TournamentStatus | None:
        over = self.status_now.state.over and not self.is_storing_its_end
        return None if over else self.status_now

    async def ended(self, tournament_id: int, seconds: float) -> None:
        self.pauses.append(seconds)
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def snapshot(self, status: TournamentStatus) -> Snapshot:
        self.computed += 1  # once for each computation
        return played(status, [])


async def settle() -> None:
    """Let all that can go on do so, until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def rest(watching: AsyncIterator[Update]) -> list[Update]:
    return [message async for message in watching]


@pytest.fixture
async def watched() -> Watched:
    return Watched()


async def test_watchers_share_one_computation(watched: Watched) -> None:
    """However many there are, standings are computed once in an interval, and messages are made once."""
    watchers = [watched.watch() for _ in range(20)]
    firsts = [await anext(watcher) for watcher in watchers]
    tasks: list[Any] = [asyncio.create_task(anext(watcher)) for watcher in watchers]
    assert watched.computed == 1
    watched.play(8)
    await watched.pass_time(2)
    seconds = await asyncio.gather(*tasks)
    assert watched.computed == 3  # once for each pause
    assert len({id(message) for message in firsts}) == 1
    assert len({id(message) for message in seconds}) == 1
    assert seconds[0].progress.games_finished == 8
    assert seconds[0].tournament.HasField("start_time")


@pytest.mark.parametrize(
    ("interval", "pause"), [(-5.0, 0.1), (0.0, 0.1), (0.05, 0.1), (0.25, 0.25), (60.0, 60.0)]
)
async def test_an_interval_has_a_floor(watched: Watched, interval: float, pause: float) -> None:
    """No watcher gets more than ten messages a second, and the feed is never updated more often."""
    task = await watched.follow(interval=interval)
    watched.play(1)
    assert sorted(await watched.pass_time()) == sorted([pause, min(pause, DEFAULT_INTERVAL_SECONDS)])
    await watched.stop()
    await task


@pytest.mark.parametrize(
    ("intervals", "pause"), [((0.1,), 0.1), ((0.2, 60.0), 0.2), ((60.0,), DEFAULT_INTERVAL_SECONDS)]
)
async def test_a_feed_is_updated_as_often_as_its_watchers_look(
    watched: Watched, intervals: tuple[float, ...], pause: float
) -> None:
    """It is never updated more rarely than by default, for watchers that come later."""
    tasks = [await watched.follow(interval=interval) for interval in intervals]
    assert min(await watched.pass_time(2)) == pause
    await watched.stop()
    await asyncio.gather(*tasks)


async def test_costly_standings_are_computed_less_often(watched: Watched) -> None:
    """They are computed for one twentieth of the time at most; the rest is as new as ever."""
    watched.threads.seconds = 0.5
    task = await watched.follow()
    for watched.threads.now in (10.4, 10.6):
        watched.play(1)
        await watched.pass_time(2)
    await watched.stop()
    early, late, _ = await task
    assert (early.progress.games_finished, len(early.standings)) == (1, 0)
    assert (late.progress.games_finished, len(late.standings)) == (2, 4)
    assert [line.games for line in late.standings] == [2] * 4


async def test_watchers_wait_for_one_computation(watched: Watched) -> None:
    """Those who come while the first standings are computed have none computed for themselves."""
    watched.threads.held = []
    watched.play(4)
    tasks: list[Any] = [asyncio.create_task(anext(watched.watch())) for _ in range(3)]
    await settle()
    assert len(watched.threads.held) == 1
    watched.play(4)
    watched.threads.release()
    first, second, third = await asyncio.gather(*tasks)
    assert first is second is third
    assert [line.games for line in first.standings] == [4] * 4
    assert first.progress.games_finished == 4  # of the same moment


async def test_a_tournament_may_end_while_standings_are_computed(watched: Watched) -> None:
    """The end is sent, with the last standings, and nothing else."""
    watched.threads.held = []
    task = asyncio.create_task(rest(watched.watch()))
    await settle()
    watched.play(4)
    watched.status_now.state = TournamentState.STOPPED
    watched.threads.release()
    await watched.pass_time()
    (last,) = await task
    assert last.progress.state == pb.TOURNAMENT_STATE_STOPPED
    assert [line.games for line in last.standings] == [4] * 4


async def test_a_watcher_may_go_while_standings_are_computed(watched: Watched) -> None:
    """Nothing is computed any more when they are there, and some time later the feed ends.

    Then nobody listens to the tournament's matches.
    """
    watched.threads.held = []
    task = asyncio.create_task(rest(watched.watch()))
    await settle()
    assert list(watched.feeds) == [1]
    task.cancel()
    await settle()
    watched.threads.release()
    computed = watched.computed
    await watched.pass_time()
    watched.threads.now += LINGER_SECONDS + 1
    await watched.pass_time()
    assert watched.computed == computed
    assert not watched.feeds


async def test_a_watcher_gets_only_what_has_changed(watched: Watched) -> None:
    """Nothing is sent while nothing changes; the last message is whole."""
    watching = watched.watch()
    first = await anext(watching)
    assert (len(first.standings), list(first.tournament.config.bots)) == (4, list(BOTS))
    task = asyncio.create_task(rest(watching))
    await watched.pass_time(3)
    watched.status_now.games_voided = 1
    await watched.pass_time(3)
    await watched.stop()
    voided, last = await task
    assert voided.progress.games_voided == 1
    assert not voided.standings
    assert not voided.HasField("tournament")
    assert len(last.standings) == 4
    assert last.tournament.config.seed == CONFIG.seed


async def test_the_end_is_sent_once(watched: Watched) -> None:
    """It is sent as the last message, when it is stored."""
    task = await watched.follow()
    await watched.pass_time()
    watched.status_now.state, watched.is_storing_its_end = TournamentState.FINISHED, True
    await watched.pass_time(3)
    watched.is_storing_its_end = False
    await watched.pass_time()
    (last,) = await task
    assert last.progress.state == pb.TOURNAMENT_STATE_FINISHED


async def test_nothing_is_computed_without_watchers(watched: Watched) -> None:
    """A watcher that comes later begins with what is there then, not with what was."""
    async with aclosing(watched.watch()) as watching:
        await anext(watching)
    await watched.pass_time()
    computed = watched.computed
    watched.play(4)
    await watched.pass_time()
    assert watched.computed == computed
    assert (await anext(watched.watch())).progress.games_finished == 4


async def test_a_computation_that_fails_ends_its_watchers(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All watchers get the failure instead of waiting for ever, and the next one begins again."""
    tasks = [await watched.follow() for _ in range(3)]

    def fail(status: TournamentStatus) -> Snapshot:
        raise ValueError("broken")

    monkeypatch.setattr(watched, "snapshot", fail)
    await watched.pass_time(2)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [BroadcastError] * 3
    monkeypatch.undo()
    assert (await anext(watched.watch())).progress.games_finished == 0


async def test_watchers_see_who_is_waited_for(watched: Watched) -> None:
    """A bot whose decisions have waited for a second is named, with the time, until it answers."""
    arena = watched.arena
    ann = arena.connect("ann")
    await ann.read()
    watching = watched.watch()
    connected = [(entry.bot, entry.connected) for entry in (await anext(watching)).activity]
    assert connected == [(bot, bot == "ann") for bot in BOTS]
    task = asyncio.create_task(rest(watching))
    for _ in range(2):
        await arena.match("ann", "bob", tournament_id=1)
    await ann.until(lambda received: len(received.decisions) == 2)
    asked_at = arena.now
    for seconds in (0.9, 0.2, 0.1, 0.4):
        arena.wait(seconds)
        await watched.pass_time()
    await ann.answer(await ann.decision())
    await watched.pass_time()
    await watched.stop()
    shown = [entry for message in await task for entry in message.activity if entry.bot == "ann"]
    waiting, answered = shown
    assert (waiting.has_answered, waiting.games_waiting, waiting.strikes) == (False, 2, 0)
    assert waiting.waiting_since.ToNanoseconds() == pytest.approx(asked_at * 1e9, abs=1e6)
    assert (answered.has_answered, answered.games_waiting) == (True, 1)


async def test_watchers_see_what_goes_wrong(watched: Watched) -> None:
    """Strikes and forfeits in the tournament's matches are sent once, also those just before the end."""
    arena = watched.arena
    ann = arena.connect("ann")
    await arena.match("ann", "bob", tournament_id=1)  # before anybody watches
    watching = watched.watch()
    assert not (await anext(watching)).incidents
    task = asyncio.create_task(rest(watching))
    match = await arena.match("ann", "bob", tournament_id=1)
    await arena.match("ann", "bob", tournament_id=2)
    await ann.until(lambda received: len(received.decisions) == 3)
    await ann.say(answers=[{"match_id": 2, "decision_id": 1, "move": 77}])
    await watched.pass_time()
    match.forfeit(0, Ending.CRASHED, arena.now, reason="ValueError (ann.py:7)")
    await watched.stop()
    messages = await task
    assert [len(message.incidents) for message in messages] == [2, 1]
    absent, illegal, crashed = [entry for message in messages for entry in message.incidents]
    assert (absent.bot, absent.match_id, absent.round, absent.incident.decision_id) == ("bob", 2, 0, 0)
    assert (illegal.bot, illegal.match_id, illegal.round) == ("ann", 2, 1)
    assert illegal.incident.kind == match_pb2.INCIDENT_KIND_ILLEGAL_ANSWER
    assert illegal.time.ToNanoseconds() == arena.now * 1e9
    assert crashed.incident.text == "the seat is forfeited: crashed: ValueError (ann.py:7)"


async def test_what_goes_wrong_while_the_first_message_is_made_is_sent(watched: Watched) -> None:
    """It comes after the watcher, so the watcher gets it, with the first message at the earliest."""
    watched.threads.held = []
    task = asyncio.create_task(rest(watched.watch()))
    await settle()
    await watched.arena.match("ann", "bob", tournament_id=1)
    watched.threads.release()
    await settle()
    await watched.stop()
    assert sum(len(message.incidents) for message in await task) == 2


async def test_a_flood_of_incidents_is_cut(watched: Watched) -> None:
    """However many bots fail at once, a message and the server's memory hold the latest ones only.

    A bot that watches gets none: it learns nothing of what happens in other games on its deal.
    """
    task, of_a_bot = await watched.follow(), await watched.follow(with_incidents=False)
    for _ in range(MAX_INCIDENTS):
        await watched.arena.match("ann", "bob", tournament_id=1)
    watched.play(1)
    await watched.pass_time()
    await watched.stop()
    message, last = await task
    assert len(message.incidents) == MAX_INCIDENTS
    assert message.incidents[-1].match_id == MAX_INCIDENTS
    assert not last.incidents
    assert [len(each.incidents) for each in await of_a_bot] == [0, 0]
