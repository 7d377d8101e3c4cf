"""Every format on a made-up host: the same games whatever the concurrency, and after an interruption."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from happycity import Config, ConfigError
from happycity_tournament.archive import Archive
from happycity_tournament.config import TournamentConfig
from happycity_tournament.course import ScheduleChangedError
from happycity_tournament.formats import OPEN, USES, Format, LiveEstimator
from happycity_tournament.results import Fixture, GameResult, Position, VoidReason
from happycity_tournament.roster import Change, RosterError, change_roster, joining, leaving
from happycity_tournament.runner import TournamentRun
from happycity_tournament.schedule import Orders
from happycity_tournament.sprt import SprtTerms, Verdict
from happycity_tournament.status import TournamentState, TournamentStatus, load_status, load_unfinished
from happycity_tournament.store import Store, StoredGame

BOTS = ("ann", "bob", "cem", "dee", "eva", "fay", "gus")
BASE = TournamentConfig(bots=BOTS, game=Config(players=2), rounds=6, seed=1, concurrency=5)
CONFIGS = {
    Format.RANDOM_ROUNDS: BASE,
    Format.ROUND_ROBIN: replace(BASE, format=Format.ROUND_ROBIN, cycles=2),
    Format.SWISS: replace(BASE, format=Format.SWISS),
    Format.GAUNTLET: replace(BASE, format=Format.GAUNTLET, cycles=3, challengers=("cem",)),
    Format.ADAPTIVE: replace(BASE, format=Format.ADAPTIVE, rounds=12, minimum=3, orders=Orders.ALL),
    Format.SPRT: replace(
        BASE,
        format=Format.SPRT,
        bots=("gus", "gus+2", "cem", "cem+2"),
        game=Config(players=4),
        sprt=SprtTerms(elo0=0, elo1=60),
    ),
}

each_format = pytest.mark.parametrize("config", CONFIGS.values(), ids=[one.value for one in CONFIGS])


def play(fixture: Fixture) -> GameResult:
    """Make a result in which chance favours the bots that come late in the alphabet."""
    points = tuple(
        8 * "abcdefghi".index(bot[0]) + random.Random(f"{fixture}{bot}").randrange(60) for bot in fixture.bots
    )
    return GameResult(
        fixture=fixture,
        points=points,
        coins=(0,) * len(points),
        places=tuple(1 + sum(other > own for other in points) for own in points),
        endings=("finished",) * len(points),
        decisions=30,
        seconds=0.5,
    )


def tied(fixture: Fixture) -> GameResult:
    """Make a result that everybody shares."""
    return replace(play(fixture), points=(5,) * len(fixture.bots), places=(1,) * len(fixture.bots))


class Host:
    """Plays games whose results follow from their fixtures alone; short games end first.

    Args:
        archive: where the games are stored.
        result_of: makes a game's result.
        fault: tells why a game is voided, if it is.
    """

    def __init__(
        self,
        archive: Archive,
        *,
        result_of: Callable[[Fixture], GameResult] = play,
        fault: Callable[[Fixture], VoidReason | None] = lambda _: None,
    ) -> None:
        self.finished: list[Position] = []
        self.after_game: Callable[[], None] = lambda: None
        self._archive = archive
        self._result_of = result_of
        self._fault = fault

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        return []

    async def wait_for_any(self, bots: Sequence[str]) -> None:
        pass

    async def play(self, fixture: Fixture, status: TournamentStatus) -> StoredGame | VoidReason:
        for _ in range(random.Random(repr(fixture)).randrange(5)):
            await asyncio.sleep(0)  # lets others go first
        if (reason := self._fault(fixture)) is not None:
            return reason
        game = StoredGame.of(
            self._result_of(fixture),
            id=self._archive.store.next_game_id(),
            tournament_id=status.tournament_id,
            finished_at=100.0,
            record=None,
        )
        await self._archive.save(game)
        self.finished.append(fixture.position)
        self.after_game()
        return game

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        raise AssertionError(text)


@pytest.fixture
async def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Archive]:
    monkeypatch.setattr("happycity_tournament.archive.GATHER_SECONDS", 0.0)
    ids = itertools.count(1)
    monkeypatch.setattr(Store, "next_game_id", lambda _: next(ids))
    with Store(f"sqlite:///{tmp_path}/games.sqlite") as store:
        async with Archive(store) as opened:
            yield opened


def begin(archive: Archive, host: Host, config: TournamentConfig) -> TournamentRun:
    tournament_id = archive.store.create_tournament(config.json(), 0.0)
    status = TournamentStatus.new(tournament_id, config, created_at=0.0)
    return TournamentRun(status, host=host, archive=archive)


def go_on(archive: Archive, host: Host, tournament_id: int) -> TournamentRun:
    unfinished = load_unfinished(archive.store, tournament_id)
    return TournamentRun(unfinished.status, host=host, archive=archive, course=unfinished.course)


async def played(archive: Archive, config: TournamentConfig) -> TournamentStatus:
    """Return a tournament that nothing disturbed."""
    run = begin(archive, Host(archive), config)
    await run.run()
    assert run.status.state is TournamentState.FINISHED
    return run.status


def games_of(archive: Archive, status: TournamentStatus) -> list[Fixture]:
    """Return what was played and counts."""
    games = [result.fixture for result in archive.store.results(status.tournament_id)]
    return [fixture for fixture in games if status.test is None or fixture.round <= status.test.blocks]


def test_every_format_is_tried_and_told_what_it_reads() -> None:
    """The tables of this test and of the formats are complete."""
    assert set(CONFIGS) == set(Format) == set(USES)


@each_format
async def test_concurrency_changes_nothing(archive: Archive, config: TournamentConfig) -> None:
    """One game at a time and many give the same games, standings and verdict."""
    one = await played(archive, replace(config, concurrency=1))
    many = await played(archive, replace(config, concurrency=64))
    assert games_of(archive, one) == games_of(archive, many)
    assert len(games_of(archive, one)) > 20
    assert one.standings.lines() == many.standings.lines()
    assert one.test == many.test
    if one.test is None:
        assert one.progress.games == one.games_total


@each_format
@pytest.mark.parametrize("after", [1, 14, 29])
async def test_an_interruption_changes_nothing(
    archive: Archive, config: TournamentConfig, after: int
) -> None:
    """What is missing is played, nothing twice, and the end is that of an undisturbed tournament."""
    first = Host(archive)
    run = begin(archive, first, config)
    first.after_game = lambda: run.interrupt() if len(first.finished) >= after else None
    await run.run()
    assert run.status.state is TournamentState.INTERRUPTED
    second = Host(archive)
    resumed = go_on(archive, second, run.status.tournament_id)
    await resumed.run()
    assert not set(first.finished) & set(second.finished)
    whole = await played(archive, config)
    assert resumed.status.state is TournamentState.FINISHED
    assert games_of(archive, resumed.status) == games_of(archive, whole)
    assert resumed.status.standings.lines() == whole.standings.lines()
    assert resumed.status.test == whole.test


@each_format
async def test_the_store_tells_the_same(archive: Archive, config: TournamentConfig) -> None:
    """Whoever reads a finished tournament sees the standings and the verdict of the run."""
    status = await played(archive, config)
    loaded = load_status(archive.store, status.tournament_id)
    assert loaded is not None
    assert loaded.config == config
    assert loaded.standings.lines() == status.standings.lines()
    assert (loaded.test, loaded.state) == (status.test, status.state)


@pytest.mark.parametrize("kind", [Format.SWISS, Format.ADAPTIVE])
async def test_other_results_are_another_schedule(archive: Archive, kind: Format) -> None:
    """Where stored games follow from other results than those stored, nothing is mixed in."""
    first = Host(archive)
    run = begin(archive, first, CONFIGS[kind])
    stop_after = run.status.games_total - 2
    first.after_game = lambda: run.interrupt() if len(first.finished) >= stop_after else None
    await run.run()
    results = archive.store.results

    def reversed_results(tournament_id: int) -> list[GameResult]:
        return [replace(result, places=result.places[::-1]) for result in results(tournament_id)]

    archive.store.results = reversed_results  # type: ignore[method-assign]  # as if another version had played
    resumed = go_on(archive, Host(archive), run.status.tournament_id)
    with pytest.raises(ScheduleChangedError, match="was played by another schedule"):
        await resumed.run()


async def test_a_game_that_later_rounds_do_without_is_not_played_late(archive: Archive) -> None:
    """A Swiss goes on without a game that was given up, also after an interruption, and says so."""
    config = CONFIGS[Format.SWISS]
    whole = begin(archive, Host(archive, fault=_voided), config)
    await whole.run()
    first = Host(archive, fault=_voided)
    run = begin(archive, first, config)
    first.after_game = lambda: run.interrupt() if len(first.finished) >= 20 else None
    await run.run()
    resumed = go_on(archive, Host(archive), run.status.tournament_id)
    await resumed.run()
    assert resumed.status.state is whole.status.state is TournamentState.STOPPED
    assert resumed.status.standings.lines() == whole.status.standings.lines()
    (remark,) = resumed.status.remarks
    assert remark.startswith(
        "round 2, table 0, rotation 0 could not be played; as later games depend on that"
    )


def _voided(fixture: Fixture) -> VoidReason | None:
    return VoidReason.SERVER_ERROR if fixture.position == (2, 0, 0) else None


# The test ------------------------------------------------------------------------------------------------


async def test_a_test_ends_with_its_verdict(archive: Archive) -> None:
    """It is finished long before its maximum, and games beyond the verdict count nowhere."""
    status = await played(archive, replace(CONFIGS[Format.SPRT], concurrency=64))
    assert status.test is not None
    assert status.test.verdict is Verdict.H1
    blocks = status.test.blocks
    assert status.standings.games == 2 * blocks < status.progress.games < status.games_total


async def test_bots_that_always_share_places_have_no_difference(archive: Archive) -> None:
    """Equal bots end a test, without a verdict for either side."""
    run = begin(archive, Host(archive, result_of=tied), CONFIGS[Format.SPRT])
    await run.run()
    assert run.status.test is not None
    assert run.status.test.verdict is Verdict.NO_DIFFERENCE
    assert run.status.state is TournamentState.FINISHED


async def test_a_test_that_cannot_decide_is_finished(archive: Archive) -> None:
    """The maximum of blocks is an end like any other; its verdict says that it is none."""
    config = replace(CONFIGS[Format.SPRT], sprt=SprtTerms(elo0=0, elo1=1, max_blocks=12))
    status = await played(archive, config)
    assert status.test is not None
    assert status.test.verdict is Verdict.UNDECIDED
    assert status.progress.games == status.games_total == 24


async def test_a_test_does_without_a_block_that_was_given_up(archive: Archive) -> None:
    """A verdict is a verdict; only a test that lacks blocks for one is incomplete."""
    run = begin(archive, Host(archive, fault=_voided), CONFIGS[Format.SPRT])
    await run.run()
    assert run.status.state is TournamentState.FINISHED
    short = replace(CONFIGS[Format.SPRT], sprt=SprtTerms(elo0=0, elo1=1, max_blocks=12))
    run = begin(archive, Host(archive, fault=_voided), short)
    await run.run()
    assert run.status.state is TournamentState.STOPPED


# Late and leaving bots -----------------------------------------------------------------------------------

each_open_format = pytest.mark.parametrize("kind", sorted(OPEN, key=str))


async def disturbed(
    archive: Archive, config: TournamentConfig, *changes: tuple[int, Change]
) -> tuple[TournamentRun, list[BaseException | None]]:
    """Play a tournament in which each change is asked for after so many games; return what became of them."""
    host = Host(archive)
    run = begin(archive, host, config)
    tasks: list[asyncio.Task[None]] = []
    changing = asyncio.Lock()  # one at a time, as on a server

    async def ask(change: Change) -> None:
        async with changing:
            await run.change_roster(change)

    def after_game() -> None:
        for games, change in changes:
            if games == len(host.finished):
                tasks.append(asyncio.create_task(ask(change)))

    host.after_game = after_game
    await run.run()
    return run, [*await asyncio.gather(*tasks, return_exceptions=True)]


@each_open_format
@pytest.mark.parametrize("after", [1, 9, 17])
async def test_late_and_leaving_bots_make_the_tournament_of_their_rounds(
    archive: Archive, kind: Format, after: int
) -> None:
    """Its games are those of one that was to have these bots from the start; none is played twice."""
    changes = (after, joining(["hal", "ida"])), (after + 5, leaving("bob")), (after + 6, joining(["gil"]))
    run, made = await disturbed(archive, CONFIGS[kind], *changes)
    assert made == [None, None, None]
    status = run.status
    assert status.state is TournamentState.FINISHED
    assert status.config.bots == (*BOTS, "hal", "ida", "gil")
    assert {stay.bot for stay in status.config.roster} == {"hal", "ida", "gil", "bob"}
    assert all(stay.first_round > 1 or stay.bot == "bob" for stay in status.config.roster)
    whole = await played(archive, status.config)
    assert games_of(archive, status) == games_of(archive, whole)
    assert status.standings.lines() == whole.standings.lines()
    assert status.progress.games == status.games_total
    loaded = load_status(archive.store, status.tournament_id)
    assert loaded is not None
    assert (loaded.config, loaded.standings.lines()) == (status.config, status.standings.lines())


@each_open_format
async def test_a_host_that_ends_after_a_change_leaves_all_of_it(archive: Archive, kind: Format) -> None:
    """The next host goes on with the bots of the change, and the end is the same."""
    host = Host(archive)
    run = begin(archive, host, CONFIGS[kind])
    asked: list[asyncio.Task[None]] = []

    def after_game() -> None:
        if len(host.finished) == 5:
            asked.append(asyncio.create_task(run.change_roster(joining(["hal"]))))
        if len(host.finished) == 16:
            run.interrupt()

    host.after_game = after_game
    await run.run()
    await asked[0]
    assert run.status.state is TournamentState.INTERRUPTED
    resumed = go_on(archive, Host(archive), run.status.tournament_id)
    await resumed.run()
    whole = await played(archive, resumed.status.config)
    assert "hal" in resumed.status.config.bots
    assert games_of(archive, resumed.status) == games_of(archive, whole)
    assert resumed.status.standings.lines() == whole.standings.lines()


@each_open_format
async def test_a_change_that_is_refused_changes_nothing(archive: Archive, kind: Format) -> None:
    """The games that were waited for are followed by those that follow without it."""
    run, (refused,) = await disturbed(archive, CONFIGS[kind], (7, joining(["cem"])))
    assert str(refused) == "bots: 'cem' takes part already"
    whole = await played(archive, CONFIGS[kind])
    assert run.status.config == CONFIGS[kind]
    assert games_of(archive, run.status) == games_of(archive, whole)
    assert run.status.standings.lines() == whole.standings.lines()


async def test_nobody_joins_behind_the_last_round(archive: Archive) -> None:
    """Whoever asks while the last games run is refused when these have ended, and the tournament finishes."""
    total = BASE.games
    run, (refused,) = await disturbed(archive, BASE, (total - 1, joining(["hal"])))
    assert isinstance(refused, RosterError)
    assert str(refused).startswith("the last of its 6 rounds has begun")
    assert (run.status.state, run.status.progress.games) == (TournamentState.FINISHED, total)


async def test_a_round_robin_can_be_joined_during_its_last_games(archive: Archive) -> None:
    """The newcomer catches up, so the tournament isn't finished before that."""
    config = CONFIGS[Format.ROUND_ROBIN]
    run, made = await disturbed(archive, config, (config.games, joining(["hal"])))
    assert made == [None]
    assert run.status.state is TournamentState.FINISHED
    assert run.status.progress.games == config.games + 2 * len(BOTS) * config.cycles


