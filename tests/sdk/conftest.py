"""A scripted server for the SDK: the peer of the conformance kit."""

from __future__ import annotations

import asyncio
import functools
import inspect
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from happycity import Config
from happycity.v1 import play_service_pb2 as play
from happycity_check.dialogue import Dialogue
from happycity_check.peer import BotStream, Peer
from happycity_check.tables import Table
from happycity_client import BotFactory, Settings, play_games

DEADLINE = 60.0
PATIENCE = 30.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of this folder fail rather than hang.

    A fixture can't do it: it runs in another task than its test.
    """
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent == Path(__file__).parent:
            item.obj = _with_deadline(item.obj)


def _with_deadline(test: Callable[..., Any]) -> Callable[..., Any]:
    if not inspect.iscoroutinefunction(test):
        return test

    @functools.wraps(test)
    async def timed(*args: Any, **kwargs: Any) -> None:
        async with asyncio.timeout(DEADLINE):
            await test(*args, **kwargs)

    return timed


@pytest.fixture(autouse=True)
def _patient_goodbyes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server that is slow hear the goodbye too; those of these tests all end the stream then."""
    monkeypatch.setattr("happycity_client.connection.GOODBYE_SECONDS", PATIENCE)


@pytest.fixture
def reserved() -> Iterator[str]:
    """Give an address that no other program gets, also while nobody listens there."""
    with socket.socket() as holding:
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # so a server may listen there
        holding.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holding.getsockname()[1]}"


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    """Give a scripted server."""
    async with Peer.listening("127.0.0.1:0") as listening:
        yield listening


Playing = Callable[..., "asyncio.Task[None]"]


@pytest.fixture
async def play_with(peer: Peer) -> AsyncIterator[Playing]:
    """Give a function that lets a bot play on the scripted server; bots are ended with the test."""
    tasks: list[asyncio.Task[None]] = []

    def begin(bot: BotFactory, **settings: Any) -> asyncio.Task[None]:
        given = Settings(**{"name": "anna", "server": peer.address, **settings})
        tasks.append(asyncio.create_task(play_games(bot, given)))
        return tasks[-1]

    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Script:
    """The server's side of one bot."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.hello = play.Hello()
        self.stream: BotStream | None = None

    async def meet(self) -> play.Hello:
        """Wait for the bot to connect, and return its hello."""
        self.stream = await self.peer.accept(PATIENCE)
        received = await self.stream.receive(PATIENCE)
        assert received is not None
        assert received.request.HasField("hello")
        self.hello = received.request.hello
        return self.hello

    async def welcome(
        self, *, resumed: bool = False, token: str = "token", heartbeat_ms: int = 0
    ) -> Dialogue:
        """Meet the bot and welcome it."""
        await self.meet()
        assert self.stream is not None
        dialogue = Dialogue(self.stream, timeout=PATIENCE)
        welcome = play.Welcome(
            protocol_version=1, resume_token=token, resumed=resumed, heartbeat_ms=heartbeat_ms
        )
        await dialogue.send(play.PlayResponse(welcome=welcome))
        return dialogue


@pytest.fixture
def script(peer: Peer) -> Script:
    """Give the server's side of a bot."""
    return Script(peer)


def table(game_id: int = 1, *, seed: int = 1, players: int = 2) -> Table:
    """Set up a game."""
    return Table(game_id, Config(players=players), seed=seed)
