"""Tournaments on a made-up host: which games are played, again or not at all, and how a tournament ends."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.games import finished, fixtures_of, with_endings
from tests.tournament.play.hosts import (
    Host,
    counted_games,
    new_run,
    random_game,
    resumed_run,
    stored_state,
    undisturbed,
)

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
from happycity_tournament.play.progress import ScheduleChangedError, load_status
from happycity_tournament.play.runner import MAX_ATTEMPTS, TournamentRun
from happycity_tournament.ratings.sprt import Verdict
from happycity_tournament.standings.standings import Standing
from happycity_tournament.storage import AsyncStore, Store, StoreError

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
        CONFIG,
        bots=BOTS[:4],
        format=RandomRounds(rounds=200, seat_orders=SeatOrders.SINGLE, until_error=150),
    ),
]

each_format = pytest.mark.parametrize(
    "config", CONFIGS, ids=[*(config.format.kind for config in CONFIGS[:-1]), "until-error"]
)


# Every format --------------------------------------------------------------------------------------------


async def test_every_game_of_the_schedule_is_played_once(store: AsyncStore) -> None:
    """A tournament that nothing disturbs waits for its bots and plays its schedule."""
    host = Host(store)
    run = new_run(store, host, CONFIG)
    await run.run()
    assert host.attempts == dict.fromkeys([fixture.position for fixture in SCHEDULE], 1)
    assert (run.status.state, run.status.progress.games) == (TournamentState.FINISHED, len(SCHEDULE))
    assert host.waits == [(BOTS, CONFIG.time.connect_seconds)]


@each_format
async def test_concurrency_changes_nothing(store: AsyncStore, config: TournamentConfig) -> None:
    """One game at a time and many give the same games, standings and verdict."""
    one = await undisturbed(store, replace(config, concurrency=1))
    many = await undisturbed(store, replace(config, concurrency=64))
    assert counted_games(store, one) == counted_games(store, many)
    assert len(counted_games(store, one)) > 20
    assert one.standings.lines() == many.standings.lines()
    assert one.test == many.test
    if one.test is None:
        assert one.progress.games == one.games_total


@each_format
async def test_the_store_has_what_the_run_had(store: AsyncStore, config: TournamentConfig) -> None:
    """The status of a finished tournament that is loaded from the store is that of its run."""
    status = await undisturbed(store, config)
    loaded = load_status(store.store, store.store.require_tournament(status.tournament_id))
    assert (loaded.config, loaded.state, loaded.progress) == (config, status.state, status.progress)
    assert (loaded.test, loaded.troubles) == (status.test, status.troubles)
    assert loaded.standings.lines() == status.standings.lines()


# Missing bots --------------------------------------------------------------------------------------------


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
    host = Host(store)
    host.missing, host.others = missing, others
    run = new_run(store, host, CONFIG)
    await run.run()
    assert (run.status.state, run.status.remarks) == (TournamentState.STOPPED, [text])
    assert not host.attempts
    tournament_id = run.status.tournament_id
    stored = store.store.require_tournament(tournament_id)
    assert (stored.state, stored.troubles.remarks) == (TournamentState.STOPPED, (text,))
    resumed = resumed_run(store, Host(store), tournament_id)
    await resumed.run()
    assert (resumed.status.state, resumed.status.remarks) == (TournamentState.FINISHED, [])


async def test_a_tournament_may_begin_incomplete(store: AsyncStore) -> None:
    """If the configuration says so, missing bots forfeit their games until they connect."""
    host = Host(store)
    host.missing = ("gus",)
    run = new_run(store, host, replace(CONFIG, begin_incomplete=True))
    await run.run()
    assert (run.status.state, run.status.progress.games) == (TournamentState.FINISHED, len(SCHEDULE))


async def test_a_tournament_that_has_begun_goes_on_without_missing_bots(store: AsyncStore) -> None:
    """Where games are stored, a bot that doesn't come back forfeits the others."""
    host = Host(store)
    run = new_run(store, host, CONFIG)
    host.after_game = run.interrupt
    await run.run()
    assert run.status.state is TournamentState.INTERRUPTED
    host = Host(store)
    host.missing = ("gus",)
    resumed = resumed_run(store, host, run.status.tournament_id)
    await resumed.run()
    assert resumed.status.state is TournamentState.FINISHED


# Interruptions -------------------------------------------------------------------------------------------


