"""What the ladder's pages and calls show, read from the store and from what the running ladder knows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from happycity_server.errors import ApiError, Reason
from happycity_server.ladder.challenges import not_in_ladder
from happycity_server.ladder.ladder import Ladder
from happycity_tournament.games import FinishedGame
from happycity_tournament.ladder.entries import (
    Deal,
    DealKind,
    DealState,
    Rating,
    RatingPoint,
    Season,
    Version,
)
from happycity_tournament.ladder.leaderboard import Line, leaderboard, lines_of
from happycity_tournament.ratings.comparison import PairedGames
from happycity_tournament.storage import AsyncStore
from happycity_tournament.storage.challenges import ChallengeStore
from happycity_tournament.storage.ladder import LadderStore
from happycity_tournament.storage.ladder_ratings import RatingStore
from happycity_tournament.storage.schema import LARGEST_ID

KEPT_SECONDS = 1.0
"""How long a leaderboard is shown before it is made again."""
MAX_POINTS = 500
"""Points of a bot's history that are shown."""
COMPARED_DEALS = 500
"""The latest deals of a version, of each kind, that a comparison looks at."""
MAX_COMPARISONS = 16
"""Comparisons that may wait or be computed at once."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two versions of a bot compare by deals that both played against the house."""

    deals: int
    difference: float
    """What the newer one scores more a game: the share of opponents behind it, shared places by half."""
    error: float | None
    """The standard error of the difference; None with fewer than two deals."""


