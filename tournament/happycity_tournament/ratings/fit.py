"""The most likely parameters of the Davidson-Luce model, from any games."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from happycity_tournament.ratings.choices import Choices, choices_of, tie_orders
from happycity_tournament.ratings.columns import DealsOfBots, Floats, Games, Ints, TableColumns
from happycity_tournament.ratings.groups import Groups, groups_of
from happycity_tournament.ratings.model import Layout, derivatives, gradient_of, scores

PRIOR_GAMES = 1.0
"""How many drawn virtual games, for each parameter, keep it finite whatever the results."""
MIN_SEAT_DEALS = 30
"""The seats of a table size have effects from so many deals on."""
MIN_SEAT_WINS = 10
"""And from so many games on in which each of their seats was above each other one."""

_MIN_SEAT_SHARE = 0.02
"""Minimum share of the seat information that remains after conditioning on the bots' strengths."""
_MAX_NEWTON_STEPS = 200
# Largest changes of a step, in logits.
_CONVERGED = 1e-8  # about 2e-6 Elo
_CLOSE = 0.02  # from here on the information hardly changes: that of the last step will do
_FOLLOWED = 0.01  # for a picture: what is left is a small part of it, some tenths of an Elo
_NEAR = 0.3  # an estimate from a sample needn't be more exact
_MANY_ROWS = 1 << 15  # of choices, from which on the first steps are taken on a sample
_SAMPLED = 16  # every so manieth row
_STEPS_BY_SAMPLE = 2  # with the sample's information, which takes half of the time
_MAX_GROWTH = 1.5  # so many times as many deals have nearly the same information on each of them
_MAX_LEAD = 1.25  # if no bot's deals have become so many times more than the others'
_FOLLOWING_STEPS = 4
_ENOUGH_ROWS = 1 << 10  # of each part of the choices, to tell whether seats can have effects
_LIMIT = 200.0  # logits: sets of five that share a place stand for a fifth of it
_NO_MAXIMUM = "the likelihood of these games has no maximum without a prior"


@dataclass(frozen=True, eq=False)
class Fit:
    """An estimate, and what its errors are computed from."""

    games: Games
    """In the order of their deals."""
    choices: tuple[Choices, ...]
    layout: Layout
    groups: Groups
    """Who can be compared with whom."""
    seat_sizes: tuple[int, ...]
    """The table sizes whose seats have effects; the others' effects are 0."""
    parameters: Floats
    """In logits; the strengths sum to 0 in each group, and so do the effects of a size's seats."""
    inverse: Floats
    """The inverse of the information, prior included, within these sums; 0 where a parameter is fixed."""
    free: NDArray[np.bool_]
    """Which parameters are estimated."""
    prior_games: float
    deals_played: Ints
    """In how many deals each bot played."""
    _residuals: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """Those that were computed already, by table size."""

    @property
    def at(self) -> Floats:
        """The parameters, in which large numbers stand for infinite strengths."""
        return self.parameters + limits_of(self.layout, self.groups)

    @cached_property
    def uneven_deals(self) -> Ints:
        """In how many deals each bot was placed above others more or less often than below them."""
        deals = self._deals_of_bots
        return np.bincount(deals.bots[deals.sums(self.games.ahead()) != 0], minlength=self.layout.bots)

    @cached_property
    def scores_by_bot(self) -> tuple[Ints, Ints, Floats]:
        """The bots and the deals that they played, by bot and then by deal, and the sum of its scores."""
        deals = self._deals_of_bots
        return deals.bots, deals.deals, deals.sums(self.residuals(size)[0] for size in self.games.tables)

    @cached_property
    def _deals_of_bots(self) -> DealsOfBots:
        return self.games.deals_of_bots()

    def residuals(self, size: int) -> tuple[Floats, Floats]:
        """Return the score of each game at tables of `size`: [game, seat] and [game, tie order].

        These are the derivatives of its log-likelihood by the strength in each seat and by the log deltas.
        """
        if size not in self._residuals:
            games = len(self.games.tables[size].deals)
            by_seat, by_tie = np.zeros((games, size)), np.zeros((games, len(self.layout.tie_orders)))
            for part in self.choices:
                if part.size == size:
                    surprise, left = scores(part, self.layout, self.at), part.bots.shape[1]
                    seats = part.seats[part.rows]
                    # A game has one choice among so many.
                    by_seat.reshape(-1)[part.games[:, None] * size + seats] += surprise[:, :left]
                    by_tie[part.games] += surprise[:, left:]
            self._residuals[size] = by_seat, by_tie
        return self._residuals[size]


