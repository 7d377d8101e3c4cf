"""A server in a thread of this process, with bots, for tests of commands that call one."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from structlog.testing import capture_logs
from tests.waiting import LIMIT

from happycity_bots import BOTS
from happycity_client import BotFactory, Settings, play
from happycity_runtime.transport import Access
from happycity_server.app import run_server
from happycity_server.config import ServerSettings
from happycity_tournament.client.connection import connect
from happycity_tournament.config import TournamentConfig
from happycity_tournament.play.snapshot import Snapshot

_T = TypeVar("_T")


class Arena:
    def __init__(self, address: str, url: str, loop: asyncio.AbstractEventLoop, web: str | None) -> None:
        self.address = address
        self.web = web
        self.url = url
        """The URL of its store."""
        self._loop = loop
        self._bots: dict[str, asyncio.Task[None]] = {}

    def connect(self, name: str, factory: BotFactory, **settings: Any) -> None:
        """Let a bot play in the background; one of the same name is taken off first."""
        self.disconnect(name)
        self.call(self._connect(name, factory, settings))

    def disconnect(self, name: str) -> None:
        if name in self._bots:
            self.call(self._end(self._bots.pop(name)))

    def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run something in the server's thread and return its result."""
        # Without this limit, pytest's own would not reach what waits for the server.
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(LIMIT)

    def play(self, config: TournamentConfig) -> Snapshot:

        async def play_all() -> Snapshot:
            async with connect(self.address, Access()) as connection:
                created = await connection.create(config)
                return [snapshot async for snapshot in connection.watch(created.tournament_id)][-1]

        return self.call(play_all())

    def close(self) -> None:
        for name in list(self._bots):
            self.disconnect(name)

    async def _connect(self, name: str, factory: BotFactory, settings: Mapping[str, Any]) -> None:
        own = Settings(name=name, server=self.address, **settings)
        self._bots[name] = asyncio.create_task(play(factory, own))

    async def _end(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@contextmanager
def arena(folder: Path, bots: Mapping[str, str], **settings: Any) -> Iterator[Arena]:
    """Run a server with its store in a folder, and reference bots by their names; all may do everything."""
    url = f"sqlite:///{folder}/games.sqlite"
    values = {"listen": "127.0.0.1:0", "store": url, "open": True, "grace": 0.2, **settings}
    started = threading.Event()
    running: dict[str, Any] = {}

    async def serve() -> None:
        stop = running["stop"] = asyncio.Event()
        async with run_server(ServerSettings.model_validate(values)) as server:
            running["arena"] = Arena(server.address, url, asyncio.get_running_loop(), server.web)
            started.set()
            await stop.wait()

    async def stop() -> None:
        running["stop"].set()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    with capture_logs():  # or they would be in the output of commands
        thread.start()
        started.wait()
        opened: Arena = running["arena"]
        try:
            for name, bot in bots.items():
                opened.connect(name, BOTS[bot])
            yield opened
        finally:
            opened.close()
            opened.call(stop())
            thread.join(LIMIT)
            assert not thread.is_alive(), "the server does not stop"
