"""A scripted server for the SDK: that of the conformance kit."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

import happycity_client
from happycity import Config
from happycity.v1 import play_service_pb2 as play
from happycity.wire import duration_message
from happycity_check.conversation import Conversation
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.scripted_server import BotStream, ScriptedServer
from happycity_client import BotFactory, Settings

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def _patient_goodbyes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a slow server receive the goodbye too; those of these tests all end the stream then."""
    monkeypatch.setattr("happycity_client.connection.GOODBYE_SECONDS", PATIENCE)


@pytest.fixture
def reserved() -> Iterator[str]:
    """Give an address that no other program gets, also while nobody listens there."""
    with socket.socket() as holding:
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # so a server may listen there
        holding.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holding.getsockname()[1]}"


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Give a scripted server."""
    async with ScriptedServer.listening() as listening:
        yield listening


PlayWith = Callable[..., "asyncio.Task[None]"]


@pytest.fixture
async def play_with(server: ScriptedServer) -> AsyncIterator[PlayWith]:
    """Give a function that lets a bot play on the scripted server; bots are ended with the test."""
    tasks: list[asyncio.Task[None]] = []

    def begin(bot: BotFactory, *, address: str = "", **changed: Any) -> asyncio.Task[None]:
        settings = Settings(**{"name": "anna", "server": address or server.address, **changed})
        tasks.append(asyncio.create_task(happycity_client.play(bot, settings)))
        return tasks[-1]

    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Script:
    """The server's side of one bot."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.hello = play.Hello()
        self._stream: BotStream | None = None

    @property
    def stream(self) -> BotStream:
        """The stream of the last hello."""
        assert self._stream is not None
        return self._stream

    async def await_hello(self) -> play.Hello:
        """Wait for the bot to connect, and return its hello."""
        self._stream = await self.server.accept(PATIENCE)
        request = await self.receive()
        assert request.HasField("hello")
        self.hello = request.hello
        return self.hello

    async def welcome(
        self,
        *,
        resumed: bool = False,
        token: str = "token",
        ping_seconds: float = 0.0,
        workers: Sequence[str] = (),
    ) -> Conversation:
        """Wait for the bot and welcome it."""
        await self.await_hello()
        conversation = self.converse()
        welcome = play.Welcome(
            resume_token=token,
            resumed=resumed,
            ping_interval=duration_message(ping_seconds),
            worker_addresses=workers,
        )
        await conversation.send(play.PlayResponse(welcome=welcome))
        return conversation

    def converse(self) -> Conversation:
        """Begin a conversation with a bot that was welcomed, or is about to be."""
        return Conversation(self.stream, timeout=PATIENCE)

    async def receive(self) -> play.PlayRequest:
        """Return the bot's next message."""
        received = await self.stream.receive(PATIENCE)
        assert received is not None
        return received.request


@pytest.fixture
def script(server: ScriptedServer) -> Script:
    """Give the server's side of a bot."""
    return Script(server)


def match(
    match_id: int = 1, *, seed: int = 1, players: int = 2, seats: Sequence[int] = (0,)
) -> ScriptedMatch:
    """Set up a match."""
    return ScriptedMatch(match_id, Config(players=players), seed=seed, seats=seats)
