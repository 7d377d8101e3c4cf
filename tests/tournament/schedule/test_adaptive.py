"""Adaptive: a minimum for everybody, then games where the order is most in doubt."""

import math
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.games import finished
from tests.tournament.schedule.fields import field, names, numbers, play

from happycity import ConfigError
from happycity_tournament.config import SeatOrders
from happycity_tournament.games import CountedGame, Position
from happycity_tournament.schedule.adaptive import AdaptiveSchedule, Estimates, Estimator, uncertain_tables
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule


def estimates(elos: Sequence[float], errors: Sequence[float]) -> Estimates:
    """Return estimates whose errors are independent."""
    return Estimates(
        bots=names(len(elos)),
        elos=tuple(elos),
        errors=tuple(
            tuple(
                0.0 if one == other else math.hypot(errors[one], errors[other])
                for other in range(len(errors))
            )
            for one in range(len(errors))
        ),
    )


class CountingEstimator(Estimator):
    """Estimates strengths by the numbers in the names, and errors by games."""

    def __init__(self, bots: tuple[str, ...]) -> None:
        super().__init__(bots)
        self.games = Counter(dict.fromkeys(bots, 0))
        self.positions: list[Position | None] = []

    def add(self, result: CountedGame) -> None:
        self.games.update(result.bots)
        self.positions.append(result.position)

    def estimates(self) -> Estimates:
        elos = [-10.0 * int(numbers([bot])) for bot in self.games]
        return estimates(
            elos, [300 / math.sqrt(games) if games else math.inf for games in self.games.values()]
        )


def adaptive(bots: int, seats: int, *, minimum: int, deals: int, seed: int = 1) -> AdaptiveSchedule:
    of = field(bots, seats, seed=seed, seat_orders=SeatOrders.SINGLE)
    return AdaptiveSchedule(of, minimum_deals=minimum, deals=deals, estimator=CountingEstimator(of.bots))


@few_examples
@given(st.integers(2, 5), st.integers(0, 8), st.integers(1, 6))
def test_every_bot_plays_the_minimum(seats: int, more: int, minimum: int) -> None:
    """Whatever the estimates say, no bot plays fewer deals than the minimum, and there is no extra deal."""
    games = [
        game for stage in play(adaptive(seats + more, seats, minimum=minimum, deals=100)) for game in stage
    ]
    played = Counter(bot for game in games for bot in game.bots)
    assert all(played[bot] >= minimum for bot in names(seats + more))
    assert len(games) == 100


def test_results_reach_the_estimator_in_the_order_of_the_schedule() -> None:
    """Estimates would otherwise depend on which games ended first."""
    of = field(9, 4)
    estimator = CountingEstimator(of.bots)
    stages = play(AdaptiveSchedule(of, minimum_deals=2, deals=20, estimator=estimator), shuffle=7)
    assert estimator.positions == [game.position for games in stages for game in games]


def tables(of: Estimates, *, seats: int = 2, count: int = 1) -> list[set[str]]:
    drawn = uncertain_tables(of, seats=seats, tables=count, games_per_deal=seats, rng=random.Random(1))
    assert all(len(set(table)) == seats for table in drawn)
    return [set(table) for table in drawn]


def test_games_go_where_the_doubt_is() -> None:
    """Two close bots play again and again, bots that are clear of all others don't."""
    close = estimates([300, 10, 0, -300], [20] * 4)
    assert tables(close, count=20) == [{"bot-1", "bot-2"}] * 20


def test_equal_bots_do_not_use_up_all_games() -> None:
    """Once two equal bots are known to be close, less certain pairs come first."""
    assert tables(estimates([100, 100, 0, 15], [4, 4, 30, 30])) == [{"bot-2", "bot-3"}]


def test_the_tables_of_a_round_depend_on_each_other() -> None:
    """A pair that is about to play is less in doubt: the next tables go to others."""
    drawn = tables(estimates([0.0] * 8, [100] * 8), count=4)
    assert len(set(map(frozenset, drawn))) == 4


def test_an_unknown_bot_comes_first() -> None:
    """A bot of which nothing is known plays at once."""
    (table,) = tables(estimates([0.0] * 6, [50] * 5 + [math.inf]), seats=4)
    assert "bot-5" in table


def test_bots_without_any_doubt_can_be_seated() -> None:
    """Errors of 0 are not divided by."""
    assert len(tables(estimates([0.0] * 4, [0.0] * 4), seats=3, count=2)) == 2


def test_differences_are_estimated_by_whole_deals() -> None:
    """An error is symmetric, 0 with itself, infinite before the second deal, and finite after it."""
    estimator = Estimator((*names(4), "new"))
    for stage in play(adaptive(4, 2, minimum=12, deals=24)):
        for number, fixture in enumerate(stage):
            points = [random.Random(f"{number} {bot}").random() * 50 for bot in fixture.bots]
            estimator.add(finished(fixture, points=list(map(int, points))))
            errors = estimator.estimates().errors
            assert all(errors[bot][bot] == 0 for bot in range(5))
            assert all(errors[one][other] == errors[other][one] for one in range(5) for other in range(5))
    assert errors[0][4] == math.inf
    assert 0 < errors[0][1] < math.inf


def test_adaptive_tournaments_never_change() -> None:
    """A resumed tournament depends on getting the same games from the same results in every version."""
    games = play(adaptive(9, 3, minimum=2, deals=12, seed=42))[-1]
    assert [numbers(game.bots) for game in games[:3]] == ["1 2 3", "1 2 0", "7 5 6"]


def test_every_second_later_round_is_random() -> None:
    """Doubt alone would give a bot that was unlucky in the opening no more games."""
    of = field(9, 3, seed=5, seat_orders=SeatOrders.SINGLE)
    stages = play(AdaptiveSchedule(of, minimum_deals=2, deals=18, estimator=CountingEstimator(of.bots)))
    random_rounds = list(RandomRoundsSchedule(of, rounds=4))
    assert [game.bots for stage in (stages[0], stages[1], stages[3]) for game in stage] == [
        game.bots for game in random_rounds
    ]


def test_too_few_deals_for_the_minimum_are_refused() -> None:
    """The deals must suffice for the minimum of all bots."""
    message = "rounds: they make 9 deals, but minimum_deals of 4 takes 10"
    with pytest.raises(ConfigError, match=message):
        adaptive(9, 4, minimum=4, deals=9)
