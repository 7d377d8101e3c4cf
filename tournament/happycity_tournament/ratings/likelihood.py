"""The Plackett-Luce model: bots that are left take the next place (Luce 1959; Plackett 1975).

Of the bots A that are left, bot i takes the place with probability exp(theta_i) / sum of exp(theta_j) over A.
So of any two bots, i is placed above j with probability 1 / (1 + exp(theta_j - theta_i)) at tables of any
size, and theta times 400 / ln 10 is Elo.

Places shared by k bots count as the mean log-likelihood of the k! orders that they stand for; with two bots
that is half a win and half a loss. The log-likelihood of games is then

    sum of theta over the seats of all games - sum of weight * log(sum of exp(theta) over A),

where A are the sets of bots that were left, each with how often it was left. It is concave.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from happycity_tournament.ratings.columns import Floats, Games, Ints, TableColumns, unique_rows

PRIOR_GAMES = 0.4
"""Drawn virtual games of each bot against a bot of strength 0: they keep every strength finite.

More of them draw bots that are far apart together by more than intervals allow for; with fewer, the lower end
of a bot that won everything says little.
"""

_MAX_NEWTON_STEPS = 200
_CONVERGED = 1e-9  # logits: 2e-7 Elo


class RemainingSets(NamedTuple):
    """Sets of bots, all of one size, from which a place was taken."""

    bots: Ints
    """[set, bot]: the bots, ascending; one that fills several seats is there several times."""
    weights: Floats
    """[set]: how often these were left."""


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Everything that the likelihood of games depends on."""

    taken: Floats
    """[bot]: how often the bot took a place from several that were left."""
    left: tuple[RemainingSets, ...]
    """By the size of the sets; no set is there twice."""

    @classmethod
    def none(cls, bots: int) -> Choices:
        """Return the choices of no game between this many bots."""
        return cls(np.zeros(bots), ())

    def plus(self, others: Choices) -> Choices:
        """Return these choices and others of the same bots together."""
        return Choices(self.taken + others.taken, _by_size([*self.left, *others.left]))


class Derivatives(NamedTuple):
    """The log-likelihood and its derivatives by the strengths."""

    value: float
    gradient: Floats
    information: Floats
    """Minus the second derivatives, [bot, bot]."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The most likely strengths."""

    strengths: Floats
    """[bot], in logits; only differences between bots that are connected by games mean anything."""
    information: Floats
    """[bot, bot]: that of the games, without the prior."""
    inverse: Floats
    """[bot, bot]: the inverse of the information, prior included."""


def choices_of(games: Games) -> Choices:
    """Return the choices that games consist of; equal ones are counted together."""
    choices = Choices.none(len(games.bots))
    for table in games.parts():
        choices = choices.plus(_choices_of(table, len(games.bots)))
    return choices


def _choices_of(table: TableColumns, count: int) -> Choices:
    """Return the choices of games of one table size between this many bots."""
    taken, sets = np.bincount(table.bots.ravel(), minlength=count).astype(np.float64), list[RemainingSets]()
    taken -= np.bincount(table.bots.ravel(), lucky_scores(table).ravel(), minlength=count)
    for part in _sets_left(table):
        if part.bots.shape[1] == 1:  # the last of all has no choice
            taken -= np.bincount(part.bots[:, 0], part.weights, minlength=count)
        else:
            sets.append(part)
    return Choices(taken, _by_size(sets))


def derivatives(choices: Choices, strengths: Floats) -> Derivatives:
    """Return the log-likelihood of choices, its gradient and its information at these strengths."""
    count = len(strengths)
    value, gradient = float(choices.taken @ strengths), choices.taken.copy()
    information = np.zeros((count, count))
    for left in choices.left:
        own = strengths[left.bots]
        most = own.max(axis=1, keepdims=True)
        chances = np.exp(own - most)
        sums = chances.sum(axis=1, keepdims=True)
        chances /= sums
        value -= float(left.weights @ (most + np.log(sums))[:, 0])
        expected = chances * left.weights[:, None]
        by_bot = np.bincount(left.bots.ravel(), expected.ravel(), minlength=count)
        gradient -= by_bot
        information[np.diag_indices(count)] += by_bot
        cells = (left.bots[:, :, None] * count + left.bots[:, None, :]).ravel()
        products = (expected[:, :, None] * chances[:, None, :]).ravel()
        information -= np.bincount(cells, products, minlength=count * count).reshape(count, count)
    return Derivatives(value, gradient, information)


def fit(choices: Choices, *, start: Floats | None = None, prior_games: float = PRIOR_GAMES) -> Fit:
    """Return the strengths that make choices and a weak prior most likely, by Newton's method.

    The prior is this many drawn games of each bot against a bot of strength 0, more than none. A `start` near
    the strengths saves steps.

    Raises:
        ArithmeticError: the method doesn't converge, as with next to no prior.
    """
    strengths = np.zeros_like(choices.taken) if start is None else start.copy()
    for _ in range(_MAX_NEWTON_STEPS):
        _, gradient, information = derivatives(choices, strengths)
        chance = chances_above(strengths)
        prior = prior_games * chance * (1 - chance)
        inverse = np.asarray(np.linalg.inv(information + np.diag(prior)), dtype=np.float64)
        step = inverse @ (gradient + prior_games * (0.5 - chance))
        change = float(np.ptp(step)) + float(np.abs(step).max(initial=0.0)) if len(step) else 0.0
        if change < _CONVERGED:
            return Fit(strengths + step, information, inverse)
        # Damped so that a step stays where the second order approximates a logistic likelihood; it
        # converges from anywhere (Sun & Tran-Dinh 2019, generalised self-concordance).
        strengths += step * (math.log1p(change) / change)
    raise ArithmeticError("the strengths of these games are too far apart to be found")


