"""The moments that checks of the rating model test: by pair, by condition, and of consecutive deals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from happycity_tournament.ratings.checks.bursts import MIN_SERIES
from happycity_tournament.ratings.checks.score_test import Moments, ScoreTest, score_test
from happycity_tournament.ratings.choices import Choices
from happycity_tournament.ratings.columns import Floats, Games, Ints, TableColumns
from happycity_tournament.ratings.fit import Fit
from happycity_tournament.ratings.model import choice_covariances, derivatives, scores
from happycity_tournament.ratings.statistics import MIN_DEALS

MAX_CLUSTERS = 2048
"""Consecutive deals are added up into so many sets, which is plenty for a variance."""
MAX_TESTED = 1000
"""Parameters of one check: those with the most deals."""

Conditions = Mapping[int, Ints]
"""By table size, the number of the condition under which each game was played."""


@dataclass(frozen=True, slots=True)
class TestedPair:
    """A parameter of a check: what it is about, as indexes of bots or conditions."""

    bot: int
    other: int
    """The opponent, or the condition; for consecutive deals the bot again."""


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """A test with what each of its parameters is about."""

    subjects: list[TestedPair]
    """In the order of the test's entries."""
    result: ScoreTest


class Residuals:
    """What the games of a fit leave unexplained, in the order of their deals."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self._width = max(1, -(-fit.games.deals // MAX_CLUSTERS))
        self._clusters = -(-fit.games.deals // self._width)

    def by_pair(self) -> Tested | None:
        """Test for each pair whether its results are those of two strengths; the fit is one of `pairwise`.

        The parameter of a pair is added to the log-odds between the two.
        """
        bots = len(self.fit.games.bots)
        (part,) = self.fit.choices or (None,)
        if part is None:
            return None
        keys, signs = self._pairs(part)
        surprise = signs[part.rows] * scores(part, self.fit.layout, self.fit.at)[:, 0]
        deals, of_choice = self.fit.games.tables[2].deals[part.games], keys[part.rows]
        wanted = _largest(_deals_by_key(of_choice, deals, size=bots * bots))
        slots = np.full(bots * bots, -1)
        slots[wanted] = np.arange(len(wanted))
        information, cross = self._pair_information(part, signs, slots[keys], len(wanted))
        by_cluster = self._sums(slots[of_choice], deals, surprise, len(wanted))
        subjects = [TestedPair(*divmod(key, bots)) for key in wanted.tolist()]
        return self._test(Moments(by_cluster, information, cross), subjects)

    def by_condition(self, conditions: Conditions, chosen: Sequence[int]) -> Tested | None:
        """Test for each bot and chosen condition whether the bot plays as strongly as under the others."""
        games, layout, bots = self.fit.games, self.fit.layout, len(self.fit.games.bots)
        columns = [
            (
                (conditions[size][:, None] * bots + table.bots).ravel(),
                np.broadcast_to(table.deals[:, None], table.bots.shape).ravel(),
                self._by_seat[size].ravel(),
            )
            for size, table in games.tables.items()
        ]
        keys, deals, values = (np.concatenate(column) for column in zip(*columns, strict=True))
        size = bots * (1 + max(chosen))
        played = _deals_by_key(keys, deals, size=size)
        elsewhere = np.tile(self.fit.deals_played, 1 + max(chosen)) - played
        both = np.where(elsewhere >= MIN_DEALS, played, 0).reshape(-1, bots)
        both[[row for row in range(len(both)) if row not in chosen]] = 0
        wanted = _largest(both.ravel())
        slots = np.full(size, -1)
        slots[wanted] = np.arange(len(wanted))
        cross = np.zeros((len(wanted), layout.length))
        for condition in chosen:
            parts = [part.only(conditions[part.size] == condition) for part in self.fit.choices]
            rows = derivatives(parts, layout, self.fit.at).information[:bots]
            here = wanted // bots == condition
            cross[here] = rows[wanted[here] % bots]
        information = cross[np.arange(len(wanted)), wanted % bots]
        moments = Moments(self._sums(slots[keys], deals, values, len(wanted)), information, cross)
        subjects = [TestedPair(key % bots, key // bots) for key in wanted.tolist()]
        return self._test(moments, subjects)

    def of_consecutive_deals(self) -> Tested | None:
        """Test for each bot whether its results in consecutive deals of its own are correlated."""
        bots = len(self.fit.games.bots)
        owners, deals, scores = self.fit.scores_by_bot
        played = np.bincount(owners, minlength=bots)
        sums = scores - (_totals(owners, scores, bots) / np.maximum(1, played))[owners]
        squares = _totals(owners, sums**2, bots)
        next_to = owners[1:] == owners[:-1]
        # Numbers that sum to 0 are correlated by -1/n.
        products = (sums[1:] * sums[:-1] + (squares / np.maximum(1, played) ** 2)[owners[1:]])[next_to]
        wanted = _largest(np.where(played >= MIN_SERIES, played, 0))
        slots = np.full(bots, -1)
        slots[wanted] = np.arange(len(wanted))
        by_cluster = self._sums(slots[owners[1:][next_to]], deals[1:][next_to], products, len(wanted))
        cross = np.zeros((len(wanted), self.fit.layout.length))
        moments = Moments(by_cluster, squares[wanted], cross)
        return self._test(moments, [TestedPair(bot, bot) for bot in wanted.tolist()])

    def halves(self, sources: Conditions | None) -> Conditions:
        """Return in which half, 0 or 1, of the deals of its source and table size each game was."""
        tables = self.fit.games.tables
        result = {size: np.zeros(len(table.deals), dtype=np.int64) for size, table in tables.items()}
        for size, table in tables.items():
            by_source = result[size].copy() if sources is None else sources[size]
            for source in np.unique(by_source).tolist():
                inside = by_source == source
                deals = _different(table.deals[inside])
                result[size][inside & (table.deals >= deals[len(deals) // 2])] = 1
        return result

    @cached_property
    def _by_seat(self) -> dict[int, Floats]:
        return {size: self.fit.residuals(size)[0] for size in self.fit.games.tables}

    @cached_property
    def _scores(self) -> Floats:
        """[cluster, parameter]: the derivatives by the model's parameters."""
        layout, width = self.fit.layout, self.fit.layout.length
        sums = np.zeros(self._clusters * width)
        for size, table in self.fit.games.tables.items():
            rows = (table.deals // self._width * width)[:, None]
            by_seat, by_tie = self.fit.residuals(size)
            sums += _totals(rows + table.bots, by_seat, len(sums))
            sums += _totals(rows + np.r_[layout.seats(size)], by_seat, len(sums))
            sums += _totals(rows + np.r_[layout.ties], by_tie, len(sums))
        return sums.reshape(self._clusters, width)

    def _test(self, moments: Moments, subjects: Sequence[TestedPair]) -> Tested | None:
        result = score_test(moments, self._scores, self.fit.inverse)
        return None if result is None else Tested([subjects[index] for index in result.tested], result)

    def _sums(self, slots: Ints, deals: Ints, values: Floats, count: int) -> Floats:
        """Return [cluster, parameter] of values by slot, -1 for those that aren't tested."""
        kept = slots >= 0
        cells = deals[kept] // self._width * count + slots[kept]
        return _totals(cells, values[kept], self._clusters * count).reshape(self._clusters, count)

    def _pairs(self, part: Choices) -> tuple[Ints, Ints]:
        """Return for each row the key of its pair, and 1 or, where the second bot comes first in it, -1."""
        low, high = part.bots.min(axis=1), part.bots.max(axis=1)
        return low * len(self.fit.games.bots) + high, np.where(part.bots[:, 0] == low, 1, -1)

    def _pair_information(self, part: Choices, signs: Ints, slots: Ints, count: int) -> tuple[Floats, Floats]:
        """Return the information on each pair, alone and with the model's parameters."""
        layout = self.fit.layout
        information, cross = np.zeros(count), np.zeros(count * layout.length)
        seats, ties = layout.seats(2).start, np.arange(layout.ties.start, layout.ties.stop)
        for rows, covariances in choice_covariances(part, layout, self.fit.at):
            kept = slots[rows] >= 0
            pairs, bots = slots[rows][kept], part.bots[rows][kept]
            row = covariances[kept, 0] * (signs[rows] * part.counts[rows])[kept, None]
            information += _totals(pairs, row[:, 0] * signs[rows][kept], count)
            tied = np.broadcast_to(ties, (len(bots), len(ties)))
            columns = np.hstack([bots, part.seats[rows][kept] + seats, tied])
            values = np.hstack([row[:, :2], row[:, :2], row[:, 2:]])
            cells = pairs[:, None] * layout.length + columns
            cross += _totals(cells, values, len(cross))
        return information, cross.reshape(count, layout.length)


def pairwise(games: Games) -> Games:
    """Return each game as games between any two bots of its table, the earlier seat first.

    At larger tables the model says more than who is above whom; whether that holds is another question.
    """
    parts = []
    for size, table in games.tables.items():
        pairs = np.array(list(combinations(range(size), 2)))
        bots, places = (column[:, pairs].reshape(-1, 2) for column in (table.bots, table.places))
        parts.append(TableColumns(bots, places, np.repeat(table.deals, len(pairs))))
    bots, places, deals = (
        np.concatenate(columns)
        for columns in zip(*((part.bots, part.places, part.deals) for part in parts), strict=True)
    )
    table, different = TableColumns(bots, places, deals), bots[:, 0] != bots[:, 1]
    if not different.all():
        table = table[different]
    return Games(games.bots, {2: table} if len(table.deals) else {})


def _different(values: Ints) -> Ints:
    """Return the different values, ascending; several times as fast as numpy.unique."""
    ordered = np.sort(values)
    different: Ints = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return different


def _totals(cells: Ints, values: Floats, count: int) -> Floats:
    """Return the sum of the values in each cell."""
    return np.bincount(cells.ravel(), values.ravel(), count).astype(np.float64, copy=False)


def _deals_by_key(keys: Ints, deals: Ints, *, size: int) -> Ints:
    """Return in how many deals each key occurred."""
    different = _different(deals * size + keys)
    return np.bincount(different % size, minlength=size)


def _largest(deals: Ints) -> Ints:
    """Return the keys that have enough deals, at most `MAX_TESTED`, those with the most."""
    order = np.argsort(-deals, kind="stable")[:MAX_TESTED]
    return np.sort(order[deals[order] >= MIN_DEALS])
