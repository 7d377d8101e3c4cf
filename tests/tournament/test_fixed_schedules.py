"""Orders, round robins and gauntlets: all games are known in advance."""

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happycity.errors import ConfigError
from happycity_tournament.results import Fixture
from happycity_tournament.schedule import Field, Gauntlet, Orders, RandomRounds, RoundRobin, fixtures

SIZES = [(bots, seats) for seats in range(2, 6) for bots in range(seats, 22)]


def field(bots: int, seats: int, *, seed: int = 1, orders: Orders = Orders.ROTATIONS) -> Field:
    return Field(bots=tuple(f"bot {number}" for number in range(bots)), seats=seats, seed=seed, orders=orders)


def deals(games: Iterable[Fixture]) -> list[list[Fixture]]:
    """Return the games of each deal."""
    by_deal = defaultdict(list)
    for game in games:
        by_deal[game.deal].append(game)
    return list(by_deal.values())


def meetings(games: Iterable[Fixture]) -> Counter[tuple[str, ...]]:
    """Return at how many tables each pair met."""
    return Counter(pair for deal in deals(games) for pair in itertools.combinations(sorted(deal[0].bots), 2))


def seats_taken(games: Iterable[Fixture]) -> Counter[tuple[str, int]]:
    """Return how often each bot sat in each seat."""
    return Counter((bot, seat) for game in games for seat, bot in enumerate(game.bots))


def check_order(games: list[Fixture], total: int) -> None:
    """Positions rise, each deal has one seed of its own, and the total is what was promised."""
    positions = [game.position for game in games]
    assert positions == sorted(set(positions))
    assert len(games) == total
    assert len({game.deal_seed for game in games}) == len({game.deal for game in games})
    assert all(len({game.deal_seed for game in deal}) == 1 for deal in deals(games))