async def test_a_tournament_that_waits_is_joined_at_once(archive: Archive) -> None:
    """Before the first game there is no round to wait for, and the newcomer is waited for like the others."""
    waits: list[tuple[str, ...]] = []
    there = asyncio.Event()

    class Waiting(Host):
        async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
            waits.append(tuple(bots))
            await there.wait()
            return []

    host = Waiting(archive)
    run = begin(archive, host, BASE)
    task = asyncio.create_task(run.run())
    await run.change_roster(joining(["hal"]))
    await run.change_roster(leaving("ann"))
    assert not run.status.over
    assert not host.finished
    there.set()
    await task
    assert waits[-1] == (*BOTS[1:], "hal")
    assert run.status.config.bots == (*BOTS, "hal")
    assert {line.bot: line.games for line in run.status.standings.lines()}["ann"] == 0
    assert run.status.state is TournamentState.FINISHED


async def test_a_stop_does_not_wait_for_a_change(archive: Archive) -> None:
    """Both are made: the tournament is stopped, and has the newcomer when it is resumed."""
    host = Host(archive)
    run = begin(archive, host, CONFIGS[Format.SWISS])
    asked: list[asyncio.Task[None]] = []

    def after_game() -> None:
        if not asked:
            asked.append(asyncio.create_task(run.change_roster(joining(["hal"]))))
            asked.append(asyncio.create_task(run.stop()))

    host.after_game = after_game
    await run.run()
    await asyncio.gather(*asked)
    assert run.status.state is TournamentState.STOPPED
    stored = archive.store.tournament(run.status.tournament_id)
    assert stored is not None
    assert (stored.state, stored.config["bots"][-1]) == ("stopped", "hal")


