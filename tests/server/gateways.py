"""Gateways in the process of a test."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from tests.server.harness import issued_token, serving

from happycity_runtime.event_loop import running
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access
from happycity_server.workers.gateway import join


@asynccontextmanager
async def gateway(server: str, token: str = "", **listen: Any) -> AsyncIterator[str]:
    """Let a gateway join a server while the context lasts; yields its address."""
    async with joined(server, token, **listen) as addresses:
        yield str(addresses["listening"])


@asynccontextmanager
async def served(folder: Path, *, by_gateway: bool, **values: Any) -> AsyncIterator[grpc.aio.Channel]:
    """Run a server while the context lasts; yields a channel to it, or to a gateway that has joined it.

    Callers over the channel say which addresses they have, by `x-forwarded-for`.
    """
    behind: dict[str, Any] = {"trusted_proxy": "127.0.0.1"}
    if not by_gateway:
        async with serving(folder, **values, **behind) as (_, channel):
            yield channel
        return
    token = issued_token(values["tokens"], Role.GATEWAY, "gate") if "tokens" in values else ""
    async with (
        serving(folder, **values) as (server, _),
        gateway(server.address, token, **behind) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        yield channel


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