# Orders --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", range(2, 6))
@pytest.mark.parametrize(("orders", "games"), [("rotations", lambda n: n), ("all", math.factorial)])
def test_each_bot_takes_each_seat_equally_often(seats: int, orders: str, games: Callable[[int], int]) -> None:
    """Rotations have every bot in every seat once, all orders in (n - 1)! games."""
    (deal,) = deals(RandomRounds(field(seats, seats, orders=Orders(orders)), rounds=1))
    assert len(deal) == len({game.bots for game in deal}) == games(seats)
    assert set(seats_taken(deal).values()) == {games(seats) // seats}
    assert [game.rotation for game in deal] == list(range(len(deal)))


def test_all_orders_balance_neighbours() -> None:
    """In all orders, everybody sits to the left of everybody else equally often."""
    (deal,) = deals(RandomRounds(field(4, 4, orders=Orders.ALL), rounds=1))
    left_of = Counter((game.bots[seat], game.bots[(seat + 1) % 4]) for game in deal for seat in range(4))
    assert len(left_of) == 12
    assert len(set(left_of.values())) == 1


def test_a_single_order_is_the_first_of_the_others() -> None:
    """One order a deal is what the rotations and all orders begin with."""
    first = [game.bots for game in RandomRounds(field(7, 3, orders=Orders.SINGLE), rounds=5)]
    for orders in (Orders.ROTATIONS, Orders.ALL):
        games = RandomRounds(field(7, 3, orders=orders), rounds=5)
        assert [deal[0].bots for deal in deals(games)] == first


@given(st.integers(2, 5), st.integers(0, 6), st.sampled_from(Orders), st.integers(0, 2**64 - 1))
def test_random_rounds_keep_order_and_total(seats: int, more: int, orders: Orders, seed: int) -> None:
    """Whatever the orders, the total is right and positions rise."""
    schedule = RandomRounds(field(seats + more, seats, seed=seed, orders=orders), rounds=2)
    check_order(list(schedule), schedule.total_games)


def test_random_rounds_are_the_default_schedule() -> None:
    """The class gives the same games as the function, and the same ones when asked again."""
    schedule = RandomRounds(field(9, 4, seed=3), rounds=6)
    games = list(fixtures(bots=field(9, 4).bots, seats=4, rounds=6, seed=3))
    assert list(schedule) == list(schedule) == games
    assert [list(stage) for stage in schedule.stages()] == [games]


# Round robin ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bots", "seats"), SIZES)
def test_round_robins_are_exactly_balanced(bots: int, seats: int) -> None:
    """Every pair meets equally often, and every bot takes every seat equally often."""
    schedule = RoundRobin(field(bots, seats))
    games = list(schedule)
    check_order(games, schedule.total_games)
    met = meetings(games)
    assert len(met) == math.comb(bots, 2)
    assert len(set(met.values())) == 1
    taken = seats_taken(games)
    assert len(taken) == bots * seats
    assert len(set(taken.values())) == 1


@pytest.mark.parametrize(("bots", "seats"), SIZES)
def test_nobody_sits_at_two_tables_of_a_round(bots: int, seats: int) -> None:
    """A round's tables can be played at the same time by bots that play one game at a time."""
    schedule = RoundRobin(field(bots, seats, orders=Orders.SINGLE))
    seated = Counter((game.round, bot) for game in schedule for bot in game.bots)
    assert set(seated.values()) == {1}
    assert [game.table for game in schedule if game.table == 0].count(0) == max(g.round for g in schedule)


@pytest.mark.parametrize(
    ("bots", "seats", "tables"),
    [
        *[(bots, 2, math.comb(bots, 2)) for bots in range(2, 22)],
        (4, 4, 1), (6, 4, 15), (10, 3, 120), (9, 4, 126), (9, 5, 126),  # all combinations
        (13, 4, 13), (11, 5, 11), (21, 5, 21), (16, 4, 20), (15, 3, 35), (19, 3, 57),  # perfect designs
        (18, 5, 306), (20, 3, 380),
    ],
)  # fmt: skip
def test_the_number_of_tables(bots: int, seats: int, tables: int) -> None:
    """Small fields play all combinations, larger ones far fewer tables."""
    assert RoundRobin(field(bots, seats)).deals_per_cycle == tables


def test_the_documented_numbers_of_tables() -> None:
    """The table of docs/tournaments.md has the number of tables of every round robin."""
    text = (Path(__file__).parents[2] / "docs" / "tournaments.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", text, flags=re.MULTILINE)
    told = {(int(bots), seats): cell for bots, *cells in rows for seats, cell in enumerate(cells, start=2)}
    assert {size: int(cell) for size, cell in told.items() if cell != "-"} == {
        size: RoundRobin(field(*size)).deals_per_cycle for size in SIZES
    }


@pytest.mark.parametrize("bots", range(2, 22))
def test_pairs_meet_in_as_few_rounds_as_possible(bots: int) -> None:
    """At tables of two, an even field needs one round less than it has bots, an odd one as many."""
    games = list(RoundRobin(field(bots, 2)))
    assert max(game.round for game in games) == bots - 1 + bots % 2


@given(st.sampled_from(SIZES), st.integers(0, 2**64 - 1))
def test_cycles_differ_but_begin_alike(size: tuple[int, int], seed: int) -> None:
    """Cycles are played on different deals; a longer round robin begins like a shorter one."""
    whole = field(*size, seed=seed, orders=Orders.SINGLE)
    one, two = RoundRobin(whole), RoundRobin(whole, cycles=2)
    games = list(two)
    check_order(games, two.total_games)
    assert games[: one.total_games] == list(one) == list(one)
    assert two.total_games == 2 * one.total_games


def test_the_seed_decides_who_is_who() -> None:
    """Other seeds give other companies, where the design leaves a choice."""
    companies = [{frozenset(game.bots) for game in RoundRobin(field(13, 4, seed=seed))} for seed in (1, 2)]
    assert companies[0] != companies[1]


def test_round_robins_of_two_have_no_limit() -> None:
    """Pairs can be balanced in any field."""
    assert RoundRobin(field(200, 2)).deals_per_cycle == math.comb(200, 2)


# Gauntlet ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bots", "seats"), [size for size in SIZES if size[0] > size[1]])
@pytest.mark.parametrize("challengers", [1, 2])
def test_gauntlets_are_balanced(bots: int, seats: int, challengers: int) -> None:
    """Every challenger meets every opponent equally often, in every seat, and no other challenger."""
    if bots - challengers < seats - 1:
        pytest.skip("too few opponents")
    whole = field(bots, seats)
    schedule = Gauntlet(whole, challengers=whole.bots[:challengers], cycles=2)
    games = list(schedule)
    check_order(games, schedule.total_games)
    met = meetings(games)
    against = {pair: count for pair, count in met.items() if set(pair) & set(whole.bots[:challengers])}
    assert len(against) == challengers * (bots - challengers)
    assert len(set(against.values())) == 1
    taken = seats_taken(games)
    assert len({taken[bot, seat] for bot in whole.bots[:challengers] for seat in range(seats)}) == 1


def test_challengers_meet_the_same_companies() -> None:
    """Challengers can be compared by what they score against the same opponents."""
    whole = field(9, 4)
    companies = defaultdict(list)
    for deal in deals(Gauntlet(whole, challengers=["bot 3", "bot 5"])):
        (challenger,) = {"bot 3", "bot 5"} & set(deal[0].bots)
        companies[challenger].append(set(deal[0].bots) - {challenger})
    assert companies["bot 3"] == companies["bot 5"]


# The seed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "first"),
    [
        (RoundRobin(field(6, 2, seed=42)), ["3 2", "2 3"]),
        (RoundRobin(field(13, 4, seed=42)), ["7 5 11 10", "5 11 10 7"]),
        (Gauntlet(field(9, 4, seed=42), challengers=["bot 3"]), ["0 3 2 8", "3 2 8 0"]),
    ],
)
def test_schedules_stay_what_they_are(schedule: Iterable[Fixture], first: list[str]) -> None:
    """The schedule of a seed is the same in every release: resumed tournaments depend on it."""
    games = itertools.islice(schedule, 2)
    assert [" ".join(game.bots).replace("bot ", "") for game in games] == first


# Refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: field(3, 4), "bots: 3 can't fill a table of 4 seats"),
        (lambda: field(9, 6), "seats: 6 is not between 2 and 5"),
        (lambda: field(9, 4, seed=-1), "seed: -1 is not between 0 and 2^64 - 1"),
        (lambda: Field(bots=("ann", "bob", "ann"), seats=2, seed=1), "bots: 'ann' is named more than once"),
        (lambda: RandomRounds(field(4, 4), rounds=0), "rounds: 0 is less than 1"),
        (lambda: RoundRobin(field(4, 4), cycles=0), "cycles: 0 is less than 1"),
        (
            lambda: RoundRobin(field(22, 4)),
            "bots: 22 are too many for a round robin of 4 seats, which takes 21 at most",
        ),
        (lambda: Gauntlet(field(4, 4), challengers=[]), "challengers: there are none"),
        (lambda: Gauntlet(field(4, 4), challengers=["eve"]), "challengers: 'eve' is none of the bots"),
        (
            lambda: Gauntlet(field(4, 4), challengers=["bot 1", "bot 1"]),
            "challengers: 'bot 1' is named more than once",
        ),
        (
            lambda: Gauntlet(field(4, 4), challengers=["bot 1", "bot 2"]),
            "challengers: they leave 2 opponents, too few for a table of 4 seats",
        ),
    ],
)
def test_impossible_schedules_are_refused(make: Callable[[], object], message: str) -> None:
    """What can't be scheduled is refused at once, in one line that names it."""
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value) == message
