"""A watch on a tournament that survives restarts of its server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass

from happycity_runtime.pauses import doubling
from happycity_tournament.client.connection import (
    FIRST_PAUSE_SECONDS,
    Connection,
    ServerError,
    UnavailableError,
)
from happycity_tournament.config import TournamentState
from happycity_tournament.play.snapshot import Snapshot

LONGEST_PAUSE_SECONDS = 2.0


@dataclass(slots=True, eq=False)
class TournamentWatch:
    """Follows one tournament through restarts of its server."""

    connection: Connection
    tournament_id: int
    patience: float
    """Seconds for which a server that is gone may take to come back."""
    remark: Callable[[str], None]
    """Is called with a line for people when the server goes or comes back."""
    _state: TournamentState = TournamentState.WAITING

    async def snapshots(self) -> AsyncGenerator[Snapshot, None]:
        """Yield the tournament whenever it changes, the last time when it is finished or stopped.

        Raises:
            UnavailableError: the server is gone, or gave the tournament up, and did not come back in time.
            ServerError: it refused.
        """
        clock = asyncio.get_running_loop().time
        gone_at: float | None = None
        while True:
            problem = "it shut down"
            try:
                async with aclosing(self.connection.watch(self.tournament_id)) as snapshots:
                    async for snapshot in snapshots:
                        self._state = snapshot.state
                        if snapshot.state is TournamentState.INTERRUPTED:
                            problem = "; ".join(snapshot.remarks) or problem
                            continue
                        if gone_at is not None:
                            self.remark("the server is back")
                            gone_at = None
                        yield snapshot
            except UnavailableError as error:
                problem = str(error)
            if self._state in (TournamentState.FINISHED, TournamentState.STOPPED):
                return
            is_new, gone_at = gone_at is None, clock() if gone_at is None else gone_at
            if clock() - gone_at >= self.patience:
                raise UnavailableError(
                    f"tournament {self.tournament_id} was interrupted ({problem}); "
                    "a server on the same store continues it"
                )
            if is_new:
                pauses = doubling(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
                self.remark(f"the server is gone ({problem}); it has {self.patience:g} s to come back")
            await asyncio.sleep(next(pauses))

    async def stop(self) -> Snapshot:
        """Let the server start no more games; a server that is gone is waited for."""
        while True:
            with suppress(UnavailableError):
                return await self.connection.stop(self.tournament_id)
            await asyncio.sleep(FIRST_PAUSE_SECONDS)

    async def is_waiting(self) -> bool:
        """Return whether the tournament still waits for its bots."""
        try:
            return (await self.connection.tournament(self.tournament_id)).state is TournamentState.WAITING
        except ServerError:
            return self._state is TournamentState.WAITING
