"""The final ratings as `tournament rate` shows them: tables for a person, and one JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from happycity.records import Json
from happycity_tournament.final_ratings import RatedBot, Ratings
from happycity_tournament.ratings import MIN_DEALS

LOS_BOTS = 12
"""The likelihoods of superiority are shown of so many bots at most; the JSON has them all."""
TOO_LITTLE = "not enough data"

_RANK_DIGITS = 6  # ratings that differ by rounding errors only are equal


@dataclass(frozen=True, slots=True)
class Ranked:
    """A bot with its rank."""

    rank: int
    """1 is the best of its pool; equal ratings share a rank."""
    line: RatedBot
    index: int
    """Where the bot is in the ratings' own order."""


def ranked(ratings: Ratings) -> list[Ranked]:
    """Return the bots pool by pool, best first, equal ones in the order in which they were given."""
    order = sorted(enumerate(ratings.lines), key=lambda entry: (entry[1].pool, -_rounded(entry[1])))
    found: list[Ranked] = []
    for _, members in groupby(order, key=lambda entry: entry[1].pool):
        rank = 0
        for place, (index, line) in enumerate(members, start=1):
            if place == 1 or _rounded(line) != _rounded(found[-1].line):
                rank = place
            found.append(Ranked(rank=rank, line=line, index=index))
    return found


def _rounded(line: RatedBot) -> float:
    return round(line.elo, _RANK_DIGITS)


def ratings_json(ratings: Ratings) -> Json:
    """Return all that the ratings tell as a JSON object; what can't be told is null."""
    order, los = ranked(ratings), ratings.los_matrix()
    return {
        "model": ratings.model,
        "anchor": ratings.anchor,
        "ratings": [_line_json(entry) for entry in order],
        "los": [[los[row.index][column.index] for column in order] for row in order],
        "seat_effects": {str(size): list(effects) for size, effects in ratings.seat_effects.items()},
        "ties": {str(bots): delta for bots, delta in ratings.deltas.items()},
        "duplicate_gains": {str(size): gain for size, gain in ratings.duplicate_gains.items()},
    }


def _line_json(entry: Ranked) -> Json:
    line = entry.line
    return {
        "rank": entry.rank,
        "bot": line.bot,
        "elo": line.elo,
        "elo_low": line.low,
        "elo_high": line.high,
        "games": line.games,
        "deals": line.deals,
        "pool": line.pool + 1,
    }


def print_ratings(console: Console, ratings: Ratings) -> None:
    """Print the ratings with all that belongs to them."""
    order = ranked(ratings)
    console.print(_ratings_table(order))
    console.print(_los_table(ratings, order[:LOS_BOTS], bots=len(order)))
    console.print(_seats_table(ratings))
    for line in (*_remarks(ratings), f"model: {ratings.model}"):
        console.print(Text(line), soft_wrap=True)


def _ratings_table(order: Sequence[Ranked]) -> Table:
    table = _table("ratings", "rank", "bot", "Elo", "95% interval", "games", "deals", "pool")
    for entry in order:
        line = entry.line
        table.add_row(
            str(entry.rank),
            Text(line.bot),
            f"{line.elo:.0f}",
            _interval(line),
            *(str(number) for number in (line.games, line.deals, line.pool + 1)),
        )
    return table


def _interval(line: RatedBot) -> str:
    if line.low is None or line.high is None:
        return TOO_LITTLE
    return f"{line.low - line.elo:+.0f} {line.high - line.elo:+.0f}"


def _los_table(ratings: Ratings, shown: Sequence[Ranked], *, bots: int) -> Table:
    title = "likelihood that the row's bot is stronger than the column's"
    if len(shown) < bots:
        title += f", the first {len(shown)} of {bots}"
    table = _table(title, "bot", *(str(number) for number in range(1, len(shown) + 1)))
    los = ratings.los_matrix()
    for number, row in enumerate(shown, start=1):
        cells = (los[row.index][column.index] for column in shown)
        table.add_row(Text(f"{number} {row.line.bot}"), *map(likelihood, cells))
    return table


def likelihood(los: float | None) -> str:
    """Write a likelihood, but never a doubt as certainty."""
    if los is None:
        return "-"
    return "<0.1%" if los < 0.0005 else ">99.9%" if los >= 0.9995 else f"{los:.1%}"


def _seats_table(ratings: Ratings) -> Table:
    sizes = sorted(set(ratings.seat_effects) | set(ratings.duplicate_gains))
    seats = max(sizes, default=0)
    heads = ("seats", "gain of duplicate deals", *(f"seat {seat}" for seat in range(1, seats + 1)))
    table = _table("by seats at a table; what a seat adds, in Elo", *heads)
    for size in sizes:
        effects = ratings.seat_effects.get(size)
        cells = (TOO_LITTLE,) if effects is None else tuple(f"{effect:+.0f}" for effect in effects)
        gain = ratings.duplicate_gains.get(size)
        table.add_row(str(size), TOO_LITTLE if gain is None else f"{gain:.2f}", *cells)
    return table


def _remarks(ratings: Ratings) -> list[str]:
    if ratings.deltas:
        shares = ", ".join(f"{bots} bots {delta:.3f}" for bots, delta in ratings.deltas.items())
        remarks = [f"shared places (delta, 0 means never): {shares}"]
    else:
        remarks = ["shared places: none"]
    if len({line.pool for line in ratings.lines}) > 1:
        remarks.append("bots of different pools never met, not even through others: don't compare their Elo")
    if any(line.low is None for line in ratings.lines):
        remarks.append(f"an interval needs {MIN_DEALS} deals, of the bot and of the anchor")
    return remarks


def _table(title: str, *headings: str) -> Table:
    table = Table(title=Text(title), title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "bot" else "right")
    return table
