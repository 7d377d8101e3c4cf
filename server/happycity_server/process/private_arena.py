"""An arena inside a process, at a private address: workers and trials play in one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from happycity_server.access.gate import Authenticator, house_callers
from happycity_server.config import ServerSettings
from happycity_server.play.clock import FairClock, UnixClock
from happycity_server.play.lobby import SWEEP_SECONDS, Lobby
from happycity_server.process.listening import BotServer, bind
from happycity_server.process.programs import Programs, private_address


@dataclass(frozen=True, slots=True)
class PrivateArena:
    """What plays in an arena, and where it listens."""

    lobby: Lobby
    server: BotServer
    clock: UnixClock
    programs: Programs
    address: str


@asynccontextmanager
async def private_arena(settings: ServerSettings, secrets: Mapping[str, str]) -> AsyncIterator[PrivateArena]:
    """Open an arena for the bots whose secrets are given by name; its programs end with it."""
    clock = UnixClock(time.time, time.monotonic)
    fair_clock = FairClock(time.monotonic, tick_seconds=SWEEP_SECONDS)
    lobby = Lobby(fair_clock, clock, limits=settings.session_limits)
    own = house_callers(secrets)
    authenticator = Authenticator(None, now=lambda: datetime.now(UTC), own=own, is_open=False)
    server = BotServer(settings, lobby, authenticator, clock=time.monotonic)
    programs = Programs(lobby.counters, on_bot_left=lobby.dismiss)
    async with AsyncExitStack() as stack:
        address = bind(server.grpc, stack.enter_context(private_address()), None)
        await server.start()
        stack.push_async_callback(server.stop)
        stack.push_async_callback(lobby.close, 0.0)
        stack.push_async_callback(programs.stop)
        yield PrivateArena(lobby, server, clock, programs, address)
