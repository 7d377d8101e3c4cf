"""Sequential tests: when they end, with what verdict, and what they say of the difference."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from happycity_tournament.config import SprtTest
from happycity_tournament.ratings.sprt import (
    MIN_BLOCKS,
    MIN_DECISIVE,
    Sprt,
    Verdict,
    expected_score,
    logistic_elo,
)
from happycity_tournament.ratings.stopping import StoppedTest, corrected_scores


def new_sprt(*, elo0: float = 0.0, **numbers: Any) -> Sprt:
    return Sprt(SprtTest(candidate="new", base="old", elo0=elo0, **numbers))


Draw = Callable[[np.random.Generator, float, int], list[float]]


def pair_blocks(rng: np.random.Generator, elo: float, count: int) -> list[float]:
    """Draw blocks of two games, 40% of them tied, whose cards favour one bot, then the other."""
    cards = rng.choice([-0.15, 0.15], size=count)
    scored = np.zeros(count)
    for luck in (cards, -cards):
        chance = rng.random(count)
        win = expected_score(elo) - 0.2 + luck
        scored += 0.5 * (chance < win) + 0.5 * (chance < win + 0.4)
    scores: list[float] = (scored / 2).tolist()
    return scores


def four_seat_blocks(rng: np.random.Generator, elo: float, count: int) -> list[float]:
    """Draw blocks of two games in which each bot has two of the four seats (Plackett-Luce)."""
    advantage = elo * math.log(10) / 400
    results = rng.gumbel(size=(count, 2, 4)) + np.array([advantage, advantage, 0, 0])
    above = results[..., :2, None] > results[..., None, 2:]
    scored: list[float] = above.mean(axis=(1, 2, 3)).tolist()
    return scored


def even_blocks(rng: np.random.Generator, elo: float, count: int) -> list[float]:
    """Draw blocks of bots that hardly differ: 19 of 20 are exactly even, the others won or lost."""
    up = (0.05 + 2 * (expected_score(elo) - 0.5)) / 2
    chance = rng.random(count)
    scored: list[float] = np.where(chance < up, 1.0, np.where(chance < 0.05, 0.0, 0.5)).tolist()
    return scored


def feed(sprt: Sprt, scores: Iterable[float]) -> Sprt:
    for score in scores:
        if sprt.add(score) is not Verdict.RUNNING:
            break
    return sprt


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("draw", "elo1", "runs"),
    [(pair_blocks, 50, 500), (four_seat_blocks, 40, 500), (pair_blocks, 15, 80), (even_blocks, 10, 200)],
)
@pytest.mark.parametrize("truth", [0, 1])
def test_error_rates(draw: Draw, elo1: float, runs: int, truth: int) -> None:
    """A true hypothesis is rejected no more often than alpha or beta, within the error of so many tests."""
    rng, ended = np.random.default_rng(5), Counter[Verdict]()
    for _ in range(runs):
        sprt = new_sprt(elo1=elo1)
        while sprt.verdict is Verdict.RUNNING:
            feed(sprt, draw(rng, truth * elo1, 300))
        ended[sprt.verdict] += 1
    wrong = ended[Verdict.H0 if truth else Verdict.H1]
    assert wrong <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)
    assert sum(ended.values()) == ended[Verdict.H0] + ended[Verdict.H1] + ended[Verdict.NO_DIFFERENCE]


def test_the_ratio_by_hand() -> None:
    sprt = feed(new_sprt(elo1=100, alpha=1e-6, beta=1e-6), [1.0, 0.5] * 20)
    s1 = 1 / (1 + 10 ** (-100 / 400))
    assert sprt.state.llr == pytest.approx(
        20 * math.log((1 / 16 + 1 / 16) / (1 / 16 + (0.75 - s1) ** 2)), abs=1e-9
    )


@pytest.mark.level(1)
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), max_size=29))
def test_exchanging_bots_and_hypotheses_turns_the_ratio_round(scores: list[float]) -> None:
    one = feed(new_sprt(elo0=-5, elo1=10), scores).state
    other = feed(new_sprt(elo0=-10, elo1=5), [1 - score for score in scores]).state
    assert one.llr == pytest.approx(-other.llr)
    assert (one.lower, one.upper) == pytest.approx((-other.upper, -other.lower))
    assert (one.elo is None) == (other.elo is None)
    assert one.elo is None or one.elo == pytest.approx(-(other.elo or 0.0), abs=1e-9)


def test_bounds_are_walds_less_the_overshoot() -> None:
    """Before the first block the bounds are Wald's; with data they are nearer, by more for larger steps."""
    start = new_sprt(elo1=10, alpha=0.05, beta=0.1).state
    assert (start.lower, start.upper) == pytest.approx((math.log(0.1 / 0.95), math.log(0.9 / 0.05)))
    scores = [0.0, 1.0] * 5
    narrow, wide = (feed(new_sprt(elo1=elo1, beta=0.1), scores).state for elo1 in (10, 50))
    assert start.lower < narrow.lower < wide.lower < 0 < wide.upper < narrow.upper < start.upper


def test_identical_bots_end_in_no_difference() -> None:
    """Bots that play the same have even blocks only: that ends once a hypothesis would explain it badly."""
    for elo0, elo1, blocks in [(0, 10, 103), (-5, 5, 207), (-10, 0, 103), (0, 200, 30)]:
        state = feed(new_sprt(elo0=elo0, elo1=elo1), [0.5] * 1000).state
        assert (state.verdict, state.elo, state.blocks) == (Verdict.NO_DIFFERENCE, 0, blocks)
        assert state.elo_low is state.elo_high is None


