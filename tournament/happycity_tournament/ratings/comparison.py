"""What a change of a bot gained: games on the same deals before and after it, compared pair by pair.

The luck of the cards, the seat and the opponents are the same in both games of a pair, so that they cancel.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from happycity.records.record import loads
from happycity_tournament.games import WIN, Result, half_points
from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, anytime_margin
from happycity_tournament.recorded_games import RecordedGame

Margin = Callable[[int, float | None], float | None]
"""Half of an interval, by the number of deals and a standard error.

It is `anytime_margin` for games that somebody looks at while they go on, and `student_margin` for a number of
deals that was fixed before."""


class Change(Enum):
    """How a bot's score has changed, by the 95% interval of the difference."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "unclear"
    """The interval holds 0."""
    SAME = "same"
    """Score and points are equal in every pair."""
    UNKNOWN = "unknown"
    """There are too few deals for an interval."""


class PairedDifference(NamedTuple):
    """A mean after a change minus that before it."""

    value: float
    margin: float | None
    """Half of its 95% interval, by the `Margin` that was asked for; None with too few deals for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotComparison:
    """One bot before and after a change."""

    bot: str
    pairs: int
    """Seats of the bot in paired games."""
    deals: int
    score_before: float
    """Mean share of the opponents that it beat, a shared place counted as half: 0 to 1."""
    score_after: float
    score: PairedDifference
    points: PairedDifference
    elo: PairedDifference | None
    """None while it won, or lost, against everybody."""
    change: Change


@dataclass(slots=True)
class _PairedResults:
    """A bot's results in paired games, an entry for each of its seats."""

    deals: list[int] = field(default_factory=list)
    scores: list[tuple[float, float]] = field(default_factory=list)
    """Before and after."""
    points: list[tuple[float, float]] = field(default_factory=list)


