"""The seasons of the ladder: they end by time or by a call, and leave their leaderboards."""

from __future__ import annotations

import asyncio
from functools import partial

import structlog

from happycity_ladder.entries import Season
from happycity_ladder.leaderboard import Line, leaderboard
from happycity_server.ladder.presence import Presence
from happycity_server.ladder.ratings import Ratings
from happycity_server.ladder.served_book import ServedBook

_DAY = 86400.0
_log = structlog.get_logger()


class Seasons:
    """The present season, and how it ends. Times are Unix seconds.

    Coroutines raise StoreError if the store can't be read, or written to.
    """

    def __init__(self, book: ServedBook, ratings: Ratings, presence: Presence) -> None:
        self._book = book
        self._ratings = ratings
        self._presence = presence
        self._closing = asyncio.Lock()
        self.present: Season
        """The present season, from `begin` on."""

    async def begin(self) -> None:
        """Begin the first season unless there is one."""
        book = self._book
        self.present = await book.write(book.open_season, book.clock(), book.config.json())

    @property
    def planned_end(self) -> float | None:
        """When the season ends by itself; None if it ends by a call."""
        days = self._book.config.season_days
        return self.present.started_at + days * _DAY if days else None

    async def turn(self) -> Season:
        """Return the present season, after its planned end the next one."""
        end = self.planned_end
        if end is not None and self._book.clock() >= end:
            await self.close(self.present.id)
        return self.present

    async def close(self, season_id: int) -> Season:
        """End a season, unless it has ended already; return the present one."""
        async with self._closing:
            if season_id != self.present.id:
                return self.present
            config = self._book.config
            while self.present.id == season_id:  # until no deal is finished meanwhile
                last = await self._book.read(self._book.last_finished)
                await self._ratings.catch_up()
                at = self._book.clock()
                boards = {one.name: await self.leaderboard(one.name, season_id, at) for one in config.boards}
                close = partial(self._book.close_season, last=last)
                self.present = await self._book.write(close, season_id, boards, at, config.json())
            _log.info("ladder_season_closed", season=season_id)
            return self.present

    async def leaderboard(self, board: str, season_id: int, at: float | None = None) -> list[Line]:
        """Return the lines of a board, by default as they are now, with the scores of a season."""
        at = self._book.clock() if at is None else at
        ratings = await self._ratings.of(board, at)
        versions = await self._book.read(self._book.versions, ratings)
        scores = await self._book.read(self._book.scores, season_id, board)
        config, present = self._book.config, self._presence.versions
        return await asyncio.to_thread(
            partial(leaderboard, present=present, at=at), versions.values(), ratings, scores, config
        )
