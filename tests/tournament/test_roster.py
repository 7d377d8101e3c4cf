"""Bots that join late and bots that are withdrawn: what was begun stays, and the rest is fair to all."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from happycity import Config, ConfigError
from happycity_tournament.config import TournamentConfig
from happycity_tournament.formats import OPEN, Format
from happycity_tournament.results import Fixture, GameResult
from happycity_tournament.roster import Change, RosterError, changed, joining, leaving
from happycity_tournament.schedule import Orders, PlayedRound, Stay, round_pairings
from happycity_tournament.schedule.roster import present_in
from happycity_tournament.schedule.swiss import BYE_SCORE
from happycity_tournament.sprt import SprtTerms

NAMES = [f"bot-{number}" for number in range(30)]
LATE = [f"late-{number}" for number in range(30)]

each_open_format = pytest.mark.parametrize("kind", sorted(OPEN, key=str))


def config(kind: Format, *, bots: int, seats: int, seed: int = 1, rounds: int = 12) -> TournamentConfig:
    return TournamentConfig(
        bots=tuple(NAMES[:bots]),
        game=Config(players=seats),
        rounds=rounds,
        cycles=3,
        seed=seed,
        format=kind,
        orders=Orders.SINGLE,
    )


def played(fixture: Fixture) -> GameResult:
    """Make a result that follows from the fixture alone."""
    points = tuple(random.Random(f"{fixture}{bot}").randrange(60) for bot in fixture.bots)
    return GameResult(
        fixture=fixture,
        points=points,
        coins=(0,) * len(points),
        places=tuple(1 + sum(other > own for other in points) for own in points),
        endings=("finished",) * len(points),
        decisions=30,
        seconds=0.5,
    )


def games_of(tournament: TournamentConfig) -> list[Fixture]:
    """Play a whole tournament."""
    schedule, games = tournament.schedule(), []
    for stage in schedule.stages():
        for fixture in stage:
            games.append(fixture)
            schedule.add(played(fixture))
    assert len(games) == schedule.total_games
    assert [game.position for game in games] == sorted({game.position for game in games})
    assert len({game.deal_seed for game in games}) == len({game.deal for game in games})
    return games


def met(games: Iterable[Fixture]) -> Counter[frozenset[str]]:
    """Return how often each pair met."""
    return Counter(frozenset(pair) for game in games for pair in itertools.combinations(game.bots, 2))


@dataclass(frozen=True)
class History:
    """How the roster of a tournament is changed."""

    bots: int
    """At its beginning."""
    seats: int
    seed: int
    changes: list[tuple[int, list[str] | str]]
    """Who joins, or the one who leaves, and in which round, if there are as many."""

    def steps(self, kind: Format, *, rounds: int = 15) -> Iterator[tuple[int, TournamentConfig]]:
        """Yield the tournament at its beginning and after each change, with the round it was made in.

        A change comes behind the last round at the latest, for there are games to wait for until then.
        """
        tournament = config(kind, bots=self.bots, seats=self.seats, seed=self.seed, rounds=rounds)
        made = 1
        yield made, tournament
        for number, who in self.changes:
            made = max(made, min(number, 1 + max(game.round for game in games_of(tournament))))
            if kind is not Format.ROUND_ROBIN and made > rounds:
                return
            if isinstance(who, str) and (who not in tournament.remaining or self._too_few(tournament, made)):
                continue
            change = leaving(who) if isinstance(who, str) else joining(who)
            tournament = changed(tournament, change, first_round=made)
            yield made, tournament

    def _too_few(self, tournament: TournamentConfig, number: int) -> bool:
        return len(present_in(tournament.bots, tournament.roster, number)) <= self.seats

    def end(self, kind: Format, *, rounds: int = 15) -> tuple[int, TournamentConfig]:
        """Return the last of the steps."""
        return list(self.steps(kind, rounds=rounds))[-1]


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


# What was begun ------------------------------------------------------------------------------------------


@each_open_format
@settings(deadline=None)
@given(history=histories(seats=st.integers(2, 5)))
def test_what_was_begun_stays(kind: Format, history: History) -> None:
    """Whoever joins or leaves, the rounds before are the same games on the same deals, in all formats."""
    for (_, before), (number, after) in itertools.pairwise(history.steps(kind)):
        old, new = ([game for game in games_of(one) if game.round < number] for one in (before, after))
        assert new == old


@each_open_format
@settings(deadline=None)
@given(history=histories(seats=st.integers(2, 5)))
def test_only_those_present_play(kind: Format, history: History) -> None:
    """Nobody plays before joining nor after leaving, whatever else changes."""
    _, tournament = history.end(kind)
    stays = {bot: Stay(bot=bot) for bot in tournament.bots} | {stay.bot: stay for stay in tournament.roster}
    assert all(stays[bot].covers(game.round) for game in games_of(tournament) for bot in game.bots)


# Random rounds -------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(history=histories(seats=st.integers(2, 5)))
def test_sitting_out_stays_fair(history: History) -> None:
    """From the last change on, all bots play about equally often, however late they came."""
    number, tournament = history.end(Format.RANDOM_ROUNDS)
    rounds = Counter((game.round, bot) for game in games_of(tournament) for bot in game.bots)
    assert set(rounds.values()) == {1}
    since = Counter(bot for played_in, bot in rounds if played_in >= number)
    counts = [since[bot] for bot in tournament.remaining]
    assert max(counts) - min(counts) <= 2  # one that each may have been ahead, before and after


@pytest.mark.parametrize(("bots", "seats"), [(6, 2), (7, 2), (7, 3), (9, 4), (9, 5)])
def test_late_bots_meet_the_others_evenly(bots: int, seats: int) -> None:
    """A bot that joins late meets everybody, not only to make up for what it missed."""
    tournament = config(Format.RANDOM_ROUNDS, bots=bots, seats=seats, rounds=140)
    tournament = changed(tournament, joining(["late-0"]), first_round=61)
    games = [game for game in games_of(tournament) if game.round > 60]
    meetings = met(games)
    late = [meetings[frozenset({"late-0", bot})] for bot in NAMES[:bots]]
    others = [meetings[frozenset(pair)] for pair in itertools.combinations(NAMES[:bots], 2)]
    assert max(late) - min(late) <= 3
    assert abs(sum(late) / len(late) - sum(others) / len(others)) < 1


# Swiss ---------------------------------------------------------------------------------------------------


def test_rounds_that_were_missed_are_byes() -> None:
    """A bot that joins a Swiss late has half a point for each round, and meets its equals."""
    order = NAMES[:8]
    history = [
        PlayedRound(
            tables=[order[:2], order[2:4], order[4:6], order[6:]],
            scores={bot: BYE_SCORE * (2 - place % 2 * 2) for place, bot in enumerate(order)},
        )
    ]
    # Of the nine one sits out: one of those that lost, not the late one, which has sat out before.
    for seed in range(20):
        tables = round_pairings([*order, "late-0"], history, seats=2, rng=random.Random(seed))
        assert len(tables) == 4
        assert {bot for table in tables for bot in table} >= {"late-0", *order[::2]}


@given(st.integers(6, 16), st.integers(2, 4), st.integers(0, 2**64 - 1))
def test_late_bots_meet_nobody_twice_in_a_swiss_if_avoidable(bots: int, joins: int, seed: int) -> None:
    """At tables of two, with as many bots as rounds and more, the newcomer always finds a new opponent."""
    tournament = config(Format.SWISS, bots=bots, seats=2, seed=seed, rounds=joins + 2)
    tournament = changed(tournament, joining(["late-0"]), first_round=joins)
    meetings = met(games_of(tournament))
    assert max(count for pair, count in meetings.items() if "late-0" in pair) == 1


# Round robin ---------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(history=histories(seats=st.just(2)))
def test_pairs_of_a_round_robin_meet_equally_often(history: History) -> None:
    """At tables of two, all that stay to the end have met once a cycle, whenever each of them joined."""
    _, tournament = history.end(Format.ROUND_ROBIN)
    meetings = met(games_of(tournament))
    for pair in itertools.combinations(tournament.remaining, 2):
        assert meetings[frozenset(pair)] == tournament.cycles, pair


@settings(deadline=None)
@given(history=histories(seats=st.integers(3, 5), withdrawals=False))
def test_late_bots_meet_each_of_the_others_equally_often(history: History) -> None:
    """At larger tables whoever joins last meets each of those that were there before it equally often."""
    _, tournament = history.end(Format.ROUND_ROBIN)
    *others, newcomer = tournament.bots
    meetings = met(games_of(tournament))
    assert len({meetings[frozenset({newcomer, bot})] for bot in others}) == 1


@pytest.mark.parametrize(("bots", "seats"), [(5, 3), (8, 3), (8, 4), (12, 4), (9, 5), (20, 5)])
def test_a_late_bot_plays_about_as_much_as_the_others(bots: int, seats: int) -> None:
    """At larger tables it catches up with as many gauntlets as come nearest to the cycles that it missed."""
    tournament = config(Format.ROUND_ROBIN, bots=bots, seats=seats)
    meetings = met(games_of(changed(tournament, joining(["late-0"]), first_round=2)))
    late = [meetings[frozenset({"late-0", bot})] for bot in NAMES[:bots]]
    before = met(games_of(replace(tournament, cycles=1)))[frozenset(NAMES[:2])]
    whole = met(games_of(replace(tournament, bots=(*tournament.bots, "late-0"), cycles=2)))
    wanted = before + whole[frozenset(NAMES[:2])]
    assert abs(late[0] - wanted) <= before / 2 + seats


@pytest.mark.parametrize(("bots", "seats"), [(5, 2), (5, 3), (9, 3), (8, 4), (14, 4), (7, 5)])
def test_cycles_after_a_withdrawal_are_balanced_without_the_bot(bots: int, seats: int) -> None:
    """At tables of any size; of the cycle that had begun, only tables of the one that left are missing."""
    tournament = config(Format.ROUND_ROBIN, bots=bots, seats=seats)
    first = games_of(replace(tournament, cycles=1))
    without = games_of(changed(tournament, leaving("bot-1"), first_round=3))
    last = max(game.round for game in first)
    begun, later = ([game for game in without if (game.round > last) == after] for after in (False, True))
    assert [(game.round, game.bots) for game in begun] == [
        (game.round, game.bots) for game in first if game.round < 3 or "bot-1" not in game.bots
    ]
    stayed = [bot for bot in NAMES[:bots] if bot != "bot-1"]
    meetings = met(later)
    assert {frozenset(pair) for pair in itertools.combinations(stayed, 2)} == set(meetings)
    assert len(set(meetings.values())) == 1


def test_a_round_robin_that_is_played_can_be_joined_until_its_last_game_ends() -> None:
    """Whoever joins behind the last cycle meets everybody once for each of them."""
    tournament = config(Format.ROUND_ROBIN, bots=4, seats=2)
    last = max(game.round for game in games_of(tournament))
    late = changed(tournament, joining(["late-0"]), first_round=last + 1)
    late = changed(late, joining(["late-1"]), first_round=last + 2)
    caught_up = [game for game in games_of(late) if game.round > last]
    assert len(caught_up) == 3 * 4 + 3 * 5
    assert [game.round - last for game in caught_up] == [
        *[1] * 4,
        *[2] * 4,
        *[3] * 4,
        *[4] * 5,
        *[5] * 5,
        *[6] * 5,
    ]


# Refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(set(Format) - OPEN, key=str))
def test_formats_with_fixed_bots_take_nobody_in(kind: Format) -> None:
    """A gauntlet, an adaptive tournament and a test have the same bots from beginning to end."""
    fixed = replace(config(kind, bots=4, seats=2), sprt=SprtTerms(), challengers=("bot-1",), minimum=2)
    for change in (joining(["late-0"]), leaving("bot-0")):
        with pytest.raises(RosterError, match=f"{kind.value} has the same bots from beginning to end"):
            changed(fixed, change, first_round=2)
    with pytest.raises(ConfigError, match=f"roster: {kind.value} has the same bots"):
        replace(fixed, roster=(Stay(bot="bot-0", last_round=3),)).check()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (joining(["bot-1"]), "bots: 'bot-1' takes part already"),
        (joining(["gone"]), "bots: 'gone' was withdrawn, and can't come back under that name"),
        (leaving("gone"), "bot: 'gone' was withdrawn already"),
        (leaving("nobody"), "bot: 'nobody' doesn't take part"),
        (leaving("bot-0"), "bots: 1 from round 5 on can't fill a table of 2 seats"),
    ],
)
def test_changes_that_make_no_sense_are_refused(change: Change, told: str) -> None:
    """Names that are in or out already, and too few bots for a table, are one line."""
    tournament = replace(
        config(Format.SWISS, bots=2, seats=2),
        bots=("bot-0", "bot-1", "gone"),
        roster=(Stay(bot="gone", last_round=3),),
    )
    with pytest.raises(ConfigError) as caught:
        changed(tournament, change, first_round=5)
    assert str(caught.value) == told


@pytest.mark.parametrize("kind", [Format.RANDOM_ROUNDS, Format.SWISS])
def test_after_the_last_round_nobody_joins(kind: Format) -> None:
    """Where rounds are counted, there is nothing to take part in once the last one has begun."""
    tournament = config(kind, bots=4, seats=2, rounds=12)
    changed(tournament, joining(["late-0"]), first_round=12)
    with pytest.raises(RosterError, match="the last of its 12 rounds has begun"):
        changed(tournament, joining(["late-0"]), first_round=13)


def test_a_round_robin_without_a_design_for_so_many_takes_nobody_in() -> None:
    """What no round robin can be made of is refused before anything is stored."""
    with pytest.raises(ConfigError, match="bots: 22 are too many for a round robin"):
        changed(config(Format.ROUND_ROBIN, bots=21, seats=3), joining(["late-0"]), first_round=2)


@pytest.mark.parametrize(
    ("roster", "told"),
    [
        ((Stay(bot="nobody", first_round=2),), "'nobody' is none of the bots"),
        ((Stay(bot="bot-1", first_round=2), Stay(bot="bot-1")), "'bot-1' is there more than once"),
        ((Stay(bot="bot-1", first_round=2),), "bots that join later have to be listed later"),
    ],
)
def test_rosters_that_do_not_fit_are_refused(roster: tuple[Stay, ...], told: str) -> None:
    """A configuration from a stranger is checked like a change."""
    with pytest.raises(ConfigError, match=f"roster: {told}"):
        replace(config(Format.SWISS, bots=4, seats=2), roster=roster).check()
    with pytest.raises(ConfigError, match="joins in round 0"):
        Stay(bot="bot-0", first_round=0)
    with pytest.raises(ConfigError, match="leaves after round 3, but joins in 5"):
        Stay(bot="bot-0", first_round=5, last_round=3)
