"""Random rounds, round robins and gauntlets, and what all formats share: seats, seeds, rotations."""

import itertools
import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.schedule import fields

from happycity import ConfigError
from happycity_tournament.config import SeatOrders
from happycity_tournament.games import Fixture
from happycity_tournament.schedule import Field
from happycity_tournament.schedule.gauntlet import GauntletSchedule
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule
from happycity_tournament.schedule.round_robin import RoundRobinSchedule


def rounds(of: Field, count: int = 1) -> list[Fixture]:
    return list(RandomRoundsSchedule(of, rounds=count))


@pytest.mark.parametrize("seats", range(2, 6))
def test_each_bot_takes_each_seat_equally_often(seats: int) -> None:
    for orders, games in ((SeatOrders.ROTATIONS, seats), (SeatOrders.ALL, math.factorial(seats))):
        (deal,) = fields.deals(rounds(fields.field(seats, seats, seat_orders=orders)))
        assert len({game.bots for game in deal}) == games
        assert set(fields.seats_taken(deal).values()) == {games // seats}
        assert [game.rotation for game in deal] == list(range(games))


def test_all_orders_balance_neighbours() -> None:
    (deal,) = fields.deals(rounds(fields.field(4, 4, seat_orders=SeatOrders.ALL)))
    left_of = Counter((game.bots[seat], game.bots[(seat + 1) % 4]) for game in deal for seat in range(4))
    assert len(left_of) == 12
    assert len(set(left_of.values())) == 1


def test_a_single_order_is_the_first_of_the_others() -> None:
    first = [game.bots for game in rounds(fields.field(7, 3, seat_orders=SeatOrders.SINGLE), 5)]
    for orders in (SeatOrders.ROTATIONS, SeatOrders.ALL):
        assert [
            deal[0].bots for deal in fields.deals(rounds(fields.field(7, 3, seat_orders=orders), 5))
        ] == first


def test_other_seeds_differ() -> None:
    one, other = (rounds(fields.field(8, 4, seed=seed), 10) for seed in (1, 2))
    assert not {game.deal_seed for game in one} & {game.deal_seed for game in other}
    assert [game.bots for game in one] != [game.bots for game in other]
    seeds = [{seed for game in games for seed in game.bot_seeds} for games in (one, other)]
    assert not seeds[0] & seeds[1]


def test_seeds_fit_into_json_numbers() -> None:
    games = rounds(fields.field(9, 4, seed=3), 50)
    bot_seeds = [seed for game in games for seed in game.bot_seeds]
    deal_seeds = {game.deal_seed for game in games}
    assert len(set(bot_seeds)) == len(bot_seeds)
    assert not deal_seeds & set(bot_seeds)
    assert all(0 <= seed < 2**53 for seed in [*deal_seeds, *bot_seeds])
    assert max(bot_seeds) > 2**52


def test_a_bot_in_several_seats_has_a_seed_for_each() -> None:
    """Two seats of one bot would otherwise draw the same random numbers."""
    seats = itertools.cycle(["new", "old"])
    lineup = [next(seats) for _ in range(4)]
    for game in fields.field(4, 4).round_games([lineup], number=1):
        assert len(set(game.bot_seeds)) == 4


def random_rounds(bots: int, seats: int, rounds: int, seed: int = 1) -> list[Fixture]:
    return list(RandomRoundsSchedule(fields.field(bots, seats, seed=seed), rounds=rounds))


@few_examples
@given(st.integers(2, 5), st.integers(0, 7), st.integers(1, 12), st.integers(0, 2**64 - 1))
def test_rounds_are_complete(seats: int, more: int, rounds: int, seed: int) -> None:
    games = random_rounds(seats + more, seats, rounds, seed)
    tables = range((seats + more) // seats)
    positions = [game.position for game in games]
    assert positions == list(itertools.product(range(1, rounds + 1), tables, range(seats)))
    fields.check_one_table_a_round(games)


def test_sitting_out_is_shared_evenly() -> None:
    for seats, more in itertools.product(range(2, 6), range(8)):
        played = dict.fromkeys(fields.names(seats + more), 0)
        games = random_rounds(seats + more, seats, 30, 7)
        for _, of_round in itertools.groupby(games, key=lambda game: game.round):
            for bot in {bot for game in of_round for bot in game.bots}:
                played[bot] += 1
            assert max(played.values()) - min(played.values()) <= 1, (seats, more)


@pytest.mark.level(1)
def test_bots_meet_about_equally_often() -> None:
    for bots, seats in [(3, 2), (7, 4), (8, 4), (9, 2), (12, 5), (21, 4)]:
        met = fields.meetings(random_rounds(bots, seats, rounds=200))
        counts = [met[frozenset(pair)] for pair in itertools.combinations(fields.names(bots), 2)]
        assert max(counts) - min(counts) <= 5, (bots, seats)
    assert Counter(fields.meetings(random_rounds(4, 2, 3)).values()) == {1: 6}


def one_cycle(bots: int, seats: int, **options: Any) -> RoundRobinSchedule:
    return RoundRobinSchedule(fields.field(bots, seats, **options), cycles=1)


def tables(bots: int, seats: int) -> int:
    return one_cycle(bots, seats, seat_orders=SeatOrders.SINGLE).total_games


@pytest.mark.level(1)
def test_round_robins_are_exactly_balanced() -> None:
    for bots, seats in fields.SIZES:
        schedule = one_cycle(bots, seats)
        games = list(schedule)
        fields.check_order(games, schedule.total_games)
        fields.check_one_table_a_round(games)
        met, taken = fields.meetings(games), fields.seats_taken(games)
        assert len(met) == math.comb(bots, 2), (bots, seats)
        assert len(set(met.values())) == 1, (bots, seats)
        assert len(taken) == bots * seats, (bots, seats)
        assert len(set(taken.values())) == 1, (bots, seats)


def test_the_number_of_tables() -> None:
    """Small fields play all combinations, larger ones far fewer tables, which the documentation lists."""
    combinations = {(4, 4): 1, (6, 4): 15, (10, 3): 120, (9, 4): 126, (9, 5): 126}
    designs = {(13, 4): 13, (11, 5): 11, (21, 5): 21, (16, 4): 20, (15, 3): 35, (19, 3): 57}
    others = {(18, 5): 306, (20, 3): 380, (2, 2): 1, (21, 2): 210, (200, 2): 19900}
    for size, count in {**combinations, **designs, **others}.items():
        assert tables(*size) == count, size
    text = (Path(__file__).parents[3] / "docs" / "tournaments.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", text, flags=re.MULTILINE)
    cells = {(int(bots), seats): cell for bots, *row in rows for seats, cell in enumerate(row, start=2)}
    assert {size: int(cell) for size, cell in cells.items() if cell != "-"} == {
        size: tables(*size) for size in fields.SIZES
    }


def test_pairs_meet_in_as_few_rounds_as_possible() -> None:
    """At tables of two, an even field needs one round less than it has bots, an odd one as many."""
    for bots in range(2, 22):
        games = list(one_cycle(bots, 2))
        assert max(game.round for game in games) == bots - 1 + bots % 2


@pytest.mark.level(1)
@few_examples
@given(st.sampled_from(fields.SIZES), st.integers(0, 2**64 - 1))
def test_cycles_differ_but_begin_alike(size: tuple[int, int], seed: int) -> None:
    whole = fields.field(*size, seed=seed, seat_orders=SeatOrders.SINGLE)
    one, two = (RoundRobinSchedule(whole, cycles=cycles) for cycles in (1, 2))
    games = list(two)
    fields.check_order(games, two.total_games)
    assert games[: one.total_games] == list(one)
    assert two.total_games == 2 * one.total_games


def test_the_seed_decides_which_bot_is_which() -> None:
    one, other = ({frozenset(game.bots) for game in one_cycle(13, 4, seed=seed)} for seed in (1, 2))
    assert one != other


@pytest.mark.parametrize("challengers", [1, 2])
def test_gauntlets_are_balanced(challengers: int) -> None:
    for bots, seats in fields.SIZES:
        if bots - challengers < seats - 1:
            continue
        own = fields.names(challengers)
        schedule = GauntletSchedule(fields.field(bots, seats), challengers=own, cycles=2)
        games = list(schedule)
        fields.check_order(games, schedule.total_games)
        against = {pair: count for pair, count in fields.meetings(games).items() if pair & set(own)}
        assert len(against) == challengers * (bots - challengers), (bots, seats)
        assert len(set(against.values())) == 1, (bots, seats)
        taken = fields.seats_taken(games)
        assert len({taken[bot, seat] for bot in own for seat in range(seats)}) == 1, (bots, seats)


def test_challengers_meet_the_same_opponents() -> None:
    lineups = defaultdict(list)
    for deal in fields.deals(GauntletSchedule(fields.field(9, 4), challengers=["bot-3", "bot-5"], cycles=1)):
        (challenger,) = {"bot-3", "bot-5"} & set(deal[0].bots)
        lineups[challenger].append(set(deal[0].bots) - {challenger})
    assert lineups["bot-3"] == lineups["bot-5"]


def test_challengers_that_do_not_fit_are_refused() -> None:
    there = "there are: bot-0, bot-1, bot-2, bot-3"
    for challengers, message in [
        ([], "challengers: there are none"),
        (["eve"], f"challengers: 'eve' is not one of the bots; {there}"),
        (["bot-11"], "challengers: 'bot-11' is not one of the bots; did you mean bot-1?"),
        (["x" * 10_000], f"challengers: '{'x' * 80}' is not one of the bots; {there}"),
        (["bot-1", "bot-1"], "challengers: 'bot-1' is named more than once"),
        (["bot-1", "bot-2"], "challengers: they leave 2 opponents, too few for a table of 4 seats"),
    ]:
        with pytest.raises(ConfigError) as caught:
            GauntletSchedule(fields.field(4, 4), challengers=challengers, cycles=1)
        assert str(caught.value) == message
