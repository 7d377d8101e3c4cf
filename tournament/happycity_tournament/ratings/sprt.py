"""A sequential test between two bots: it plays until the data decide, with error rates fixed in advance.

The test is the generalised sequential probability ratio test (Li, Liu & Ying 2014). An observation is the
score of a whole deal block, 0 to 1: the games of one deal share its cards, so only blocks are independent.
The hypotheses are about a block's expected score; for the rest of its distribution the maximum likelihood
under each hypothesis is put in. With n blocks of mean m and variance v, the log-likelihood ratio is

    n/2 * ln[(v + (m - s0)^2) / (v + (m - s1)^2)],

that of a normal distribution of unknown variance; docs/research/measurements.md compares it with that over
all multinomial distributions.

A score without the luck of the draws may be outside of 0 to 1, with the same mean.

The ratio's bounds are Wald's (1945), moved inwards by the mean of how far a ratio that moves in steps passes
beyond them, 0.583 standard deviations of a step (Chernoff 1965; Siegmund 1985).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from happycity_tournament.config import SprtTest
from happycity_tournament.ratings.statistics import ELO_PER_DECADE, OVERSHOOT, Moments

MIN_BLOCKS = 30
"""With fewer blocks their variance is known too badly to decide anything."""
MIN_DECISIVE = 10
"""Blocks whose score isn't 1/2 that a decision takes: where most blocks are exactly even, some few of the
others make no normal distribution."""

_MOST_POINTS = 100  # of a history
_EVEN = 0.5
_NORMAL_QUANTILE = 1.959964  # 97.5%
_ROUNDING = 1e-9  # block scores are sums of fractions


class Verdict(Enum):
    """Where a test stands."""

    RUNNING = "running"
    H0 = "h0"
    """The difference is `elo0` rather than `elo1`."""
    H1 = "h1"
    """The difference is `elo1` rather than `elo0`."""
    NO_DIFFERENCE = "no_difference"
    """Every block was exactly even, so often that a hypothesis is ruled out: the bots play the same."""
    UNDECIDED = "undecided"
    """The maximum of blocks was played."""


class SprtPoint(NamedTuple):
    """The log-likelihood ratio after some blocks, and its bounds there."""

    blocks: int
    llr: float
    lower: float
    """The bound of H0. It depends on the variance of the blocks so far, as the other one does."""
    upper: float
    """The bound of H1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtState:
    """A test after some blocks."""

    verdict: Verdict
    blocks: int
    """Blocks counted."""
    llr: float
    """The log-likelihood ratio: positive speaks for H1."""
    lower: float
    """H0 is accepted where `llr` isn't above it."""
    upper: float
    """H1 is accepted where `llr` isn't below it."""
    elo: float | None = None
    """The difference on the logistic scale; None without blocks, and where all was won or lost."""
    elo_low: float | None = None
    """Lower end of its 95% interval; None if there is none. Both allow for the stopping of a test by its
    result; while it runs, they are those of a fixed number of blocks."""
    elo_high: float | None = None
    """Upper end of it."""