async def test_nobody_joins_a_tournament_that_is_finished(archive: Archive) -> None:
    """Not even a round robin, in which there would be something to catch up with."""
    finished = await played(archive, CONFIGS[Format.ROUND_ROBIN])
    with pytest.raises(RosterError, match="tournament 1 is finished"):
        change_roster(archive.store, finished.tournament_id, joining(["hal"]))


# Configurations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": Format.ROUND_ROBIN, "cycles": 0}, "cycles: 0 is less than 1"),
        ({"format": Format.GAUNTLET}, "challengers: there are none"),
        ({"format": Format.ADAPTIVE, "rounds": 0}, "rounds: 0 is less than 1"),
        ({"format": Format.ADAPTIVE, "rounds": 1}, "deals: 3 are fewer than"),
        ({"format": Format.SPRT, "bots": ("ann",)}, "a test needs two"),
        ({"format": Format.SPRT}, "at tables of 2 they are A, B"),
        ({"format": Format.SPRT, "bots": ("ann", "bob"), "game": Config(players=3)}, "A, A+2, B, B+2"),
        ({"anchor": "zoe"}, "anchor: 'zoe' is none of the bots"),
    ],
)
def test_what_makes_no_schedule_is_refused(change: dict[str, object], told: str) -> None:
    """Each format names the number or the name that it can't use."""
    with pytest.raises(ConfigError) as caught:
        replace(BASE, **change).check()  # type: ignore[arg-type]  # fields by name
    assert told in str(caught.value)


def test_differences_are_estimated_by_whole_deals() -> None:
    """An error is symmetric, zero against oneself, unknown without deals, and falls with more of them."""
    schedule = list(itertools.islice(BASE.schedule().stages(), 1))
    games = [play(fixture) for fixture in schedule[0]]
    estimator = LiveEstimator((*BOTS, "new"))
    errors = []
    for game in games:
        estimator.add(game)
        errors.append(estimator.estimates().errors)
    for matrix in errors:
        assert all(matrix[bot][bot] == 0 for bot in range(8))
        assert all(matrix[one][other] == matrix[other][one] for one in range(8) for other in range(8))
    assert errors[-1][0][7] == float("inf")
    assert 0 < errors[-1][0][1] < float("inf")
