"""Keeps the workers of a server running."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress

import grpc
import structlog

from happycity_server.config import ServerSettings
from happycity_server.places.remote import CHANNEL_OPTIONS, RemotePlace
from happycity_server.workers.local import Launcher, StartedWorker, WorkerStartError
from happycity_server.workers.task import WorkerTask

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
"""A worker that ran for longer than this starts again after the first pause; else each pause doubles."""
END_SECONDS = 10.0
"""How long a worker may take to end that was asked to."""
DRAIN_SECONDS = 1.0
"""How long the stream of a worker may take to end whose process has ended."""

_log = structlog.get_logger()


class WorkerKeeper:
    """Starts the workers of a server, and starts each again whenever it is lost."""

    def __init__(
        self,
        places: Sequence[RemotePlace],
        settings: ServerSettings,
        launcher: Launcher,
        *,
        house: Mapping[str, str],
    ) -> None:
        """Prepare the workers; `house` has what the server's own bots show, by their names."""
        self._places = places
        self._settings = settings
        self._launcher = launcher
        self._house = dict(house)
        self._addresses = [settings.worker_listen_address(place.number) for place in places]
        """Where each worker listens; its port is kept when it is started again, as its bots know it."""
        self._closing = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []

    @property
    def addresses(self) -> list[str]:
        """Where the workers listen for bots."""
        return list(self._addresses)

    async def start(self) -> None:
        """Start all workers.

        Raises:
            WorkerStartError: one of them doesn't come to listen; then none runs.
        """
        starting = [asyncio.create_task(self._start(place)) for place in self._places]
        try:
            started = await asyncio.gather(*starting)
        except BaseException:
            for task in starting:
                task.cancel()
            for result in await asyncio.gather(*starting, return_exceptions=True):
                if not isinstance(result, BaseException):
                    await result[0].stop()
            raise
        self._keepers = [
            asyncio.create_task(self._keep(place, *begun))
            for place, begun in zip(self._places, started, strict=True)
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

    async def _start(self, place: RemotePlace) -> tuple[StartedWorker, str]:
        """Start a worker; return it with its secret."""
        own = {
            "listen": self._addresses[place.number - 1],
            "store": "sqlite://",  # it has none
            "workers": 0,
            "metrics": None,
            "web": None,
            "house": "",
        }
        settings = self._settings.model_copy(update=own)
        task = WorkerTask(
            number=place.number, settings=settings, house=self._house, secret=secrets.token_urlsafe(32)
        )
        worker = await self._launcher.start(task)
        self._addresses[place.number - 1] = worker.address
        return worker, task.secret

    async def _keep(self, place: RemotePlace, worker: StartedWorker, secret: str) -> None:
        """Use a worker, and start another one whenever it is lost."""
        clock = asyncio.get_running_loop().time
        pause = FIRST_PAUSE_SECONDS
        while True:
            started = clock()
            ended = await _use(place, worker, secret)
            if self._closing.is_set():
                return
            if clock() - started > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            while True:
                _log.error("worker_ended", worker=place.number, ended=ended, again_in=pause)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), pause)
                    return
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                try:
                    worker, secret = await self._start(place)
                    break
                except WorkerStartError as error:
                    ended = str(error)


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
