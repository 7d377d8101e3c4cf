"""A bot that is started here and asked decisions of a recorded match, without a clock."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from time import perf_counter
from typing import Any, TypeVar

from happycity import HappyCityError, Move
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import move_of
from happycity_check.conversation import Conversation
from happycity_check.errors import ResignedError, StreamEndedError, UnexpectedError
from happycity_check.scripted_server import ScriptedServer
from happycity_runtime.child import Child, child_environment, describe_status
from happycity_runtime.event_loop import running

STOP_SECONDS = 5.0
"""How long the bot may take to end after SIGTERM before it is killed."""
END_SECONDS = 3.0
"""How long a bot that has left its stream may take to end, or to read that the game is over."""
REMARK_SECONDS = 10.0
"""Seconds without a connection before a line says what is waited for."""
_T = TypeVar("_T")


class BotFailedError(HappyCityError):
    """The bot crashed, resigned, ended, or did what the protocol doesn't allow."""


class AskedBot:
    """A connected bot in one match."""

    def __init__(self, child: Child, conversation: Conversation) -> None:
        self._child = child
        self._conversation = conversation

    async def choose(self, decision: play.Decision) -> tuple[Move, dict[str, float], float]:
        """Return the bot's move for a decision, the numbers that it sent, and the seconds that it took.

        BotFailedError if it gave no legal answer.
        """
        began = perf_counter()
        await self._exchange(play.PlayResponse(decisions=[decision]))
        answer = self._conversation.answer(decision.match_id, decision.decision_id)
        return move_of(decision.moves[answer.move]), dict(answer.metrics), perf_counter() - began

    async def end(self, over: play.GameOver) -> None:
        """Say how the game ended, and give the bot a moment to read it."""
        with suppress(BotFailedError, TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._exchange(play.PlayResponse(games_over=[over]), ping=True)

    async def _exchange(self, batch: play.PlayResponse, *, ping: bool = False) -> None:
        try:
            await _unless_ended(self._child, self._conversation.exchange(batch, ping=ping))
        except ResignedError as error:
            what = "crashed" if error.crashed else "resigned"
            raise BotFailedError(f"{what}: {error.reason}") from None
        except StreamEndedError as error:
            status = await self._child.wait(END_SECONDS)
            raise BotFailedError(str(error) if status is None else _ended(status)) from None
        except UnexpectedError as error:
            raise BotFailedError(str(error)) from None


@asynccontextmanager
async def asked_bot(
    start: Callable[[Mapping[str, str]], Child],
    *,
    name: str,
    started: play.GameStarted,
    listen: str = "127.0.0.1:0",
    seconds: float | None = None,
) -> AsyncIterator[AskedBot]:
    """Start a bot, and give it when the match has begun for it.

    Args:
        start: starts its program in an environment, which is that of a run's bot.
        name: the bot's.
        started: how the match begins in which it is asked.
        listen: where it connects.
        seconds: those that each thing may take it; None for no limit, where a person may hold it.

    Raises:
        ChildError: it can't be started.
        BotFailedError: it ended instead of connecting, or said something else than hello.
    """
    async with ScriptedServer.listening(listen) as server:
        own = {"NAME": name, "TOKEN": secrets.token_urlsafe(16), "SERVER": server.address}
        child = start(child_environment(**{f"HAPPYCITY_{key}": value for key, value in own.items()}))
        try:
            conversation = await _unless_ended(child, _welcomed(server, name, seconds))
            await conversation.send(play.PlayResponse(games_started=[started]))
            yield AskedBot(child, conversation)
        finally:
            await child.stop(STOP_SECONDS)


async def _welcomed(server: ScriptedServer, name: str, seconds: float | None) -> Conversation:
    """Wait for the bot's hello, and welcome it."""
    accepting = asyncio.ensure_future(server.accept(seconds))
    try:
        await asyncio.wait((accepting,), timeout=REMARK_SECONDS)
        if not accepting.done() and seconds is None:
            sys.stderr.write(f"waiting for {name} to connect to {server.address}; Ctrl-C stops it\n")
        stream = await accepting
        received = await stream.receive(seconds)
    except TimeoutError:
        raise BotFailedError(f"no hello within {seconds:g} s") from None
    finally:
        accepting.cancel()
    if received is None or not received.request.HasField("hello"):
        raise BotFailedError("the bot's first message is not a hello")
    conversation = Conversation(stream, timeout=seconds)
    await conversation.welcome(secrets.token_urlsafe(16))
    return conversation


async def _unless_ended(child: Child, call: Coroutine[Any, Any, _T]) -> _T:
    """Return what a call returns; raise a BotFailedError if the bot's process ends first."""
    calling, waiting = asyncio.ensure_future(call), asyncio.ensure_future(child.wait())
    async with running(calling, waiting) as tasks:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not calling.done():
            # What it sent last may still be on its way: a crash that it reported says more than its status.
            await asyncio.wait((calling,), timeout=END_SECONDS)
        if not calling.done():
            raise BotFailedError(_ended(waiting.result() or 0))
        return calling.result()


def _ended(status: int) -> str:
    return f"its program ended with {describe_status(status)}"
