"""The checks of luck and of the evaluator, at a small size: the full tables are those of the measurements."""

import numpy as np
import pytest
from tools.benchmarks.luck_checks import ClumsyBot, reliability, unbiased

from happycity import Config, Mode
from happycity_bots import GreedyBot
from happycity_client import Bot

SEED = 71 * 10**8


@pytest.mark.parametrize("games", [16, pytest.param(400, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("second", [GreedyBot, ClumsyBot])
def test_taking_luck_off_keeps_the_mean(second: type[Bot], games: int) -> None:
    """The luck's mean is 0 within four errors, and scores without it vary less."""
    won, luck, _ = np.array(unbiased(second, Config(players=2), games=games, seed=SEED)).T
    assert abs(luck.mean()) < 4 * luck.std(ddof=1) / games**0.5
    assert (won - luck).std() < won.std()


@pytest.mark.parametrize("games", [12, pytest.param(200, marks=pytest.mark.thorough)])
def test_predicted_places_are_those_that_follow(games: int) -> None:
    """Each tenth with some seats is within four errors and 10 points; all places together have one mean."""
    tenths = reliability(Mode.FAMILY, games=games, seed=SEED)
    assert all(abs(each.actual - each.predicted) < 4 * each.error + 0.1 for each in tenths)
    predicted = sum(each.seats * each.predicted for each in tenths)
    assert predicted == pytest.approx(sum(each.seats * each.actual for each in tenths))
