"""What a sequential test says of a difference once it has stopped."""

import math

import numpy as np
import pytest

from happycity_tournament.config import SprtTest
from happycity_tournament.ratings.sprt import MIN_BLOCKS, Sprt, Verdict, expected_score
from happycity_tournament.ratings.stopping import StoppedTest, corrected_scores

WALD = math.log(19)


def stopped(blocks: int, mean: float) -> StoppedTest:
    return StoppedTest(
        blocks=blocks,
        first_look=MIN_BLOCKS,
        mean=mean,
        variance=0.04,
        score0=0.5,
        score1=0.55,
        lower=-WALD,
        upper=WALD,
    )


def test_a_test_of_fixed_length_needs_no_correction() -> None:
    """At the first look nothing could have stopped it before."""
    estimate, low, high = corrected_scores(stopped(MIN_BLOCKS, 0.6))
    assert estimate == pytest.approx(0.6, abs=1e-4)
    assert (low + high) / 2 == pytest.approx(0.6, abs=1e-4)
    assert high - low == pytest.approx(2 * 1.96 * 0.2 / math.sqrt(MIN_BLOCKS), rel=1e-3)


@pytest.mark.parametrize(("mean", "towards"), [(0.56, -1), (0.49, 1)])
def test_the_estimate_moves_back_from_the_bound_that_stopped_the_test(mean: float, towards: int) -> None:
    """A test stops when chance is on the side of its decision."""
    estimate, low, high = corrected_scores(stopped(90, mean))
    assert 0 < (estimate - mean) * towards < 0.03
    assert low < estimate < high


@pytest.mark.thorough
def test_intervals_hold_after_stopping_and_estimates_are_in_the_middle() -> None:
    """Of 400 whole tests with a true difference of elo1, whose plain intervals hold too rarely."""
    rng, truth = np.random.default_rng(8), expected_score(50)
    test = SprtTest(candidate="new", base="old", elo0=0, elo1=50)
    held = above = 0
    for _ in range(400):
        sprt = Sprt(test)
        while sprt.verdict is Verdict.RUNNING:
            for score in np.clip(rng.normal(truth, 0.25, size=100), 0, 1).tolist():
                if sprt.add(score) is not Verdict.RUNNING:
                    break
        state = sprt.state
        assert state.elo is not None
        assert state.elo_low is not None
        assert state.elo_high is not None
        held += state.elo_low <= 50 <= state.elo_high
        above += state.elo > 50
    assert 0.92 < held / 400 < 0.98
    assert 0.42 < above / 400 < 0.58