class PairedGames:
    """The games of two sources that have the same deal, the same kind of game and the same bots by seat.

    Args:
        before: the games of the first source that count, with their records, if these are known.
        after: those of the second.
        renamed: names of bots in the second source by those in the first, where they differ.
    """

    def __init__(
        self,
        before: Iterable[RecordedGame],
        after: Iterable[RecordedGame],
        *,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        self.pairs = 0
        """How many pairs of games there are."""
        self.unpaired = (0, 0)
        """Rated games of each source that have no counterpart in the other."""
        self.bots: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        """The rated games of each bot of each source, by the names of the second."""
        self.changed: set[str] | None = set()
        """The bots that were the first to choose otherwise in a pair; None if a game has no record."""
        self._rows: defaultdict[str, _PairedResults] = defaultdict(_PairedResults)
        self._deals: dict[Hashable, int] = {}
        self._common_deals: set[int] = set()
        waiting: defaultdict[_Key, list[tuple[Result, Choices | None]]] = defaultdict(list)
        for key, result, choices in self._rated(before, renamed or {}, source=0):
            waiting[key].append((result, choices))
        seeds = {key[0] for key in waiting}
        without = 0
        for key, result, choices in self._rated(after, {}, source=1):
            if key[0] in seeds:
                self._common_deals.add(key[0])
            if counterparts := waiting.get(key):
                earlier, earlier_choices = counterparts.pop(0)
                self._add_pair(key[0], key[2], earlier, result)
                self._note_change(key[2], earlier_choices, choices)
            else:
                without += 1
        self.unpaired = (sum(map(len, waiting.values())), without)

    @property
    def common_deals(self) -> int:
        """The number of deals that both sources have, also those without a pair."""
        return len(self._common_deals)

    @property
    def deals(self) -> int:
        """The number of deals of the pairs."""
        return len(self._deals)

    @property
    def compared_bots(self) -> list[str]:
        """The bots of the pairs that had opponents, by name."""
        return sorted(self._rows)

    def comparison(self, bot: str) -> BotComparison:
        """Return how a bot's results differ; KeyError if it is not one of `compared_bots`."""
        if bot not in self._rows:
            raise KeyError(bot)
        rows = self._rows[bot]
        deals = np.array(rows.deals, dtype=np.int64)
        scores, points = np.array(rows.scores).T, np.array(rows.points, dtype=np.float64).T
        score = mean_difference(*scores, deals=deals, margin=anytime_margin)
        same = bool((scores[0] == scores[1]).all() and (points[0] == points[1]).all())
        return BotComparison(
            bot=bot,
            pairs=len(deals),
            deals=len(np.unique(deals)),
            score_before=float(scores[0].mean()),
            score_after=float(scores[1].mean()),
            score=score,
            points=mean_difference(*points, deals=deals, margin=anytime_margin),
            elo=elo_difference(*scores, deals=deals, margin=anytime_margin),
            change=Change.SAME if same else _change(score),
        )

    def score_error(self, bot: str) -> float | None:
        """Return the standard error of the difference of a bot's scores; None with fewer than two deals."""
        rows = self._rows[bot]
        before, after = np.array(rows.scores).T
        return clustered_error(after - before, np.array(rows.deals, dtype=np.int64))

    def _rated(
        self, games: Iterable[RecordedGame], renamed: Mapping[str, str], *, source: int
    ) -> Iterator[tuple[_Key, Result, Choices | None]]:
        for game, record in games:
            bots = tuple(renamed.get(bot, bot) for bot in game.bots)
            self.bots[source].update(set(bots))
            choices = None if record is None else choices_in(record)
            yield (game.deal_seed, game.config, bots), game.result, choices

    def _note_change(self, bots: Sequence[str], before: Choices | None, after: Choices | None) -> None:
        if before is None or after is None:
            self.changed = None
        elif self.changed is not None:
            self.changed.update(bots[seat] for seat in _first_to_differ(before, after))

    def _add_pair(self, deal_seed: int, bots: Sequence[str], before: Result, after: Result) -> None:
        self.pairs += 1
        deal = self._deals.setdefault(deal_seed, len(self._deals))
        for seat, bot in enumerate(bots):
            opponents = [other for other, name in enumerate(bots) if name != bot]
            if opponents:
                rows = self._rows[bot]
                rows.deals.append(deal)
                rows.scores.append((_score(before, seat, opponents), _score(after, seat, opponents)))
                rows.points.append((before.points[seat], after.points[seat]))


Choices = Sequence[tuple[int, str]]
"""The seat and the move of each decision of a game."""


def choices_in(record: str) -> Choices:
    """Return the choices in a game's record; errors are those of `loads`."""
    return [(line["seat"], line["move"]) for line in loads(record)["moves"]]


def _first_to_differ(before: Choices, after: Choices) -> Iterator[int]:
    """Yield the seat that was the first to choose otherwise; both, if a game ended or went on for another."""
    for one, other in zip_longest(before, after):
        if one != other:
            yield from {choice[0] for choice in (one, other) if choice is not None}
            return


_Key = tuple[int, Hashable, tuple[str, ...]]


def mean_difference(before: Floats, after: Floats, *, deals: Ints, margin: Margin) -> PairedDifference:
    """Return mean(after) - mean(before), where pairs of one deal are dependent.

    The margin is that of the error sqrt(C / (C - 1) * sum over deals of (sum of (d - mean d))^2) / n, for n
    differences d of C deals: the cluster-robust error of a mean (Liang & Zeger 1986).
    """
    return _difference(float(after.mean() - before.mean()), after - before, deals, margin)


def elo_difference(before: Floats, after: Floats, *, deals: Ints, margin: Margin) -> PairedDifference | None:
    """Return elo(mean(after)) - elo(mean(before)), where elo(s) = 400 log10(s / (1 - s)) of a mean score s.

    The margin is that of `mean_difference` by the delta method: each score counts by elo's slope at its mean,
    400 / (ln 10 * s * (1 - s)). None where a mean score is 0 or 1.
    """
    means = float(before.mean()), float(after.mean())
    if not all(0 < mean < 1 for mean in means):
        return None
    slopes = [ELO_PER_LOGIT / (mean * (1 - mean)) for mean in means]
    first, second = (ELO_PER_LOGIT * math.log(mean / (1 - mean)) for mean in means)
    return _difference(second - first, slopes[1] * after - slopes[0] * before, deals, margin)


def _difference(value: float, differences: Floats, deals: Ints, margin: Margin) -> PairedDifference:
    """Return a value that varies as a mean of numbers does, which are dependent within deals."""
    return PairedDifference(value, margin(len(np.unique(deals)), clustered_error(differences, deals)))


def clustered_error(differences: Floats, deals: Ints) -> float | None:
    """Return the standard error of a mean of numbers that are dependent within deals; None with one deal."""
    _, numbers = np.unique(deals, return_inverse=True)
    sums = np.bincount(numbers, differences - differences.mean())
    count = len(sums)
    if count < 2:
        return None
    return math.sqrt(count / (count - 1) * float((sums**2).sum())) / len(differences)


def _score(result: Result, seat: int, opponents: Sequence[int]) -> float:
    won = sum(half_points(result.places[seat], result.places[other]) for other in opponents)
    luck = result.luck[seat] if result.luck else 0.0
    return (won / WIN - luck) / len(opponents)


def _change(score: PairedDifference) -> Change:
    if score.margin is None:
        return Change.UNKNOWN
    if abs(score.value) <= score.margin:
        return Change.UNCLEAR
    return Change.BETTER if score.value > 0 else Change.WORSE