class Sprt:
    """A running test of the hypotheses of an `SprtTest`."""

    def __init__(self, test: SprtTest) -> None:
        """Begin without blocks."""
        self._test = test
        self._scores = _Scores()
        self.verdict = Verdict.RUNNING
        """Where the test stands."""
        self._corrected: tuple[float, float | None, float | None] | None = None
        """The estimate and its interval once it has stopped."""
        self._points: list[SprtPoint] = []
        self._step = 1
        """One block in this many has a point."""

    @property
    def blocks(self) -> int:
        """How many blocks count."""
        return self._scores.count

    @property
    def history(self) -> tuple[SprtPoint, ...]:
        """The ratio over the blocks, at most 100 points evenly spread, the last one after all blocks."""
        known = self._points
        return (*known, self._point()) if self.blocks % self._step else tuple(known)

    @property
    def state(self) -> SprtState:
        """The test after the blocks so far; the first time after its end this takes 10 to 40 ms."""
        estimate, low, high = self._estimate()
        lower, upper = self._bounds()
        return SprtState(
            verdict=self.verdict,
            blocks=self._scores.count,
            llr=self._llr(),
            lower=lower,
            upper=upper,
            elo=logistic_elo(estimate) if self._scores.count else None,
            elo_low=logistic_elo(low),
            elo_high=logistic_elo(high),
        )

    def add(self, block_score: float) -> Verdict:
        """Count the next block, in an order that was fixed beforehand, and return where the test stands.

        Raises:
            ValueError: the score is not a number, or not between 0 and 1 though luck is not taken off, or the
                test is over.
        """
        if not (math.isfinite(block_score) if self._test.luck_evaluator else 0 <= block_score <= 1):
            raise ValueError(f"a block's score is not {block_score}, but 0 to 1")
        if self.verdict is not Verdict.RUNNING:
            raise ValueError(f"the test is over: {self.verdict.value}")
        self._scores.add(block_score)
        self._scores.decisive += abs(block_score - _EVEN) > _ROUNDING
        self.verdict = self._decide()
        if not self.blocks % self._step:
            self._points.append(self._point())
            if len(self._points) == _MOST_POINTS:
                self._points, self._step = self._points[1::2], 2 * self._step
        return self.verdict

    def _point(self) -> SprtPoint:
        return SprtPoint(self.blocks, self._llr(), *self._bounds())

    def _estimate(self) -> tuple[float, float | None, float | None]:
        """Return the estimate of the expected score, and the ends of its 95% interval."""
        scores = self._scores
        low, high = scores.interval()
        settled = self.verdict in (Verdict.H0, Verdict.H1, Verdict.UNDECIDED)
        if not settled or low is None or not 0 < scores.mean < 1:
            return scores.mean, low, high
        if self._corrected is None:
            from happycity_tournament.ratings.stopping import (  # noqa: PLC0415 - it imports numpy
                StoppedTest,
                corrected_scores,
            )

            score0, score1 = self._expected_scores()
            lower, upper = self._walds_bounds()
            stopped = StoppedTest(
                blocks=scores.count,
                first_look=MIN_BLOCKS,
                mean=scores.mean,
                variance=scores.variance,
                score0=score0,
                score1=score1,
                lower=lower,
                upper=upper,
            )
            fixed = scores.mean, low, high
            self._corrected = corrected_scores(stopped) if stopped.has_normal_steps else fixed
        return self._corrected

    def _decide(self) -> Verdict:
        scores = self._scores
        if scores.count >= MIN_BLOCKS and scores.decisive >= MIN_DECISIVE:
            llr = self._llr()
            lower, upper = self._bounds()
            if llr >= upper:
                return Verdict.H1
            if llr <= lower:
                return Verdict.H0
        elif scores.count >= MIN_BLOCKS and not scores.decisive and self._rules_out_one():
            return Verdict.NO_DIFFERENCE
        return Verdict.UNDECIDED if scores.count >= self._test.max_blocks else Verdict.RUNNING

    def _rules_out_one(self) -> bool:
        """Return whether even blocks alone contradict a hypothesis.

        If more than a share q of all blocks weren't even, so many in a row would be so with a probability
        below alpha; and a share q moves the mean by q/2 at most.
        """
        share = 1 - math.pow(min(self._test.alpha, self._test.beta), 1 / self._scores.count)
        return share / 2 < max(abs(score - _EVEN) for score in self._expected_scores())

    def _llr(self) -> float:
        scores = self._scores
        if not scores.count:
            return 0.0
        score0, score1 = self._expected_scores()
        variance = scores.variance
        ratio = (variance + (scores.mean - score0) ** 2) / (variance + (scores.mean - score1) ** 2)
        return scores.count / 2 * math.log(ratio)

    def _walds_bounds(self) -> tuple[float, float]:
        test = self._test
        return math.log(test.beta / (1 - test.alpha)), math.log((1 - test.beta) / test.alpha)

    def _bounds(self) -> tuple[float, float]:
        lower, upper = self._walds_bounds()
        if not self._scores.count:
            return lower, upper
        score0, score1 = self._expected_scores()
        overshoot = OVERSHOOT * (score1 - score0) / math.sqrt(self._scores.variance)
        return min(lower + overshoot, 0.0), max(upper - overshoot, 0.0)

    def _expected_scores(self) -> tuple[float, float]:
        return expected_score(self._test.elo0), expected_score(self._test.elo1)


def expected_score(elo: float) -> float:
    """Return the expected score of a difference on the logistic scale (Elo 1978)."""
    return 1 / (1 + 10 ** (-elo / ELO_PER_DECADE))


def logistic_elo(score: float | None) -> float | None:
    """Return the difference whose expected score that is; None for None, and for 0, 1 and beyond."""
    if score is None or not 0 < score < 1:
        return None
    return ELO_PER_DECADE * math.log10(score / (1 - score))


@dataclass(slots=True)
class _Scores(Moments):
    """The moments of the blocks' scores."""

    decisive: int = 0
    """Blocks that weren't exactly even."""

    @property
    def variance(self) -> float:
        """What it would be if a single block differed by 1/2, at least: equal scores don't prove it zero."""
        return max(self.squares / self.count, 0.25 / self.count)

    def interval(self) -> tuple[float | None, float | None]:
        """Return the ends of the mean's 95% interval; None if nothing is known of the variance."""
        if self.count < MIN_BLOCKS or not self.decisive:
            return None, None
        margin = _NORMAL_QUANTILE * math.sqrt(self.variance / (self.count - 1))
        return self.mean - margin, self.mean + margin