@each_format
@pytest.mark.parametrize("after", [1, 14, 29])
async def test_an_interruption_changes_nothing(
    store: AsyncStore, config: TournamentConfig, after: int
) -> None:
    """What is missing is played, nothing twice, and the end is that of an undisturbed tournament."""
    first = Host(store)
    run = new_run(store, first, config)
    first.after_game = lambda: run.interrupt() if len(first.finished) >= after else None
    await run.run()
    tournament_id, before = run.status.tournament_id, run.status.progress.games
    assert run.status.state is stored_state(store, tournament_id) is TournamentState.INTERRUPTED
    assert after <= before < run.status.games_total
    second = Host(store)
    resumed = resumed_run(store, second, tournament_id)
    assert resumed.status.progress.games == before
    await resumed.run()
    assert not set(first.finished) & set(second.finished)
    await check_end(store, resumed, config)


async def check_end(store: AsyncStore, run: TournamentRun, config: TournamentConfig) -> None:
    """A resumed tournament has ended like one that nothing disturbed."""
    whole = await undisturbed(store, config)
    assert run.status.state is TournamentState.FINISHED
    assert stored_state(store, run.status.tournament_id) is TournamentState.FINISHED
    assert counted_games(store, run.status) == counted_games(store, whole)
    assert run.status.standings.lines() == whole.standings.lines()
    assert run.status.test == whole.test


@each_format
async def test_a_kill_changes_nothing(store: AsyncStore, config: TournamentConfig, tmp_path: Path) -> None:
    """From what the store holds at any moment, another host plays the same tournament to the same end."""
    host = Host(store)
    run = new_run(store, host, config)
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
    await run.run()
    assert len(copies) == 4
    for path in copies:
        with Store.create(f"sqlite:///{path}") as left:
            async with AsyncStore(left) as copied:
                assert stored_state(copied, 1) is TournamentState.RUNNING
                resumed = resumed_run(copied, Host(copied), 1)
                await resumed.run()
                await check_end(copied, resumed, config)


async def test_a_host_that_shuts_down_interrupts(store: AsyncStore) -> None:
    """Games that are voided by a shutdown are not counted as faults, and played by the next host."""

    def shutdown(fixture: Fixture, _: int) -> VoidReason | None:
        return VoidReason.SHUTDOWN if fixture.round > 3 else None

    run = new_run(store, Host(store, fault=shutdown), CONFIG)
    await run.run()
    assert (run.status.state, run.status.games_voided) == (TournamentState.INTERRUPTED, 0)
    resumed = resumed_run(store, Host(store), run.status.tournament_id)
    await resumed.run()
    await check_end(store, resumed, CONFIG)


