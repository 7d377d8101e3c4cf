"""Bots, and the time, for tests of servers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.server.harness import Clock

from happycity import Move
from happycity_client import Bot, BotFactory, Decision, Settings, play
from happycity_runtime.transport import Access


class FirstMove(Bot):
    def choose(self, decision: Decision) -> Move:
        return decision.moves[0]


class RandomMove(Bot):
    def choose(self, decision: Decision) -> Move:
        return self.rng.choice(decision.moves)


@asynccontextmanager
async def playing(
    address: str, *names: str, bot: BotFactory = RandomMove, **settings: Any
) -> AsyncIterator[None]:
    own = [
        Settings(**{"name": name, "server": address, "access": Access.of_bot(name), **settings})
        for name in names
    ]
    tasks = [asyncio.create_task(play(bot, each)) for each in own]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture(autouse=True)
def _patient_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let streams end by themselves when a server stops, also where machine and clients are slow."""
    monkeypatch.setattr("happycity_server.process.listening.STREAM_CLOSE_SECONDS", 60.0)


@pytest.fixture
def clock() -> Clock:
    """Return the time by which the server of this test judges its bots."""
    return Clock()
