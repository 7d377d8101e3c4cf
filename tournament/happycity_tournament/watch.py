"""A tournament on a server, seen from outside: its updates, whatever becomes of the connection meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TYPE_CHECKING

import grpc

from happycity import HappyCityError
from happycity.v1 import tournament_service_pb2 as pb

if TYPE_CHECKING:  # in the generated stub's types only
    from happycity.v1.tournament_service_pb2_grpc import TournamentServiceAsyncStub

Metadata = tuple[tuple[str, str], ...]

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0


class ServerError(HappyCityError):
    """The server can't be reached, or refused what was asked."""


class ServerLostError(ServerError):
    """The server was there and is gone."""


class Watch:
    """Follows one tournament through restarts of its server."""

    def __init__(
        self,
        stub: TournamentServiceAsyncStub,
        tournament_id: int,
        *,
        metadata: Metadata,
        patience: float,
        remark: Callable[[str], None],
    ) -> None:
        """Follow a tournament.

        Args:
            stub: its server.
            tournament_id: the tournament.
            metadata: what every call brings along.
            patience: seconds for which a server that is gone may take to come back.
            remark: told in one line what happens to the connection.
        """
        self._stub = stub
        self._tournament_id = tournament_id
        self._metadata = metadata
        self._patience = patience
        self._remark = remark
        self._last = pb.WatchTournamentResponse()

    async def updates(self) -> AsyncGenerator[pb.WatchTournamentResponse, None]:
        """Yield the tournament as it goes on, the last time when it is finished or stopped.

        Only this last update has final ratings.

        Raises:
            ServerLostError: the server is gone and did not come back in time.
            AioRpcError: it refused.
        """
        absence = _Absence(self._patience)
        while True:
            try:
                async for update in self._stream():
                    self._last = update
                    if update.tournament.state == pb.TOURNAMENT_STATE_INTERRUPTED:
                        continue
                    if absence.end():
                        self._remark("the server is back")
                    yield update
                problem = "it shut down"
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                problem = str(error.details())
            if self._over:
                return
            await self._pause(absence, problem)

    async def stop(self) -> None:
        """Let the server start no more games, as soon as it can be told."""
        request = pb.StopTournamentRequest(tournament_id=self._tournament_id)
        while True:
            try:
                await self._stub.StopTournament(request, metadata=self._metadata, wait_for_ready=True)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                await asyncio.sleep(FIRST_PAUSE_SECONDS)
            else:
                return

    async def waiting(self) -> bool:
        """Tell whether the tournament waits for its bots."""
        request = pb.GetTournamentRequest(tournament_id=self._tournament_id)
        try:
            tournament = (await self._stub.GetTournament(request, metadata=self._metadata)).tournament
        except grpc.aio.AioRpcError:
            tournament = self._last.tournament
        return tournament.state == pb.TOURNAMENT_STATE_WAITING

    async def _pause(self, absence: _Absence, problem: str) -> None:
        """Wait before the next attempt to reach the server.

        Raises:
            ServerLostError: it was given time enough.
        """
        news = absence.begin()
        pause = absence.next_pause()
        if pause is None:
            raise ServerLostError(
                f"the server was lost ({problem}) before the end of tournament {self._tournament_id}; "
                "a server on the same store goes on with it"
            )
        if news:
            self._remark(f"the server is gone ({problem}); it has {self._patience:g} s to come back")
        await asyncio.sleep(pause)

    @property
    def _over(self) -> bool:
        state = self._last.tournament.state
        return state in (pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_STOPPED)

    async def _stream(self) -> AsyncIterator[pb.WatchTournamentResponse]:
        """Yield what the server sends on one connection."""
        request = pb.WatchTournamentRequest(tournament_id=self._tournament_id, with_final_ratings=True)
        call = self._stub.WatchTournament(request, metadata=self._metadata)
        try:
            while isinstance(update := await call.read(), pb.WatchTournamentResponse):
                yield update
        finally:
            call.cancel()


class _Absence:
    """For how long a server has been gone, and when to look for it again."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._clock = asyncio.get_running_loop().time
        self._since: float | None = None
        self._pause = FIRST_PAUSE_SECONDS

    def begin(self) -> bool:
        """Note that the server is gone; return whether that is new."""
        if self._since is not None:
            return False
        self._since, self._pause = self._clock(), FIRST_PAUSE_SECONDS
        return True

    def next_pause(self) -> float | None:
        """Return the seconds until the next attempt, None if the server was given time enough."""
        assert self._since is not None
        if self._clock() - self._since >= self._patience:
            return None
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE_SECONDS)
        return pause

    def end(self) -> bool:
        """Note that the server is there; return whether it was gone."""
        was_gone, self._since = self._since is not None, None
        return was_gone
