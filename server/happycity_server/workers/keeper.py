"""Keeps the workers of a server running."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import grpc
import structlog

from happycity.runtime.transport import host_and_port
from happycity_server.config import ServerSettings
from happycity_server.places.remote import CHANNEL_OPTIONS, RemotePlace
from happycity_server.process.house import worker_socket
from happycity_server.workers.local import (
    Launcher,
    StartedWorker,
    WorkerSettingsError,
    WorkerStartError,
)
from happycity_server.workers.task import WorkerTask

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
"""A worker that ran for longer than this starts again after the first pause; else each pause doubles."""
END_SECONDS = 10.0
"""How long a worker may take to end that was asked to."""
WORKER_LISTEN = "127.0.0.1:0"
"""Where a worker listens for the bots beside it. It may keep the port that it got."""
DRAIN_SECONDS = 1.0
"""How long the stream of a worker may take to end whose process has ended."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Started:
    """A worker that listens, and what the server shows to it."""

    worker: StartedWorker
    secret: str


class WorkerKeeper:
    """Starts the workers of a server, and starts each again whenever it is lost."""

    def __init__(
        self,
        places: Sequence[RemotePlace],
        settings: ServerSettings,
        launcher: Launcher,
        *,
        house: Mapping[str, str],
        house_address: str = "",
    ) -> None:
        """Prepare the workers.

        `house` has what the server's own bots show, by their names, and `house_address` is where they connect
        to the server.
        """
        self._places = places
        self._settings = settings
        self._launcher = launcher
        self._house = dict(house)
        self._house_address = "" if launcher.has_house else house_address
        self._listen = [WORKER_LISTEN for _ in places]
        """Where each worker is to listen. If it keeps its address, that is where it listened before."""
        self._addresses = [
            address if launcher.keeps_addresses and host_and_port(address)[1] else ""
            for address in self._listen
        ]
        self._closing = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []

    @property
    def addresses(self) -> list[str]:
        """Where the workers listen for bots; "" for each of which that isn't known yet.

        Those with bots of their own are not among them.
        """
        return [] if self._launcher.has_bots else list(self._addresses)

    @property
    def house_addresses(self) -> list[str]:
        """Where the workers will listen for the server's own bots; none if workers run these themselves."""
        if not self._house_address:
            return []
        return [worker_socket(self._house_address, place.number) for place in self._places]

    async def start(self) -> None:
        """Start all workers. One that gives no sign of life is tried again later; the others play without it.

        Returns when they listen, or at once if they have bots of their own.

        Raises:
            WorkerSettingsError: one of them can't use its settings; then none runs.
        """
        if self._launcher.has_bots:
            self._keepers = [asyncio.create_task(self._keep_new(place)) for place in self._places]
            return
        starting = [asyncio.create_task(self._start(place)) for place in self._places]
        try:
            started = await asyncio.gather(*starting)
        except BaseException:
            for task in starting:
                task.cancel()
            for result in await asyncio.gather(*starting, return_exceptions=True):
                if isinstance(result, _Started):
                    await result.worker.stop()
            raise
        self._keepers = [
            asyncio.create_task(self._keep(place, first))
            for place, first in zip(self._places, started, strict=True)
        ]

    def close_soon(self) -> None:
        """Start none again."""
        self._closing.set()

    async def stop(self) -> None:
        """Wait for the end of the workers, which have been asked to end; end those that don't."""
        self._closing.set()
        if self._keepers:
            await asyncio.wait(self._keepers, timeout=END_SECONDS)
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    async def _start(self, place: RemotePlace) -> _Started | WorkerStartError:
        """Start a worker; return it, or why it doesn't come to listen.

        Raises:
            WorkerSettingsError: it can't use its settings.
        """
        own = {
            "listen": self._listen[place.number - 1],
            "store": "sqlite://",  # it has none
            "workers": 0,
            "ray": None,
            "metrics": None,
            "web": None,
        }
        settings = self._settings.model_copy(update=own)
        task = WorkerTask(
            number=place.number,
            settings=settings,
            house=self._house,
            house_listen=worker_socket(self._house_address, place.number),
            secret=secrets.token_urlsafe(32),
        )
        try:
            worker = await self._launcher.start(task)
        except WorkerSettingsError:
            raise
        except WorkerStartError as error:
            return error
        if self._launcher.keeps_addresses:
            self._listen[place.number - 1] = worker.address
        self._addresses[place.number - 1] = worker.address
        return _Started(worker, task.secret)

    async def _keep_new(self, place: RemotePlace) -> None:
        """Start a worker, and keep it running."""
        started = await self._start_unless_closing(place)
        await self._keep(place, started)

    async def _start_unless_closing(self, place: RemotePlace) -> _Started | WorkerStartError | None:
        """Start a worker; return it, or why it doesn't come to listen; None if it isn't wanted any longer."""
        starting = asyncio.create_task(self._start(place))
        closing = asyncio.create_task(self._closing.wait())
        try:
            await asyncio.wait((starting, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
            starting.cancel()
        try:
            return await starting
        except WorkerSettingsError as error:  # its port is still taken, perhaps
            return error
        except asyncio.CancelledError:
            if self._closing.is_set():
                return None
            raise

    async def _keep(self, place: RemotePlace, started: _Started | WorkerStartError | None) -> None:
        """Use a worker, and start another one whenever it is lost, or has not come to listen."""
        clock = asyncio.get_running_loop().time
        pause = FIRST_PAUSE_SECONDS
        while started is not None:
            if isinstance(started, WorkerStartError):
                ended = str(started)
            else:
                begin = clock()
                ended = await _use(place, started.worker, started.secret)
                if clock() - begin > LONGEST_PAUSE_SECONDS:
                    pause = FIRST_PAUSE_SECONDS
            if self._closing.is_set():
                return
            event = "worker_not_started" if isinstance(started, WorkerStartError) else "worker_ended"
            _log.error(event, worker=place.number, problem=ended, again_in=pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), pause)
                return
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            started = await self._start_unless_closing(place)


async def _use(place: RemotePlace, worker: StartedWorker, secret: str) -> str:
    """Use a worker until it is lost; return how it ended."""
    try:
        async with grpc.aio.insecure_channel(worker.control, CHANNEL_OPTIONS) as channel:
            work = asyncio.create_task(place.work(channel, secret))
            end = asyncio.create_task(worker.wait())
            try:
                await asyncio.wait((work, end), return_when=asyncio.FIRST_COMPLETED)
                await asyncio.wait((work,), timeout=DRAIN_SECONDS)  # what it said last is still to be read
                return end.result() if end.done() else "it was lost"
            finally:
                for task in (work, end):
                    task.cancel()
                await asyncio.gather(work, end, return_exceptions=True)
    finally:
        await worker.stop()
