"""What is said on a stream whose bot was welcomed: batches go out, and their answers are checked."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter

from happycity.v1 import play_service_pb2 as play
from happycity_check.errors import ResignedError, StreamEndedError, UnexpectedError
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.scripted_server import BotStream, Received

_Key = tuple[int, int]  # match, decision


class Conversation:
    """Sends batches and waits for what they demand, without a timeout for ever. Anything else is an error."""

    def __init__(self, stream: BotStream, *, timeout: float | None) -> None:
        self.think_seconds: list[float] = []
        """From writing each decision to reading its answer."""
        self.pong_seconds: list[float] = []
        """From sending each demanded ping to reading its pong."""
        self.busy_seconds = 0.0
        """The time of all exchanges together, each from writing a batch to reading its last answer."""
        self.said_goodbye = False
        self.late_answers: list[str] = []
        """The decisions that were answered after the game's end."""
        self._stream = stream
        self._timeout = timeout
        self._moves: dict[_Key, int] = {}  # of every decision that was sent, how many moves it has
        self._sent_at: dict[_Key, float] = {}  # of those that are open
        self._answers: dict[_Key, play.Answer] = {}
        self._over: set[int] = set()
        self._nonces = itertools.count(1)
        self._pings: set[int] = set()
        self._demanded: dict[int, float] = {}  # pings whose pongs are waited for, and when they were sent
        self._pinging: asyncio.Task[None] | None = None

    def keep_alive(self, seconds: float) -> None:
        """Ping every so many seconds as the welcome promised; these pongs are not demanded."""

        async def ping() -> None:
            while True:
                await asyncio.sleep(seconds)
                await self.send(play.PlayResponse(ping=self._ping()))

        self._pinging = asyncio.create_task(ping())

    async def close(self) -> None:
        """Stop pinging."""
        if self._pinging is not None:
            self._pinging.cancel()
            with suppress(asyncio.CancelledError):
                await self._pinging

    async def send(self, response: play.PlayResponse, *, ping: bool = False) -> None:
        """Send a batch; its decisions are open from now on. With `ping`, a pong is demanded too."""
        if ping:
            response.ping.CopyFrom(self._ping())
            self._demanded[response.ping.nonce] = perf_counter()
        now = await self._stream.send(response)
        for decision in response.decisions:
            key = decision.match_id, decision.decision_id
            self._moves[key] = len(decision.moves)
            self._sent_at[key] = now
        for over in response.games_over:
            self._over.add(over.match_id)
            for key in [key for key in self._sent_at if key[0] == over.match_id]:
                del self._sent_at[key]

    async def repeat(self, *decisions: play.Decision) -> None:
        """Send decisions a second time; the bot may answer them again, with the same move, or not."""
        await self._stream.send(play.PlayResponse(decisions=decisions))

    async def exchange(self, response: play.PlayResponse, *, ping: bool = False) -> dict[int, int]:
        """Send a batch and wait for all that is open; return the chosen positions by match.

        Raises:
            UnexpectedError: an answer or pong doesn't come, is wrong, or was not asked for.
        """
        began = perf_counter()
        await self.send(response, ping=ping)
        answers = await self.receive_all()
        self.busy_seconds += perf_counter() - began
        return answers

    async def receive_all(self) -> dict[int, int]:
        """Wait for all answers and pongs that are missing; return the chosen positions by match.

        Raises:
            UnexpectedError: one doesn't come, is wrong, or was not asked for.
        """
        keys = [*self._sent_at]
        while self._missing:
            await self._receive_next()
        return {key[0]: self._answers[key].move for key in keys}

    def answer(self, match_id: int, decision_id: int) -> play.Answer:
        """Return the answer that has come to a decision; KeyError if none has."""
        return self._answers[match_id, decision_id]

    async def receive_goodbye(self, seconds: float) -> bool:
        """Read on until the stream ends or nothing comes for so long; return whether there was a goodbye."""
        with suppress(TimeoutError):
            while (received := await self._stream.receive(seconds)) is not None:
                self.said_goodbye |= received.request.HasField("goodbye")
        return self.said_goodbye

    def _ping(self) -> play.Ping:
        # Beyond 2^53, where a language without 64-bit integers would round it.
        nonce = 2**60 + next(self._nonces)
        self._pings.add(nonce)
        return play.Ping(nonce=nonce)

    async def _receive_next(self) -> None:
        """Read until something that is missing has come; whatever else the bot says gains it no time."""
        missing = self._missing
        try:
            async with asyncio.timeout(self._timeout):
                while self._missing == missing:
                    await self._receive()
        except TimeoutError:
            raise UnexpectedError(f"{self._first_missing()} within {self._timeout or 0:g} s") from None

    @property
    def _missing(self) -> int:
        return len(self._sent_at) + len(self._demanded)

    async def _receive(self) -> None:
        received = await self._stream.receive(self._timeout)
        if received is None:
            raise StreamEndedError("the bot ended its stream")
        self._check(received)

    def _first_missing(self) -> str:
        if not self._sent_at:
            return "no pong"
        match_id, decision_id = next(iter(self._sent_at))
        more = f" and {len(self._sent_at) - 1} more" if len(self._sent_at) > 1 else ""
        return f"no answer to decision {decision_id} of match {match_id}{more}"

    def _check(self, received: Received) -> None:
        request = received.request
        if request.HasField("hello"):
            raise UnexpectedError("a second hello on the same stream")
        for resign in request.resigns:
            raise ResignedError(resign.match_id, crashed=resign.crashed, reason=resign.reason)
        for answer in request.answers:
            self._check_answer(answer, received.time)
        if request.HasField("pong"):
            self._check_pong(request.pong.nonce, received.time)
        if request.HasField("goodbye"):
            raise StreamEndedError("the bot said goodbye")

    def _check_answer(self, answer: play.Answer, now: float) -> None:
        key = answer.match_id, answer.decision_id
        what = f"decision {answer.decision_id} of match {answer.match_id}"
        if answer.match_id in self._over:
            self.late_answers.append(what)
            return
        if key not in self._moves:
            raise UnexpectedError(f"an answer to {what}, which was never sent")
        if answer.move >= self._moves[key]:
            raise UnexpectedError(
                f"move {answer.move} for {what}, whose moves are 0 to {self._moves[key] - 1}"
            )
        before = self._answers.setdefault(key, answer).move
        if before != answer.move:
            raise UnexpectedError(f"two answers to {what}: move {before}, then move {answer.move}")
        sent_at = self._sent_at.pop(key, None)
        if sent_at is not None:
            self.think_seconds.append(now - sent_at)

    def _check_pong(self, nonce: int, now: float) -> None:
        if nonce not in self._pings:
            raise UnexpectedError(f"a pong with the nonce {nonce}, which was not that of a ping")
        if nonce in self._demanded:
            self.pong_seconds.append(now - self._demanded.pop(nonce))


