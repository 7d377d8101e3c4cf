"""The feed of a tournament that is watched: how often it is computed, and by whom it is shared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import pytest
from tests.tournament.games import BOTS, finished, fixtures_of

from happycity import Config
from happycity.v1 import tournament_service_pb2 as pb
from happycity_server.tournaments.feeds import MIN_INTERVAL_SECONDS, TournamentFeeds
from happycity_server.tournaments.tournaments import Tournaments
from happycity_tournament.config import RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.running.progress import TournamentStatus
from happycity_tournament.schedule import schedule_of

CONFIG = TournamentConfig(bots=BOTS, game=Config(players=4), format=RandomRounds(rounds=30), seed=1)
FIXTURES = fixtures_of(CONFIG)


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
        for _ in range(20):  # so that all who are about to wait do
            await asyncio.sleep(0)
        pauses, waiting = self.pauses, self._waiting
        self.pauses, self._waiting = [], []
        for future in waiting:
            future.set_result(None)
        for _ in range(20):
            await asyncio.sleep(0)
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


@pytest.fixture
def tournament() -> OneTournament:
    """Return a tournament of which no game is finished."""
    return OneTournament()


@pytest.fixture
def feeds(tournament: OneTournament) -> TournamentFeeds:
    """Return the feeds of the tournament."""
    return TournamentFeeds(cast(Tournaments, tournament))


def watch(feeds: TournamentFeeds, interval: float = 0.0) -> AsyncIterator[pb.WatchTournamentResponse]:
    """Return the messages of a watcher."""
    return feeds.updates(1, interval=interval, with_final_ratings=False)


async def rest(watching: AsyncIterator[pb.WatchTournamentResponse]) -> list[pb.WatchTournamentResponse]:
    """Return all messages to come."""
    return [message async for message in watching]


async def test_watchers_share_one_computation(tournament: OneTournament, feeds: TournamentFeeds) -> None:
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
    tournament: OneTournament, feeds: TournamentFeeds, interval: float, pause: float
) -> None:
    """No watcher gets more than ten messages a second, and the feed is never computed more often."""
    watching = watch(feeds, interval)
    await anext(watching)
    tournament.play(1)
    task = asyncio.create_task(rest(watching))
    assert sorted(await tournament.pass_time()) == sorted([pause, MIN_INTERVAL_SECONDS])
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    await task


async def test_costly_standings_are_computed_less_often(
    tournament: OneTournament, feeds: TournamentFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take one twentieth of the event loop's time at most."""
    times = iter([0.0, 0.0, 10.0, 10.04, 20.0, 20.0])
    monkeypatch.setattr("happycity_server.tournaments.feeds.perf_counter", lambda: next(times))
    watching = watch(feeds, 3600.0)
    await anext(watching)
    task = asyncio.create_task(rest(watching))
    pauses = [await tournament.pass_time() for _ in range(2)]
    assert [min(pause) for pause in pauses] == pytest.approx([MIN_INTERVAL_SECONDS, 0.8])
    tournament.status_now.state = TournamentState.STOPPED
    await tournament.pass_time()
    await task


async def test_a_watcher_gets_only_what_has_changed(
    tournament: OneTournament, feeds: TournamentFeeds
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


async def test_the_end_is_sent_once(tournament: OneTournament, feeds: TournamentFeeds) -> None:
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


async def test_a_feed_ends_with_its_last_watcher(tournament: OneTournament, feeds: TournamentFeeds) -> None:
    """Nothing is computed for nobody; a watcher that comes then begins with what is there."""
    async with aclosing(watch(feeds)) as watching:  # type: ignore[type-var]  # it is a generator
        await anext(watching)
    await tournament.pass_time()
    computed = tournament.computed
    tournament.play(4)
    assert not await tournament.pass_time()
    assert tournament.computed == computed
    assert (await anext(watch(feeds))).progress.games_finished == 4
