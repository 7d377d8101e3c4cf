"""What ratings consist of: values without numpy, the same from the fit to the wire and to every screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from happycity_tournament.config import MEAN_ELO

TOO_LITTLE = "not enough data"
ONE_END = "≥, ≤: in its games it never lost, or never won, even through others, so its interval has one end"
MODEL = "Plackett-Luce, shared places as half, errors clustered by deal"
"""The model of all ratings."""
WON_ALL = "won all"
LOST_ALL = "lost all"


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval in Elo, with as many ends as the games give it."""

    low: float | None = None
    """Lower end; None if the games don't bound it from below."""
    high: float | None = None
    """Upper end; None if the games don't bound it from above."""

    @property
    def margin(self) -> float | None:
        """Half of its length; None unless it has two ends."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def has_one_end(self) -> bool:
        """Whether it is bounded on one side only."""
        return (self.low is None) != (self.high is None)

    @property
    def interval_text(self) -> str:
        """The interval as `±13`; `-` if it isn't known, `≥1703` or `≤1207` if it has only one end."""
        if self.margin is not None:
            return f"±{self.margin:.0f}"
        if self.low is not None:
            return f"≥{self.low:.0f}"
        return "-" if self.high is None else f"≤{self.high:.0f}"

    def contains(self, number: float) -> bool:
        """Return whether a number isn't beyond an end."""
        return not (
            (self.low is not None and number < self.low) or (self.high is not None and number > self.high)
        )


def ranks_text(best: int, worst: int) -> str:
    """Return the ranks that a bot may have, such as `2-4`; `-` if they aren't known."""
    return str(best or "-") if best == worst else f"{best}-{worst}"


@dataclass(frozen=True, kw_only=True)
class BotStats:
    """What the games of a bot show; one in which it fills several seats counts for each."""

    games: int
    """Games counted, without unrated ones."""
    wins: int
    """Games in which it had the first place alone."""
    shared: int
    """Games in which it shared the first place."""
    score: float | None = None
    """The share of the opponents at the table that it beat, 0 to 1, a shared place counted as half: the mean
    over its games. None without opponents."""
    place_mean: float
    """0 without games."""
    points_mean: float
    """0 without games."""

    @property
    def firsts(self) -> int:
        """Games won, shared first places included."""
        return self.wins + self.shared

    @property
    def losses(self) -> int:
        """Games in which another seat had a better place."""
        return self.games - self.wins - self.shared


@dataclass(frozen=True, slots=True, kw_only=True)
class BotRating(Interval):
    """One bot's rating, and the interval of its distance from the anchor.

    The interval has no end if one of both played fewer than two deals, and one if the bot was never below the
    anchor, not even through others, or never above it.
    """

    bot: str
    """The bot's name."""
    elo: float
    """Comparable within the pool only."""
    games: int
    """Games counted."""
    deals: int = 0
    """Deals in which the bot played; 0 if that isn't known."""
    pool: int = 1
    """From 1; bots of different pools never met, not even through others."""
    rank_best: int = 1
    """The best rank in its pool that isn't excluded: 1 more than the bots that are certainly stronger."""
    rank_worst: int = 1
    """The worst one. All these intervals hold at once with 95%."""
    mark: str = ""
    """`WON_ALL` or `LOST_ALL` if the bot was above, or below, all others in all games; else empty."""

    @property
    def ranks(self) -> str:
        """The ranks that the games leave open, such as `2-4`."""
        return ranks_text(self.rank_best, self.rank_worst)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Interval):
    """How much higher one bot is rated than another, and the interval of that."""

    elo: float
    los: float
    """The likelihood that the bot is the stronger one, by all games of all bots. It is not a rule to stop a
    tournament by: looked at often enough, it is high at some time."""

    @property
    def text(self) -> str:
        """The difference with its interval, such as `35 ±25`; `≥190` if that has one end."""
        return self.interval_text if self.has_one_end else f"{self.elo:.0f} {self.interval_text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """The ratings of all bots, and what is known of pairs of them."""

    lines: tuple[BotRating, ...]
    """Pool by pool, best first."""
    anchor: str | None = None
    """The bot whose rating is given; None: the mean of each pool is. Pools without it have their mean. Which
    bots it is of is among the notes, unless it is of all."""
    anchor_elo: float = MEAN_ELO
    """The rating of the anchor, or of the mean."""
    model: str = MODEL
    notes: tuple[str, ...] = ()
    """What should be known about the model and its errors, a sentence each."""
    differences: Mapping[tuple[str, str], Difference] = field(default_factory=dict)
    """By bot and other bot, within pools, if both played two deals; those of a server's tournament are known
    of neighbours in the order only."""

    @property
    def pools(self) -> int:
        """The number of pools."""
        return max((line.pool for line in self.lines), default=0)

    def difference(self, bot: str, other: str) -> Difference | None:
        """Return how much higher `bot` is rated than `other`; None if that isn't known."""
        return self.differences.get((bot, other))

    def to_next(self) -> list[tuple[BotRating, BotRating | None, Difference | None]]:
        """Return each bot in order, with the next one of its pool and the difference to it, if any."""
        return [
            (line, other, self.difference(line.bot, other.bot))
            if other is not None and other.pool == line.pool
            else (line, None, None)
            for line, other in zip_longest(self.lines, self.lines[1:])
        ]
