"""A sequential test between two bots: it plays until the data decide, with error rates fixed in advance.

The test is the generalised sequential probability ratio test (Li, Liu & Ying 2014). An observation is the
score of a whole deal block, 0 to 1: the games of one deal share its cards, so only blocks are independent.
The hypotheses are about a block's expected score; for the rest of its distribution the maximum likelihood
under each hypothesis is put in. With n blocks of mean m and variance v, the log-likelihood ratio is

    n/2 * ln[(v + (m - s0)^2) / (v + (m - s1)^2)],

that of a normal distribution of unknown variance. It needs nothing but n, m and v, whatever the scores that
a block may have, and was as accurate in simulation as the ratio over all multinomial distributions, which has
to make up frequencies for scores that haven't occurred (docs/tournaments.md has the figures).

The ratio's bounds are Wald's (1945), moved inwards by the mean of how far a ratio that moves in steps passes
beyond them, 0.583 standard deviations of a step (Chernoff 1965; Siegmund 1985).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

from happycity.errors import ConfigError

MIN_BLOCKS = 30
"""With fewer blocks their variance is known too badly to decide anything."""
MIN_DECISIVE = 10
"""Blocks whose score isn't 1/2 that a decision takes: where most blocks are exactly even, some few of the
others make no normal distribution."""

_OVERSHOOT = 0.5826  # -zeta(1/2) / sqrt(2 pi)
_EVEN = 0.5
_ELO_PER_DECADE = 400
_NORMALISED_ELO = 800 / math.log(10)  # per standard deviation of a game's score
_NORMAL_QUANTILE = 1.959964  # 97.5%
_ROUNDING = 1e-9  # block scores are sums of fractions


class Verdict(Enum):
    """Where a test stands."""

    RUNNING = "running"
    H0 = "h0"
    """The difference is `elo0` rather than `elo1`."""
    H1 = "h1"
    """The difference is `elo1` rather than `elo0`."""
    NO_DIFFERENCE = "no difference"
    """Every block was exactly even, so often that a hypothesis is ruled out: the bots play the same."""
    UNDECIDED = "undecided"
    """The maximum of blocks was played."""


class EloScale(Enum):
    """What `elo0` and `elo1` are measured in."""

    LOGISTIC = "logistic"
    """400 log10(s / (1 - s)), where s is the expected score."""
    NORMALISED = "normalised"
    """800 / ln 10 times (s - 1/2) / sigma, where sigma is the standard deviation of a single game's score,
    taken as that of a block times the root of its games (Van den Bergh 2020): tests of equal normalised Elo
    take equal numbers of games, however many games are tied."""


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
    elo: float | None
    """The difference on the logistic scale; None without blocks, and where all was won or lost."""
    elo_low: float | None
    """Lower end of its 95% interval; None if there is none. The interval is made for a fixed number of
    blocks, and a test that stopped early overstates differences a little."""
    elo_high: float | None
    """Upper end of its 95% interval; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtTerms:
    """What is tested, with which errors: the numbers of an `Sprt`, which it checks."""

    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    beta: float = 0.05
    max_blocks: int = 100_000
    scale: EloScale = EloScale.LOGISTIC

    def test(self, *, games_per_block: int) -> Sprt:
        """Begin a test.

        Raises:
            ConfigError: the numbers make no test.
        """
        return Sprt(
            elo0=self.elo0,
            elo1=self.elo1,
            alpha=self.alpha,
            beta=self.beta,
            max_blocks=self.max_blocks,
            scale=self.scale,
            games_per_block=games_per_block,
        )


