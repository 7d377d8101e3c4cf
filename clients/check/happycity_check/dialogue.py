"""What is said on a stream whose bot was welcomed: batches go out, and what comes back is held to them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter

from happycity.v1 import play_service_pb2 as play
from happycity_check.peer import BotStream, Received
from happycity_check.tables import Table

_Key = tuple[int, int]  # game, decision


class UnexpectedError(Exception):
    """The bot did something else than the protocol demands, or nothing; the text tells what was seen."""


class StreamEndedError(UnexpectedError):
    """The bot ended its stream, or died."""


class Dialogue:
    """Sends batches and waits for what they ask for. Whatever nobody asked for is an error."""

    def __init__(self, stream: BotStream, *, timeout: float) -> None:
        self.think_seconds: list[float] = []
        """From writing each decision to reading its answer."""
        self.pong_seconds: list[float] = []
        """From sending each demanded ping to reading its pong."""
        self.busy_seconds = 0.0
        """The time of all exchanges together, each from writing a batch to reading its last answer."""
        self.said_goodbye = False
        self.too_late: list[str] = []
        """What was answered after the game's end."""
        self._stream = stream
        self._timeout = timeout
        self._moves: dict[_Key, int] = {}  # of every decision that was asked, how many moves it has
        self._asked_at: dict[_Key, float] = {}  # of those that are open
        self._answers: dict[_Key, int] = {}
        self._over: set[int] = set()
        self._nonces = itertools.count(1)
        self._pings: set[int] = set()
        self._demanded: dict[int, float] = {}  # pings whose pongs are waited for, and when they were sent
        self._beating: asyncio.Task[None] | None = None

    # Sending -------------------------------------------------------------------------------------------

    def keep_alive(self, seconds: float) -> None:
        """Ping every so many seconds as the welcome promised; these pongs are not demanded."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(seconds)
                await self.send(play.PlayResponse(ping=self._ping()))

        self._beating = asyncio.create_task(beat())

    async def close(self) -> None:
        """Stop pinging."""
        if self._beating is not None:
            self._beating.cancel()
            with suppress(asyncio.CancelledError):
                await self._beating

    async def send(self, response: play.PlayResponse, *, ping: bool = False) -> None:
        """Send a batch; its decisions are open from now on. With `ping`, a pong is demanded too."""
        if ping:
            response.ping.CopyFrom(self._ping())
            self._demanded[response.ping.nonce] = perf_counter()
        now = await self._stream.send(response)
        for decision in response.decisions:
            key = decision.game_id, decision.decision_id
            self._moves[key] = len(decision.moves)
            self._asked_at[key] = now
        for over in response.games_over:
            self._over.add(over.game_id)
            for key in [key for key in self._asked_at if key[0] == over.game_id]:
                del self._asked_at[key]

    async def repeat(self, *decisions: play.Decision) -> None:
        """Send decisions a second time; the bot may answer them again, with the same move, or not."""
        await self._stream.send(play.PlayResponse(decisions=decisions))

    async def exchange(self, response: play.PlayResponse, *, ping: bool = False) -> dict[int, int]:
        """Send a batch and wait for all that is open; return the chosen positions by game.

        Raises:
            UnexpectedError: an answer or pong doesn't come, is wrong, or was not asked for.
        """
        began = perf_counter()
        await self.send(response, ping=ping)
        answers = await self.settle()
        self.busy_seconds += perf_counter() - began
        return answers

    async def settle(self) -> dict[int, int]:
        """Wait for all answers and pongs that are missing; return the answered positions by game.

        Raises:
            UnexpectedError: one doesn't come, is wrong, or was not asked for.
        """
        asked = [*self._asked_at]
        while self._asked_at or self._demanded:
            await self._come_nearer()
        return {key[0]: self._answers[key] for key in asked}

    async def last_words(self, seconds: float) -> bool:
        """Read what the bot still says, until its stream ends or it is silent for so long.

        Returns:
            whether it said goodbye.
        """
        with suppress(TimeoutError):
            while (received := await self._stream.receive(seconds)) is not None:
                self.said_goodbye |= received.request.HasField("goodbye")
        return self.said_goodbye

    def _ping(self) -> play.Heartbeat:
        # Beyond 2^53, where a language without 64-bit integers would round it.
        nonce = 2**60 + next(self._nonces)
        self._pings.add(nonce)
        return play.Heartbeat(nonce=nonce)

    # Receiving -----------------------------------------------------------------------------------------

    async def _come_nearer(self) -> None:
        """Read until something that is missing has come; whatever else the bot says gains it no time."""
        missing = self._missing
        try:
            async with asyncio.timeout(self._timeout):
                while self._missing == missing:
                    await self._receive()
        except TimeoutError:
            raise UnexpectedError(f"{self._first_missing()} within {self._timeout:g} s") from None

    @property
    def _missing(self) -> int:
        return len(self._asked_at) + len(self._demanded)

    async def _receive(self) -> None:
        received = await self._stream.receive(self._timeout)
        if received is None:
            raise StreamEndedError("the bot ended its stream")
        await self._take(received)

    def _first_missing(self) -> str:
        if not self._asked_at:
            return "no pong"
        game_id, decision_id = next(iter(self._asked_at))
        more = f" and {len(self._asked_at) - 1} more" if len(self._asked_at) > 1 else ""
        return f"no answer to decision {decision_id} of game {game_id}{more}"

    async def _take(self, received: Received) -> None:
        request = received.request
        if request.HasField("hello"):
            raise UnexpectedError("a second hello on the same stream")
        for resign in request.resigns:
            raise UnexpectedError(f"the bot resigned game {resign.game_id}: {resign.reason or 'no reason'}")
        for answer in request.answers:
            self._take_answer(answer, received.time)
        if request.HasField("heartbeat"):
            await self._stream.send(play.PlayResponse(heartbeat=request.heartbeat))
        if request.HasField("pong"):
            self._take_pong(request.pong.nonce, received.time)
        if request.HasField("goodbye"):
            raise StreamEndedError("the bot said goodbye")

    def _take_answer(self, answer: play.Answer, now: float) -> None:
        key = answer.game_id, answer.decision_id
        what = f"decision {answer.decision_id} of game {answer.game_id}"
        if answer.game_id in self._over:
            self.too_late.append(what)
            return
        if key not in self._moves:
            raise UnexpectedError(f"an answer to {what}, which was never asked")
        if answer.move >= self._moves[key]:
            raise UnexpectedError(
                f"move {answer.move} for {what}, whose moves are 0 to {self._moves[key] - 1}"
            )
        before = self._answers.setdefault(key, answer.move)
        if before != answer.move:
            raise UnexpectedError(f"two answers to {what}: move {before}, then move {answer.move}")
        asked_at = self._asked_at.pop(key, None)
        if asked_at is not None:
            self.think_seconds.append(now - asked_at)

    def _take_pong(self, nonce: int, now: float) -> None:
        if nonce not in self._pings:
            raise UnexpectedError(f"a pong with the nonce {nonce}, which was not that of a ping")
        if nonce in self._demanded:
            self.pong_seconds.append(now - self._demanded.pop(nonce))


async def play_on(dialogue: Dialogue, tables: Sequence[Table], *, ping: bool = False) -> None:
    """Put the next decision of each table to the bot, all in one batch, and play the answers."""
    running = [table for table in tables if not table.is_over]
    batch = play.PlayResponse(decisions=[table.decision() for table in running])
    answers = await dialogue.exchange(batch, ping=ping)
    for table in running:
        table.answer(answers[table.game_id])


async def start(dialogue: Dialogue, tables: Sequence[Table]) -> None:
    """Tell the bot that the games begin."""
    await dialogue.send(play.PlayResponse(games_started=[table.started() for table in tables]))


async def end(dialogue: Dialogue, tables: Sequence[Table]) -> None:
    """Tell the bot that the games are over; those that run are played to their ends without it."""
    await dialogue.send(play.PlayResponse(games_over=[table.over() for table in tables]))


async def play_out(dialogue: Dialogue, tables: Sequence[Table], *, ping: bool = False) -> int:
    """Play games from the beginning to their ends; return how many decisions the bot took."""
    await start(dialogue, tables)
    while not all(table.is_over for table in tables):
        await play_on(dialogue, tables, ping=ping)
    await end(dialogue, tables)
    return sum(len(table.answers) for table in tables)
