"""Tournaments on a made-up host: which games are played, again or not at all, and how a tournament ends."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.games import finished, fixtures_of, with_endings
from tests.tournament.play import hosts

from happycity import Config, Ending, FailurePolicy, VoidReason
from happycity_tournament.config import (
    Gauntlet,
    RandomRounds,
    RoundRobin,
    SeatOrders,
    SprtTest,
    Swiss,
    TournamentConfig,
    TournamentState,
)
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.play.progress import ScheduleChangedError, TournamentStatus, load_status
from happycity_tournament.play.runner import MAX_ATTEMPTS, TournamentRun
from happycity_tournament.ratings.sprt import Verdict
from happycity_tournament.standings.standings import Standing
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.store import Store

BOTS = ("ann", "bob", "cem", "dee", "eva", "fay", "gus")
CONFIG = TournamentConfig(
    bots=BOTS, game=Config(players=2), format=RandomRounds(rounds=6), seed=1, concurrency=5
)
SCHEDULE = fixtures_of(CONFIG)
SPRT = TournamentConfig(
    bots=("gus", "cem"),
    game=Config(players=4),
    format=SprtTest(candidate="gus", base="cem", elo1=60),
    seed=1,
    concurrency=5,
)
CONFIGS = [
    CONFIG,
    replace(CONFIG, format=RoundRobin(cycles=2)),
    replace(CONFIG, format=Swiss(rounds=6)),
    replace(CONFIG, format=Gauntlet(challengers=("cem",), cycles=3)),
    SPRT,
    replace(
        CONFIG, bots=BOTS[:4], format=RandomRounds(rounds=200, seat_orders=SeatOrders.SINGLE, until_error=150)
    ),
]

FINISHED, INTERRUPTED = TournamentState.FINISHED, TournamentState.INTERRUPTED
RUNNING, STOPPED, WAITING = TournamentState.RUNNING, TournamentState.STOPPED, TournamentState.WAITING

each_format = pytest.mark.parametrize(
    "config", CONFIGS, ids=[*(config.format.kind for config in CONFIGS[:-1]), "until-error"]
)


def loaded_status(store: AsyncStore, run: TournamentRun | TournamentStatus) -> TournamentStatus:
    status = run if isinstance(run, TournamentStatus) else run.status
    return load_status(store.store, store.store.require_tournament(status.tournament_id))


def states(store: AsyncStore, run: TournamentRun) -> tuple[TournamentState, TournamentState | None]:
    return run.status.state, store.store.require_tournament(run.status.tournament_id).state


async def check_end(store: AsyncStore, run: TournamentRun, config: TournamentConfig) -> None:
    """A resumed tournament has ended like one that nothing disturbed."""
    whole = await hosts.undisturbed(store, config)
    assert states(store, run) == (FINISHED, FINISHED)
    assert hosts.counted_games(store, run.status) == hosts.counted_games(store, whole)
    assert run.status.standings.lines() == whole.standings.lines()
    assert run.status.test == whole.test


async def test_every_game_of_the_schedule_is_played_once(store: AsyncStore) -> None:
    host = hosts.Host(store)
    run = await hosts.played(store, CONFIG, host)
    assert host.attempts == dict.fromkeys([fixture.position for fixture in SCHEDULE], 1)
    assert run.status.progress.games == len(SCHEDULE)
    assert host.waits == [(BOTS, CONFIG.time.connect_seconds)]
    await run.stop()
    assert states(store, run) == (FINISHED, FINISHED)


async def test_games_begin_in_the_order_of_the_schedule(
    store: AsyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their ids follow from it, so it holds too while more and more games are played at once."""
    monkeypatch.setattr("happycity_tournament.play.runner.FIRST_GAMES", 2)
    host = hosts.Host(store)
    await hosts.played(store, replace(CONFIG, concurrency=64), host)
    assert [*host.attempts] == [fixture.position for fixture in SCHEDULE]


@pytest.mark.level(1)
@each_format
async def test_concurrency_changes_nothing(store: AsyncStore, config: TournamentConfig) -> None:
    one = await hosts.undisturbed(store, replace(config, concurrency=1))
    many = await hosts.undisturbed(store, replace(config, concurrency=64))
    assert hosts.counted_games(store, one) == hosts.counted_games(store, many)
    assert len(hosts.counted_games(store, one)) > 20
    assert one.standings.lines() == many.standings.lines()
    assert one.test == many.test
    if one.test is None:
        assert one.progress.games == one.games_total
    loaded = loaded_status(store, many)
    assert (loaded.config, loaded.state, loaded.progress) == (many.config, many.state, many.progress)
    assert (loaded.test, loaded.problems) == (many.test, many.problems)
    assert loaded.standings.lines() == many.standings.lines()
    stored = store.store.require_tournament(one.tournament_id)
    assert config.format.kind == "sprt" or stored.games_total == one.games_total


