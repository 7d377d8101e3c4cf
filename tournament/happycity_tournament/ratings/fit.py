"""The most likely parameters of the Davidson-Luce model, from any games."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from happycity_tournament.ratings.choices import Choices, choices_of, tie_orders
from happycity_tournament.ratings.columns import Floats, Games, Ints
from happycity_tournament.ratings.model import Layout, derivatives, scores
from happycity_tournament.ratings.pools import pools_of

PRIOR_GAMES = 1.0
"""How many drawn virtual games, for each parameter, keep it finite whatever the results."""
MIN_SEAT_DEALS = 30
"""The seats of a table size have effects from so many deals on."""

_MIN_SEAT_SHARE = 0.02
"""Minimum share of the seat information that remains after conditioning on the bots' strengths."""
_MAX_NEWTON_STEPS = 200
_CONVERGED = 1e-8  # logits; about 2e-6 Elo


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """An estimate, and what its errors are computed from."""

    games: Games
    """In the order of their deals."""
    choices: tuple[Choices, ...]
    layout: Layout
    pools: Ints
    """Each bot's pool."""
    seat_sizes: tuple[int, ...]
    """The table sizes whose seats have effects; the others' effects are 0."""
    parameters: Floats
    """In logits; the strengths sum to 0 in each pool, and so do the effects of a size's seats."""
    inverse: Floats
    """The inverse of the information, prior included, within these sums; 0 where a parameter is fixed."""
    free: NDArray[np.bool_]
    """Which parameters are estimated."""
    prior_games: float

    def residuals(self, size: int) -> tuple[Floats, Floats]:
        """Return the score of each game at tables of `size`: [game, seat] and [game, tie order].

        These are the derivatives of its log-likelihood by the strength in each seat and by the log deltas.
        """
        games = len(self.games.tables[size].deals)
        by_seat, by_tie = np.zeros((games, size)), np.zeros((games, len(self.layout.tie_orders)))
        for part in self.choices:
            if part.size == size:
                surprise, left = scores(part, self.layout, self.parameters), part.bots.shape[1]
                by_seat[part.games[:, None], part.seats[part.rows]] += surprise[:, :left]
                by_tie[part.games] += surprise[:, left:]
        return by_seat, by_tie


def fit(games: Games, *, prior_games: float = PRIOR_GAMES) -> Fit:
    """Return the parameters that make the games and a weak prior most likely.

    The prior is `prior_games` drawn games of each bot against the mean of its pool, and is as weak on the
    other parameters. Without it (0) there is an estimate only if chains of games lead from each bot of a pool
    to each other one, in which nobody is above the next.

    Raises:
        ArithmeticError: there is no estimate.
    """
    games = games.in_order_of_deals()
    layout = Layout(bots=len(games.bots), sizes=tuple(games.tables), tie_orders=tie_orders(games))
    choices, pools = choices_of(games), pools_of(games)
    sizes = _sizes_with_seats(games, choices, layout)
    free, sums = _free(layout, sizes), _sums(layout, pools, sizes)
    parameters = np.zeros(layout.length)
    for _ in range(_MAX_NEWTON_STEPS):
        gradient, information = derivatives(choices, layout, parameters)
        _add_prior(gradient, information, parameters, games=prior_games)
        try:
            inverse = _inverse_within(information, sums, free)
        except np.linalg.LinAlgError:
            break
        step = inverse @ gradient
        change = _largest_change(step, layout)
        if change < _CONVERGED:
            return Fit(games, choices, layout, pools, sizes, parameters, inverse, free, prior_games)
        # Damped so that a step stays where the second order approximates a logistic likelihood; it converges
        # from anywhere (Sun & Tran-Dinh 2019, generalised self-concordance).
        parameters += step * (math.log1p(change) / change)
    raise ArithmeticError("the likelihood of these games has no maximum without a prior")


def _free(layout: Layout, seat_sizes: Sequence[int]) -> NDArray[np.bool_]:
    free = np.ones(layout.length, dtype=bool)
    for size in set(layout.sizes) - set(seat_sizes):
        free[layout.seats(size)] = False
    return free


def _sums(layout: Layout, pools: Ints, seat_sizes: Sequence[int]) -> Floats:
    """Return a row for each sum of parameters that stays 0."""
    members = np.arange(pools.max(initial=-1) + 1)[:, None] == pools
    sums = np.zeros((len(members) + len(seat_sizes), layout.length))
    sums[: len(members), layout.strengths] = members
    for row, size in enumerate(seat_sizes, len(members)):
        sums[row, layout.seats(size)] = 1
    return sums


def _add_prior(gradient: Floats, information: Floats, parameters: Floats, *, games: float) -> None:
    """Add half a win and half a loss against 0 in each of so many games, for every parameter."""
    chance = 0.5 + 0.5 * np.tanh(parameters / 2)
    gradient += games * (0.5 - chance)
    information[np.diag_indices_from(information)] += games * chance * (1 - chance)


def _inverse_within(information: Floats, sums: Floats, free: NDArray[np.bool_]) -> Floats:
    """Invert the information of the free parameters in the subspace in which the sums are 0.

    It is a block of the inverse of the matrix that Lagrange multipliers lead to.
    """
    kept = np.flatnonzero(free)
    bordered = np.zeros((len(kept) + len(sums),) * 2)
    bordered[: len(kept), : len(kept)] = information[np.ix_(kept, kept)]
    bordered[len(kept) :, : len(kept)] = sums[:, kept]
    bordered[: len(kept), len(kept) :] = sums[:, kept].T
    inverse = np.zeros_like(information)
    inverse[np.ix_(kept, kept)] = np.linalg.inv(bordered)[: len(kept), : len(kept)]
    return inverse


def _largest_change(step: Floats, layout: Layout) -> float:
    """Bound what a step changes in the log-odds between any two sets of bots."""
    groups = [layout.strengths, slice(layout.bots, layout.ties.start), layout.ties]
    return sum(float(step[group].max(initial=0) - step[group].min(initial=0)) for group in groups)


def _sizes_with_seats(games: Games, choices: Sequence[Choices], layout: Layout) -> tuple[int, ...]:
    """Return the table sizes that were played enough, with the bots in changing seats, for seat effects."""
    information = derivatives(choices, layout, np.zeros(layout.length)).information
    known = list(range(layout.bots))
    sizes = []
    for size in sorted(layout.sizes, key=lambda size: -len(games.tables[size].deals)):
        seats = list(range(layout.length))[layout.seats(size)]
        deals = len(np.unique(games.tables[size].deals))
        if deals >= MIN_SEAT_DEALS and _share_left(information, seats, known) >= _MIN_SEAT_SHARE:
            sizes.append(size)
            known += seats
    return tuple(sorted(sizes))


def _share_left(information: Floats, wanted: list[int], known: list[int]) -> float:
    """Return how much of the information on the least known contrast is left when `known` isn't known."""
    alone = information[np.ix_(wanted, wanted)]
    cross = information[np.ix_(wanted, known)]
    left = alone - cross @ np.linalg.pinv(information[np.ix_(known, known)], hermitian=True) @ cross.T
    # The least eigenvalue is that of moving all seats at once, which changes nothing.
    least, before = np.linalg.eigvalsh(left)[1], np.linalg.eigvalsh(alone)[1]
    return float(least / before)
