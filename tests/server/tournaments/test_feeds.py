"""The feed of a tournament that is watched: how often it is computed, and by whom it is shared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
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
from happycity_tournament.schedule import schedule_of

CONFIG = TournamentConfig(bots=BOTS, game=Config(players=4), format=RandomRounds(rounds=30), seed=1)
FIXTURES = fixtures_of(CONFIG)


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


class OneTournament:
    """A tournament that is played, whose time passes when the test says so."""

    def __init__(self) -> None:
        self.status_now = TournamentStatus(1, CONFIG, schedule_of(CONFIG), created_at=0.0)
        self.status_now.state = TournamentState.RUNNING
        self.is_storing_its_end = False
        self.computed = 0
        """How often the standings were computed."""
        self.pauses: list[float] = []
        """What was waited for since time passed last."""
        self._waiting: list[asyncio.Future[None]] = []

    def play(self, games: int) -> None:
        """Finish some more games."""
        first = self.status_now.progress.games
        for fixture in FIXTURES[first : first + games]:
            self.status_now.standings.expect(fixture)
            self.status_now.add_result(finished(fixture, points=range(4)))

    async def pass_time(self) -> list[float]:
        """Let all pauses end; return how long they were."""
        await settle()
        pauses, waiting = self.pauses, self._waiting
        self.pauses, self._waiting = [], []
        for future in waiting:
            future.set_result(None)
        await settle()
        return pauses

    # What the feeds ask of `Tournaments` -----------------------------------------------------------------

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

    def not_connected(self, config: TournamentConfig) -> list[str]:
        self.computed += 1  # once for each computation
        return []


async def settle() -> None:
    """Let all that can go on do so, until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def tournament() -> OneTournament:
    """Return a tournament of which no game is finished."""
    return OneTournament()


@pytest.fixture
def arena() -> Arena:
    """Return the arena in which the bots of the tournament play."""
    return Arena()


@pytest.fixture
async def threads() -> Threads:
    """Return the threads in which standings are computed."""
    threads = Threads()
    asyncio.get_running_loop().set_default_executor(threads)
    return threads


@pytest.fixture
def feeds(tournament: OneTournament, arena: Arena, threads: Threads) -> TournamentWatches:
    """Return the feeds of the tournament."""
    return TournamentWatches(cast(Tournaments, tournament), arena.places, clock=lambda: threads.now)


def watch(
    feeds: TournamentWatches, interval: float = 0.0, *, with_incidents: bool = True
) -> AsyncIterator[pb.WatchTournamentResponse]:
    """Return the messages of a watcher."""
    return feeds.updates(1, interval=interval, with_final_ratings=False, with_incidents=with_incidents)


async def rest(watching: AsyncIterator[pb.WatchTournamentResponse]) -> list[pb.WatchTournamentResponse]:
    """Return all messages to come."""
    return [message async for message in watching]


async def test_watchers_share_one_computation(tournament: OneTournament, feeds: TournamentWatches) -> None:
    """However many there are, standings are computed once in an interval, and messages are made once."""
    watchers = [watch(feeds) for _ in range(20)]
    firsts = [await anext(watcher) for watcher in watchers]
    tasks: list[Any] = [asyncio.create_task(anext(watcher)) for watcher in watchers]  # type: ignore[arg-type]
    assert tournament.computed == 1
    tournament.play(8)
    await tournament.pass_time()
    await tournament.pass_time()
    seconds = await asyncio.gather(*tasks)
    assert tournament.computed == 3  # once for each pause
    assert len({id(message) for message in firsts}) == 1
    assert len({id(message) for message in seconds}) == 1
    assert seconds[0].progress.games_finished == 8
    assert seconds[0].tournament.HasField("start_time")


@pytest.mark.parametrize(
    ("interval", "pause"), [(-5.0, 0.1), (0.0, 0.1), (0.05, 0.1), (0.25, 0.25), (60.0, 60.0)]
)
async def test_an_interval_has_a_floor(
    tournament: OneTournament, feeds: TournamentWatches, interval: float, pause: float
) -> None:
    """No watcher gets more than ten messages a second, and the feed is never updated more often."""
    watching = watch(feeds, interval)
    await anext(watching)
    tournament.play(1)
    task = asyncio.create_task(rest(watching))
    assert sorted(await tournament.pass_time()) == sorted([pause, min(pause, DEFAULT_INTERVAL_SECONDS)])
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    await task


@pytest.mark.parametrize(
    ("intervals", "pause"), [((0.1,), 0.1), ((0.2, 60.0), 0.2), ((60.0,), DEFAULT_INTERVAL_SECONDS)]
)
async def test_a_feed_is_updated_as_often_as_its_watchers_look(
    tournament: OneTournament, feeds: TournamentWatches, intervals: tuple[float, ...], pause: float
) -> None:
    """It is never updated more rarely than by default, for watchers that come later."""
    watching = [watch(feeds, interval) for interval in intervals]
    for each in watching:
        await anext(each)
    tasks = [asyncio.create_task(rest(each)) for each in watching]
    pauses = [await tournament.pass_time() for _ in range(2)]
    assert min(pauses[1]) == pause
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    await asyncio.gather(*tasks)


