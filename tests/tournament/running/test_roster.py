"""Bots that join late and bots that are withdrawn: what was begun stays, and the rest is fair to all."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.games import finished, fixtures_of
from tests.tournament.running.hosts import Host, counted_games, new_run, resumed_run, undisturbed

from happycity import Config, ConfigError
from happycity_tournament.config import (
    OPEN_FORMATS,
    Format,
    Gauntlet,
    Participation,
    RandomRounds,
    RoundRobin,
    SeatOrders,
    SprtTest,
    Swiss,
    TournamentConfig,
    TournamentState,
)
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.running.progress import load_status
from happycity_tournament.running.roster import Change, RosterError, change_roster, changed, joining, leaving
from happycity_tournament.running.runner import TournamentRun
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage import AsyncStore, StoreError

NAMES = [f"bot-{number}" for number in range(30)]
LATE = [f"late-{number}" for number in range(30)]
SINGLE = SeatOrders.SINGLE
ROUNDS, CYCLES = 12, 3

OPEN: dict[str, Format] = {
    chosen.kind: chosen
    for chosen in (
        RandomRounds(rounds=ROUNDS, seat_orders=SINGLE),
        RoundRobin(cycles=CYCLES, seat_orders=SINGLE),
        Swiss(rounds=ROUNDS, seat_orders=SINGLE),
    )
}
each_open_format = pytest.mark.parametrize("kind", OPEN)


def config(chosen: Format, *, bots: int, seats: int, seed: int = 1) -> TournamentConfig:
    return TournamentConfig(bots=tuple(NAMES[:bots]), game=Config(players=seats), format=chosen, seed=seed)


def played(fixture: Fixture) -> FinishedGame:
    """Make a game that follows from the fixture alone."""
    return finished(fixture, points=[random.Random(f"{fixture}{bot}").randrange(60) for bot in fixture.bots])


def games_of(tournament: TournamentConfig) -> list[Fixture]:
    """Play a whole tournament."""
    schedule, games = schedule_of(tournament), list[Fixture]()
    for stage in schedule.stages():
        for fixture in stage:
            games.append(fixture)
            schedule.add(played(fixture))
    assert len(games) == schedule.total_games
    assert [game.position for game in games] == sorted({game.position for game in games})
    assert len({game.deal_seed for game in games}) == len({(game.round, game.table) for game in games})
    return games


def met(games: Iterable[Fixture]) -> Counter[frozenset[str]]:
    """Return how often each pair met."""
    return Counter(frozenset(pair) for game in games for pair in itertools.combinations(game.bots, 2))


def pairs(bots: Sequence[str]) -> list[frozenset[str]]:
    return [frozenset(pair) for pair in itertools.combinations(bots, 2)]


@dataclass(frozen=True)
class History:
    """How the roster of a tournament is changed."""

    bots: int
    """At its beginning."""
    seats: int
    seed: int
    changes: list[tuple[int, list[str] | str]]
    """The bots that join, or the one that leaves, and in which round, if there are as many."""

    def steps(self, kind: str) -> Iterator[tuple[int, TournamentConfig]]:
        """Yield the tournament at its beginning and after each change, with the round of the change.

        A change comes behind the last round at the latest, for there are games to wait for until then.
        """
        tournament = config(OPEN[kind], bots=self.bots, seats=self.seats, seed=self.seed)
        made = 1
        yield made, tournament
        for number, bots in self.changes:
            made = max(made, min(number, 1 + max(game.round for game in games_of(tournament))))
            if kind != "round-robin" and made > ROUNDS:
                return
            if isinstance(bots, str) and (
                bots not in tournament.remaining or self._too_few(tournament, made)
            ):
                continue
            change = leaving(bots) if isinstance(bots, str) else joining(bots)
            tournament = changed(tournament, change, first_round=made)
            yield made, tournament

    def _too_few(self, tournament: TournamentConfig, number: int) -> bool:
        absent = sum(not entry.covers(number) for entry in tournament.participations)
        return len(tournament.bots) - absent <= self.seats

    def end(self, kind: str) -> tuple[int, TournamentConfig]:
        """Return the last of the steps."""
        return list(self.steps(kind))[-1]


@st.composite
def histories(draw: st.DrawFn, *, seats: st.SearchStrategy[int], withdrawals: bool = True) -> History:
    """Draw how some bots join, one or two at once, and others leave."""
    size = draw(seats)
    bots = draw(st.integers(size, size + 5))
    late = iter(LATE)
    number = 1
    changes: list[tuple[int, list[str] | str]] = []
    for _ in range(draw(st.integers(1, 5))):
        number += draw(st.integers(0, 6))
        if withdrawals and draw(st.booleans()):
            changes.append((number, draw(st.sampled_from([*NAMES[:bots], *LATE[:2]]))))
        else:
            changes.append((number, [next(late) for _ in range(draw(st.integers(1, 2)))]))
    return History(bots=bots, seats=size, seed=draw(st.integers(0, 2**64 - 1)), changes=changes)


@pytest.mark.thorough
@each_open_format
@few_examples
@given(history=histories(seats=st.integers(2, 5)))
def test_what_was_begun_stays(kind: str, history: History) -> None:
    """Whatever bots join and leave, earlier rounds keep their games and deals, and absent bots play none."""
    for (_, before), (number, after) in itertools.pairwise(history.steps(kind)):
        old, new = ([game for game in games_of(each) if game.round < number] for each in (before, after))
        assert new == old
    _, tournament = history.end(kind)
    rounds = {bot: Participation(bot=bot) for bot in tournament.bots}
    rounds |= {entry.bot: entry for entry in tournament.participations}
    assert all(rounds[bot].covers(game.round) for game in games_of(tournament) for bot in game.bots)


# Random rounds -------------------------------------------------------------------------------------------


@few_examples
@given(history=histories(seats=st.integers(2, 5)))
def test_sitting_out_stays_fair(history: History) -> None:
    """From the last change on, all bots play about equally often, however late they came."""
    number, tournament = history.end("random-rounds")
    rounds = Counter((game.round, bot) for game in games_of(tournament) for bot in game.bots)
    assert set(rounds.values()) == {1}
    since = Counter(bot for played_in, bot in rounds if played_in >= number)
    counts = [since[bot] for bot in tournament.remaining]
    assert max(counts) - min(counts) <= 2  # one that each may have been ahead, before and after


@pytest.mark.parametrize(("bots", "seats"), [(6, 2), (7, 2), (7, 3), (9, 4), (9, 5)])
def test_late_bots_meet_the_others_evenly(bots: int, seats: int) -> None:
    """A bot that joins late meets all others, and no more often than they meet each other."""
    tournament = config(RandomRounds(rounds=140, seat_orders=SINGLE), bots=bots, seats=seats)
    tournament = changed(tournament, joining(["late-0"]), first_round=61)
    meetings = met(game for game in games_of(tournament) if game.round > 60)
    late = [meetings[frozenset({"late-0", bot})] for bot in NAMES[:bots]]
    others = [meetings[pair] for pair in pairs(NAMES[:bots])]
    assert max(late) - min(late) <= 3
    assert abs(sum(late) / len(late) - sum(others) / len(others)) < 1


# Swiss ---------------------------------------------------------------------------------------------------


def test_missed_rounds_are_byes() -> None:
    """A bot that joins a Swiss late counts as one that sat out: it plays at once, and meets its equals."""
    for seed in range(20):
        tournament = config(Swiss(rounds=3, seat_orders=SINGLE), bots=8, seats=2, seed=seed)
        games = games_of(changed(tournament, joining(["late-0"]), first_round=2))
        second = [game for game in games if game.round == 2]
        assert len(second) == 4
        assert "late-0" in {bot for game in second for bot in game.bots}


@few_examples
@given(st.integers(6, 16), st.integers(2, 4), st.integers(0, 2**64 - 1))
def test_late_bots_meet_nobody_twice_in_a_swiss_if_avoidable(bots: int, joins: int, seed: int) -> None:
    """At tables of two, with as many bots as rounds and more, the newcomer always finds a new opponent."""
    tournament = config(Swiss(rounds=joins + 2, seat_orders=SINGLE), bots=bots, seats=2, seed=seed)
    meetings = met(games_of(changed(tournament, joining(["late-0"]), first_round=joins)))
    assert max(count for pair, count in meetings.items() if "late-0" in pair) == 1


# Round robin ---------------------------------------------------------------------------------------------


@few_examples
@given(history=histories(seats=st.just(2)))
def test_pairs_of_a_round_robin_meet_equally_often(history: History) -> None:
    """At tables of two, all that stay to the end have met once a cycle, whenever each of them joined."""
    _, tournament = history.end("round-robin")
    meetings = met(games_of(tournament))
    assert {meetings[pair] for pair in pairs(tournament.remaining)} == {CYCLES}


@pytest.mark.thorough
@few_examples
@given(history=histories(seats=st.integers(3, 5), withdrawals=False))
def test_late_bots_meet_each_of_the_others_equally_often(history: History) -> None:
    """At larger tables the bot that joins last meets each of those that were there before equally often."""
    _, tournament = history.end("round-robin")
    *others, newcomer = tournament.bots
    meetings = met(games_of(tournament))
    assert len({meetings[frozenset({newcomer, bot})] for bot in others}) == 1


def cycles(tournament: TournamentConfig, count: int) -> TournamentConfig:
    return replace(tournament, format=RoundRobin(cycles=count, seat_orders=SINGLE))


@pytest.mark.parametrize(("bots", "seats"), [(5, 3), (8, 3), (8, 4), (12, 4), (9, 5), (20, 5)])
def test_a_late_bot_plays_about_as_much_as_the_others(bots: int, seats: int) -> None:
    """At larger tables it catches up with as many gauntlets as come nearest to the cycles that it missed."""
    tournament = config(OPEN["round-robin"], bots=bots, seats=seats)
    meetings = met(games_of(changed(tournament, joining(["late-0"]), first_round=2)))
    late = [meetings[frozenset({"late-0", bot})] for bot in NAMES[:bots]]
    first_pair = frozenset(NAMES[:2])
    before = met(games_of(cycles(tournament, 1)))[first_pair]
    whole = met(games_of(cycles(replace(tournament, bots=(*tournament.bots, "late-0")), 2)))
    assert abs(late[0] - before - whole[first_pair]) <= before / 2 + seats


@pytest.mark.parametrize(("bots", "seats"), [(5, 2), (5, 3), (9, 3), (8, 4), (14, 4), (7, 5)])
def test_cycles_after_a_withdrawal_are_balanced_without_the_bot(bots: int, seats: int) -> None:
    """At tables of any size; of the cycle that had begun, only tables of the one that left are missing."""
    tournament = config(OPEN["round-robin"], bots=bots, seats=seats)
    first = games_of(cycles(tournament, 1))
    without = games_of(changed(tournament, leaving("bot-1"), first_round=3))
    last = max(game.round for game in first)
    assert [(game.round, game.bots) for game in without if game.round <= last] == [
        (game.round, game.bots) for game in first if game.round < 3 or "bot-1" not in game.bots
    ]
    meetings = met(game for game in without if game.round > last)
    assert set(pairs([bot for bot in NAMES[:bots] if bot != "bot-1"])) == set(meetings)
    assert len(set(meetings.values())) == 1


def test_a_round_robin_can_be_joined_until_its_last_game_ends() -> None:
    """A bot that joins behind the last cycle meets all others once for each cycle."""
    tournament = config(OPEN["round-robin"], bots=4, seats=2)
    last = max(game.round for game in games_of(tournament))
    late = changed(tournament, joining(["late-0"]), first_round=last + 1)
    late = changed(late, joining(["late-1"]), first_round=last + 2)
    caught_up = [game.round - last for game in games_of(late) if game.round > last]
    assert caught_up == [number for number in range(1, 7) for _ in range(4 if number <= 3 else 5)]


# Refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chosen",
    [
        Gauntlet(challengers=("bot-1",)),
        SprtTest(candidate="bot-0", base="bot-1"),
    ],
    ids=lambda chosen: chosen.kind,
)
def test_formats_with_fixed_bots_have_no_newcomers(chosen: Format) -> None:
    """A gauntlet and a test have the same bots from beginning to end."""
    assert not isinstance(chosen, OPEN_FORMATS)
    for change in (joining(["late-0"]), leaving("bot-0")):
        with pytest.raises(RosterError, match=f"{chosen.kind} has the same bots from beginning to end"):
            changed(config(chosen, bots=2, seats=2), change, first_round=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (joining(["bot-1"]), "bots: 'bot-1' takes part already"),
        (joining(["gone"]), "bots: 'gone' was withdrawn, and can't come back under that name"),
        (joining(["late-0", "late-0"]), "bots: 'late-0' is named more than once"),
        (joining(["l/te"]), "bots: bot name 'l/te': use 1-64 letters, digits or . _ - +"),
        (leaving("gone"), "bot: 'gone' was withdrawn already"),
        (leaving("nobody"), "bot: 'nobody' doesn't take part; there are: bot-0, bot-1"),
        (leaving("bot_1"), "bot: 'bot_1' doesn't take part; did you mean bot-1?"),
        (leaving("n" * 10_000), f"bot: '{'n' * 80}' doesn't take part; there are: bot-0, bot-1"),
        (leaving("bot-0"), "bots: from round 5 on 1 are left, too few for a table of 2 seats"),
    ],
)
def test_impossible_changes_are_refused(change: Change, message: str) -> None:
    """Names that are in or out already, and too few bots for a table, are refused in one line."""
    tournament = replace(
        config(Swiss(), bots=2, seats=2),
        bots=("bot-0", "bot-1", "gone"),
        participations=(Participation(bot="gone", last_round=3),),
    )
    with pytest.raises(ConfigError) as caught:
        changed(tournament, change, first_round=5)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", ["random-rounds", "swiss"])
def test_no_bot_joins_after_the_last_round_has_begun(kind: str) -> None:
    """Where rounds are counted, nothing is left to take part in."""
    tournament = config(OPEN[kind], bots=4, seats=2)
    changed(tournament, joining(["late-0"]), first_round=ROUNDS)
    with pytest.raises(RosterError, match=f"the last of its {ROUNDS} rounds has begun"):
        changed(tournament, joining(["late-0"]), first_round=ROUNDS + 1)


def test_a_change_that_leaves_no_schedule_is_refused() -> None:
    """A round robin of 22 bots at tables of three has no design."""
    with pytest.raises(ConfigError, match="bots: 22 are too many for a round robin"):
        changed(config(OPEN["round-robin"], bots=21, seats=3), joining(["late-0"]), first_round=2)


# While games are played ----------------------------------------------------------------------------------

PLAYED_FORMATS: list[Format] = [RandomRounds(rounds=6), RoundRobin(cycles=2), Swiss(rounds=6)]
PLAYED: dict[str, TournamentConfig] = {
    chosen.kind: TournamentConfig(
        bots=("ann", "bob", "cem", "dee", "eva", "fay", "gus"),
        game=Config(players=2),
        format=chosen,
        seed=1,
        concurrency=5,
    )
    for chosen in PLAYED_FORMATS
}


async def disturbed(
    store: AsyncStore, tournament: TournamentConfig, *changes: tuple[int, Change], room: int | None = None
) -> tuple[TournamentRun, list[BaseException | None]]:
    """Play a tournament and request each change after so many games; return the outcomes of the changes."""
    host = Host(store)
    host.room = room
    run = new_run(store, host, tournament)
    tasks: list[asyncio.Task[None]] = []
    changing = asyncio.Lock()  # one at a time, as on a server

    async def request(change: Change) -> None:
        async with changing:
            await run.change_roster(change)

    def after_game() -> None:
        for games, change in changes:
            if games == len(host.finished):
                tasks.append(asyncio.create_task(request(change)))

    host.after_game = after_game
    await run.run()
    return run, [*await asyncio.gather(*tasks, return_exceptions=True)]


@each_open_format
@pytest.mark.parametrize("after", [1, 9, 15])
async def test_a_changed_tournament_is_that_of_its_final_roster(
    store: AsyncStore, kind: str, after: int
) -> None:
    """Its games are those of a tournament that has these bots from the start; none is played twice."""
    changes = (after, joining(["hal", "ida"])), (after + 5, leaving("bob")), (after + 6, joining(["gil"]))
    run, outcomes = await disturbed(store, PLAYED[kind], *changes)
    assert outcomes == [None, None, None]
    status = run.status
    assert status.state is TournamentState.FINISHED
    assert status.config.bots == (*PLAYED[kind].bots, "hal", "ida", "gil")
    assert {entry.bot for entry in status.config.participations} == {"hal", "ida", "gil", "bob"}
    assert all(entry.first_round > 1 or entry.bot == "bob" for entry in status.config.participations)
    assert status.progress.games == status.games_total
    await check_whole(store, run)
    loaded = load_status(store.store, store.store.require_tournament(status.tournament_id))
    assert (loaded.config, loaded.standings.lines()) == (status.config, status.standings.lines())
    stored = store.store.tournament(status.tournament_id)
    assert stored is not None
    assert stored.games_total == status.games_total


async def check_whole(store: AsyncStore, run: TournamentRun) -> None:
    whole = await undisturbed(store, run.status.config)
    assert counted_games(store, run.status) == counted_games(store, whole)
    assert run.status.standings.lines() == whole.standings.lines()


@each_open_format
async def test_a_change_outlasts_its_host(store: AsyncStore, kind: str) -> None:
    """The next host continues with the bots of the change, and the end is the same."""
    host = Host(store)
    run = new_run(store, host, PLAYED[kind])
    requests: list[asyncio.Task[None]] = []

    def after_game() -> None:
        if len(host.finished) == 5:
            requests.append(asyncio.create_task(run.change_roster(joining(["hal"]))))
        if len(host.finished) == 16:
            run.interrupt()

    host.after_game = after_game
    await run.run()
    await requests[0]
    assert run.status.state is TournamentState.INTERRUPTED
    resumed = resumed_run(store, Host(store), run.status.tournament_id)
    await resumed.run()
    assert "hal" in resumed.status.config.bots
    await check_whole(store, resumed)


@each_open_format
async def test_a_change_that_is_refused_changes_nothing(store: AsyncStore, kind: str) -> None:
    """The games that were waited for are followed by those that follow without it."""
    run, (refused,) = await disturbed(store, PLAYED[kind], (7, joining(["cem"])))
    assert str(refused) == "bots: 'cem' takes part already"
    assert run.status.config == PLAYED[kind]
    await check_whole(store, run)


@each_open_format
async def test_a_change_does_not_wait_for_games_that_wait_for_room(store: AsyncStore, kind: str) -> None:
    """They are begun when the change is made or refused, and the end is the same."""
    for change, made in ((joining(["hal"]), True), (joining(["cem"]), False)):
        run, (outcome,) = await disturbed(store, PLAYED[kind], (3, change), room=3)
        assert (outcome is None) is made
        assert run.status.progress.games == run.status.games_total
        assert run.status.games_voided == 0
        await check_whole(store, run)


async def test_a_change_that_comes_too_late_is_refused(store: AsyncStore) -> None:
    """A request during the last games is refused when these have ended, and the tournament finishes."""
    total = len(fixtures_of(PLAYED["random-rounds"]))
    run, (refused,) = await disturbed(store, PLAYED["random-rounds"], (total - 1, joining(["hal"])))
    assert isinstance(refused, RosterError)
    assert str(refused).startswith("the last of its 6 rounds has begun")
    assert (run.status.state, run.status.progress.games) == (TournamentState.FINISHED, total)


async def test_a_round_robin_can_be_joined_during_its_last_games(store: AsyncStore) -> None:
    """The newcomer catches up, so the tournament isn't finished before that."""
    tournament = PLAYED["round-robin"]
    total = len(fixtures_of(tournament))
    run, outcomes = await disturbed(store, tournament, (total, joining(["hal"])))
    assert outcomes == [None]
    assert run.status.state is TournamentState.FINISHED
    assert run.status.progress.games == total + 2 * len(tournament.bots) * 2


