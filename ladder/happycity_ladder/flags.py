"""Odd results, for a person to judge: helping another bot, forfeiting many games, knowing the deck.

What is expected of two bots at a table are the odds of their strengths in the deals that are looked at.
Deals are independent, the games of a deal are not, so results are added up by deal. P-values are corrected
for all bots or pairs that were looked at (Holm 1979).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from happycity_ladder.entries import DealLuck, RatedDeal, Version
from happycity_tournament.ratings.columns import Floats, Games, Ints, TableColumns
from happycity_tournament.ratings.estimate import holm, student_probabilities
from happycity_tournament.ratings.likelihood import chances_above, choices_of, fit
from happycity_tournament.ratings.mean_luck import mean_luck

SIGNIFICANCE = 0.01
"""Results with a greater p-value, corrected, are not flagged."""
MIN_DEALS = 20
"""Deals of a pair or a bot below which nothing is said of it."""
MIN_DIFFERENCE = 0.08
"""Smaller mean deviations, of the 0 to 1 points against an opponent, aren't flagged: no model is exact."""
USUAL_FORFEITS = 0.02
"""The share of forfeited games that is taken as usual, at least."""
MAX_DEALS_SHOWN = 10
"""Deals that a flag names."""


class FlagKind(Enum):
    """Kinds of odd results."""

    HELPING = "helping"
    """At tables of three and more it does worse against third bots if one bot is there that does better."""
    FORFEITING = "forfeiting"
    """It forfeits many games."""
    TOO_LUCKY = "too_lucky"
    """Its mean luck is more than chance allows, as if it knew which cards come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """An odd result."""

    kind: FlagKind
    bot: str
    beneficiary: str = ""
    """The bot that gained by it; "" if none did."""
    board: str
    deals: int
    """Deals that were looked at; of forfeits games."""
    deviation: float
    """How far from what is expected, in standard errors."""
    p_value: float
    """The probability by chance, corrected for the number of bots or pairs that were looked at."""
    text: str
    """One line for a person."""
    deal_ids: tuple[int, ...] = ()
    """The oddest deals, at most `MAX_DEALS_SHOWN`."""


def find_flags(
    board: str,
    deals: Sequence[RatedDeal],
    versions: Mapping[int, Version],
    forfeits: Mapping[int, tuple[int, int]],
    luck: Sequence[DealLuck] = (),
) -> list[Flag]:
    """Return odd results on one board, oddest first.

    Args:
        board: its name.
        deals: rated deals in their order; some weeks, as strengths are taken as constant.
        versions: all versions in these deals, by their ids.
        forfeits: games and forfeited games of the same time, by version.
        luck: the luck of those of the deals for which it was computed.
    """
    found = [*_forfeiting(board, versions, forfeits), *_too_lucky(board, luck, versions)]
    if deals:
        found += _helping(board, _Residuals(deals), versions)
    return sorted(found, key=lambda flag: (flag.p_value, -abs(flag.deviation), flag.bot, flag.beneficiary))


class _Residuals:
    """What each bot of a deal scored against each other one, less what is expected."""

    def __init__(self, deals: Sequence[RatedDeal]) -> None:
        self.deal_ids = [deal.id for deal in deals]
        self.names = sorted({version for deal in deals for version in deal.versions})
        numbers = {version: number for number, version in enumerate(self.names)}
        self.bots: Ints = np.array([[numbers[version] for version in deal.versions] for deal in deals])
        """[deal, member]."""
        places = np.array([deal.places for deal in deals])
        scores = 0.5 + 0.5 * np.sign(places[:, :, None, :] - places[:, :, :, None]).mean(axis=1)
        expected = self._expected(places)
        self.pairs: Floats = scores - expected
        """[deal, member, other]: the mean over the rotations; 0 with oneself."""

    def _expected(self, places: Ints) -> Floats:
        """Fit strengths to all games and return what they expect, [deal, member, other]."""
        count, rotations, size = places.shape
        bots = np.repeat(self.bots, rotations, axis=0)
        table = TableColumns(bots, places.reshape(-1, size), np.repeat(np.arange(count), rotations))
        strengths = fit(choices_of(Games(tuple(map(str, self.names)), {size: table}))).strengths
        by_deal = strengths[self.bots]
        return chances_above(by_deal[:, :, None] - by_deal[:, None, :])


def _helping(board: str, residuals: _Residuals, versions: Mapping[int, Version]) -> Iterator[Flag]:
    """Look at all ordered pairs: what one loses and the other gains, both against third bots only.

    Results between the two don't count, so a bot that simply loses to another one isn't suspected.
    """
    size = residuals.bots.shape[1]
    if size < 3:
        return
    totals = residuals.pairs.sum(axis=2)
    names = [versions[version] for version in residuals.names]
    bot_numbers = {name: number for number, name in enumerate(sorted({version.bot for version in names}))}
    bots = np.array([bot_numbers[version.bot] for version in names])[residuals.bots]
    house = np.array([version.house for version in names])[residuals.bots]
    keys, lost, gained, deals = [], [], [], []
    for one in range(size):
        for other in range(size):
            if one != other:
                kept = np.flatnonzero(~house[:, one])
                keys.append(bots[kept, one] * len(bot_numbers) + bots[kept, other])
                lost.append((residuals.pairs[:, one, other] - totals[:, one])[kept] / (size - 2))
                gained.append((totals[:, other] - residuals.pairs[:, other, one])[kept] / (size - 2))
                deals.append(kept)
    key, loss, gain, deal = map(np.concatenate, (keys, lost, gained, deals))
    counts = np.bincount(key, minlength=len(bot_numbers) ** 2)
    tested = np.flatnonzero(counts >= MIN_DEALS)
    if not len(tested):
        return
    both = (loss + gain) / 2
    means, errors = _means(key, both, counts)
    sides = [np.divide(*_means(key, side, counts)) for side in (loss, gain)]
    scores = means[tested] / errors[tested]
    p_values = holm(student_probabilities(-scores, counts[tested] - 1)).tolist()
    bot_names = sorted(bot_numbers)
    for index, score, p_value in zip(tested.tolist(), scores.tolist(), p_values, strict=True):
        both_sides = min(side[index] for side in sides) > 2
        if p_value < SIGNIFICANCE and means[index] >= MIN_DIFFERENCE and both_sides:
            helper, beneficiary = divmod(index, len(bot_names))
            rows = np.flatnonzero(key == index)
            oddest = deal[rows[np.argsort(-both[rows], kind="stable")][:MAX_DEALS_SHOWN]]
            gained_mean, lost_mean = float(gain[rows].mean()), float(loss[rows].mean())
            yield Flag(
                kind=FlagKind.HELPING,
                bot=bot_names[helper],
                beneficiary=bot_names[beneficiary],
                board=board,
                deals=int(counts[index]),
                deviation=score,
                p_value=p_value,
                text=f"against third bots, with both at the table: {bot_names[helper]} scores "
                f"{100 * lost_mean:.0f} points in 100 less than expected, {bot_names[beneficiary]} "
                f"{100 * gained_mean:.0f} more",
                deal_ids=tuple(residuals.deal_ids[row] for row in oddest.tolist()),
            )


def _means(keys: Ints, values: Floats, counts: Ints) -> tuple[Floats, Floats]:
    """Return mean and standard error of the values of each key; the mean is expected to be 0."""
    least = np.maximum(1, counts)
    sums = np.bincount(keys, values, len(counts))
    squares = np.bincount(keys, values**2, len(counts))
    return sums / least, np.maximum(np.sqrt(squares), 1e-9) / least


def _forfeiting(
    board: str, versions: Mapping[int, Version], forfeits: Mapping[int, tuple[int, int]]
) -> Iterator[Flag]:
    """Compare each bot's share of forfeited games with that of all others together."""
    played: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for version, (games, lost) in forfeits.items():
        if not versions[version].house:
            played[versions[version].bot][0] += games
            played[versions[version].bot][1] += lost
    all_games, all_lost = (sum(column) for column in zip(*played.values(), strict=True)) if played else (0, 0)
    bots = sorted(bot for bot, (games, _) in played.items() if games >= MIN_DEALS)
    rows = []
    for bot in bots:
        games, lost = played[bot]
        usual = max(USUAL_FORFEITS, (all_lost - lost) / max(1, all_games - games))
        share = lost / games
        # A crash takes all games of a deal with it, about four: so games count as a quarter.
        log_bound = -(games / 4) * _divergence(share, usual) if share > usual else 0.0
        error = math.sqrt(usual * (1 - usual) / (games / 4)) if usual < 1 else 1.0
        rows.append((bot, games, lost, (share - usual) / error, math.exp(log_bound)))
    for (bot, games, lost, deviation, _), p_value in zip(
        rows, holm([row[-1] for row in rows]).tolist(), strict=True
    ):
        if p_value < SIGNIFICANCE:
            yield Flag(
                kind=FlagKind.FORFEITING,
                bot=bot,
                board=board,
                deals=games,
                deviation=deviation,
                p_value=p_value,
                text=f"{bot} forfeited {lost} of {games} games",
            )