def fit(games: Games, *, prior_games: float = PRIOR_GAMES) -> Fit:
    """Return the parameters that make the games and a weak prior most likely.

    The prior is `prior_games` drawn games of each bot against the mean of its group, and is as weak on the
    other parameters. Without it (0) there may be no estimate with few deals.

    Bots above and below a pool's main group have infinite strengths, in the limit: who of the others came
    first is all that their games say about these.

    Raises:
        ArithmeticError: there is no estimate.
    """
    games = games.in_order_of_deals()
    problem = _Problem(games, choices_of(games), prior_games=prior_games)
    return problem.fit(*problem.solve())


def fits_of_first_games(games: Games, lengths: Iterable[Mapping[int, int]]) -> Iterator[Fit]:
    """Yield the fits of so many first games of each table size, ascending, as exact as a picture can show.

    They are those by `fit` but for a fraction of an Elo, as each begins at the one before and mostly takes
    the information of an earlier one. They lack what errors need.
    """
    choices = choices_of(games)
    before = informed = None
    for first in lengths:
        some = [part.among(first[part.size]) for part in choices if first.get(part.size)]
        problem = _Problem(games.first(first), tuple(part for part in some if len(part.counts)))
        start = None if before is None else problem.start_at(before)
        parameters = None
        if start is not None and informed is not None and problem.resembles(informed):
            parameters = problem.follow(start, informed)
        if parameters is None or informed is None:
            before = informed = problem.fit(*problem.near(start))
        else:
            before = problem.fit(parameters, informed.inverse)
        yield before