def test_a_bot_that_always_wins() -> None:
    """Blocks that are all won or lost decide, though they have no variance and no Elo, but not early."""
    won, lost = (feed(new_sprt(elo1=10), [score] * 1000).state for score in (1.0, 0.0))
    assert (won.verdict, won.elo, won.elo_high) == (Verdict.H1, None, None)
    assert (lost.verdict, lost.elo, lost.elo_low) == (Verdict.H0, None, None)
    clear = feed(new_sprt(elo1=200), [1.0] * 100)
    assert (clear.state.blocks, clear.verdict) == (MIN_BLOCKS, Verdict.H1)


def test_few_uneven_blocks_decide_nothing() -> None:
    """Where nearly all blocks are even, a decision takes ten that aren't."""
    scores = ([0.5] * 30 + [1.0]) * (MIN_DECISIVE - 1) + [0.5] * 30
    sprt = feed(new_sprt(elo1=10), scores)
    assert (sprt.verdict, sprt.state.blocks) == (Verdict.RUNNING, len(scores))
    assert sprt.state.llr > sprt.state.upper
    assert sprt.add(1.0) is Verdict.H1


def test_the_maximum_of_blocks_ends_undecided() -> None:
    """Adding after the end would be a second look at the data; a block's score is 0 to 1."""
    sprt = feed(new_sprt(elo1=5, max_blocks=50), [0.0, 1.0] * 100)
    assert (sprt.state.blocks, sprt.verdict) == (50, Verdict.UNDECIDED)
    with pytest.raises(ValueError, match="the test is over: undecided"):
        sprt.add(0.5)
    for score in (-0.01, 1.01, math.nan):
        with pytest.raises(ValueError, match="0 to 1"):
            new_sprt(elo1=5).add(score)
    without_luck = new_sprt(elo1=5, luck_evaluator="abc")
    assert without_luck.add(1.2) is Verdict.RUNNING
    with pytest.raises(ValueError, match="not nan"):
        without_luck.add(math.nan)


def test_elo_and_score_are_inverse() -> None:
    """The logistic scale there and back; a score of 0 or 1 has no Elo."""
    assert expected_score(400) == pytest.approx(10 / 11)
    assert logistic_elo(expected_score(-37.5)) == pytest.approx(-37.5)
    assert logistic_elo(0.0) is logistic_elo(1.0) is None


@pytest.mark.level(1)
def test_the_interval_covers_the_truth() -> None:
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(400):
        sprt = feed(new_sprt(elo1=100, alpha=1e-9, beta=1e-9), pair_blocks(rng, 30, 100))
        low, high = sprt.state.elo_low, sprt.state.elo_high
        assert low is not None
        assert high is not None
        covered += low < 30 < high
    assert 0.92 <= covered / 400 <= 0.98


def test_the_history_is_thinned() -> None:
    """However long a test is, it has at most 100 points, evenly spread, and the last one is the present."""
    sprt = new_sprt(elo1=0.01, max_blocks=1000)
    for blocks in range(1, 1001):
        sprt.add((blocks % 3) / 2)
        history = sprt.history
        assert len(history) <= 100
        assert history[-1].blocks == blocks
    steps = {later.blocks - point.blocks for point, later in pairwise(history[:-1])}
    assert len(steps) == 1
    state = sprt.state
    assert history[-1][1:] == (state.llr, state.lower, state.upper)


WALD = math.log(19)


def stopped(blocks: int, mean: float) -> StoppedTest:
    scores = {"variance": 0.04, "score0": 0.5, "score1": 0.55}
    return StoppedTest(blocks=blocks, first_look=MIN_BLOCKS, mean=mean, lower=-WALD, upper=WALD, **scores)


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


def test_a_test_that_was_nearly_all_won_has_the_interval_of_its_blocks() -> None:
    """Its ratio is far beyond the bound for want of variance, where no sum of normal steps would end."""
    sprt = new_sprt(elo1=10)
    for number in itertools.count():
        if sprt.add(0.5 if number % 20 == 5 else 1.0) is not Verdict.RUNNING:
            break
    state = sprt.state
    assert state.verdict is Verdict.H1
    assert state.blocks > MIN_BLOCKS
    assert state.elo_low is not None
    assert state.elo_high is not None
    assert state.elo is not None
    assert state.elo_low + 50 < state.elo < state.elo_high - 50


@pytest.mark.level(2)
def test_intervals_hold_after_stopping_and_estimates_are_in_the_middle() -> None:
    """Of 100 whole tests with a true difference of elo1, whose plain intervals hold too rarely."""
    rng, truth = np.random.default_rng(8), expected_score(50)
    held = above = 0
    for _ in range(100):
        sprt = new_sprt(elo1=50)
        while sprt.verdict is Verdict.RUNNING:
            feed(sprt, np.clip(rng.normal(truth, 0.25, size=100), 0, 1).tolist())
        state = sprt.state
        assert state.elo is not None
        assert state.elo_low is not None
        assert state.elo_high is not None
        held += state.elo_low <= 50 <= state.elo_high
        above += state.elo > 50
    assert 0.92 < held / 100 < 0.98
    assert 0.42 < above / 100 < 0.58
