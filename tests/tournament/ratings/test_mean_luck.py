"""What bots won by luck on average, and which of them were luckier than chance allows."""

import math

import numpy as np
import pytest

from happycity_tournament.ratings.columns import Games, TableColumns
from happycity_tournament.ratings.mean_luck import mean_luck


def games(luck: list[list[float]], *, deals: list[int]) -> Games:
    """Make games of two bots, who exchange the seats in every other one."""
    bots = np.array([[number % 2, 1 - number % 2] for number in range(len(luck))])
    places = np.tile([1, 2], (len(luck), 1))
    return Games(("a", "b"), {2: TableColumns(bots, places, np.array(deals), np.array(luck))})


def test_errors_are_clustered_by_deal() -> None:
    """By hand: sqrt(C / (C - 1) * sum over deals of (sum of (x - mean))^2) / n."""
    found, other = mean_luck(games([[0.3, -0.3], [0.1, -0.1], [0.2, -0.2], [0.6, -0.6]], deals=[0, 0, 1, 1]))
    assert (found.bot, found.seats, found.deals) == ("a", 4, 2)
    own = [0.3, -0.1, 0.2, -0.6]
    mean = sum(own) / 4
    error = math.sqrt(2 * ((own[0] + own[1] - 2 * mean) ** 2 + (own[2] + own[3] - 2 * mean) ** 2)) / 4
    assert (found.places, found.error) == pytest.approx((mean, error))
    assert found.margin == pytest.approx(12.706 * error)
    assert other.places == pytest.approx(-mean)


def test_only_more_luck_than_chance_allows_is_named() -> None:
    """One that is a quarter of a place luckier is, but not after a few deals; bad luck never is."""
    rng = np.random.default_rng(1)
    for deals, gain, too_lucky in ((300, 0.0, []), (300, 0.25, ["a"]), (19, 2.0, []), (300, -0.25, ["b"])):
        luck = rng.normal(0, 0.6, (deals, 1)) * [[1, -1]]
        luck[::2] += [gain, -gain]
        luck[1::2] += [-gain, gain]
        found = mean_luck(games(luck.tolist(), deals=[*range(deals)]))
        assert [one.bot for one in found if one.is_too_lucky] == too_lucky
    assert "a won" in mean_luck(games([[0.5, 0.0]] * 2, deals=[0, 1]))[0].text


def test_without_luck_there_is_nothing_to_say() -> None:
    table = TableColumns(np.array([[0, 1]]), np.array([[1, 2]]), np.array([0]))
    assert mean_luck(Games(("a", "b"), {2: table})) == []
    assert mean_luck(Games(("a", "b"), {})) == []


@pytest.mark.level(3)
def test_a_bot_that_looks_at_the_next_cards_is_found() -> None:
    """Half of them are after 30 deals, by `python -m tools luck-detector`."""
    from tools.benchmarks.luck_detector import luck_of_a_game  # noqa: PLC0415 - it loads the network

    from happycity import Config, Deal  # noqa: PLC0415
    from happycity_evaluation.evaluator import Evaluator  # noqa: PLC0415

    evaluator, deals = Evaluator(), [Deal.shuffle(Config(players=4), seed=seed) for seed in range(80)]
    luck = [luck_of_a_game(deal, evaluator, looks=True) for deal in deals]
    rows = games(
        [[own, 0.0] if number % 2 == 0 else [0.0, own] for number, own in enumerate(luck)], deals=[*range(80)]
    )
    assert mean_luck(rows)[0].is_too_lucky
