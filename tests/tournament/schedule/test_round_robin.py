"""Round robins: every pair meets equally often, exactly."""

import itertools
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.schedule.fields import (
    SIZES,
    check_one_table_a_round,
    check_order,
    field,
    meetings,
    numbers,
    seats_taken,
)

from happycity import ConfigError
from happycity_tournament.config import SeatOrders
from happycity_tournament.games import Fixture
from happycity_tournament.schedule.round_robin import RoundRobinSchedule


def tables(bots: int, seats: int) -> int:
    return RoundRobinSchedule(field(bots, seats, seat_orders=SeatOrders.SINGLE), cycles=1).total_games


def test_round_robins_are_exactly_balanced() -> None:
    """Every pair meets equally often, every bot takes every seat equally often, at one table a round."""
    for bots, seats in SIZES:
        schedule = RoundRobinSchedule(field(bots, seats), cycles=1)
        games = list(schedule)
        check_order(games, schedule.total_games)
        check_one_table_a_round(games)
        met, taken = meetings(games), seats_taken(games)
        assert len(met) == math.comb(bots, 2), (bots, seats)
        assert len(set(met.values())) == 1, (bots, seats)
        assert len(taken) == bots * seats, (bots, seats)
        assert len(set(taken.values())) == 1, (bots, seats)


@pytest.mark.parametrize(
    ("bots", "seats", "count"),
    [
        (4, 4, 1), (6, 4, 15), (10, 3, 120), (9, 4, 126), (9, 5, 126),  # all combinations
        (13, 4, 13), (11, 5, 11), (21, 5, 21), (16, 4, 20), (15, 3, 35), (19, 3, 57),  # perfect designs
        (18, 5, 306), (20, 3, 380),
        (2, 2, 1), (21, 2, 210), (200, 2, 19900),  # any number of bots at tables of two
    ],
)  # fmt: skip
def test_the_number_of_tables(bots: int, seats: int, count: int) -> None:
    """Small fields play all combinations, larger ones far fewer tables."""
    assert tables(bots, seats) == count


def test_the_documented_numbers_of_tables() -> None:
    """The table of docs/tournaments.md has the number of tables of every round robin."""
    text = (Path(__file__).parents[3] / "docs" / "tournaments.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", text, flags=re.MULTILINE)
    cells = {(int(bots), seats): cell for bots, *row in rows for seats, cell in enumerate(row, start=2)}
    assert {size: int(cell) for size, cell in cells.items() if cell != "-"} == {
        size: tables(*size) for size in SIZES
    }


def test_pairs_meet_in_as_few_rounds_as_possible() -> None:
    """At tables of two, an even field needs one round less than it has bots, an odd one as many."""
    for bots in range(2, 22):
        games = list(RoundRobinSchedule(field(bots, 2), cycles=1))
        assert max(game.round for game in games) == bots - 1 + bots % 2


@few_examples
@given(st.sampled_from(SIZES), st.integers(0, 2**64 - 1))
def test_cycles_differ_but_begin_alike(size: tuple[int, int], seed: int) -> None:
    """Cycles are played on different deals; a longer round robin begins like a shorter one."""
    whole = field(*size, seed=seed, seat_orders=SeatOrders.SINGLE)
    one, two = (RoundRobinSchedule(whole, cycles=cycles) for cycles in (1, 2))
    games = list(two)
    check_order(games, two.total_games)
    assert games[: one.total_games] == list(one)
    assert two.total_games == 2 * one.total_games


def test_the_seed_decides_which_bot_is_which() -> None:
    """Other seeds give other tables, where the design leaves a choice."""
    one, other = (
        {frozenset(game.bots) for game in RoundRobinSchedule(field(13, 4, seed=seed), cycles=1)}
        for seed in (1, 2)
    )
    assert one != other


@pytest.mark.parametrize(("bots", "seats", "first"), [(6, 2, "3 2, 2 3"), (13, 4, "7 5 11 10, 5 11 10 7")])
def test_round_robins_never_change(bots: int, seats: int, first: str) -> None:
    """A resumed tournament depends on getting the same games in every version."""
    games = itertools.islice(RoundRobinSchedule(field(bots, seats, seed=42), cycles=1), 2)
    assert ", ".join(numbers(game.bots) for game in games) == first


def test_fields_without_a_design_are_refused() -> None:
    """At tables of three to five, designs are known for up to 21 bots."""
    message = "bots: 22 are too many for a round robin of 4 seats, which takes 21 at most"
    with pytest.raises(ConfigError, match=message):
        RoundRobinSchedule(field(22, 4), cycles=1)


# Counting games ------------------------------------------------------------------------------------------


def test_millions_of_cycles_are_counted_at_once() -> None:
    """A request for an absurd number of cycles costs no time."""
    fixed: list[Fixture] = list(RoundRobinSchedule(field(3, 2), cycles=1))
    assert RoundRobinSchedule(field(3, 2), cycles=10_000_000).total_games == 10_000_000 * len(fixed)
