"""The seasons of the ladder: they end by time or by a call, leave their leaderboards, and are archived."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

import structlog

from happycity import ConfigError
from happycity_ladder.archives import SeasonArchive, seasons_to_archive
from happycity_ladder.entries import Season
from happycity_ladder.leaderboard import Line, leaderboard
from happycity_server.ladder.presence import Presence
from happycity_server.ladder.ratings import Ratings
from happycity_server.ladder.stored import StoredLadder
from happycity_tournament.storage.database import StoreError

CHECK_SECONDS = 600.0
"""How often it is looked whether a season has become old enough to be archived."""

_DAY = 86400.0
_log = structlog.get_logger()


class Seasons:
    """The present season, and how it ends. Times are Unix seconds.

    Coroutines raise StoreError if the store can't be read, or written to.
    """

    def __init__(self, ladder: StoredLadder, ratings: Ratings, presence: Presence) -> None:
        self._ladder = ladder
        self._ratings = ratings
        self._presence = presence
        self._closing = asyncio.Lock()
        self.present: Season
        """The present season, from `begin` on."""

    async def begin(self) -> None:
        """Begin the first season unless there is one."""
        self.present = await self._ladder.write(self._ladder.entries.open_season, self._ladder.clock())

    @property
    def planned_end(self) -> float | None:
        """When the season ends by itself; None if it ends by a call."""
        days = self._ladder.config.season_days
        return self.present.started_at + days * _DAY if days else None

    async def turn(self) -> Season:
        """Return the present season, after its planned end the next one."""
        end = self.planned_end
        if end is not None and self._ladder.clock() >= end:
            await self.close(self.present.id)
        return self.present

    async def close(self, season_id: int) -> Season:
        """End a season, unless it has ended already; return the present one."""
        async with self._closing:
            if season_id != self.present.id:
                return self.present
            await self._ratings.catch_up()
            names = [board.name for board in self._ladder.config.boards]
            boards = {name: await self.leaderboard(name, season_id) for name in names}
            close = self._ladder.entries.close_season
            self.present = await self._ladder.write(close, season_id, boards, self._ladder.clock())
            _log.info("ladder_season_closed", season=season_id)
            return self.present

    async def leaderboard(self, board: str, season_id: int) -> list[Line]:
        """Return the lines of a board as they are now, with the scores of a season."""
        ratings = await self._ratings.of(board)
        versions = await self._ladder.read(self._ladder.entries.versions, ratings)
        scores = await self._ladder.read(self._ladder.entries.scores, season_id, board)
        config, present, at = self._ladder.config, self._presence.versions, self._ladder.clock()
        return await asyncio.to_thread(
            partial(leaderboard, present=present, at=at), versions.values(), ratings, scores, config
        )


class _StoppedError(Exception):
    """The server is about to stop; the next one writes the archive again."""


class Archiving:
    """Moves the records of old seasons from the store to archives, while the ladder goes on."""

    def __init__(self, ladder: StoredLadder, stopping: asyncio.Event) -> None:
        """Prepare to archive the seasons of a store, if the ladder's file says how many it keeps.

        `stopping` is set when the server is about to stop.

        Raises:
            ConfigError: there is no folder for the archives.
        """
        self._ladder = ladder
        self._keep = ladder.config.keep_seasons
        self._folder = ladder.config.archive_folder
        self._stopping = stopping
        if self._keep:
            SeasonArchive(ladder.store.store, 0, self._folder)

    async def run(self) -> None:
        """Archive each season once it is old enough, until the server stops."""
        while self._keep and not self._stopping.is_set():
            try:
                store = self._ladder.store.store
                for season_id in await self._ladder.read(seasons_to_archive, store, self._keep):
                    await self._archive(season_id)
            except _StoppedError:
                return
            except (StoreError, ConfigError) as error:  # tried again at the next look
                _log.error("ladder_not_archived", problem=str(error))
            except Exception:  # noqa: BLE001 - the boundary of a task that goes on for months
                _log.exception("ladder_not_archived")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), CHECK_SECONDS)

    async def _archive(self, season_id: int) -> None:
        archive = SeasonArchive(self._ladder.store.store, season_id, self._folder)
        # In a thread of its own, as it may take minutes: neither a commit nor another reader waits for it.
        await asyncio.to_thread(archive.write, self._check_running)
        while await self._ladder.write(archive.prune):
            self._check_running()
        _log.info("ladder_season_archived", season=season_id, path=str(archive.path))

    def _check_running(self) -> None:
        if self._stopping.is_set():
            raise _StoppedError