async def test_costly_standings_are_computed_less_often(
    tournament: OneTournament, feeds: TournamentWatches, threads: Threads
) -> None:
    """They are computed for one twentieth of the time at most; the rest is as new as ever."""
    threads.seconds = 0.5
    watching = watch(feeds)
    await anext(watching)
    task = asyncio.create_task(rest(watching))
    for threads.now in (10.4, 10.6):
        tournament.play(1)
        for _ in range(2):
            await tournament.pass_time()
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    early, late, _ = await task
    assert (early.progress.games_finished, len(early.standings)) == (1, 0)
    assert (late.progress.games_finished, len(late.standings)) == (2, 4)
    assert [line.games for line in late.standings] == [2] * 4


async def test_watchers_wait_for_one_computation(
    tournament: OneTournament, feeds: TournamentWatches, threads: Threads
) -> None:
    """Those who come while the first standings are computed have none computed for themselves."""
    threads.held = []
    tournament.play(4)
    tasks: list[Any] = [asyncio.create_task(anext(watch(feeds))) for _ in range(3)]  # type: ignore[arg-type]
    await settle()
    assert len(threads.held) == 1
    tournament.play(4)
    threads.release()
    first, second, third = await asyncio.gather(*tasks)
    assert first is second is third
    assert [line.games for line in first.standings] == [4] * 4
    assert first.progress.games_finished == 4  # of the same moment


async def test_a_tournament_may_end_while_standings_are_computed(
    tournament: OneTournament, feeds: TournamentWatches, threads: Threads
) -> None:
    """The end is sent, with the last standings, and nothing else."""
    threads.held = []
    task = asyncio.create_task(rest(watch(feeds)))
    await settle()
    tournament.play(4)
    tournament.status_now.state = TournamentState.STOPPED
    threads.release()
    await tournament.pass_time()
    (last,) = await task
    assert last.progress.state == pb.TOURNAMENT_STATE_STOPPED
    assert [line.games for line in last.standings] == [4] * 4


async def test_a_watcher_may_go_while_standings_are_computed(
    tournament: OneTournament, feeds: TournamentWatches, arena: Arena, threads: Threads
) -> None:
    """Nothing is computed any more when they are there, and some time later the feed ends."""
    threads.held = []
    task = asyncio.create_task(rest(watch(feeds)))
    await settle()
    task.cancel()
    await settle()
    threads.release()
    computed = tournament.computed
    await tournament.pass_time()
    threads.now += LINGER_SECONDS + 1
    await tournament.pass_time()
    assert tournament.computed == computed
    assert not arena.places.incident_listeners


async def test_a_watcher_gets_only_what_has_changed(
    tournament: OneTournament, feeds: TournamentWatches
) -> None:
    """Nothing is sent while nothing changes; the last message is whole."""
    watching = watch(feeds)
    first = await anext(watching)
    assert (len(first.standings), list(first.tournament.config.bots)) == (4, list(BOTS))
    task = asyncio.create_task(rest(watching))
    for _ in range(3):
        await tournament.pass_time()
    tournament.status_now.games_voided = 1
    for _ in range(3):
        await tournament.pass_time()
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    voided, last = await task
    assert voided.progress.games_voided == 1
    assert not voided.standings
    assert not voided.HasField("tournament")
    assert len(last.standings) == 4
    assert last.tournament.config.seed == CONFIG.seed


async def test_the_end_is_sent_once(tournament: OneTournament, feeds: TournamentWatches) -> None:
    """It is sent as the last message, when it is stored."""
    watching = watch(feeds)
    await anext(watching)
    task = asyncio.create_task(rest(watching))
    await tournament.pass_time()
    tournament.status_now.state, tournament.is_storing_its_end = TournamentState.FINISHED, True
    for _ in range(3):
        await tournament.pass_time()
    tournament.is_storing_its_end = False
    await tournament.pass_time()
    (last,) = await task
    assert last.progress.state == pb.TOURNAMENT_STATE_FINISHED


async def test_nothing_is_computed_without_watchers(
    tournament: OneTournament, feeds: TournamentWatches
) -> None:
    """A watcher that comes later begins with what is there then, not with what was."""
    async with aclosing(watch(feeds)) as watching:  # type: ignore[type-var]  # it is a generator
        await anext(watching)
    await tournament.pass_time()
    computed = tournament.computed
    tournament.play(4)
    await tournament.pass_time()
    assert tournament.computed == computed
    assert (await anext(watch(feeds))).progress.games_finished == 4