class _Problem:
    """A likelihood to maximise."""

    def __init__(
        self, games: Games, choices: tuple[Choices, ...], *, prior_games: float = PRIOR_GAMES
    ) -> None:
        self.games = games
        self.choices = choices
        self.layout = Layout(bots=len(games.bots), sizes=tuple(games.tables), tie_orders=tie_orders(choices))
        self.deals_played = games.deals_played()
        self.groups = groups_of(games, self.deals_played)
        self.seat_sizes = _sizes_with_seats(games, choices, self.layout)
        self.free = _free(self.layout, self.seat_sizes)
        self.limits = limits_of(self.layout, self.groups)
        self._sums = _sums(self.layout, self.groups.groups, self.seat_sizes)
        self._prior_games = prior_games

    def fit(self, parameters: Floats, inverse: Floats) -> Fit:
        """Return the problem with its solution."""
        return Fit(
            self.games,
            self.choices,
            self.layout,
            self.groups,
            self.seat_sizes,
            parameters,
            inverse,
            self.free,
            self._prior_games,
            self.deals_played,
        )

    def solve(self) -> tuple[Floats, Floats]:
        """Return the parameters and the inverse of the information there, or raise ArithmeticError."""
        start = np.zeros(self.layout.length)
        if not self._has_many_rows:
            return self._newton(self.choices, start, enough=_CONVERGED)
        parameters, inverse = self.near()
        for _ in range(_MAX_NEWTON_STEPS):
            step = inverse @ self._slope(parameters)
            if _largest_change(step, self.layout) < _CONVERGED:
                return parameters, inverse
            parameters = parameters + step
        raise ArithmeticError(_NO_MAXIMUM)

    def near(self, start: Floats | None = None) -> tuple[Floats, Floats]:
        """Return parameters so close to the maximum that the information hardly changes, and its inverse."""
        if start is None:
            start = np.zeros(self.layout.length)
            if self._has_many_rows:
                sample = [part.thinned(_SAMPLED) for part in self.choices]
                start, inverse = self._newton(sample, start, enough=_NEAR)
                for _ in range(_STEPS_BY_SAMPLE):
                    start = start + inverse @ self._slope(start)
        return self._newton(self.choices, start, enough=_CLOSE)

    def start_at(self, fit: Fit) -> Floats | None:
        """Return the parameters of another fit in this one's bounds; None if it has others."""
        if fit.layout != self.layout:
            return None
        moved = fit.parameters * self.free
        # Strengths sum to 0 in each group, as steps leave their sums as they are.
        groups, strengths = self.groups.groups, moved[self.layout.strengths]
        moved[self.layout.strengths] -= (np.bincount(groups, strengths) / np.bincount(groups))[groups]
        return moved

    def resembles(self, fit: Fit) -> bool:
        """Return whether the information of a fit of fewer games is nearly proportional to this one's."""
        growth = self._growth_since(fit)
        each = self.deals_played / np.maximum(fit.deals_played, 1)
        return (
            growth <= _MAX_GROWTH
            and bool((each <= _MAX_LEAD * growth).all())
            and fit.layout == self.layout
            and fit.seat_sizes == self.seat_sizes
            and np.array_equal(fit.groups.groups, self.groups.groups)
            and np.array_equal(fit.groups.levels, self.groups.levels)
        )

    def follow(self, start: Floats, fit: Fit) -> Floats | None:
        """Return parameters close to the maximum, by the information of a fit that this one resembles.

        None if the steps don't get small.
        """
        inverse, parameters = fit.inverse / self._growth_since(fit), start
        for _ in range(_FOLLOWING_STEPS):
            step: Floats = inverse @ self._slope(parameters)
            parameters = parameters + step
            if _largest_change(step, self.layout) < _FOLLOWED:
                return parameters
        return None

    def _growth_since(self, fit: Fit) -> float:
        """Return how many times as many deals were played, by all bots together."""
        return float(self.deals_played.sum() / max(1, fit.deals_played.sum()))

    @property
    def _has_many_rows(self) -> bool:
        return sum(len(part.counts) for part in self.choices) > _MANY_ROWS

    def _slope(self, parameters: Floats) -> Floats:
        """Return the gradient, prior included."""
        gradient = gradient_of(self.choices, self.layout, parameters + self.limits)
        slope: Floats = gradient + self._prior(parameters)[0]
        return slope

    def _newton(
        self, choices: Sequence[Choices], parameters: Floats, *, enough: float
    ) -> tuple[Floats, Floats]:
        """Take steps until one is small enough; return where it leads, and the inverse before it."""
        for _ in range(_MAX_NEWTON_STEPS):
            gradient, information = derivatives(choices, self.layout, parameters + self.limits)
            prior_gradient, prior_information = self._prior(parameters)
            information[np.diag_indices_from(information)] += prior_information
            try:
                inverse = _inverse_within(information, self._sums, self.free)
            except np.linalg.LinAlgError:
                break
            step = inverse @ (gradient + prior_gradient)
            change = _largest_change(step, self.layout)
            if change < enough:
                return parameters + step, inverse
            # Damped so that a step stays where the second order approximates a logistic likelihood; it
            # converges from anywhere (Sun & Tran-Dinh 2019, generalised self-concordance).
            parameters = parameters + step * (math.log1p(change) / change)
        raise ArithmeticError(_NO_MAXIMUM)

    def _prior(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return gradient and information of half a win and half a loss against 0 in each virtual game."""
        chance = 0.5 + 0.5 * np.tanh(parameters / 2)
        return self._prior_games * (0.5 - chance), self._prior_games * chance * (1 - chance)


def limits_of(layout: Layout, groups: Groups) -> Floats:
    """Return what takes the place of an infinite strength, in logits, by parameter."""
    limits = np.zeros(layout.length)
    limits[layout.strengths] = _LIMIT * groups.levels
    return limits


def _free(layout: Layout, seat_sizes: Sequence[int]) -> NDArray[np.bool_]:
    free = np.ones(layout.length, dtype=bool)
    for size in set(layout.sizes) - set(seat_sizes):
        free[layout.seats(size)] = False
    return free


def _sums(layout: Layout, groups: Ints, seat_sizes: Sequence[int]) -> Floats:
    """Return a row for each sum of parameters that stays 0."""
    members = np.arange(groups.max(initial=-1) + 1)[:, None] == groups
    sums = np.zeros((len(members) + len(seat_sizes), layout.length))
    sums[: len(members), layout.strengths] = members
    for row, size in enumerate(seat_sizes, len(members)):
        sums[row, layout.seats(size)] = 1
    return sums


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
    choices = [part.thinned(max(1, len(part.counts) // _ENOUGH_ROWS)) for part in choices]
    information = derivatives(choices, layout, np.zeros(layout.length)).information
    known = list(range(layout.bots))
    sizes = []
    for size in sorted(layout.sizes, key=lambda size: -len(games.tables[size].deals)):
        seats = list(range(layout.length))[layout.seats(size)]
        deals = len(np.unique(games.tables[size].deals))
        if (
            deals >= MIN_SEAT_DEALS
            and _mixed(games.tables[size])
            and _share_left(information, seats, known) >= _MIN_SEAT_SHARE
        ):
            sizes.append(size)
            known += seats
    return tuple(sorted(sizes))


def _mixed(table: TableColumns) -> bool:
    """Return whether each seat was above and below each other one often enough.

    The effect of a seat that nearly always wins would run off, and with it all that games say about the bots.
    """
    pairs = permutations(range(table.places.shape[1]), 2)
    return all((table.places[:, one] < table.places[:, other]).sum() >= MIN_SEAT_WINS for one, other in pairs)


def _share_left(information: Floats, wanted: list[int], known: list[int]) -> float:
    """Return how much of the information on the least known contrast is left when `known` isn't known."""
    alone = information[np.ix_(wanted, wanted)]
    cross = information[np.ix_(wanted, known)]
    left = alone - cross @ np.linalg.pinv(information[np.ix_(known, known)], hermitian=True) @ cross.T
    # The least eigenvalue is that of moving all seats at once, which changes nothing.
    least, before = np.linalg.eigvalsh(left)[1], np.linalg.eigvalsh(alone)[1]
    return float(least / before)
