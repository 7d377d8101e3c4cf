"""Random rounds: each bot plays, meets and sits out about as often as any other."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.schedule.fields import check_one_table_a_round, field, meetings, names

from happycity_tournament.games import Fixture
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule


def schedule(bots: int, seats: int, rounds: int, seed: int = 1) -> list[Fixture]:
    return list(RandomRoundsSchedule(field(bots, seats, seed=seed), rounds=rounds))


@few_examples
@given(st.integers(2, 5), st.integers(0, 7), st.integers(1, 12), st.integers(0, 2**64 - 1))
def test_rounds_are_complete(seats: int, more: int, rounds: int, seed: int) -> None:
    """Every round has as many tables as fit, each in all rotations, and no bot at two of them."""
    games = schedule(seats + more, seats, rounds, seed)
    tables = range((seats + more) // seats)
    positions = [game.position for game in games]
    assert positions == list(itertools.product(range(1, rounds + 1), tables, range(seats)))
    check_one_table_a_round(games)


def test_sitting_out_is_shared_evenly() -> None:
    """After every round, no bot has played more than one round more than any other."""
    for seats, more in itertools.product(range(2, 6), range(8)):
        played = dict.fromkeys(names(seats + more), 0)
        games = schedule(seats + more, seats, 30, 7)
        for _, of_round in itertools.groupby(games, key=lambda game: game.round):
            for bot in {bot for game in of_round for bot in game.bots}:
                played[bot] += 1
            assert max(played.values()) - min(played.values()) <= 1, (seats, more)


@pytest.mark.parametrize(("bots", "seats"), [(3, 2), (7, 4), (8, 4), (9, 2), (12, 5), (21, 4)])
def test_bots_meet_about_equally_often(bots: int, seats: int) -> None:
    """Over many rounds, no pair meets more than a few times more often than another."""
    met = meetings(schedule(bots, seats, rounds=200))
    counts = [met[frozenset(pair)] for pair in itertools.combinations(names(bots), 2)]
    assert max(counts) - min(counts) <= 5


def test_four_bots_meet_everybody_in_three_rounds() -> None:
    """At tables of two nobody meets again before everybody has met."""
    assert Counter(meetings(schedule(4, 2, 3)).values()) == {1: 6}


def test_more_rounds_keep_the_first_ones() -> None:
    """A longer tournament begins like a shorter one."""
    assert schedule(7, 3, 20, 5)[: 2 * 3 * 10] == schedule(7, 3, 10, 5)


def test_a_long_tournament_starts_at_once() -> None:
    """Games are worked out when they are asked for, so a million rounds cost nothing at first."""
    long = RandomRoundsSchedule(field(8, 4), rounds=1_000_000)
    assert next(iter(long)).position == (1, 0, 0)
    assert long.total_games == 8_000_000
