"""Elo ratings with 95% intervals, up to date after every game.

A game of several seats is taken as one comparison of every pair: 1 for the better place, 1/2 each for a
shared one. The ratings maximise the pairwise composite likelihood (Varin, Reid & Firth 2011) of the
Bradley-Terry model, P(i above j) = 1 / (1 + 10^((Rj - Ri) / 400)), so a difference means the same at
tables of two to five. They depend on the sums of the pairs' scores alone, not on the order of the games.

Comparisons within a game are dependent, and so are the games of one deal; the intervals therefore rest on
whole deals. The Bayesian bootstrap (Rubin 1981) gives each deal a random weight, in many replicates; how far
the replicates' ratings scatter is the standard error, equal in expectation to the cluster-robust one (Liang &
Zeger 1986).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.results import Rating
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile

REPLICATES = 400
"""Their scatter is itself exact to 1 / sqrt(2 * 400) = 3.5%."""
MAX_INTERVAL_BOTS = 128
"""With more bots there are no intervals: the replicates would take 8 * 400 bytes for each pair."""

_PRIOR_GAMES = 1.0  # one drawn virtual game against an average bot keeps perfect scores finite
_BOOTSTRAP_KEY = 0x4861707079  # any constant: it makes the intervals the same in every run
_WEIGHT_STEP = 2.0**-20
_MAX_NEWTON_STEPS = 100
_CONVERGED = 1e-9  # logits; about 2e-7 Elo


class LiveElo:
    """Rates bots from results that come one by one, the games of a deal next to each other.

    A result costs tens of microseconds, `ratings` 2 ms for 21 bots and 16 ms for 100. Memory is 8 * 400
    bytes for each ordered pair of bots: 1.4 MB for 21 bots, 32 MB for 100.
    """

    def __init__(self, bots: Sequence[str]) -> None:
        count = len(bots)
        self._bots = tuple(bots)
        self._index = {bot: index for index, bot in enumerate(bots)}
        self._scores: Floats = np.zeros((count, count))
        """What the row's bot scored against the column's: wins and half the ties."""
        self._weighted: Floats | None = None
        """The same in each replicate of the bootstrap; None for too many bots."""
        if count <= MAX_INTERVAL_BOTS:
            self._weighted = np.zeros((count, count, REPLICATES))
            self._prior = _prior_weights(count)
        self._deals = [0] * count
        self._deal: tuple[int, int] | None = None
        """The deal of the last game."""
        self._of_deal: defaultdict[tuple[int, int], float] = defaultdict(float)
        """What the row's bot scored against the column's in that deal, as far as it isn't in the sums yet."""

    def add(self, result: FinishedGame) -> None:
        """Count a game by its places.

        Raises:
            KeyError: a bot in it is not rated.
        """
        seats = [(self._index[bot], seat.place) for bot, seat in zip(result.bots, result.seats, strict=True)]
        if result.deal != self._deal:
            self._sum_up()
            self._deal = result.deal
            for bot in {bot for bot, _ in seats}:
                self._deals[bot] += 1
        for (bot, place), (other, other_place) in combinations(seats, 2):
            if bot == other:  # a bot in two seats says nothing about itself
                continue
            if place == other_place:
                self._of_deal[bot, other] += 0.5
                self._of_deal[other, bot] += 0.5
            else:
                self._of_deal[(bot, other) if place < other_place else (other, bot)] += 1.0

    def _sum_up(self) -> None:
        """Add the scores of the last deal to the sums; all sums are exact, so it doesn't matter when."""
        if not self._of_deal or self._deal is None:
            return
        for pair, score in self._of_deal.items():
            self._scores[pair] += score
        if self._weighted is not None:
            weights = _weights(*self._deal)
            for pair, score in self._of_deal.items():
                self._weighted[pair] += score * weights
        self._of_deal.clear()

    @property
    def scores(self) -> Floats:
        """What each row's bot scored against each column's: wins and half the ties; a copy."""
        self._sum_up()
        return self._scores.copy()

    def elos(self) -> list[float]:
        """Return the Elo of every bot, in the order in which the bots were given, without intervals."""
        self._sum_up()
        return [float(elo) for elo in _elos(_fit(self._scores))]

    def ratings(self) -> list[Rating]:
        """Return the rating of every bot, in the order in which the bots were given."""
        self._sum_up()
        logits = _fit(self._scores)
        elos = _elos(logits)
        errors = np.full(len(self._bots), np.inf)
        if self._weighted is not None:
            errors = ELO_PER_LOGIT * np.sqrt(np.mean(self._shifts(logits) ** 2, axis=1))
        ratings = []
        for bot, elo, error, deals in zip(
            self._bots, elos.tolist(), errors.tolist(), self._deals, strict=True
        ):
            low = high = None
            if deals >= MIN_DEALS and error < math.inf:
                margin = student_quantile(deals - 1) * math.sqrt(deals / (deals - 1)) * error
                low, high = elo - margin, elo + margin
            ratings.append(Rating(bot, elo, low, high))
        return ratings

    def difference_errors(self) -> Floats:
        """Return the standard error of each difference, row against column, in Elo.

        It is infinite where one of the two played fewer than two deals, which tell nothing of how much deals
        differ.
        """
        self._sum_up()
        shifts = self._shifts(_fit(self._scores))
        products = shifts @ shifts.T / REPLICATES
        squares = np.diag(products)
        variances = np.maximum(squares[:, None] + squares[None, :] - 2 * products, 0.0)
        deals = np.minimum.outer(self._deals, self._deals).astype(np.float64)
        small_sample = np.where(deals > 1, deals / np.maximum(deals - 1, 1), np.inf)
        np.fill_diagonal(small_sample, 0.0)
        errors: Floats = ELO_PER_LOGIT * np.sqrt(variances * small_sample)
        return errors

    def _shifts(self, logits: Floats) -> Floats:
        """Return how far each bot's rating lies from the estimate in each replicate, in logits.

        A shift is one Newton step from the estimate, to first order like the sandwich errors.
        """
        assert self._weighted is not None
        above = _probabilities(logits)
        won, lost = self._prior
        average = _probability(logits)[:, None]
        gradient = won * (1 - average) - lost * average
        for bot, scores in enumerate(self._weighted):
            surprise = above[:, bot, None] * scores
            gradient[bot] += surprise.sum(axis=0)
            gradient -= surprise
        shifts = np.linalg.solve(_information(logits, self._scores), gradient)
        shifts -= shifts.mean(axis=0)
        return np.asarray(shifts, dtype=np.float64)