async def test_a_tournament_that_waits_is_joined_at_once(store: AsyncStore) -> None:
    """Before the first game there is no round to wait for, and newcomers are waited for like the others."""

    class WaitingHost(Host):
        async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
            await self.arrival.wait()
            return await super().wait_for(bots, seconds)

    host = WaitingHost(store, connected=False)
    tournament = PLAYED["random-rounds"]
    run = new_run(store, host, tournament)
    task = asyncio.create_task(run.run())
    await run.change_roster(joining(["hal"]))
    await run.change_roster(leaving("ann"))
    assert not run.status.state.over
    assert not host.finished
    host.arrival.set()
    await task
    assert [bots for bots, _ in host.waits] == [(*tournament.bots[1:], "hal")]
    assert run.status.config.bots == (*tournament.bots, "hal")
    assert {line.bot: line.games for line in run.status.standings.lines()}["ann"] == 0
    assert run.status.state is TournamentState.FINISHED


async def test_a_stop_does_not_wait_for_a_change(store: AsyncStore) -> None:
    """Both are made: the tournament is stopped, and has the newcomer when it is resumed."""
    host = Host(store)
    run = new_run(store, host, PLAYED["swiss"])
    requests: list[asyncio.Task[None]] = []

    def after_game() -> None:
        if not requests:
            requests.append(asyncio.create_task(run.change_roster(joining(["hal"]))))
            requests.append(asyncio.create_task(run.stop()))

    host.after_game = after_game
    await run.run()
    await asyncio.gather(*requests)
    assert run.status.state is TournamentState.STOPPED
    stored = store.store.tournament(run.status.tournament_id)
    assert stored is not None
    assert (stored.state, stored.bots[-1]) == (TournamentState.STOPPED, "hal")


