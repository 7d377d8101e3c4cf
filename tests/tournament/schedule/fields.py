"""Fields of made-up bots, and their games."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from tests.tournament.games import finished

from happycity_tournament.config import SeatOrders
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.schedule import Field, Schedule

SIZES = [(bots, seats) for seats in range(2, 6) for bots in range(seats, 22)]
"""Numbers of bots and of seats at a table for which there is a round robin."""

Play = Callable[[Fixture], FinishedGame]


def names(count: int) -> tuple[str, ...]:
    return tuple(f"bot-{number}" for number in range(count))


def field(bots: int, seats: int, *, seed: int = 1, seat_orders: SeatOrders = SeatOrders.ROTATIONS) -> Field:
    return Field(bots=names(bots), seats=seats, seed=seed, seat_orders=seat_orders)


def numbers(bots: Iterable[str]) -> str:
    return " ".join(bot.removeprefix("bot-") for bot in bots)


def strength_order(fixture: Fixture) -> FinishedGame:
    order = sorted(fixture.bots, key=lambda bot: int(numbers([bot])))
    return finished(fixture, places=[1 + order.index(bot) for bot in fixture.bots])


def random_order(fixture: Fixture) -> FinishedGame:
    """Draw points, with ties, always the same for a game."""
    rng = random.Random(str(fixture.bot_seeds))
    return finished(fixture, points=[rng.randrange(4) for _ in fixture.bots])


def play(schedule: Schedule, result_of: Play = strength_order, *, shuffle: int = 0) -> list[list[Fixture]]:
    stages = []
    for stage in schedule.stages():
        games = list(stage)
        for game in random.Random(shuffle).sample(games, len(games)):
            schedule.add(result_of(game))
        stages.append(games)
    return stages


def deals(games: Iterable[Fixture]) -> list[list[Fixture]]:
    by_deal = defaultdict(list)
    for game in games:
        by_deal[game.round, game.table].append(game)
    return list(by_deal.values())


def meetings(games: Iterable[Fixture]) -> Counter[frozenset[str]]:
    return Counter(
        frozenset(pair) for deal in deals(games) for pair in itertools.combinations(deal[0].bots, 2)
    )


def seats_taken(games: Iterable[Fixture]) -> Counter[tuple[str, int]]:
    return Counter((bot, seat) for game in games for seat, bot in enumerate(game.bots))


def check_order(games: list[Fixture], total: int) -> None:
    """Positions rise, each deal has a seed of its own, and the total is what was promised."""
    positions = [game.position for game in games]
    assert positions == sorted(set(positions))
    assert len(games) == total
    seeds = [{game.deal_seed for game in deal} for deal in deals(games)]
    assert all(len(seed) == 1 for seed in seeds)
    assert len(set.union(*seeds)) == len(seeds)


def check_one_table_a_round(games: Iterable[Fixture]) -> None:
    seated = Counter((deal[0].round, bot) for deal in deals(games) for bot in deal[0].bots)
    assert set(seated.values()) == {1}
