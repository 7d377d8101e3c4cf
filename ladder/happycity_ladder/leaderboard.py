"""Who stands where on a board: each bot by its newest version that has played there. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist

from happycity_ladder.entries import Rating, Version
from happycity_ladder.ladder_config import LadderConfig

USUAL_GAP = 300.0
"""Elo between neighbours on the way to the anchor up to which errors are taken as they are."""
_DAY = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Rated games on a board in a season, of a version or of all versions of a bot."""

    games: int = 0
    firsts: int = 0
    """Games won, shared first places included."""
    forfeits: int = 0

    def __add__(self, other: Score) -> Score:
        """Return the score of both together."""
        return Score(
            games=self.games + other.games,
            firsts=self.firsts + other.firsts,
            forfeits=self.forfeits + other.forfeits,
        )

    def __neg__(self) -> Score:
        """Return what takes the score away."""
        return Score(games=-self.games, firsts=-self.firsts, forfeits=-self.forfeits)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardLine:
    """One bot on a leaderboard."""

    rank: int
    """1 is best; 0 while it is provisional or inactive."""
    version: Version
    """Its newest version that has played on the board."""
    rating: Rating
    """That version's rating."""
    provisional: bool
    inactive: bool
    score: Score
    """Of all its versions in the season."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerLine:
    """An owner on a leaderboard, by the best of its bots."""

    rank: int
    """1 is best."""
    best: LeaderboardLine
    bots: int
    """Its bots that have played on the board."""
    low: float
    """Lower end of the best bot's interval, for all bots of the owner at once."""


def owners(lines: Iterable[LeaderboardLine]) -> list[OwnerLine]:
    """Return the owners that have a ranked bot, best first; each bot of the house stands for itself.

    The best of many equal bots has been lucky. So the intervals of k bots of an owner are as wide as that of
    one bot with an error of 5% / k (Bonferroni): with 95% all of them hold, also that of the best one.
    """
    by_owner: dict[tuple[bool, str], list[LeaderboardLine]] = {}
    for line in lines:
        version = line.version
        name = version.bot if version.house else version.owner
        by_owner.setdefault((version.house, name), []).append(line)
    found = []
    for own in by_owner.values():
        reach = NormalDist().inv_cdf(1 - 0.025 / len(own))
        ranked = [(line.rating.elo - reach * line.rating.error, line) for line in own if line.rank]
        if ranked:
            low, best = max(ranked, key=lambda pair: pair[0])
            found.append(OwnerLine(rank=0, best=best, bots=len(own), low=low))
    found.sort(key=lambda owner: (-owner.low, owner.best.version.bot))
    return [replace(owner, rank=rank) for rank, owner in enumerate(found, start=1)]


def is_provisional(rating: Rating, config: LadderConfig) -> bool:
    """Return whether a rating is too uncertain for a rank.

    The wider the gap between it and the anchor, the fewer results tell how wide it is, and the less its error
    is worth: from `USUAL_GAP` on the error has to be smaller by the cube.
    """
    most = config.provisional_error * min(1.0, USUAL_GAP / max(rating.gap, 1.0)) ** 3
    return rating.error > most


def order(line: LeaderboardLine) -> tuple[int, float, str]:
    """Return where a line stands on its leaderboard, as a key to sort by.

    Ranked bots come first, then provisional, then inactive ones. Each part is in the order of the lower ends
    of the intervals, so that a bot can't gain by being uncertain, as one is that brings a new version again
    and again.
    """
    part = 2 if line.inactive else int(line.provisional)
    return part, -line.rating.low, line.version.bot


def leaderboard(
    versions: Iterable[Version],
    ratings: Mapping[int, Rating],
    scores: Mapping[int, Score],
    config: LadderConfig,
    *,
    present: Container[str],
    at: float,
) -> list[LeaderboardLine]:
    """Return the leaderboard of a board, in the order of `order`.

    `versions` are those of all bots, `ratings` and `scores` are by version, and `present` has the names of
    the bots that are connected at the time `at`. A bot that never played on the board has no line.
    """
    by_bot: dict[str, list[Version]] = {}
    for version in sorted(versions, key=lambda version: version.id):
        if version.id in ratings and ratings[version.id].deals:
            by_bot.setdefault(version.bot, []).append(version)
    lines = []
    for bot, own in by_bot.items():
        newest, last_at = own[-1], max(version.last_at for version in own)
        line = LeaderboardLine(
            rank=0,
            version=newest,
            rating=ratings[newest.id],
            provisional=is_provisional(ratings[newest.id], config),
            inactive=bot not in present and at - last_at > config.inactive_days * _DAY,
            score=sum((scores[version.id] for version in own if version.id in scores), Score()),
        )
        lines.append(line)
    lines.sort(key=order)
    return [
        line if line.inactive or line.provisional else replace(line, rank=rank)
        for rank, line in enumerate(lines, start=1)
    ]