def game_scores(table: TableColumns, strengths: Floats) -> Floats:
    """Return the derivatives of each game's log-likelihood by the strength in each seat, [game, seat]."""
    own = strengths[table.bots]
    values = np.exp(own - own.max(axis=1, keepdims=True))
    members = _members(values.shape[1])
    weights, patterns = _weights_of(table.places)
    scores: Floats = 1.0 - values * ((weights[patterns] / (values @ members.T)) @ members)
    return scores - lucky_scores(table)


def game_leverages(table: TableColumns, fitted: Fit) -> Floats:
    """Return the share of each game's information that the fit follows from alone, in equal parts by seat.

    It is that of the mean of the n - 1 directions in which the n strengths at a table differ, [game, seat].
    """
    own = fitted.strengths[table.bots]
    values = np.exp(own - own.max(axis=1, keepdims=True))
    members = _members(values.shape[1])
    weights, patterns = _weights_of(table.places)
    chances = values[:, None, :] * members / (values @ members.T)[:, :, None]
    inverse = fitted.inverse[table.bots[:, :, None], table.bots[:, None, :]]
    own_parts = chances @ inverse.diagonal(axis1=1, axis2=2)[:, :, None]
    shared = ((chances @ inverse) * chances).sum(axis=2)
    total = (weights[patterns] * (own_parts[:, :, 0] - shared)).sum(axis=1, keepdims=True)
    seats = values.shape[1]
    leverages: Floats = np.repeat(total / ((seats - 1) * seats), seats, axis=1)
    return leverages


def lucky_scores(table: TableColumns) -> Floats:
    """Return what chance added to the scores of each game, [game, seat]; 0 where it isn't to be taken off.

    Between equal bots, the score of the k-th of n is 1 - (1/n + ... + 1/(n - k + 1)), whose regression by
    places has the slope 3 / (n + 1). As luck in places has the mean 0, any constant factor leaves the
    likelihood equations unbiased; this one takes off most of the variance.
    """
    if table.luck is None:
        return np.zeros(table.bots.shape)
    chance: Floats = 3 / (table.bots.shape[1] + 1) * table.luck
    return chance


def chances_above(differences: Floats) -> Floats:
    """Return the probabilities to be placed above bots, by how much weaker they are in logits."""
    chances: Floats = 0.5 + 0.5 * np.tanh(differences / 2)
    return chances


def _sets_left(table: TableColumns) -> Iterator[RemainingSets]:
    """Yield the bots that were left in games, subset by subset of the seats; a set may come again."""
    weights, patterns = _weights_of(table.places)
    for number, seats in enumerate(_subsets(table.places.shape[1])):
        own = weights[:, number][patterns]
        some = np.flatnonzero(own)
        if len(some):
            yield RemainingSets(np.sort(table.bots[some][:, seats], axis=1), own[some])


def _by_size(parts: Sequence[RemainingSets]) -> tuple[RemainingSets, ...]:
    sizes = sorted({part.bots.shape[1] for part in parts})
    return tuple(_merged([part for part in parts if part.bots.shape[1] == size]) for size in sizes)


def _merged(parts: Sequence[RemainingSets]) -> RemainingSets:
    """Return sets of one size with each set once."""
    bots, weights = np.concatenate([part.bots for part in parts]), np.concatenate([p.weights for p in parts])
    unique, which = unique_rows(bots)
    counts: Floats = np.bincount(which, weights).astype(np.float64)
    return RemainingSets(unique, counts)


def _weights_of(places: Ints) -> tuple[Floats, Ints]:
    """Return how often each subset of the seats was left in each ranking, and each game's ranking."""
    seats = places.shape[1]
    above = (places[:, None, :] < places[:, :, None]).sum(axis=2)
    keys = above @ (seats ** np.arange(seats))
    _, first, patterns = np.unique(keys, return_index=True, return_inverse=True)
    weights = [_weights(tuple(ranking)) for ranking in above[first].tolist()]
    return np.array(weights).reshape(len(weights), -1), patterns


@cache  # there are 541 rankings of five
def _weights(ranking: tuple[int, ...]) -> Floats:
    """Return how often each subset of the seats is left, in the mean of the orders of those that share."""
    subsets = {seats: number for number, seats in enumerate(_subsets(len(ranking)))}
    weights = np.zeros(len(subsets))
    for place in set(ranking):
        sharing = [seat for seat, other in enumerate(ranking) if other == place]
        behind = [seat for seat, other in enumerate(ranking) if other > place]
        for remaining in range(1, len(sharing) + 1):
            share = 1 / math.comb(len(sharing), remaining)
            for some in combinations(sharing, remaining):
                weights[subsets[tuple(sorted([*some, *behind]))]] += share
    return weights


@cache
def _subsets(seats: int) -> tuple[tuple[int, ...], ...]:
    return tuple(some for size in range(1, seats + 1) for some in combinations(range(seats), size))


@cache
def _members(seats: int) -> Floats:
    """Return [subset, seat]: 1 for the seats of a subset, else 0."""
    return np.array([[float(seat in some) for seat in range(seats)] for some in _subsets(seats)])