async def test_a_computation_that_fails_ends_its_watchers(
    tournament: OneTournament, feeds: TournamentWatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All watchers get the failure instead of waiting for ever, and the next one begins again."""
    watching = [watch(feeds) for _ in range(3)]
    for each in watching:
        await anext(each)

    def fail(config: TournamentConfig) -> list[str]:
        raise ValueError("broken")

    monkeypatch.setattr(tournament, "not_connected", fail)
    tasks = [asyncio.create_task(rest(each)) for each in watching]
    await tournament.pass_time()
    await tournament.pass_time()
    async with asyncio.timeout(30):
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [BroadcastError] * 3
    monkeypatch.undo()
    assert (await anext(watch(feeds))).progress.games_finished == 0


# What the bots do ----------------------------------------------------------------------------------------


def activity_of(messages: list[pb.WatchTournamentResponse], bot: str) -> list[pb.BotActivity]:
    """Return what messages say of a bot."""
    return [entry for message in messages for entry in message.activity if entry.bot == bot]


async def test_watchers_see_who_is_waited_for(
    tournament: OneTournament, feeds: TournamentWatches, arena: Arena
) -> None:
    """A bot whose decisions have waited for a second is named, with the time, until it answers."""
    ann = arena.connect("ann")
    await ann.read()
    watching = watch(feeds)
    first = await anext(watching)
    assert list(first.activity) == [
        pb.BotActivity(bot="ann", connected=True),
        *(pb.BotActivity(bot=bot) for bot in BOTS[1:]),
    ]
    task = asyncio.create_task(rest(watching))
    for _ in range(2):
        await arena.match("ann", "bob", tournament_id=1)
    await ann.until(lambda received: len(received.decisions) == 2)
    asked_at = arena.now
    for seconds in (0.9, 0.2, 0.1, 0.4):
        arena.wait(seconds)
        await tournament.pass_time()
    await ann.answer(await ann.decision())
    await tournament.pass_time()
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    waiting, answered = activity_of(await task, "ann")
    assert (waiting.has_answered, waiting.games_waiting, waiting.strikes) == (False, 2, 0)
    assert waiting.waiting_since.ToNanoseconds() == pytest.approx(asked_at * 1e9, abs=1e6)
    assert (answered.has_answered, answered.games_waiting) == (True, 1)


async def test_watchers_see_what_goes_wrong(
    tournament: OneTournament, feeds: TournamentWatches, arena: Arena
) -> None:
    """Strikes and forfeits in the tournament's matches are sent once, also those just before the end."""
    ann = arena.connect("ann")
    await arena.match("ann", "bob", tournament_id=1)  # before anybody watches
    watching = watch(feeds)
    assert not (await anext(watching)).incidents
    task = asyncio.create_task(rest(watching))
    match = await arena.match("ann", "bob", tournament_id=1)
    await arena.match("ann", "bob", tournament_id=2)
    await ann.until(lambda received: len(received.decisions) == 3)
    await ann.say(answers=[{"match_id": 2, "decision_id": 1, "move": 77}])
    await tournament.pass_time()
    match.forfeit(0, Ending.CRASHED, arena.now, reason="ValueError (ann.py:7)")
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    messages = await task
    assert [len(message.incidents) for message in messages] == [2, 1]
    absent, illegal, crashed = [entry for message in messages for entry in message.incidents]
    assert (absent.bot, absent.match_id, absent.round, absent.incident.decision_id) == ("bob", 2, 0, 0)
    assert (illegal.bot, illegal.match_id, illegal.round) == ("ann", 2, 1)
    assert illegal.incident.kind == match_pb2.INCIDENT_KIND_ILLEGAL_ANSWER
    assert illegal.time.ToNanoseconds() == arena.now * 1e9
    assert crashed.incident.text == "the seat is forfeited: crashed: ValueError (ann.py:7)"


async def test_some_watchers_see_no_incidents(
    tournament: OneTournament, feeds: TournamentWatches, arena: Arena
) -> None:
    """A bot that watches learns nothing of what happens in other games on its deal."""
    watching = watch(feeds, with_incidents=False)
    await anext(watching)
    task = asyncio.create_task(rest(watching))
    await arena.match("ann", "bob", tournament_id=1)
    tournament.play(1)
    await tournament.pass_time()
    await arena.match("ann", "bob", tournament_id=1)
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    messages = await task
    assert len(messages) == 2
    assert not any(message.incidents for message in messages)


async def test_a_flood_of_incidents_is_cut(
    tournament: OneTournament, feeds: TournamentWatches, arena: Arena
) -> None:
    """However many bots fail at once, a message and the server's memory hold the latest ones only."""
    watching = watch(feeds)
    await anext(watching)
    task = asyncio.create_task(rest(watching))
    for _ in range(MAX_INCIDENTS):
        await arena.match("ann", "bob", tournament_id=1)
    tournament.play(1)
    await tournament.pass_time()
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    message, last = await task
    assert len(message.incidents) == MAX_INCIDENTS
    assert message.incidents[-1].match_id == MAX_INCIDENTS
    assert not last.incidents


async def test_nobody_listens_to_matches_that_nobody_watches(
    tournament: OneTournament, feeds: TournamentWatches, arena: Arena, threads: Threads
) -> None:
    """Some time after the last watcher, the listener of the tournament's matches goes."""
    async with aclosing(watch(feeds)) as watching:  # type: ignore[type-var]  # it is a generator
        await anext(watching)
        assert list(arena.places.incident_listeners) == [1]
    threads.now += LINGER_SECONDS + 1
    await tournament.pass_time()
    assert not arena.places.incident_listeners