def _elos(logits: Floats) -> Floats:
    elos: Floats = MEAN_ELO + ELO_PER_LOGIT * (logits - logits.mean())
    return elos


def _fit(scores: Floats) -> Floats:
    """Return the logits that maximise the composite likelihood with the prior, by Newton's method.

    The damping keeps a step inside the region in which the second order approximates a logistic likelihood
    (Sun & Tran-Dinh 2019, generalised self-concordance), so that it converges from any scores.
    """
    logits = np.zeros(len(scores))
    for _ in range(_MAX_NEWTON_STEPS):
        step = np.linalg.solve(_information(logits, scores), _gradient(logits, scores))
        length = 2 * float(np.abs(step).max())  # no difference between two bots changes by more
        if length < _CONVERGED:
            break
        logits += step * (math.log1p(length) / length)
    return logits


def _gradient(logits: Floats, scores: Floats) -> Floats:
    expected = (scores + scores.T) * _probabilities(logits)
    prior = _PRIOR_GAMES * (0.5 - _probability(logits))
    gradient: Floats = (scores - expected).sum(axis=1) + prior
    return gradient


def _information(logits: Floats, scores: Floats) -> Floats:
    above = _probabilities(logits)
    pairs = (scores + scores.T) * above * above.T
    average = _probability(logits)
    prior = _PRIOR_GAMES * average * (1 - average)
    return np.diag(pairs.sum(axis=1) + prior) - pairs


def _probabilities(logits: Floats) -> Floats:
    """Return the probability that the row's bot places above the column's."""
    return _probability(logits[:, None] - logits[None, :])


def _probability(logits: Floats) -> Floats:
    probability: Floats = 0.5 + 0.5 * np.tanh(logits / 2)
    return probability


def _weights(round_number: int, table: int) -> Floats:
    """Return a deal's weight in each replicate: Exp(1), always the same for the same deal.

    The weights are multiples of 2^-20, which makes their sums exact and so independent of the games' order.
    """
    generator = np.random.Generator(np.random.Philox(key=_BOOTSTRAP_KEY, counter=[0, 0, table, round_number]))
    exact: Floats = np.rint(generator.standard_exponential(REPLICATES) / _WEIGHT_STEP) * _WEIGHT_STEP
    return exact


def _prior_weights(bots: int) -> tuple[Floats, Floats]:
    """Return the weights of each bot's virtual half win and half loss; no real deal is of round 0.

    They vary like deals, or else a bot that always wins would seem to be rated without any doubt.
    """
    won = np.array([_weights(0, 2 * bot) for bot in range(bots)])
    lost = np.array([_weights(0, 2 * bot + 1) for bot in range(bots)])
    return 0.5 * _PRIOR_GAMES * won, 0.5 * _PRIOR_GAMES * lost