async def test_a_resumed_tournament_waits_for_the_first_of_its_bots(store: AsyncStore) -> None:
    """While no bot is there nothing is forfeited."""
    first = Host(store)
    run = new_run(store, first, CONFIG)
    first.after_game = run.interrupt
    await run.run()
    second = Host(store, connected=False)
    resumed = resumed_run(store, second, run.status.tournament_id)
    task = asyncio.create_task(resumed.run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert (resumed.status.state, second.waits, second.attempts) == (TournamentState.WAITING, [], {})
    second.arrival.set()
    await task
    assert resumed.status.state is TournamentState.FINISHED


async def test_a_complete_tournament_needs_no_bot_to_finish(store: AsyncStore) -> None:
    """If only the end was not stored before a kill, it is stored now."""
    status = await undisturbed(store, CONFIG)
    store.store.set_state(status.tournament_id, TournamentState.RUNNING)
    host = Host(store, connected=False)
    resumed = resumed_run(store, host, status.tournament_id)
    await resumed.run()
    assert (resumed.status.state, host.attempts) == (TournamentState.FINISHED, {})
    assert stored_state(store, status.tournament_id) is TournamentState.FINISHED


async def test_a_store_that_fails_interrupts_the_tournament(store: AsyncStore) -> None:
    """The error is raised, and once the store works again the tournament can be continued."""

    def full(fixture: Fixture, _: int) -> VoidReason | None:
        if fixture.round == 3:
            raise StoreError("sqlite://", "has no room left", for_all=True)
        return None

    run = new_run(store, Host(store, fault=full), CONFIG)
    with pytest.raises(StoreError, match="no room left"):
        await run.run()
    assert run.status.state is TournamentState.INTERRUPTED
    resumed = resumed_run(store, Host(store), run.status.tournament_id)
    await resumed.run()
    await check_end(store, resumed, CONFIG)


# Other schedules -----------------------------------------------------------------------------------------


async def test_games_of_another_schedule_are_not_mixed_in(store: AsyncStore, tmp_path: Path) -> None:
    """Stored games that the schedule doesn't have are noticed; the tournament stays interrupted."""
    host = Host(store)
    run = new_run(store, host, CONFIG)
    host.after_game = run.interrupt
    await run.run()
    with closing(sqlite3.connect(tmp_path / "games.sqlite")) as connection, connection:
        connection.execute("UPDATE games SET deal_seed = '7'")
    resumed = resumed_run(store, Host(store), run.status.tournament_id)
    with pytest.raises(ScheduleChangedError, match="was played by another schedule"):
        await resumed.run()
    assert stored_state(store, run.status.tournament_id) is TournamentState.INTERRUPTED


@pytest.mark.parametrize("config", [CONFIGS[2]], ids=["swiss"])
async def test_games_that_follow_from_other_results_are_not_mixed_in(
    store: AsyncStore, config: TournamentConfig, tmp_path: Path
) -> None:
    """Where later games were drawn from other results than those stored, that is noticed."""
    host = Host(store)
    run = new_run(store, host, config)
    enough = run.status.games_total - 2
    host.after_game = lambda: run.interrupt() if len(host.finished) >= enough else None
    await run.run()
    with closing(sqlite3.connect(tmp_path / "games.sqlite")) as connection, connection:
        connection.execute(
            "UPDATE games SET places = '[' || substr(places, 4, 1) || ',' || substr(places, 2, 1) || ']'"
            " WHERE id % 5 < 2"
        )
    resumed = resumed_run(store, Host(store), run.status.tournament_id)
    with pytest.raises(ScheduleChangedError, match="was played by another schedule"):
        await resumed.run()


# Stops ---------------------------------------------------------------------------------------------------


async def test_a_stop_is_stored_at_once(store: AsyncStore) -> None:
    """Running games are finished and count; the store has it from the first moment."""
    host = Host(store)
    run = new_run(store, host, CONFIG)
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
    assert run.status.state is stored_state(store, run.status.tournament_id) is TournamentState.STOPPED
    assert begun == run.status.progress.games < run.status.games_total


async def test_places_that_join_are_filled_at_once(store: AsyncStore) -> None:
    """They don't wait for the end of a game elsewhere, which may take minutes."""
    host = Host(store)
    host.room = 0  # no game ends
    run = new_run(store, host, replace(CONFIG, concurrency=2))
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
    host = Host(store)
    host.room = 2
    run = new_run(store, host, CONFIG)
    host.after_game = run.interrupt
    await run.run()
    assert (run.status.progress.games, run.status.games_voided) == (2, 0)
    resumed = resumed_run(store, Host(store), run.status.tournament_id)
    await resumed.run()
    assert resumed.status.state is TournamentState.FINISHED


async def test_a_tournament_that_is_stopped_before_its_first_game_plays_none(store: AsyncStore) -> None:
    """A stop ends the waiting for bots too, and a shutdown after it changes nothing."""
    waiting = new_run(store, Host(store, connected=False), CONFIG)
    await waiting.stop()
    assert stored_state(store, waiting.status.tournament_id) is TournamentState.STOPPED
    waiting.interrupt()
    await waiting.run()
    assert (waiting.status.state, waiting.status.progress.games) == (TournamentState.STOPPED, 0)
    assert stored_state(store, waiting.status.tournament_id) is TournamentState.STOPPED

    resumed = resumed_run(store, Host(store, connected=False), waiting.status.tournament_id)
    task = asyncio.create_task(resumed.run())
    await asyncio.sleep(0)  # lets it begin to wait
    await resumed.stop()
    await task
    assert resumed.status.state is TournamentState.STOPPED


async def test_a_stop_that_comes_too_late_changes_nothing(store: AsyncStore) -> None:
    """A tournament that is finished stays finished, in the store too."""
    run = new_run(store, Host(store), CONFIG)
    await run.run()
    await run.stop()
    assert run.status.state is stored_state(store, run.status.tournament_id) is TournamentState.FINISHED


# Voided games --------------------------------------------------------------------------------------------


async def test_a_voided_game_is_played_again(store: AsyncStore) -> None:
    """The same fixture is played until it counts, and the end is as if nothing had happened."""

    def fault(fixture: Fixture, attempt: int) -> VoidReason | None:
        return VoidReason.SERVER_ERROR if fixture.table == 1 and attempt < MAX_ATTEMPTS else None

    run = new_run(store, Host(store, fault=fault), CONFIG)
    await run.run()
    assert run.status.games_voided == sum(fixture.table == 1 for fixture in SCHEDULE) * (MAX_ATTEMPTS - 1)
    await check_end(store, run, CONFIG)
    loaded = load_status(store.store, store.store.require_tournament(run.status.tournament_id))
    assert loaded.troubles == run.status.troubles


def voided(fixture: Fixture, _: int) -> VoidReason | None:
    """Void one game as often as it is tried."""
    return VoidReason.SERVER_ERROR if fixture.position == (2, 0, 0) else None


async def test_a_game_that_is_always_voided_is_given_up(store: AsyncStore) -> None:
    """After the last attempt the others go on; the tournament ends incomplete and names the game."""
    host = Host(store, fault=voided)
    run = new_run(store, host, CONFIG)
    await run.run()
    status = run.status
    assert host.attempts[2, 0, 0] == MAX_ATTEMPTS
    assert (status.state, status.progress.games) == (TournamentState.STOPPED, len(SCHEDULE) - 1)
    assert status.standings.games == len(SCHEDULE) - 1
    (remark,) = status.remarks
    assert remark.startswith("round 2, table 0, rotation 0 could not be played")
    loaded = load_status(store.store, store.store.require_tournament(status.tournament_id))
    assert (loaded.state, loaded.remarks) == (TournamentState.STOPPED, [remark])


async def test_games_that_were_given_up_are_tried_again(store: AsyncStore) -> None:
    """The next host may be able to play them; then the remarks about them are gone, in the store too."""
    run = new_run(store, Host(store, fault=voided), CONFIG)
    await run.run()
    assert len(run.status.remarks) == 1
    resumed = resumed_run(store, Host(store), run.status.tournament_id)
    await resumed.run()
    assert (resumed.status.remarks, resumed.status.games_voided) == ([], MAX_ATTEMPTS)
    await check_end(store, resumed, CONFIG)
    stored = store.store.tournament(run.status.tournament_id)
    assert stored is not None
    assert (stored.troubles.remarks, stored.troubles.games_voided) == ((), MAX_ATTEMPTS)


async def test_a_game_is_not_played_late_if_later_rounds_rest_on_its_absence(store: AsyncStore) -> None:
    """A Swiss continues without a game that was given up, also after an interruption, and says so."""
    config = replace(CONFIG, format=Swiss(rounds=6))
    whole = new_run(store, Host(store, fault=voided), config)
    await whole.run()
    first = Host(store, fault=voided)
    run = new_run(store, first, config)
    first.after_game = lambda: run.interrupt() if len(first.finished) >= 20 else None
    await run.run()
    resumed = resumed_run(store, Host(store), run.status.tournament_id)
    await resumed.run()
    assert resumed.status.state is whole.status.state is TournamentState.STOPPED
    assert resumed.status.standings.lines() == whole.status.standings.lines()
    (remark,) = resumed.status.remarks
    assert remark == (
        "round 2, table 0, rotation 0 could not be played; later games depend on that, so it is left out"
    )


# Sequential tests ----------------------------------------------------------------------------------------


async def test_a_test_ends_with_its_verdict(store: AsyncStore) -> None:
    """It is finished long before its maximum, and games beyond the verdict count nowhere."""
    status = await undisturbed(store, replace(SPRT, concurrency=64))
    assert status.test is not None
    assert status.test.verdict is Verdict.H1
    assert status.standings.games == 2 * status.test.blocks <= status.progress.games < status.games_total
    lines = {line.bot: line.games for line in status.standings.lines()}
    assert lines == {"gus": 4 * status.test.blocks, "cem": 4 * status.test.blocks}


async def test_bots_that_always_share_places_have_no_difference(store: AsyncStore) -> None:
    """Equal bots end a test, without a verdict for either side."""

    def tied(fixture: Fixture) -> FinishedGame:
        return finished(fixture, places=[1] * 4)

    run = new_run(store, Host(store, result_of=tied), SPRT)
    await run.run()
    assert run.status.test is not None
    assert run.status.test.verdict is Verdict.NO_DIFFERENCE
    assert run.status.state is TournamentState.FINISHED


UNDECIDED = replace(SPRT, format=SprtTest(candidate="gus", base="cem", elo1=1, max_blocks=12))


async def test_a_test_that_cannot_decide_is_finished(store: AsyncStore) -> None:
    """The maximum of blocks is an end like any other; the verdict says that there is none."""
    status = await undisturbed(store, UNDECIDED)
    assert status.test is not None
    assert status.test.verdict is Verdict.UNDECIDED
    assert status.progress.games == status.games_total == 24


async def test_a_test_does_without_a_block_that_was_given_up(store: AsyncStore) -> None:
    """A verdict is a verdict; only a test that lacks blocks for one is incomplete."""
    run = new_run(store, Host(store, fault=voided), SPRT)
    await run.run()
    assert run.status.state is TournamentState.FINISHED
    run = new_run(store, Host(store, fault=voided), UNDECIDED)
    await run.run()
    assert run.status.state is TournamentState.STOPPED


# Disqualification ----------------------------------------------------------------------------------------

STRICT = replace(
    CONFIG,
    bots=BOTS[:5],
    format=RandomRounds(rounds=40),
    concurrency=3,
    policy=FailurePolicy(disqualify_share=0.4, disqualify_games=6),
)
STRICT_SCHEDULE = fixtures_of(STRICT)


def eva_fails(fixture: Fixture) -> FinishedGame:
    """Let eva forfeit every second deal."""
    endings = [
        Ending.TIMEOUT if bot == "eva" and fixture.round % 2 else Ending.FINISHED for bot in fixture.bots
    ]
    return with_endings(random_game(fixture), *endings)


async def strict(
    store: AsyncStore, *, concurrency: int = 3, interrupt: bool = False
) -> tuple[TournamentRun, Host]:
    """Play a tournament in which eva is disqualified, if wanted until then only."""
    host = Host(store, result_of=eva_fails)
    run = new_run(store, host, replace(STRICT, concurrency=concurrency))
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
    stored = store.store.tournament(run.status.tournament_id)
    assert stored is not None
    assert stored.troubles == run.status.troubles
    assert stored.troubles.disqualified == ("eva",)


async def test_a_disqualified_bot_is_so_after_an_interruption(store: AsyncStore) -> None:
    """It is not notified again and not waited for."""
    run, _ = await strict(store, interrupt=True)
    assert run.status.state is TournamentState.INTERRUPTED
    host = Host(store, result_of=eva_fails)
    resumed = resumed_run(store, host, run.status.tournament_id)
    assert resumed.status.standings.disqualified == ("eva",)
    await resumed.run()
    assert host.notified == []
    assert [bots for bots, _ in host.waits] == [BOTS[:4]]
    assert set(host.disqualified.values()) == {("eva",)}


async def test_a_tournament_ends_when_no_game_can_be_rated(store: AsyncStore) -> None:
    """Without the disqualified bot no table can be filled; a resumed one plays nothing more."""
    config = replace(STRICT, bots=("ann", "ben", "eva"), game=Config(players=3))
    run = new_run(store, Host(store, result_of=eva_fails), config)
    await run.run()
    assert run.status.state is TournamentState.STOPPED
    assert run.status.remarks == [
        "no table can be filled without eva, and games of disqualified bots are not rated: the tournament "
        "ends here"
    ]
    played = run.status.progress.games
    assert played <= config.policy.disqualify_games + 2 * config.concurrency
    host = Host(store, result_of=eva_fails)
    resumed = resumed_run(store, host, run.status.tournament_id)
    await resumed.run()
    assert (resumed.status.state, resumed.status.progress.games) == (TournamentState.STOPPED, played)
    assert (resumed.status.remarks, host.waits) == (run.status.remarks, [])


async def test_what_is_rated_does_not_depend_on_what_was_running(store: AsyncStore) -> None:
    """One game at a time, many at once, or after an interruption: the same games are rated, and no others."""

    def columns(run: TournamentRun) -> list[Standing]:
        return [replace(line, forfeit_counts=()) for line in run.status.standings.lines()]  # have match ids

    (one, _), (many, _) = await strict(store, concurrency=1), await strict(store, concurrency=20)
    assert columns(many) == columns(one)
    run, _ = await strict(store, concurrency=20, interrupt=True)
    resumed = resumed_run(store, Host(store, result_of=eva_fails), run.status.tournament_id)
    await resumed.run()
    assert columns(resumed) == columns(one)
    assert sum(line.games_unrated for line in columns(one)) == 2 * one.status.standings.games_unrated > 0