async def play_on(
    conversation: Conversation, matches: Sequence[ScriptedMatch], *, times: int = 1, ping: bool = False
) -> None:
    """Send the next decision of each match, all in one batch, and play the answers; do so several times."""
    for _ in range(times):
        running = [match for match in matches if not match.is_over]
        batch = play.PlayResponse(decisions=[match.decision() for match in running])
        answers = await conversation.exchange(batch, ping=ping)
        for match in running:
            match.answer(answers[match.match_id])


async def start(conversation: Conversation, matches: Sequence[ScriptedMatch]) -> None:
    """Send that the games begin."""
    started = [message for match in matches for message in match.started()]
    await conversation.send(play.PlayResponse(games_started=started))


async def end(conversation: Conversation, matches: Sequence[ScriptedMatch]) -> None:
    """Send that the games are over; those that run are played to their ends without the bot."""
    await conversation.send(play.PlayResponse(games_over=[match.over() for match in matches]))


async def play_out(conversation: Conversation, matches: Sequence[ScriptedMatch]) -> int:
    """Play matches from the beginning to their ends; return how many decisions the bot took."""
    await start(conversation, matches)
    while not all(match.is_over for match in matches):
        await play_on(conversation, matches)
    await end(conversation, matches)
    return sum(len(match.answers) for match in matches)
