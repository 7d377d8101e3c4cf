"""Moves the records of old seasons from the store to their archives, while the ladder goes on."""

from __future__ import annotations

import asyncio

import structlog

from happycity import ConfigError
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.storage import AsyncStore, StoreError
from happycity_tournament.storage.archives import SeasonArchive, seasons_to_archive

CHECK_SECONDS = 600.0
"""How often it is looked whether a season has become old enough."""

_log = structlog.get_logger()


class _StoppedError(Exception):
    """The server is about to stop; the next one writes the archive again."""


class Archiving:
    """Archives seasons by and by, if the ladder's file says how many are kept."""

    def __init__(self, config: LadderConfig, store: AsyncStore) -> None:
        """Prepare to archive the seasons of a store.

        Raises:
            ConfigError: there is no folder for the archives.
        """
        self._keep = config.keep_seasons
        self._folder = config.archive_folder
        self._store = store
        self._stopped = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        if self._keep:
            SeasonArchive(store.store, 0, self._folder)

    def start(self) -> None:
        """Begin to look for old seasons."""
        if self._keep:
            self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped.set()

    async def wait_closed(self) -> None:
        """Wait until nothing is being written."""
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                for season_id in await self._store.read(seasons_to_archive, self._store.store, self._keep):
                    await self._archive(season_id)
            except _StoppedError:
                return
            except (StoreError, ConfigError) as error:  # tried again at the next look
                _log.error("ladder_not_archived", problem=str(error))
            except Exception:  # noqa: BLE001 - the boundary of a task that goes on for months
                _log.exception("ladder_not_archived")
            try:
                await asyncio.wait_for(self._stopped.wait(), CHECK_SECONDS)
            except TimeoutError:
                continue

    async def _archive(self, season_id: int) -> None:
        archive = SeasonArchive(self._store.store, season_id, self._folder)
        # In a thread of its own, as it may take minutes: neither a commit nor another reader waits for it.
        await asyncio.to_thread(archive.write, self._check_running)
        while await self._store.write(archive.prune):
            self._check_running()
        _log.info("ladder_season_archived", season=season_id, path=str(archive.path))

    def _check_running(self) -> None:
        if self._stopped.is_set():
            raise _StoppedError
