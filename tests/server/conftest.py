"""A real server on a free port, and bots that play on it."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import pytest

from happycity import Move
from happycity_client import Bot, BotFactory, Decision, Settings, play_games
from happycity_server.app import serving
from happycity_server.clocks import FairClock
from happycity_server.config import ServerSettings
from happycity_server.lobby import SWEEP_SECONDS

DEADLINE = 120.0
PATIENCE = 60.0


class FirstMove(Bot):
    """Plays the neutral move."""

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]


class RandomMove(Bot):
    """Plays any move."""

    def choose(self, decision: Decision) -> Move:
        """Return a legal move by chance."""
        return self.rng.choice(decision.moves)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests fail rather than hang. A fixture can't do that: it doesn't run in its test's task."""
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _in_time(item.obj)


def _in_time(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def limited(*arguments: object, **fixtures: object) -> None:
        async with asyncio.timeout(DEADLINE):
            await test(*arguments, **fixtures)

    return limited


@pytest.fixture(autouse=True)
def _patient_parting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let streams end by themselves when a server stops, also where machine and clients are slow."""
    monkeypatch.setattr("happycity_server.app.PARTING_SECONDS", PATIENCE)


class Clock:
    """A server's time, which stands still unless the test moves it or lets it run."""

    def __init__(self) -> None:
        self.now = 1000.0
        """The time in seconds. What it is moved by at once, beyond `OVERLOAD_SECONDS`, never happened."""
        self.runs = False
        """Whether time passes, with each sweep as much as lies between two: on a slow machine it is slow."""

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the time by which servers that start from now on judge their bots."""
    clock = Clock()

    class Swept(FairClock):
        def __init__(self, _raw: Callable[[], float], *, tick_seconds: float) -> None:
            super().__init__(clock, tick_seconds=tick_seconds)

        def tick(self) -> float:
            if clock.runs:
                clock.now += SWEEP_SECONDS
            return super().tick()

    monkeypatch.setattr("happycity_server.app.FairClock", Swept)
    return clock


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """Give the address of a server with an empty store."""
    async with serving(
        ServerSettings(
            open=True, listen="127.0.0.1:0", store=f"sqlite:///{tmp_path}/games.sqlite", grace_seconds=0.2
        )
    ) as listening:
        yield listening


@pytest.fixture
async def channel(address: str) -> AsyncIterator[grpc.aio.Channel]:
    """Give a channel to the server."""
    async with grpc.aio.insecure_channel(address) as open_channel:
        yield open_channel


Playing = Callable[..., "asyncio.Task[None]"]


@pytest.fixture
async def connect(address: str) -> AsyncIterator[Playing]:
    """Give a function that lets a bot play in the background; bots are ended with the test."""
    tasks: list[asyncio.Task[None]] = []

    def start(name: str, factory: BotFactory = RandomMove, games: int = 0) -> asyncio.Task[None]:
        task = asyncio.create_task(play_games(factory, Settings(name=name, server=address, games=games)))
        tasks.append(task)
        return task

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