@dataclass(slots=True, kw_only=True)
class Sprt:
    """Tests H0, the candidate is `elo0` stronger than the base, against H1, it is `elo1` stronger.

    Raises:
        ConfigError: the numbers make no test.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    """The probability that H1 is accepted though H0 is true."""
    beta: float = 0.05
    """The probability that H0 is accepted though H1 is true."""
    max_blocks: int = 100_000
    scale: EloScale = EloScale.LOGISTIC
    games_per_block: int = 2
    """Counts for normalised Elo only."""
    _scores: _Scores = field(init=False)
    _verdict: Verdict = field(init=False, default=Verdict.RUNNING)

    def __post_init__(self) -> None:
        """Refuse what makes no test."""
        if not self.elo0 < self.elo1:
            raise ConfigError(f"elo0: {self.elo0} is not less than elo1, {self.elo1}")
        for name, error in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < error < _EVEN:
                raise ConfigError(f"{name}: {error} is not between 0 and 1/2")
        for name, count in (("max_blocks", self.max_blocks), ("games_per_block", self.games_per_block)):
            if count < 1:
                raise ConfigError(f"{name}: {count} is less than 1")
        self._scores = _Scores()

    @property
    def verdict(self) -> Verdict:
        """Where the test stands."""
        return self._verdict

    @property
    def state(self) -> SprtState:
        """All that the test has to tell."""
        low, high = self._scores.interval()
        lower, upper = self._bounds()
        return SprtState(
            verdict=self._verdict,
            blocks=self._scores.blocks,
            llr=self._llr(),
            lower=lower,
            upper=upper,
            elo=logistic_elo(self._scores.mean) if self._scores.blocks else None,
            elo_low=logistic_elo(low),
            elo_high=logistic_elo(high),
        )

    def add(self, block_score: float) -> Verdict:
        """Count the next block, in an order that was fixed beforehand, and return where the test stands.

        Raises:
            ValueError: the score is not between 0 and 1, or the test is over.
        """
        if not 0 <= block_score <= 1:
            raise ValueError(f"a block's score is not {block_score}, but 0 to 1")
        if self._verdict is not Verdict.RUNNING:
            raise ValueError(f"the test is over: {self._verdict.value}")
        self._scores.add(block_score)
        self._verdict = self._decide()
        return self._verdict

    def _decide(self) -> Verdict:
        scores = self._scores
        if scores.blocks >= MIN_BLOCKS and scores.decisive >= MIN_DECISIVE:
            llr = self._llr()
            lower, upper = self._bounds()
            if llr >= upper:
                return Verdict.H1
            if llr <= lower:
                return Verdict.H0
        elif scores.blocks >= MIN_BLOCKS and not scores.decisive and self._rules_out_one():
            return Verdict.NO_DIFFERENCE
        return Verdict.UNDECIDED if scores.blocks >= self.max_blocks else Verdict.RUNNING

    def _rules_out_one(self) -> bool:
        """Tell whether even blocks alone contradict a hypothesis.

        If more than a share q of all blocks weren't even, so many in a row would be so with a probability
        below alpha; and a share q moves the mean by q/2 at most.
        """
        share = 1 - math.pow(min(self.alpha, self.beta), 1 / self._scores.blocks)
        return share / 2 < max(abs(score - _EVEN) for score in self._expected_scores())

    def _llr(self) -> float:
        scores = self._scores
        if not scores.blocks:
            return 0.0
        score0, score1 = self._expected_scores()
        variance = scores.variance
        ratio = (variance + (scores.mean - score0) ** 2) / (variance + (scores.mean - score1) ** 2)
        return scores.blocks / 2 * math.log(ratio)

    def _bounds(self) -> tuple[float, float]:
        lower = math.log(self.beta / (1 - self.alpha))
        upper = math.log((1 - self.beta) / self.alpha)
        if not self._scores.blocks:
            return lower, upper
        score0, score1 = self._expected_scores()
        overshoot = _OVERSHOOT * (score1 - score0) / math.sqrt(self._scores.variance)
        return min(lower + overshoot, 0.0), max(upper - overshoot, 0.0)

    def _expected_scores(self) -> tuple[float, float]:
        if self.scale is EloScale.LOGISTIC:
            return expected_score(self.elo0), expected_score(self.elo1)
        deviation = math.sqrt(self._scores.variance * self.games_per_block) / _NORMALISED_ELO
        return _EVEN + self.elo0 * deviation, _EVEN + self.elo1 * deviation


def expected_score(elo: float) -> float:
    """Return the expected score of a difference on the logistic scale (Elo 1978)."""
    return 1 / (1 + 10 ** (-elo / _ELO_PER_DECADE))


def logistic_elo(score: float | None) -> float | None:
    """Return the difference whose expected score that is; None for None, and for 0, 1 and beyond."""
    if score is None or not 0 < score < 1:
        return None
    return _ELO_PER_DECADE * math.log10(score / (1 - score))


@dataclass(slots=True)
class _Scores:
    """The moments of the blocks' scores; sums of deviations from 1/2 lose nothing where bots are close."""

    blocks: int = 0
    decisive: int = 0
    """Blocks that weren't exactly even."""
    _sum: float = 0.0
    _squares: float = 0.0

    def add(self, score: float) -> None:
        deviation = score - _EVEN
        self.blocks += 1
        self.decisive += abs(deviation) > _ROUNDING
        self._sum += deviation
        self._squares += deviation * deviation

    @property
    def mean(self) -> float:
        """1/2 before the first block."""
        return _EVEN + self._sum / max(self.blocks, 1)

    @property
    def variance(self) -> float:
        """What it would be if a single block differed by 1/2, at least: equal scores don't prove it zero."""
        deviation = self._sum / self.blocks
        return max(self._squares / self.blocks - deviation * deviation, 0.25 / self.blocks)

    def interval(self) -> tuple[float | None, float | None]:
        """Return the ends of the mean's 95% interval; None if nothing is known of the variance."""
        if self.blocks < MIN_BLOCKS or not self.decisive:
            return None, None
        margin = _NORMAL_QUANTILE * math.sqrt(self.variance / (self.blocks - 1))
        return self.mean - margin, self.mean + margin