async def test_a_caller_that_leaves_holds_up_nothing(store: AsyncStore) -> None:
    """A request whose caller was cancelled is dropped, and the next one is served."""
    host = Host(store)
    run = new_run(store, host, PLAYED["swiss"])
    requests: list[asyncio.Task[None]] = []

    async def leave_and_request() -> None:
        leaving_caller = asyncio.create_task(run.change_roster(joining(["hal"])))
        await asyncio.sleep(0)  # lets it make its request
        leaving_caller.cancel()
        await asyncio.wait((leaving_caller,))
        await run.change_roster(joining(["ida"]))

    def after_game() -> None:
        if not requests:
            requests.append(asyncio.create_task(leave_and_request()))

    host.after_game = after_game
    await run.run()
    await requests[0]
    assert run.status.config.bots[-1] == "ida"
    assert "hal" not in run.status.config.bots


async def test_no_bot_joins_a_tournament_that_is_finished(store: AsyncStore) -> None:
    """Not even a round robin, in which there would be something to catch up with; nor an unknown one."""
    status = await undisturbed(store, PLAYED["round-robin"])
    with pytest.raises(RosterError, match=f"tournament {status.tournament_id} is finished"):
        change_roster(store.store, status.tournament_id, joining(["hal"]))
    with pytest.raises(StoreError, match="has no tournament 77"):
        change_roster(store.store, 77, joining(["hal"]))
