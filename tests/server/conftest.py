"""A real server on a free port, and bots that play on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest
from tests.server.harness import Clock, serving

from happycity import Move
from happycity_client import Bot, BotFactory, Decision, Settings, play
from happycity_server.app import Clocks


class FirstMove(Bot):
    """Plays the neutral move."""

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]


class RandomMove(Bot):
    """Plays random moves."""

    def choose(self, decision: Decision) -> Move:
        """Return a random legal move."""
        return self.rng.choice(decision.moves)


@pytest.fixture(autouse=True)
def _patient_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let streams end by themselves when a server stops, also where machine and clients are slow."""
    monkeypatch.setattr("happycity_server.process.listening.STREAM_CLOSE_SECONDS", 60.0)


@pytest.fixture
def clock() -> Clock:
    """Return the time by which the server of this test judges its bots."""
    return Clock()


@pytest.fixture
def clocks(clock: Clock) -> Clocks:
    """Return the clocks of a server whose steady one is `clock`."""
    return Clocks(steady=clock)


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """Yield the address of a server with an empty store."""
    async with serving(tmp_path) as (server, _):
        yield server.address


@pytest.fixture
async def channel(address: str) -> AsyncIterator[grpc.aio.Channel]:
    """Yield a channel to the server."""
    async with grpc.aio.insecure_channel(address) as open_channel:
        yield open_channel


Playing = Callable[..., "asyncio.Task[None]"]


@pytest.fixture
async def connect(address: str) -> AsyncIterator[Playing]:
    """Yield a function that lets a bot play in the background; bots are ended with the test."""
    tasks: list[asyncio.Task[None]] = []

    def start(name: str, factory: BotFactory = RandomMove, games: int = 0) -> asyncio.Task[None]:
        task = asyncio.create_task(play(factory, Settings(name=name, server=address, games=games)))
        tasks.append(task)
        return task

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