@pytest.mark.parametrize(
    ("missing", "others", "text"),
    [
        (("gus",), ["fay", "ann"], "gus did not connect within 10 s; connected: ann, fay"),
        (
            ("ann", "gus"),
            ["guss", "zoe"],
            "ann, gus did not connect within 10 s; connected: guss, zoe; did you mean guss by gus?",
        ),
        (BOTS, [], f"{', '.join(BOTS)} did not connect within 10 s; connected: no bot"),
    ],
)
async def test_missing_bots_stop_a_tournament_before_its_first_game(
    store: AsyncStore, missing: tuple[str, ...], others: list[str], text: str
) -> None:
    """It says who is missing, and who is there; once all have come, it can be resumed."""
    host = hosts.Host(store)
    host.missing, host.others = missing, others
    run = await hosts.played(store, CONFIG, host)
    assert (states(store, run), run.status.remarks) == ((STOPPED, STOPPED), [text])
    assert not host.attempts
    assert loaded_status(store, run).remarks == [text]
    resumed = await hosts.continued(store, run.status.tournament_id)
    assert (resumed.status.state, resumed.status.remarks) == (FINISHED, [])


async def test_games_are_played_without_missing_bots(store: AsyncStore) -> None:
    """Where the configuration says so, or games are stored: missing bots forfeit theirs."""
    host = hosts.Host(store)
    host.missing = ("gus",)
    run = await hosts.played(store, replace(CONFIG, begin_incomplete=True), host)
    assert (run.status.state, run.status.progress.games) == (FINISHED, len(SCHEDULE))
    begun = await hosts.played(store, CONFIG, after=1)
    assert begun.status.state is INTERRUPTED
    assert (await hosts.continued(store, begun.status.tournament_id, host)).status.state is FINISHED


@pytest.mark.level(1)
@each_format
@pytest.mark.parametrize("after", [1, 14, 29])
async def test_an_interruption_changes_nothing(
    store: AsyncStore, config: TournamentConfig, after: int
) -> None:
    first, second = hosts.Host(store), hosts.Host(store)
    run = await hosts.played(store, config, first, after=after)
    before = run.status.progress.games
    assert states(store, run) == (INTERRUPTED, INTERRUPTED)
    assert after <= before < run.status.games_total
    resumed = hosts.resumed_run(store, second, run.status.tournament_id)
    assert resumed.status.progress.games == before
    await resumed.run()
    assert not set(first.finished) & set(second.finished)
    await check_end(store, resumed, config)


@pytest.mark.level(2)
@each_format
async def test_a_kill_changes_nothing(store: AsyncStore, config: TournamentConfig, tmp_path: Path) -> None:
    host = hosts.Host(store)
    copies: list[Path] = []

    def copy() -> None:
        if len(host.finished) in (1, 2, 13, 30):
            copies.append(tmp_path / f"{len(host.finished)}.sqlite")
            with (
                closing(sqlite3.connect(tmp_path / "games.sqlite")) as source,
                closing(sqlite3.connect(copies[-1])) as target,
            ):
                source.backup(target)

    host.after_game = copy
    await hosts.played(store, config, host)
    assert len(copies) == 4
    for path in copies:
        with Store.create(f"sqlite:///{path}") as left:
            async with AsyncStore(left) as copied:
                assert left.require_tournament(1).state is RUNNING
                await check_end(copied, await hosts.continued(copied, 1), config)


async def test_a_host_that_shuts_down_interrupts(store: AsyncStore) -> None:
    """Games that are voided by a shutdown are not counted as faults, and played by the next host."""

    def shutdown(fixture: Fixture, _: int) -> VoidReason | None:
        return VoidReason.SHUTDOWN if fixture.round > 3 else None

    run = await hosts.played(store, CONFIG, hosts.Host(store, fault=shutdown))
    assert (run.status.state, run.status.games_voided) == (INTERRUPTED, 0)
    await check_end(store, await hosts.continued(store, run.status.tournament_id), CONFIG)