class LadderReader:
    """Reads the ladder; all methods raise StoreError if the store can't be read."""

    def __init__(self, ladder: Ladder, store: AsyncStore, clock: Callable[[], float]) -> None:
        self._ladder = ladder
        self._config = ladder.config
        self.store = self._store = store
        self.challenges = ChallengeStore(store.store)
        self._stored = LadderStore(store.store)
        self._ratings = RatingStore(store.store)
        self._clock = clock
        self._comparing = 0
        self._kept: dict[str, tuple[float, asyncio.Task[list[Line]]]] = {}
        """The present leaderboards by board: when each was begun, and what makes it."""

    async def season(self, season_id: int | None) -> Season:
        """Return a season, the present one for None.

        Raises:
            ApiError: there is none with this id.
        """
        before = None if season_id is None else min(season_id, LARGEST_ID - 1) + 1
        found = await self._store.read(self._stored.seasons, 1, before)
        if not found or season_id not in (None, found[0].id):
            raise not_in_ladder("season", str(season_id))
        return found[0]

    async def leaderboard(self, board: str, season: Season) -> list[Line]:
        """Return the lines of a board in a season; those of the present one are at most a second old."""
        if season.ended_at is not None:
            return await self._store.read(self._stored_leaderboard, board, season.id)
        begun_at, task = self._kept.get(board, (-KEPT_SECONDS, None))
        if task is None or self._clock() - begun_at >= KEPT_SECONDS or (task.done() and task.exception()):
            task = asyncio.create_task(self._present_leaderboard(board, season.id))
            self._kept[board] = self._clock(), task
        return await asyncio.shield(task)

    async def seasons(self, limit: int, before_id: int | None) -> list[Season]:
        """Return seasons, newest first."""
        return await self._store.read(self._stored.seasons, limit, before_id)

    async def bots(self) -> int:
        """Return how many bots have played or are connected, those of the house not counted."""
        return await self._store.read(self._stored.bots)

    async def versions_of(self, bot: str) -> list[Version]:
        """Return the newest versions of a bot, newest first.

        Raises:
            ApiError: the bot has never played, and is not connected.
        """
        versions = await self._store.read(self._stored.versions_of, bot)
        if not versions:
            raise not_in_ladder("bot", bot)
        return versions

    async def history(self, board: str, versions: Collection[Version]) -> list[RatingPoint]:
        """Return the ratings of versions on a board over time, oldest first, at most `MAX_POINTS`."""
        ids = [version.id for version in versions]
        points = await self._store.read(self._ratings.history, board, ids)
        step = -(-len(points) // MAX_POINTS) or 1
        return points[::-1][::step][::-1]  # the latest one among them

    async def deals(self, limit: int, before_id: int | None, **filters: Any) -> list[Deal]:
        """Return deals, newest first; see `LadderStore.deals`."""
        return await self._store.read(self._stored.deals, limit, before_id, **filters)

    async def ratings(self, versions: Collection[int]) -> dict[str, dict[int, Rating]]:
        """Return the ratings of versions by board, those on which they played."""
        found = {}
        for board in self._config.boards:
            rated = await self._ladder.ratings(board.name)
            found[board.name] = {
                version: rated[version] for version in versions if version in rated and rated[version].deals
            }
        return found

    async def compare(self, old: int, new: int) -> Comparison:
        """Compare two versions of a bot.

        Raises:
            ApiError: there is no such version, they are of different bots, or too many comparisons wait.
        """
        versions = await self._store.read(self._stored.versions, {old, new})
        for version in (old, new):
            if version not in versions or versions[version].bot != versions[old].bot:
                raise not_in_ladder("version", str(version))
        if self._comparing >= MAX_COMPARISONS:
            text = f"{MAX_COMPARISONS} comparisons wait already, and no more may; try again later"
            raise ApiError(Reason.TOO_MANY_OPEN, text, retry_seconds=KEPT_SECONDS, limit=str(MAX_COMPARISONS))
        self._comparing += 1
        try:
            return await self._store.load(self._compare, versions[old], versions[new])
        finally:
            self._comparing -= 1

    async def games_and_versions(
        self, deals: Collection[Deal]
    ) -> tuple[dict[int, list[FinishedGame]], dict[int, Version]]:
        """Return the finished games of deals, in the order of the rotations, and the versions in them."""
        ids = {version for deal in deals for version in deal.versions}
        games = await self._store.read(self._stored.games_of, [deal.id for deal in deals])
        return games, await self._store.read(self._stored.versions, ids)

    async def _present_leaderboard(self, board: str, season_id: int) -> list[Line]:
        ratings = await self._ladder.ratings(board)
        versions = await self._store.read(self._stored.versions, list(ratings))
        scores = await self._store.read(self._stored.scores, season_id, board)
        present, at = set(self._ladder.present), self._clock()
        return await asyncio.to_thread(
            lambda: leaderboard(versions.values(), ratings, scores, self._config, present=present, at=at)
        )

    def _stored_leaderboard(self, board: str, season_id: int) -> list[Line]:
        stored = self._stored.leaderboards(season_id).get(board, [])
        return lines_of(stored, self._stored.versions([entry["version"] for entry in stored]))

    def _compare(self, old: Version, new: Version) -> Comparison:
        first, second = (
            {_place(deal, version.id): deal for deal in self._against_house(version)}
            for version in (old, new)
        )
        common = first.keys() & second.keys()
        games = [self._games([deals[place].id for place in common]) for deals in (first, second)]
        paired = PairedGames(*games)
        if old.bot not in paired.compared_bots:
            return Comparison(0, 0.0, None)
        compared = paired.comparison(old.bot)
        return Comparison(compared.deals, compared.score.value, paired.score_error(old.bot))

    def _against_house(self, version: Version) -> list[Deal]:
        """Return the latest finished deals of a version against the house alone."""
        deals = [
            deal
            for kind in DealKind
            for deal in self._stored.deals(COMPARED_DEALS, version_id=version.id, kind=kind)
            if deal.state is DealState.FINISHED
        ]
        others = self._stored.versions({other for deal in deals for other in deal.versions})
        return [
            deal
            for deal in deals
            if all(other == version.id or others[other].house for other in deal.versions)
        ]

    def _games(self, deal_ids: Collection[int]) -> list[FinishedGame]:
        return [game for games in self._stored.games_of(deal_ids).values() for game in games]


def _place(deal: Deal, version: int) -> tuple[int, tuple[int, ...]]:
    """Return what deals of two versions must have in common to be compared: cards, opponents and seats."""
    return deal.deal_seed, tuple(0 if other == version else other for other in deal.versions)
