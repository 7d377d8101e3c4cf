"""Gateways in the process of a test."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from happycity_runtime.event_loop import running
from happycity_runtime.transport import Access
from happycity_server.workers.gateway import join


@asynccontextmanager
async def gateway(server: str, token: str = "", **listen: Any) -> AsyncIterator[str]:
    """Let a gateway join a server while the context lasts; yields its address."""
    async with joined(server, token, **listen) as addresses:
        yield str(addresses["listening"])


@asynccontextmanager
async def joined(server: str, token: str = "", **listen: Any) -> AsyncIterator[Mapping[str, object]]:
    """As `gateway`; yields what its line says."""
    access, listening = Access(token=token), asyncio.Queue[Mapping[str, object]]()
    own = {"listen": "127.0.0.1:0", **listen}
    async with (
        access.channel(server) as channel,
        running(join(own, access, "gate", channel, say=listening.put_nowait)),
    ):
        yield await listening.get()