def _too_lucky(board: str, deals: Sequence[DealLuck], versions: Mapping[int, Version]) -> Iterator[Flag]:
    """Look at the mean luck of each bot, as `tournament rate --luck-adjusted` does."""
    if not deals:
        return
    names = tuple(sorted({versions[version].bot for deal in deals for version in deal.versions}))
    bots = np.array([[names.index(versions[version].bot) for version in deal.versions] for deal in deals])
    luck = np.array([deal.places for deal in deals])
    table = TableColumns(bots, np.ones_like(bots), np.arange(len(deals)), luck)
    house = {version.bot for version in versions.values() if version.house}
    looked_at = [one for one in mean_luck(Games(names, {bots.shape[1]: table})) if one.bot not in house]
    deviations, counts = np.array([(one.deviation, one.deals) for one in looked_at]).reshape(-1, 2).T
    p_values = holm(student_probabilities(-deviations, counts - 1)).tolist()
    for one, p_value in zip(looked_at, p_values, strict=True):
        if one.is_too_lucky:
            rows, members = np.nonzero(bots == names.index(one.bot))
            oddest = rows[np.argsort(-luck[rows, members], kind="stable")][:MAX_DEALS_SHOWN]
            yield Flag(
                kind=FlagKind.TOO_LUCKY,
                bot=one.bot,
                board=board,
                deals=one.deals,
                deviation=one.deviation,
                p_value=p_value,
                text=one.text,
                deal_ids=tuple(deals[row].deal_id for row in oddest.tolist()),
            )


def _divergence(share: float, usual: float) -> float:
    """Return the relative entropy by which Chernoff (1952) bounds a binomial tail."""
    rest = 0.0 if share >= 1 else (1 - share) * math.log((1 - share) / (1 - usual))
    return share * math.log(share / usual) + rest
