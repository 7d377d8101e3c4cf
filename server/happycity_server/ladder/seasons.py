"""The seasons of the ladder: they end by time or by a call, and leave their leaderboards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container

import structlog

from happycity_server.ladder.ratings import Ratings
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.ladder.entries import Season
from happycity_tournament.ladder.leaderboard import leaderboard, stored_lines
from happycity_tournament.storage import AsyncStore
from happycity_tournament.storage.ladder import LadderStore

_DAY = 86400.0
_log = structlog.get_logger()


class Seasons:
    """The present season, and how it ends. Times are Unix seconds."""

    def __init__(
        self, config: LadderConfig, store: AsyncStore, ratings: Ratings, clock: Callable[[], float]
    ) -> None:
        self._config = config
        self._store = store
        self._ladder = LadderStore(store.store)
        self._ratings = ratings
        self._clock = clock
        self._present: Season | None = None
        self._closing = asyncio.Lock()

    async def begin(self) -> None:
        """Begin the first season unless there is one.

        Raises:
            StoreError: it can't be stored.
        """
        self._present = await self._store.write(self._ladder.open_season, self._clock())

    @property
    def present(self) -> Season:
        """The present season."""
        assert self._present is not None
        return self._present

    @property
    def planned_end(self) -> float | None:
        """When the season ends by itself; None if it ends by a call."""
        days = self._config.season_days
        return self.present.started_at + days * _DAY if days else None

    async def turn(self, present: Container[str]) -> Season:
        """Return the present season, after its end the next one; `present` has the connected bots.

        Raises:
            StoreError: the end can't be stored.
        """
        end = self.planned_end
        if end is not None and self._clock() >= end:
            await self.close(self.present.id, present)
        return self.present

    async def close(self, season_id: int, present: Container[str]) -> Season:
        """End a season, unless it has ended already; return the present one.

        Raises:
            StoreError: the end can't be stored.
        """
        async with self._closing:
            if season_id != self.present.id:
                return self.present
            await self._ratings.catch_up()
            now = self._clock()
            versions = await self._store.read(self._ladder.versions)
            boards = {}
            for board in self._config.boards:
                lines = leaderboard(
                    versions.values(),
                    await self._ratings.of(board.name),
                    await self._store.read(self._ladder.scores, season_id, board.name),
                    self._config,
                    present=present,
                    at=now,
                )
                boards[board.name] = stored_lines(lines)
            self._present = await self._store.write(self._ladder.close_season, season_id, boards, now)
            _log.info("ladder_season_closed", season=season_id)
            return self._present