async def test_a_resumed_tournament_waits_for_the_first_of_its_bots(store: AsyncStore) -> None:
    """While no bot is there nothing is forfeited."""
    run = await hosts.played(store, CONFIG, after=1)
    second = hosts.Host(store, connected=False)
    resumed = hosts.resumed_run(store, second, run.status.tournament_id)
    task = asyncio.create_task(resumed.run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert (resumed.status.state, second.waits, second.attempts) == (WAITING, [], {})
    second.arrival.set()
    await task
    assert resumed.status.state is FINISHED


async def test_a_complete_tournament_needs_no_bot_to_finish(store: AsyncStore) -> None:
    """If only the end was not stored before a kill, it is stored now."""
    status = await hosts.undisturbed(store, CONFIG)
    store.store.set_state(status.tournament_id, RUNNING)
    host = hosts.Host(store, connected=False)
    resumed = await hosts.continued(store, status.tournament_id, host)
    assert (states(store, resumed), host.attempts) == ((FINISHED, FINISHED), {})


async def test_a_store_that_fails_interrupts_the_tournament(store: AsyncStore) -> None:

    def full(fixture: Fixture, _: int) -> VoidReason | None:
        if fixture.round == 3:
            raise StoreError("sqlite://", "has no room left", for_all=True)
        return None

    run = hosts.new_run(store, hosts.Host(store, fault=full), CONFIG)
    with pytest.raises(StoreError, match="no room left"):
        await run.run()
    assert run.status.state is INTERRUPTED
    await check_end(store, await hosts.continued(store, run.status.tournament_id), CONFIG)


@pytest.mark.parametrize(
    ("config", "change"),
    [
        (CONFIG, "deal_seed = '7'"),
        (
            CONFIGS[2],
            "places = '[' || substr(places, 4, 1) || ',' || substr(places, 2, 1) || ']' WHERE id % 5 < 2",
        ),
    ],
    ids=["of another seed", "from other results"],
)
async def test_games_of_another_schedule_are_not_mixed_in(
    store: AsyncStore, config: TournamentConfig, change: str, tmp_path: Path
) -> None:
    run = await hosts.played(store, config, after=16)
    with closing(sqlite3.connect(tmp_path / "games.sqlite")) as connection, connection:
        connection.execute(f"UPDATE games SET {change}")
    resumed = hosts.resumed_run(store, hosts.Host(store), run.status.tournament_id)
    with pytest.raises(ScheduleChangedError, match="was played by another schedule"):
        await resumed.run()
    assert states(store, resumed) == (INTERRUPTED, INTERRUPTED)


async def test_a_stop_is_stored_at_once(store: AsyncStore) -> None:
    """Running games are finished and count; the store has it from the first moment."""
    host = hosts.Host(store)
    run = hosts.new_run(store, host, CONFIG)
    stops: list[asyncio.Task[int]] = []

    async def stop() -> int:
        begun = host.attempts.total()
        await run.stop()
        return begun

    def stop_once() -> None:
        if not stops:
            stops.append(asyncio.create_task(stop()))

    host.after_game = stop_once
    await run.run()
    begun = await stops[0]
    assert states(store, run) == (STOPPED, STOPPED)
    assert begun == run.status.progress.games < run.status.games_total


async def test_places_that_join_are_filled_at_once(store: AsyncStore) -> None:
    """They don't wait for the end of a game elsewhere, which may take minutes."""
    host = hosts.Host(store)
    host.room = 0  # no game ends
    run = hosts.new_run(store, host, replace(CONFIG, concurrency=2))
    running = asyncio.create_task(run.run())
    begun = []
    for host.places in (1, 3, 1):
        for listener in host.change_listeners:
            listener()
        while host.attempts.total() < 2 * host.places:
            await store.read(store.store.next_match_id)  # lets others go first
        begun.append(host.attempts.total())
    assert begun == [2, 6, 6]
    run.interrupt()
    await running
    assert not host.change_listeners


async def test_a_stop_leaves_games_that_wait_for_room_at_a_bot(store: AsyncStore) -> None:
    """They are not played to their end before the tournament stops, and count as missing, not as voided."""
    host = hosts.Host(store)
    host.room = 2
    run = await hosts.played(store, CONFIG, host, after=1)
    assert (run.status.progress.games, run.status.games_voided) == (2, 0)
    assert (await hosts.continued(store, run.status.tournament_id)).status.state is FINISHED


async def test_a_tournament_that_is_stopped_before_its_first_game_plays_none(store: AsyncStore) -> None:
    """A stop ends the waiting for bots too, and a shutdown after it changes nothing."""
    waiting = hosts.new_run(store, hosts.Host(store, connected=False), CONFIG)
    await waiting.stop()
    assert store.store.require_tournament(waiting.status.tournament_id).state is STOPPED
    waiting.interrupt()
    await waiting.run()
    assert (states(store, waiting), waiting.status.progress.games) == ((STOPPED, STOPPED), 0)

    resumed = hosts.resumed_run(store, hosts.Host(store, connected=False), waiting.status.tournament_id)
    task = asyncio.create_task(resumed.run())
    await asyncio.sleep(0)  # lets it begin to wait
    await resumed.stop()
    await task
    assert resumed.status.state is STOPPED


async def test_a_voided_game_is_played_again(store: AsyncStore) -> None:
    def fault(fixture: Fixture, attempt: int) -> VoidReason | None:
        return VoidReason.SERVER_ERROR if fixture.table == 1 and attempt < MAX_ATTEMPTS else None

    run = await hosts.played(store, CONFIG, hosts.Host(store, fault=fault))
    assert run.status.games_voided == sum(fixture.table == 1 for fixture in SCHEDULE) * (MAX_ATTEMPTS - 1)
    await check_end(store, run, CONFIG)
    assert loaded_status(store, run).problems == run.status.problems


def voided(fixture: Fixture, _: int) -> VoidReason | None:
    return VoidReason.SERVER_ERROR if fixture.position == (2, 0, 0) else None


async def test_a_game_that_is_always_voided_is_given_up(store: AsyncStore) -> None:
    """The tournament ends incomplete and names it; the next host tries again, and no remark is left."""
    host = hosts.Host(store, fault=voided)
    run = await hosts.played(store, CONFIG, host)
    assert host.attempts[2, 0, 0] == MAX_ATTEMPTS
    assert (run.status.progress.games, run.status.standings.games) == (len(SCHEDULE) - 1,) * 2
    (remark,) = run.status.remarks
    assert remark.startswith("round 2, table 1, rotation 1 could not be played")
    assert (states(store, run), loaded_status(store, run).remarks) == ((STOPPED, STOPPED), [remark])
    resumed = await hosts.continued(store, run.status.tournament_id)
    await check_end(store, resumed, CONFIG)
    for status in (resumed.status, loaded_status(store, resumed)):
        assert (status.remarks, status.games_voided) == ([], MAX_ATTEMPTS)


async def test_a_game_is_not_played_late_if_later_rounds_rest_on_its_absence(store: AsyncStore) -> None:
    """A Swiss continues without a game that was given up, also after an interruption, and says so."""
    config = replace(CONFIG, format=Swiss(rounds=6))
    whole = await hosts.played(store, config, hosts.Host(store, fault=voided))
    run = await hosts.played(store, config, hosts.Host(store, fault=voided), after=20)
    resumed = await hosts.continued(store, run.status.tournament_id)
    assert resumed.status.state is whole.status.state is STOPPED
    assert resumed.status.standings.lines() == whole.status.standings.lines()
    assert resumed.status.remarks == [
        "round 2, table 1, rotation 1 could not be played; later games depend on that, so it is left out"
    ]


UNDECIDED = replace(SPRT, format=SprtTest(candidate="gus", base="cem", elo1=1, max_blocks=12))


def tied(fixture: Fixture) -> FinishedGame:
    return finished(fixture, places=[1] * 4)


@pytest.mark.parametrize(
    ("config", "result_of", "verdict"),
    [
        (replace(SPRT, concurrency=64), hosts.random_game, Verdict.H1),
        (SPRT, tied, Verdict.NO_DIFFERENCE),
        (UNDECIDED, hosts.random_game, Verdict.UNDECIDED),
    ],
)
async def test_a_test_ends_with_its_verdict(
    store: AsyncStore,
    config: TournamentConfig,
    result_of: Callable[[Fixture], FinishedGame],
    verdict: Verdict,
) -> None:
    """Long before its maximum if it is clear; games beyond the verdict count nowhere."""
    status = (await hosts.played(store, config, hosts.Host(store, result_of=result_of))).status
    assert status.state is FINISHED
    assert status.test is not None
    assert status.test.verdict is verdict
    assert (status.games_total == status.progress.games) is (verdict is Verdict.UNDECIDED)
    assert status.standings.games == 2 * status.test.blocks <= status.progress.games
    lines = {line.bot: line.games for line in status.standings.lines()}
    assert lines == {"gus": 4 * status.test.blocks, "cem": 4 * status.test.blocks}


async def test_a_test_does_without_a_block_that_was_given_up(store: AsyncStore) -> None:
    """A verdict is a verdict; only a test that lacks blocks for one is incomplete."""
    for config, state in ((SPRT, FINISHED), (UNDECIDED, STOPPED)):
        assert (await hosts.played(store, config, hosts.Host(store, fault=voided))).status.state is state


STRICT = replace(
    CONFIG,
    bots=BOTS[:5],
    format=RandomRounds(rounds=40),
    concurrency=3,
    policy=FailurePolicy(disqualify_share=0.4, disqualify_games=6),
)
STRICT_SCHEDULE = fixtures_of(STRICT)


def eva_fails(fixture: Fixture) -> FinishedGame:
    endings = [
        Ending.TIMEOUT if bot == "eva" and fixture.round % 2 else Ending.FINISHED for bot in fixture.bots
    ]
    return with_endings(hosts.random_game(fixture), *endings)


async def strict(
    store: AsyncStore, *, concurrency: int = 3, interrupt: bool = False
) -> tuple[TournamentRun, hosts.Host]:
    """Play a tournament in which eva is disqualified, if wanted until then only."""
    host = hosts.Host(store, result_of=eva_fails)
    run = hosts.new_run(store, host, replace(STRICT, concurrency=concurrency))
    if interrupt:
        host.after_game = lambda: run.interrupt() if host.notified else None
    await run.run()
    return run, host


async def test_a_bot_that_forfeits_too_often_plays_no_more(store: AsyncStore) -> None:
    """It is notified once, and its remaining seats are forfeited before their games begin."""
    run, host = await strict(store)
    assert host.notified == ["eva"]
    assert run.status.standings.disqualified == ("eva",)
    line = next(line for line in run.status.standings.lines() if line.bot == "eva")
    assert {count.ending for count in line.forfeit_counts} == {Ending.TIMEOUT}
    assert line.games + line.games_unrated == sum("eva" in fixture.bots for fixture in STRICT_SCHEDULE)
    assert line.games_unrated > line.games
    assert {host.disqualified[fixture.position] for fixture in STRICT_SCHEDULE[-40:]} == {("eva",)}
    assert host.disqualified[STRICT_SCHEDULE[0].position] == ()
    stored = store.store.require_tournament(run.status.tournament_id)
    assert stored.problems == run.status.problems
    assert stored.problems.disqualified == ("eva",)


async def test_a_disqualified_bot_is_so_after_an_interruption(store: AsyncStore) -> None:
    run, _ = await strict(store, interrupt=True)
    assert run.status.state is INTERRUPTED
    host = hosts.Host(store, result_of=eva_fails)
    resumed = hosts.resumed_run(store, host, run.status.tournament_id)
    assert resumed.status.standings.disqualified == ("eva",)
    await resumed.run()
    assert host.notified == []
    assert [bots for bots, _ in host.waits] == [BOTS[:4]]
    assert set(host.disqualified.values()) == {("eva",)}


async def test_a_tournament_ends_when_no_game_can_be_rated(store: AsyncStore) -> None:
    """Without the disqualified bot no table can be filled; a resumed one plays nothing more."""
    config = replace(STRICT, bots=("ann", "ben", "eva"), game=Config(players=3))
    run = await hosts.played(store, config, hosts.Host(store, result_of=eva_fails))
    remarks = [
        "no table can be filled without eva, and games of disqualified bots are not rated: the tournament "
        "ends here"
    ]
    games = run.status.progress.games
    assert (run.status.state, run.status.remarks) == (STOPPED, remarks)
    assert games <= config.policy.disqualify_games + 2 * config.concurrency
    host = hosts.Host(store, result_of=eva_fails)
    status = (await hosts.continued(store, run.status.tournament_id, host)).status
    assert (status.state, status.progress.games, status.remarks) == (STOPPED, games, remarks)
    assert host.waits == []


@pytest.mark.level(2)
async def test_what_is_rated_does_not_depend_on_what_was_running(store: AsyncStore) -> None:
    def columns(run: TournamentRun) -> list[Standing]:
        return [replace(line, forfeit_counts=()) for line in run.status.standings.lines()]  # have match ids

    (one, _), (many, _) = await strict(store, concurrency=1), await strict(store, concurrency=20)
    assert columns(many) == columns(one)
    run, _ = await strict(store, concurrency=20, interrupt=True)
    resumed = await hosts.continued(store, run.status.tournament_id, hosts.Host(store, result_of=eva_fails))
    assert columns(resumed) == columns(one)
    assert sum(line.games_unrated for line in columns(one)) == 2 * one.status.standings.games_unrated > 0
