"""Streams to the workers of a server, beside the one to the server itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from happycity import HappyCityError
from happycity_client.settings import Settings

_log = logging.getLogger("happycity_client")


class WorkerStreams:
    """Keeps a stream to each worker that the server's last welcome has named.

    A stream that can't be opened is no reason to leave the server: the games are played there then.
    """

    def __init__(self, play: Callable[[str], Awaitable[None]], settings: Settings) -> None:
        """Prepare the streams of a bot; `play` plays at the address of a worker."""
        self.closing = False
        """Whether the bot is leaving the server too."""
        self._play = play
        self._settings = settings
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def follow(self, addresses: Iterable[str]) -> None:
        """Open streams to the workers at `addresses`, and end those to others.

        A bot with a maximum number of games opens none, as it holds for all streams together.
        """
        wanted = set() if self._settings.games else set(addresses)
        for address in self._streams.keys() - wanted:
            stream = self._streams.pop(address)
            stream.cancel()
            self._leaving.add(stream)
            stream.add_done_callback(self._leaving.discard)
        for address in wanted:
            known = self._streams.get(address)
            if known is None or known.done():
                self._streams[address] = asyncio.create_task(self._keep(address))

    async def close(self) -> None:
        """End all streams."""
        self.closing = True
        for stream in self._streams.values():
            stream.cancel()
        await asyncio.gather(*self._streams.values(), *self._leaving, return_exceptions=True)

    async def _keep(self, address: str) -> None:
        try:
            await self._play(address)
        except HappyCityError as error:
            _log.warning("%s: no games at the worker %s: %s", self._settings.name, address, error)
