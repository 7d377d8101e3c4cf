"""What all formats share: seats, seeds, and how one deal becomes games."""

import itertools
import math
from collections import Counter

import pytest
from tests.tournament.schedule.fields import check_order, deals, field, names, seats_taken

from happycity import ConfigError
from happycity_tournament.config import SeatOrders
from happycity_tournament.games import Fixture
from happycity_tournament.schedule import Field
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule


def rounds(of: Field, count: int = 1) -> list[Fixture]:
    return list(RandomRoundsSchedule(of, rounds=count))


@pytest.mark.parametrize("seats", range(2, 6))
def test_each_bot_takes_each_seat_equally_often(seats: int) -> None:
    """Rotations put every bot in every seat once, all orders in (n - 1)! games."""
    for orders, games in ((SeatOrders.ROTATIONS, seats), (SeatOrders.ALL, math.factorial(seats))):
        (deal,) = deals(rounds(field(seats, seats, seat_orders=orders)))
        assert len({game.bots for game in deal}) == games
        assert set(seats_taken(deal).values()) == {games // seats}
        assert [game.rotation for game in deal] == list(range(games))


def test_all_orders_balance_neighbours() -> None:
    """In all orders, each bot sits to the left of each other one equally often."""
    (deal,) = deals(rounds(field(4, 4, seat_orders=SeatOrders.ALL)))
    left_of = Counter((game.bots[seat], game.bots[(seat + 1) % 4]) for game in deal for seat in range(4))
    assert len(left_of) == 12
    assert len(set(left_of.values())) == 1


def test_a_single_order_is_the_first_of_the_others() -> None:
    """With one order a deal is played as in the first of its rotations or of all orders."""
    first = [game.bots for game in rounds(field(7, 3, seat_orders=SeatOrders.SINGLE), 5)]
    for orders in (SeatOrders.ROTATIONS, SeatOrders.ALL):
        assert [deal[0].bots for deal in deals(rounds(field(7, 3, seat_orders=orders), 5))] == first


def test_other_seeds_differ() -> None:
    """Another seed gives other deals, other seeds for the bots and other tables."""
    one, other = (rounds(field(8, 4, seed=seed), 10) for seed in (1, 2))
    assert not {game.deal_seed for game in one} & {game.deal_seed for game in other}
    assert [game.bots for game in one] != [game.bots for game in other]
    seeds = [{seed for game in games for seed in game.bot_seeds} for games in (one, other)]
    assert not seeds[0] & seeds[1]


def test_seeds_fit_into_json_numbers() -> None:
    """All seeds are below 2^53 and use these bits, and no two that should differ are equal."""
    games = rounds(field(9, 4, seed=3), 50)
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
    for game in field(4, 4).round_games([lineup], number=1):
        assert len(set(game.bot_seeds)) == 4


def test_the_seeds_of_a_tournament_never_change() -> None:
    """A resumed tournament depends on getting the same seeds and lineups in every version."""
    games = rounds(field(4, 4, seed=42))
    check_order(games, total=4)
    assert games[0].deal_seed == 8583518602480413
    assert games[0].bots == ("bot-1", "bot-2", "bot-0", "bot-3")
    assert games[0].bot_seeds == (872038679484030, 2216509230766556, 1938109545971867, 1353428120608458)


def test_too_few_bots_for_a_table_are_refused() -> None:
    """A table has as many bots as seats."""
    with pytest.raises(ConfigError, match="bots: 3 can't fill a table of 4 seats"):
        Field(bots=names(3), seats=4, seed=1)
