"""Measure how often the sequential test errs, and how many blocks it takes.

Blocks are simulated with a difference known in advance, and each run is a whole test. Where a run's candidate
is as strong as H0 says, its error is to accept H1, and the other way round. The ratio over all multinomial
distributions (Li, Liu & Ying 2014), to which `happycity_tournament.ratings.sprt` prefers the one of a normal
distribution, runs next to it under the same rules.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from happycity_tournament.config import SprtTest
from happycity_tournament.ratings.sprt import MIN_BLOCKS, MIN_DECISIVE, Sprt, Verdict, expected_score
from happycity_tournament.schedule.sequential import seatings

ALPHA = BETA = 0.05
LUCK = 0.7
"""Standard deviation of what a seat's cards are worth in a deal, in logits."""
TIE = 0.3
"""Two bots tie if their results differ by less, in logits."""
EVEN_SHARE = 0.9
"""Share of blocks that are exactly even where the bots hardly differ."""

_CHUNK = 500
_OVERSHOOT = 0.5826
_ZERO = 1e-3  # the frequency, in blocks, of a score that hasn't occurred
_TILT_STEPS = 4

_Floats = NDArray[np.float64]
_Draw = Callable[[np.random.Generator, tuple[int, int]], _Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Two hypotheses, and blocks in which one of them is true."""

    name: str
    elo0: float
    elo1: float
    truth: int
    """0 or 1: the hypothesis that is true."""
    steps: int
    """Block scores are multiples of 1 / steps."""
    draw: _Draw

    @property
    def wrong(self) -> Verdict:
        """The verdict that is an error."""
        return Verdict.H0 if self.truth else Verdict.H1


@dataclass(frozen=True, slots=True)
class SequentialOutcome:
    """The result of a case's runs."""

    errors: float
    """Share of runs with the wrong verdict."""
    blocks: float
    """Mean number of blocks."""


def pair_blocks(elo: float) -> _Draw:
    """Return blocks of two games of two seats with ties (Rao & Kupper 1967): scores in quarters."""
    strength = _strength(elo, tie=TIE)

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> _Floats:
        cards = rng.normal(size=size) * LUCK * math.sqrt(2)
        scored = np.zeros(size)
        for swapped in (1, -1):
            margin = strength + swapped * cards + rng.logistic(size=size)
            scored += 0.5 * (margin > TIE) + 0.5 * (margin > -TIE)
        return scored / 2

    return draw


def seating_blocks(elo: float, *, seats: int) -> _Draw:
    """Return blocks of all seatings at larger tables (Plackett-Luce given the cards)."""
    strength = _strength(elo, tie=0.0)
    games = [np.array(seating) for seating in seatings(seats)]

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> _Floats:
        cards = rng.normal(size=(*size, seats)) * LUCK
        scored = np.zeros(size)
        for mine in games:
            results = cards + strength * mine + rng.gumbel(size=(*size, seats))
            above = results[..., mine][..., :, None] > results[..., ~mine][..., None, :]
            scored += above.mean(axis=(-2, -1))
        return scored / len(games)

    return draw


def close_blocks(elo: float) -> _Draw:
    """Return blocks between bots that hardly differ: nearly all are exactly even, some are 1/4 off."""
    up = (1 - EVEN_SHARE + 4 * (expected_score(elo) - 0.5)) / 2

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> _Floats:
        chance = rng.random(size)
        scores: _Floats = np.where(chance < up, 0.75, np.where(chance < 1 - EVEN_SHARE, 0.25, 0.5))
        return scores

    return draw


def cases() -> list[Case]:
    """Return all that is measured."""
    kinds: list[tuple[str, int, Callable[[float], _Draw], tuple[int, ...]]] = [
        ("2 seats, 2 games", 4, pair_blocks, (10, 50)),
        ("3 seats, 6 games", 12, partial(seating_blocks, seats=3), (10,)),
        ("4 seats, 2 games", 8, partial(seating_blocks, seats=4), (10, 50)),
        ("5 seats, 10 games", 60, partial(seating_blocks, seats=5), (10,)),
        ("90% exactly even", 4, close_blocks, (10,)),
    ]
    return [
        Case(name=name, elo0=0, elo1=elo1, truth=truth, steps=steps, draw=blocks(truth * elo1))
        for name, steps, blocks, differences in kinds
        for elo1 in differences
        for truth in (0, 1)
    ]


def run_tests(case: Case, *, runs: int, seed: int) -> SequentialOutcome:
    """Run the project's test."""
    rng = np.random.default_rng(seed)
    wrong = blocks = 0
    test = SprtTest(
        candidate="candidate", base="base", elo0=case.elo0, elo1=case.elo1, alpha=ALPHA, beta=BETA
    )
    for _ in range(runs):
        sprt = Sprt(test)
        while sprt.verdict is Verdict.RUNNING:
            for score in case.draw(rng, (1, _CHUNK))[0].tolist():
                blocks += 1
                if sprt.add(score) is not Verdict.RUNNING:
                    break
        wrong += sprt.verdict is case.wrong
    return SequentialOutcome(wrong / runs, blocks / runs)


def run_multinomial_tests(case: Case, *, runs: int, seed: int) -> SequentialOutcome:
    """Run the same test with the exact multinomial ratio, all runs side by side."""
    rng = np.random.default_rng(seed)
    support = np.arange(case.steps + 1) / case.steps
    counts = np.zeros((runs, case.steps + 1))
    wrong = blocks = played = 0
    while len(counts):
        if not played % _CHUNK:
            chunk = np.rint(case.draw(rng, (len(counts), _CHUNK)) * case.steps).astype(int)
        counts[np.arange(len(counts)), chunk[:, played % _CHUNK]] += 1
        played += 1
        if played < MIN_BLOCKS:
            continue
        llr, overshoot = _multinomial_llr(counts, support, case)
        decisive = played - counts[:, case.steps // 2] >= MIN_DECISIVE
        high = decisive & (llr >= math.log((1 - BETA) / ALPHA) - overshoot)
        low = decisive & (llr <= math.log(BETA / (1 - ALPHA)) + overshoot)
        wrong += int((low if case.truth else high).sum())
        over = high | low
        blocks += played * int(over.sum())
        counts, chunk = counts[~over], chunk[~over]
    return SequentialOutcome(wrong / runs, blocks / runs)


def _multinomial_llr(counts: _Floats, support: _Floats, case: Case) -> tuple[_Floats, _Floats]:
    """Return each run's log-likelihood ratio and the mean overshoot of its steps."""
    shares = np.where(counts == 0, _ZERO, counts)
    shares /= shares.sum(axis=1, keepdims=True)
    mean = shares @ support
    variance = shares @ support**2 - mean**2
    score0, score1 = expected_score(case.elo0), expected_score(case.elo1)
    tilt0, tilt1 = (_tilt(shares, support, score, mean, variance) for score in (score0, score1))
    llr: _Floats = (counts * (np.log(tilt0) - np.log(tilt1))).sum(axis=1)
    return llr, _OVERSHOOT * (score1 - score0) / np.sqrt(variance)


def _tilt(shares: _Floats, support: _Floats, score: float, mean: _Floats, variance: _Floats) -> _Floats:
    """Return what each score's share is divided by in the likeliest distribution with mean `score`.

    That is 1 + x (a - score), where x makes the mean right; Newton's method finds it from its value for small
    deviations in a few steps.
    """
    offsets = support - score
    lowest, highest = -1 / (1 - score), 1 / score
    x = np.clip((mean - score) / variance, 0.99 * lowest, 0.99 * highest)
    for _ in range(_TILT_STEPS):
        terms = offsets / (1 + x[:, None] * offsets)
        step = (shares * terms).sum(axis=1) / (shares * terms**2).sum(axis=1)
        x = np.clip(x + step, 0.9999 * lowest, 0.9999 * highest)
    divisor: _Floats = 1 + x[:, None] * offsets
    return divisor


def _strength(elo: float, *, tie: float) -> float:
    """Return the advantage in logits whose mean score, over all cards, is that of a difference in Elo.

    The two seats' cards differ by a normal amount, over which Gauss-Hermite quadrature integrates.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    cards, weights = nodes * LUCK * math.sqrt(2), weights / weights.sum()
    low, high = -5.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        margin = middle + cards
        score = weights @ (0.5 / (1 + np.exp(tie - margin)) + 0.5 / (1 + np.exp(-tie - margin)))
        low, high = (middle, high) if score < expected_score(elo) else (low, middle)
    return low


def main() -> None:
    """Measure every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000, help="tests for each row")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"alpha = beta = {ALPHA}, {options.runs} runs a row")
    print("| blocks | elo0 | elo1 | true | errors | mean blocks | multinomial: errors | mean blocks |")
    print("|---|---:|---:|---|---:|---:|---:|---:|")
    for case in cases():
        ours = run_tests(case, runs=options.runs, seed=options.seed)
        exact = run_multinomial_tests(case, runs=options.runs, seed=options.seed + 1)
        print(
            f"| {case.name} | {case.elo0:g} | {case.elo1:g} | H{case.truth} | {ours.errors:.3f} "
            f"| {ours.blocks:,.0f} | {exact.errors:.3f} | {exact.blocks:,.0f} |",
            flush=True,
        )
