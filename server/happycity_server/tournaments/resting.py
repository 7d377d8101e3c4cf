"""Tournaments that are not played at present: all that is known of them comes from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from happycity import ConfigError
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.wire.moments import timestamp
from happycity_server.errors import ApiError, Reason, invalid
from happycity_server.latest import LatestEntries
from happycity_server.play.lobby import Lobby
from happycity_tournament.config import TournamentConfig
from happycity_tournament.play.progress import TournamentStatus, load_status
from happycity_tournament.play.snapshot import listed
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.stored import Progress, StoredTournament
from happycity_tournament.wire import tournament_message

KEPT_PROGRESS = 1000
"""Maximum number of tournaments whose progress is kept in memory."""
KEPT_STATUSES = 4
"""Maximum number of statuses that are kept in memory."""


class Resting:
    """The tournaments of a store; those that are asked for are kept in memory, up to a maximum.

    Methods raise an ApiError for a tournament that there isn't, or that this version can't read.
    """

    def __init__(self, store: AsyncStore, lobby: Lobby, *, is_played: Callable[[int], bool]) -> None:
        """Keep nothing yet; `is_played` returns whether a tournament is played, so that it changes."""
        self._store = store
        self._lobby = lobby
        self._is_played = is_played
        self._statuses = LatestEntries[int, tuple[StoredTournament, TournamentStatus]](KEPT_STATUSES)
        """Each with the row of which it was made."""
        self._progress = LatestEntries[int, Progress](KEPT_PROGRESS)
        """How far each is, as counting its games takes the longer the more it has."""
        self._loading = asyncio.Lock()

    async def stored(self, tournament_id: int) -> StoredTournament:
        """Return the row of a tournament, whether it is played or not."""
        stored = await self._store.read(self._store.store.tournament, tournament_id)
        if stored is None:
            raise ApiError(Reason.UNKNOWN_TOURNAMENT, f"there is no tournament {tournament_id} here")
        return stored

    async def message(self, stored: StoredTournament) -> pb.Tournament:
        """Return a tournament with its progress, for the eyes of an organiser."""
        progress = await self._progress_of(stored.id)
        try:
            snapshot = listed(stored, progress)
            missing = self._lobby.not_connected(snapshot.bots)
            return tournament_message(replace(snapshot, missing_bots=tuple(missing)))
        except (ValueError, TypeError, AttributeError):  # a damaged row must hide no other
            unreadable = pb.TournamentProgress(state=pb.TOURNAMENT_STATE_UNREADABLE)
            return pb.Tournament(tournament_id=stored.id, create_time=timestamp(0.0), progress=unreadable)

    async def status(self, tournament_id: int) -> TournamentStatus:
        """Return a tournament with its standings, which are loaded if they are not kept."""
        async with self._loading:  # one at a time, as each may take seconds
            stored = await self.stored(tournament_id)
            games = (await self._progress_of(tournament_id)).games
            kept, status = self._statuses.get(tournament_id, (None, None))
            if status is None or (kept, status.progress.games) != (stored, games):
                config_of(stored)
                status = await self._store.load(load_status, self._store.store, stored)
            self._statuses[tournament_id] = stored, status
            return status

    async def keep(self, status: TournamentStatus) -> None:
        """Keep the status of a tournament that has been played to its end."""
        self._statuses[status.tournament_id] = await self.stored(status.tournament_id), status

    def forget(self, tournament_id: int) -> None:
        """Keep nothing of a tournament, as it changes."""
        self._statuses.pop(tournament_id, None)
        self._progress.pop(tournament_id, None)

    async def _progress_of(self, tournament_id: int) -> Progress:
        """Return how far a tournament is; that is kept if it isn't played meanwhile."""
        progress = self._progress.get(tournament_id)
        if progress is None:
            was_played = self._is_played(tournament_id)
            progress = await self._store.read(self._store.store.progress, tournament_id)
            if not was_played and not self._is_played(tournament_id):
                self._progress[tournament_id] = progress
        return progress


def config_of(stored: StoredTournament) -> TournamentConfig:
    """Read what a stored tournament consists of; refuse the call if this version can't read it."""
    try:
        return TournamentConfig.of(stored.config)
    except ConfigError as error:
        raise invalid("tournament_id", f"{error}") from None
