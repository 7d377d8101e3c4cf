"""Tournaments on a made-up host: which games are played, again or not at all, and how it ends."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from happycity import Config
from happycity.terms import FailurePolicy
from happycity_tournament.archive import Archive
from happycity_tournament.config import TournamentConfig
from happycity_tournament.course import Course, ScheduleChangedError
from happycity_tournament.results import Fixture, GameResult, Position, VoidReason
from happycity_tournament.runner import MAX_ATTEMPTS, TournamentRun
from happycity_tournament.schedule import fixtures
from happycity_tournament.standings import Standing
from happycity_tournament.status import TournamentState, TournamentStatus, load_status, load_unfinished
from happycity_tournament.store import Store, StoredGame, StoreError

BOTS = ("ann", "bob", "cem", "dee", "eva")
CONFIG = TournamentConfig(bots=BOTS, game=Config(players=2), rounds=6, seed=1, concurrency=4)
SCHEDULE = list(fixtures(bots=BOTS, seats=2, rounds=6, seed=1))

Fault = Callable[[Fixture, int], VoidReason | None]


class Host:
    """Plays games whose results follow from their fixtures alone; some may be voided.

    Args:
        archive: where the games are stored.
        fault: tells for a game and the number of its attempt (from 1) why it is voided, if it is.
        bots: those that are there.
    """

    def __init__(
        self, archive: Archive, *, fault: Fault = lambda *_: None, bots: Sequence[str] = BOTS
    ) -> None:
        self.attempts: Counter[Position] = Counter()
        self.finished: list[Position] = []
        self.disqualified: dict[Position, frozenset[str]] = {}
        self.told: list[str] = []
        self.waits: list[tuple[tuple[str, ...], float]] = []
        self.after_game: Callable[[Position], None] = lambda _: None
        self.arrival = asyncio.Event()
        self._archive = archive
        self._fault = fault
        self._bots = bots

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        self.waits.append((tuple(bots), seconds))
        return [bot for bot in bots if bot not in self._bots]

    async def wait_for_any(self, bots: Sequence[str]) -> None:
        await self.arrival.wait()

    async def play(self, fixture: Fixture, status: TournamentStatus) -> StoredGame | VoidReason:
        disqualified = frozenset(status.standings.disqualified)
        self.disqualified.setdefault(fixture.position, disqualified)
        self.attempts[fixture.position] += 1
        for _ in range(random.Random(repr(fixture)).randrange(5)):
            await asyncio.sleep(0)  # lets others go first
        if (reason := self._fault(fixture, self.attempts[fixture.position])) is not None:
            return reason
        game = StoredGame.of(
            play(fixture, disqualified),
            id=1000 * status.tournament_id + SCHEDULE.index(fixture),
            tournament_id=status.tournament_id,
            finished_at=100.0,
            record=None,
        )
        await self._archive.save(game)
        self.finished.append(fixture.position)
        self.after_game(fixture.position)
        return game

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        assert f"from tournament {tournament_id}: more than 40% of 6 or more games" in text
        self.told.append(bot)


def play(fixture: Fixture, disqualified: frozenset[str] = frozenset()) -> GameResult:
    """Make a result; eva forfeits every second deal."""
    points = tuple(random.Random(f"{fixture}{bot}").randrange(50) for bot in fixture.bots)

    def ending(bot: str) -> str:
        if bot in disqualified:
            return "forfeit:disqualified"
        return "forfeit:timeout" if bot == "eva" and fixture.round % 2 else "finished"

    return GameResult(
        fixture=fixture,
        points=points,
        coins=(0, 0),
        places=tuple(1 + sum(other > own for other in points) for own in points),
        endings=tuple(map(ending, fixture.bots)),
        decisions=30,
        seconds=0.5,
    )


@pytest.fixture
async def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Archive]:
    monkeypatch.setattr("happycity_tournament.archive.GATHER_SECONDS", 0.0)
    with Store(f"sqlite:///{tmp_path}/games.sqlite") as store:
        async with Archive(store) as opened:
            yield opened


def begin(archive: Archive, host: Host, config: TournamentConfig = CONFIG) -> TournamentRun:
    """Set up a new tournament."""
    tournament_id = archive.store.create_tournament(config.json(), 0.0)
    status = TournamentStatus.new(tournament_id, config, created_at=0.0)
    return TournamentRun(status, host=host, archive=archive)


def go_on(archive: Archive, host: Host, tournament_id: int) -> TournamentRun:
    """Take up a tournament that was broken off, as a server does that starts."""
    unfinished = load_unfinished(archive.store, tournament_id)
    return TournamentRun(unfinished.status, host=host, archive=archive, course=unfinished.course)


async def undisturbed(archive: Archive, config: TournamentConfig = CONFIG) -> list[Standing]:
    """Return the standings of a tournament in which nothing goes wrong."""
    run = begin(archive, Host(archive), config)
    await run.run()
    return run.status.standings.lines()


def state_of(archive: Archive, tournament_id: int) -> str:
    stored = archive.store.tournament(tournament_id)
    assert stored is not None
    return stored.state


async def test_every_game_of_the_schedule_is_played_once(archive: Archive) -> None:
    """A tournament that nothing disturbs plays its schedule, and the store tells the same as its run."""
    host = Host(archive)
    run = begin(archive, host)
    await run.run()
    status = run.status
    assert host.attempts == dict.fromkeys([fixture.position for fixture in SCHEDULE], 1)
    assert (status.state, status.progress.games) == (TournamentState.FINISHED, len(SCHEDULE))
    loaded = load_status(archive.store, status.tournament_id)
    assert loaded is not None
    assert (loaded.state, loaded.progress) == (status.state, status.progress)
    assert loaded.standings.lines() == status.standings.lines()
    assert host.waits == [(BOTS, CONFIG.time.connect_seconds)]


# Voided games --------------------------------------------------------------------------------------------


async def test_a_voided_game_is_played_again(archive: Archive) -> None:
    """The same fixture is played until it counts, and the end is as if nothing had happened."""

    def fault(fixture: Fixture, attempt: int) -> VoidReason | None:
        return VoidReason.SERVER_ERROR if fixture.table == 1 and attempt < MAX_ATTEMPTS else None

    host = Host(archive, fault=fault)
    run = begin(archive, host)
    await run.run()
    voided = sum(fixture.table == 1 for fixture in SCHEDULE) * (MAX_ATTEMPTS - 1)
    assert run.status.state is TournamentState.FINISHED
    assert run.status.games_voided == voided
    assert run.status.standings.lines() == await undisturbed(archive)
    loaded = load_status(archive.store, run.status.tournament_id)
    assert loaded is not None
    assert loaded.games_voided == voided


async def test_a_game_that_is_always_voided_is_given_up(archive: Archive) -> None:
    """After the last attempt the others go on; the tournament ends incomplete and names the game."""
    bad = SCHEDULE[5]

    def fault(fixture: Fixture, _: int) -> VoidReason | None:
        return VoidReason.SERVER_ERROR if fixture == bad else None

    host = Host(archive, fault=fault)
    run = begin(archive, host)
    await run.run()
    status = run.status
    assert host.attempts[bad.position] == MAX_ATTEMPTS
    assert (status.state, status.progress.games) == (TournamentState.STOPPED, len(SCHEDULE) - 1)
    assert status.standings.games == len(SCHEDULE) - 1
    (remark,) = status.remarks
    assert remark.startswith("round 2, table 0, rotation 1 could not be played")
    loaded = load_status(archive.store, status.tournament_id)
    assert loaded is not None
    assert (loaded.state, loaded.remarks) == (TournamentState.STOPPED, [remark])


# Ends ----------------------------------------------------------------------------------------------------


async def test_stop_is_for_good_from_its_first_moment(archive: Archive) -> None:
    """Running games are finished and count; the store knows at once that nobody is to go on."""
    host = Host(archive)
    run = begin(archive, host)
    stops: list[asyncio.Task[None]] = []

    def stop(_: Position) -> None:
        if not stops:
            stops.append(asyncio.create_task(run.stop()))

    host.after_game = stop
    await run.run()
    await stops[0]
    assert run.status.state is TournamentState.STOPPED
    assert 1 <= run.status.progress.games <= CONFIG.concurrency + 1
    assert state_of(archive, run.status.tournament_id) == "stopped"

    waiting = begin(archive, Host(archive))
    await waiting.stop()
    assert state_of(archive, waiting.status.tournament_id) == "stopped"
    await waiting.run()
    assert (waiting.status.state, waiting.status.progress.games) == (TournamentState.STOPPED, 0)


async def test_a_stopped_tournament_is_not_interrupted(archive: Archive) -> None:
    """A server that stops afterwards changes nothing."""
    run = begin(archive, Host(archive))
    await run.stop()
    run.interrupt()
    await run.run()
    assert state_of(archive, run.status.tournament_id) == "stopped"


@pytest.mark.parametrize("shutdown", [True, False])
async def test_an_interrupted_tournament_is_gone_on_with(archive: Archive, shutdown: bool) -> None:  # noqa: FBT001
    """What is missing is played, nothing twice, and the end is that of an undisturbed tournament."""
    first = Host(
        archive, fault=lambda fixture, _: VoidReason.SHUTDOWN if shutdown and fixture.round > 3 else None
    )
    run = begin(archive, first)
    if not shutdown:
        first.after_game = lambda _: run.interrupt()
    await run.run()
    tournament_id, before = run.status.tournament_id, run.status.progress.games
    assert run.status.state is TournamentState.INTERRUPTED
    assert run.status.games_voided == 0
    assert 0 < before < len(SCHEDULE)
    assert state_of(archive, tournament_id) == "interrupted"

    second = Host(archive)
    second.arrival.set()
    resumed = go_on(archive, second, tournament_id)
    assert resumed.status.progress.games == before
    await resumed.run()
    assert sorted(first.finished + second.finished) == [fixture.position for fixture in SCHEDULE]
    assert resumed.status.state is TournamentState.FINISHED
    assert resumed.status.progress.games == len(SCHEDULE)
    assert resumed.status.standings.lines() == await undisturbed(archive)


async def test_a_resumed_tournament_waits_for_the_first_of_its_bots(archive: Archive) -> None:
    """As long as nobody is there nothing is forfeited; a stop ends the waiting."""
    host = Host(archive)
    host.after_game = lambda _: run.interrupt()
    run = begin(archive, host)
    await run.run()
    second = Host(archive)
    resumed = go_on(archive, second, run.status.tournament_id)
    task = asyncio.create_task(resumed.run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert (resumed.status.state, second.waits, second.attempts) == (TournamentState.WAITING, [], {})
    second.arrival.set()
    await task
    assert resumed.status.state is TournamentState.FINISHED

    third = go_on(archive, Host(archive), begin(archive, Host(archive)).status.tournament_id)
    task = asyncio.create_task(third.run())
    await third.stop()
    await task
    assert third.status.state is TournamentState.STOPPED


async def test_a_tournament_whose_last_game_was_stored_needs_nobody(archive: Archive) -> None:
    """If only the end was not noted any more, it is noted now."""
    run = begin(archive, Host(archive))
    await run.run()
    archive.store.set_state(run.status.tournament_id, "running")
    second = Host(archive)
    resumed = go_on(archive, second, run.status.tournament_id)
    await resumed.run()
    assert (resumed.status.state, second.attempts) == (TournamentState.FINISHED, {})
    assert state_of(archive, run.status.tournament_id) == "finished"


async def test_games_that_were_given_up_are_tried_again_after_an_interruption(archive: Archive) -> None:
    """A server that was mended may have learned to play them; what was said of them is taken back."""

    def fault(fixture: Fixture, _: int) -> VoidReason | None:
        if fixture.round > 3:
            return VoidReason.SHUTDOWN
        return VoidReason.SERVER_ERROR if fixture == SCHEDULE[0] else None

    run = begin(archive, Host(archive, fault=fault))
    await run.run()
    assert (run.status.state, len(run.status.remarks)) == (TournamentState.INTERRUPTED, 1)
    second = Host(archive)
    second.arrival.set()
    resumed = go_on(archive, second, run.status.tournament_id)
    await resumed.run()
    assert (resumed.status.state, resumed.status.remarks) == (TournamentState.FINISHED, [])
    assert resumed.status.games_voided == MAX_ATTEMPTS
    assert resumed.status.standings.lines() == await undisturbed(archive)


async def test_another_schedule_is_not_mixed_in(archive: Archive) -> None:
    """Games that this version would schedule otherwise are noticed; the tournament stays as it is."""
    host = Host(archive)
    host.after_game = lambda _: run.interrupt()
    run = begin(archive, host)
    await run.run()
    unfinished = load_unfinished(archive.store, run.status.tournament_id)
    changed = [
        replace(result, fixture=replace(result.fixture, deal_seed=result.fixture.deal_seed + 1))
        for result in archive.store.results(run.status.tournament_id)
    ]
    course = Course(unfinished.status, changed)
    second = Host(archive)
    second.arrival.set()
    resumed = TournamentRun(unfinished.status, host=second, archive=archive, course=course)
    with pytest.raises(ScheduleChangedError, match="was played by another schedule"):
        await resumed.run()
    assert resumed.status.state is TournamentState.INTERRUPTED
    assert state_of(archive, run.status.tournament_id) == "interrupted"


async def test_a_store_that_fails_interrupts_the_tournament(archive: Archive) -> None:
    """The error is told, and once the store is mended the tournament can be gone on with."""

    def fault(fixture: Fixture, _: int) -> VoidReason | None:
        if fixture.round == 3:
            raise StoreError("sqlite://", "has no room left", for_all=True)
        return None

    run = begin(archive, Host(archive, fault=fault))
    with pytest.raises(StoreError, match="no room left"):
        await run.run()
    assert run.status.state is TournamentState.INTERRUPTED
    second = Host(archive)
    second.arrival.set()
    resumed = go_on(archive, second, run.status.tournament_id)
    await resumed.run()
    assert resumed.status.standings.lines() == await undisturbed(archive)


# Disqualification ----------------------------------------------------------------------------------------

STRICT = replace(
    CONFIG, rounds=40, concurrency=3, policy=FailurePolicy(disqualify_share=0.4, disqualify_games=6)
)


@pytest.fixture
def _long_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = list(fixtures(bots=BOTS, seats=2, rounds=STRICT.rounds, seed=1))
    monkeypatch.setitem(globals(), "SCHEDULE", schedule)


@pytest.mark.usefixtures("_long_schedule")
async def test_a_bot_that_forfeits_too_often_plays_no_more(archive: Archive) -> None:
    """It is told once, and its remaining seats are forfeited before their games begin."""
    host = Host(archive)
    run = begin(archive, host, STRICT)
    await run.run()
    assert host.told == ["eva"]
    assert run.status.standings.disqualified == ("eva",)
    line = next(line for line in run.status.standings.lines() if line.bot == "eva")
    assert set(line.forfeits_by_reason) == {"timeout"}
    assert line.games + line.games_quarantined == sum("eva" in fixture.bots for fixture in SCHEDULE)
    assert line.games_quarantined > line.games
    last = [host.disqualified[fixture.position] for fixture in SCHEDULE[-40:]]
    assert set(last) == {frozenset({"eva"})}
    assert host.disqualified[SCHEDULE[0].position] == frozenset()


@pytest.mark.usefixtures("_long_schedule")
async def test_who_is_disqualified_follows_from_the_store(archive: Archive) -> None:
    """After an interruption a disqualified bot still is, is not told again and not waited for."""
    first = Host(archive)
    run = begin(archive, first, STRICT)
    first.after_game = lambda _: run.interrupt() if first.told else None
    await run.run()
    assert run.status.state is TournamentState.INTERRUPTED
    second = Host(archive)
    second.arrival.set()
    resumed = go_on(archive, second, run.status.tournament_id)
    assert resumed.status.standings.disqualified == ("eva",)
    await resumed.run()
    assert second.told == []
    assert [bots for bots, _ in second.waits] == [BOTS[:4]]
    assert set(second.disqualified.values()) == {frozenset({"eva"})}


@pytest.mark.usefixtures("_long_schedule")
async def test_standings_do_not_ask_what_was_running_at_a_disqualification(archive: Archive) -> None:
    """One game at a time, many at once, or after an interruption: the same games are rated, and no others."""
    one = await undisturbed(archive, replace(STRICT, concurrency=1))
    many = await undisturbed(archive, replace(STRICT, concurrency=20))
    assert one == many
    first = Host(archive)
    run = begin(archive, first, replace(STRICT, concurrency=20))
    first.after_game = lambda _: run.interrupt() if first.told else None
    await run.run()
    second = Host(archive)
    second.arrival.set()
    resumed = go_on(archive, second, run.status.tournament_id)
    await resumed.run()
    assert resumed.status.standings.lines() == one
    assert sum(line.games_quarantined for line in one) == 2 * resumed.status.standings.games_quarantined > 0
