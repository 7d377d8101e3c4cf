"""Odd results of a season, found in the stored deals when an organiser asks."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from happycity_tournament.ladder.entries import RatedDeal, Season
from happycity_tournament.ladder.flags import Flag, find_flags
from happycity_tournament.storage import AsyncStore
from happycity_tournament.storage.ladder import LadderStore
from happycity_tournament.storage.ladder_ratings import RatingStore

LATEST_DEALS = 20_000
"""The latest deals of a season that are looked through: strengths are taken as constant in them."""
MAX_FLAGS = 100
"""Flags that are shown."""
KEPT_SECONDS = 60.0
"""How long flags are shown before they are looked for again."""

FlaggedDeals = tuple[Flag, list[int]]
"""A flag, and the ids of its oddest deals."""


class OddResults:
    """Finds odd results, for one caller at a time."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._ladder = LadderStore(store.store)
        self._ratings = RatingStore(store.store)
        self._clock = clock
        self._lock = asyncio.Lock()
        self._kept: tuple[int, float, list[FlaggedDeals]] = (0, 0.0, [])
        """The season and the time of the last search, and what it found."""

    async def of(self, season: Season) -> list[FlaggedDeals]:
        """Return the flags of a season, oddest first, at most `MAX_FLAGS`.

        Raises:
            StoreError: the store can't be read.
        """
        async with self._lock:
            season_id, at, found = self._kept
            if season_id != season.id or self._clock() - at >= KEPT_SECONDS:
                found = await self._store.load(self._find, season)
                self._kept = season.id, self._clock(), found
            return found

    def _find(self, season: Season) -> list[FlaggedDeals]:
        last = season.closed_after if season.closed_after is not None else self._ratings.last_finished()
        before = self._ladder.seasons(1, season.id)
        first = before[0].closed_after or 0 if before else 0
        deals: defaultdict[str, list[RatedDeal]] = defaultdict(list)
        for board, deal in self._ratings.rated_deals(max(first, last - LATEST_DEALS)):
            if deal.finished > last:
                break
            deals[board].append(deal)
        versions = self._ladder.versions()
        flags: list[Flag] = []
        for board, of_board in sorted(deals.items()):
            scores = self._ladder.scores(season.id, board)
            forfeits = {version: (score.games, score.forfeits) for version, score in scores.items()}
            flags += find_flags(board, of_board, versions, forfeits)
        flags = sorted(flags, key=lambda flag: (flag.p_value, -abs(flag.deviation)))[:MAX_FLAGS]
        ids = self._ladder.finished_ids({number for flag in flags for number in flag.finished})
        return [(flag, [ids[number] for number in flag.finished]) for flag in flags]
