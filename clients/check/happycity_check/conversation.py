"""What is said on a stream whose bot was welcomed: batches go out, and their answers are checked."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter

from happycity.text.catalogue import catalogue_digest
from happycity.v1 import play_service_pb2 as play
from happycity_check.errors import ResignedError, StreamEndedError, UnexpectedError
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.scripted_server import BotStream, Received

_Key = tuple[int, int]  # match, decision


class Conversation:
    """Sends batches and waits for what they demand. Anything else is an error.

    Args:
        stream: the stream of a bot that has said hello.
        timeout: the limit for each wait in seconds; None for none, where a person may hold the bot.
    """

    def __init__(self, stream: BotStream, *, timeout: float | None) -> None:
        self.think_seconds: list[float] = []
        """From writing each decision to reading its answer."""
        self.pong_seconds: list[float] = []
        """From sending each ping to reading its pong."""
        self.busy_seconds = 0.0
        """The time of all exchanges together, each from writing a batch to reading its last answer."""
        self.late_answers: list[str] = []
        """The decisions that were answered after the end of their games."""
        self.patient: set[int] = set()
        """Matches whose answers are not waited for."""
        self._stream = stream
        self._timeout = timeout
        self._moves: dict[_Key, int] = {}  # of every decision that was sent, how many moves it has
        self._sent_at: dict[_Key, float] = {}  # of those that are open
        self._answers: dict[_Key, play.Answer] = {}
        self._over: set[int] = set()
        self._resigns: dict[int, list[play.Resign]] = {}  # by match, of those that the bot may give up
        self._nonces = itertools.count(1)
        self._pings: dict[int, float] = {}  # those whose pongs are missing, and when they were sent

    async def welcome(self, resume_token: str, match_ids: Sequence[int] = (), *, digest: str = "") -> None:
        """Answer the hello; without a digest the cards are ours."""
        welcome = play.Welcome(
            server="happycity-check",
            catalogue_digest=digest or catalogue_digest(),
            resume_token=resume_token,
            match_ids=match_ids,
        )
        await self.send(play.PlayResponse(welcome=welcome))

    async def send(self, response: play.PlayResponse, *, ping: bool = False) -> None:
        """Send a batch; its decisions are open from now on. With `ping`, a pong is demanded too."""
        if ping:
            # Beyond 2^53, where a language without 64-bit integers would round it.
            response.ping.nonce = 2**60 + next(self._nonces)
            self._pings[response.ping.nonce] = perf_counter()
        now = await self._stream.send(response)
        for match_id in {started.match_id for started in response.games_started} & self._over:
            self._forget(match_id)
        for decision in response.decisions:
            key = decision.match_id, decision.decision_id
            self._settle(decision.match_id)
            self._moves[key] = len(decision.moves)
            self._sent_at[key] = now
        for over in response.games_over:
            self._over.add(over.match_id)
            self._settle(over.match_id)

    async def repeat(self, *decisions: play.Decision) -> None:
        """Send decisions a second time; the bot may answer them again, with the same move, or not."""
        await self._stream.send(play.PlayResponse(decisions=decisions))

    async def exchange(self, response: play.PlayResponse, *, ping: bool = False) -> dict[int, int]:
        """Send a batch and wait for all that is open; return the chosen positions by match.

        UnexpectedError if an answer or pong doesn't come, is wrong, or was not asked for.
        """
        began = perf_counter()
        await self.send(response, ping=ping)
        answers = await self.receive_all()
        self.busy_seconds += perf_counter() - began
        return answers

    async def receive_all(self) -> dict[int, int]:
        """Wait for all answers and pongs that are missing; return the chosen positions by match.

        UnexpectedError if one doesn't come, is wrong, or was not asked for.
        """
        keys = self._missing
        while missing := len(self._missing) + len(self._pings):
            await self._receive_until(lambda: len(self._missing) + len(self._pings) < missing)
        return {key[0]: self._answers[key].move for key in keys}

    async def receive_resigns(self, match_id: int, count: int = 1) -> list[play.Resign]:
        """Wait until the bot has given up this many seats of a match; its decision is settled then.

        UnexpectedError if it doesn't, or does something else.
        """
        resigns = self._resigns[match_id] = []
        await self._receive_until(lambda: len(resigns) >= count, f"no resign in match {match_id}")
        return resigns

    def answer(self, match_id: int, decision_id: int) -> play.Answer:
        """Return the answer that has come to a decision; KeyError if none has."""
        return self._answers[match_id, decision_id]

    def is_answered(self, decision: play.Decision) -> bool:
        """Return whether an answer to a decision has come."""
        return (decision.match_id, decision.decision_id) in self._answers

    async def receive_goodbye(self, seconds: float) -> bool:
        """Read until the stream ends, or nothing comes for this time; return whether there was a goodbye."""
        with suppress(TimeoutError):
            while (received := await self._stream.receive(seconds)) is not None:
                if received.request.HasField("goodbye"):
                    return True
        return False

    @property
    def _missing(self) -> list[_Key]:
        """The open decisions whose answers are waited for."""
        return [key for key in self._sent_at if key[0] not in self.patient]

    async def _receive_until(self, done: Callable[[], bool], missing: str = "") -> None:
        """Read until an expected message has come; other messages of the bot don't extend the time."""
        try:
            async with asyncio.timeout(self._timeout):
                while not done():
                    await self._receive()
        except TimeoutError:
            missing = missing or self._first_missing()
            raise UnexpectedError(f"{missing} within {self._timeout or 0:g} s") from None

    async def _receive(self) -> None:
        received = await self._stream.receive(self._timeout)
        if received is None:
            raise StreamEndedError("the bot ended its stream")
        self._check(received)

    def _first_missing(self) -> str:
        if not self._missing:
            return "no pong"
        match_id, decision_id = self._missing[0]
        more = f" and {len(self._missing) - 1} more" if len(self._missing) > 1 else ""
        return f"no answer to decision {decision_id} of match {match_id}{more}"

    def _check(self, received: Received) -> None:
        request = received.request
        if request.HasField("hello"):
            raise UnexpectedError("a second hello on the same stream")
        for resign in request.resigns:
            if resign.match_id not in self._resigns:
                raise ResignedError(resign.match_id, crashed=resign.crashed, reason=resign.reason)
            self._resigns[resign.match_id].append(resign)
            self._settle(resign.match_id)
        for answer in request.answers:
            self._check_answer(answer, received.time)
        if request.HasField("pong"):
            nonce = request.pong.nonce
            if nonce not in self._pings:
                raise UnexpectedError(f"a pong with the nonce {nonce}, which was not that of a ping")
            self.pong_seconds.append(received.time - self._pings.pop(nonce))
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

    def _forget(self, match_id: int) -> None:
        """Let a match that is over start again."""
        self._over.remove(match_id)
        for by_key in (self._moves, self._answers):
            for key in [key for key in by_key if key[0] == match_id]:
                del by_key[key]

    def _settle(self, match_id: int) -> None:
        """Wait no longer for the answer to a match's open decision: a match has one at a time."""
        for key in [key for key in self._sent_at if key[0] == match_id]:
            del self._sent_at[key]


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
