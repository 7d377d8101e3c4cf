"""Streams to the workers of a server, beside the one to the server itself."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from happycity import HappyCityError
from happycity_client.settings import Settings

_log = logging.getLogger("happycity_client")


class WorkerStreams:
    """Keeps a stream to each worker that the server's last welcome has named.

    A stream that can't be opened is no reason to leave the server: the games are played there then.
    """

    def __init__(self, play: Callable[[Settings], Awaitable[None]], settings: Settings) -> None:
        self._play = play
        self._settings = settings
        self._streams: dict[str, asyncio.Task[None]] = {}

    def follow(self, addresses: Iterable[str]) -> None:
        """Open streams to the workers at `addresses`, and end those to others.

        A bot with a maximum number of games opens none, as it holds for all streams together.
        """
        wanted = set() if self._settings.games else set(addresses)
        for address in self._streams.keys() - wanted:
            self._streams.pop(address).cancel()
        for address in wanted:
            stream = self._streams.get(address)
            if stream is None or stream.done():
                self._streams[address] = asyncio.create_task(self._keep(address))

    async def close(self) -> None:
        """End all streams."""
        for stream in self._streams.values():
            stream.cancel()
        await asyncio.gather(*self._streams.values(), return_exceptions=True)

    async def _keep(self, address: str) -> None:
        settings = replace(self._settings, server=address, wait_seconds=math.inf, reconnect_seconds=math.inf)
        try:
            await self._play(settings)
        except HappyCityError as error:
            _log.warning("%s: no games at the worker %s: %s", settings.name, address, error)
