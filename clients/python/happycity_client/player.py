"""The games of one bot. They outlive the connection: it may be lost and taken up again."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping

from happycity import Move
from happycity.v1 import play_service_pb2 as play
from happycity_client.bot import Bot, Decision, GameStart, VoidReason
from happycity_client.inbound import decision_of, game_over_of, game_start_of, position_of, void_reason_of
from happycity_client.outbox import Outbox

BotFactory = Callable[[GameStart], Bot]

_log = logging.getLogger("happycity_client")


class _Seat:
    """A bot in one game, and what is known of the decision that it was asked last."""

    __slots__ = ("answer", "asked", "bot", "game_id", "notes", "thought", "wanted")

    def __init__(self, game_id: int, bot: Bot) -> None:
        self.game_id = game_id
        self.bot = bot
        self.asked = 0
        """The decision that the bot was asked last, or 0."""
        self.answer: int | None = None
        """The position that it answered with; None while it thinks."""
        self.notes: Mapping[str, float] = {}
        """What it noted about that answer."""
        self.wanted = False
        """Whether this connection's server still waits for that answer."""
        self.thought: asyncio.Task[None] | None = None
        """What an asynchronous bot is busy with."""

    def drop_thought(self) -> None:
        if self.thought is not None:
            self.thought.cancel()
            self.thought = None


class Player:
    """Plays all games of one bot: takes the server's messages, and fills the outbox.

    Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer
    comes from memory: asking twice would advance the bot's randomness.
    """

    def __init__(self, factory: BotFactory, name: str, outbox: Outbox) -> None:
        self._factory = factory
        self._name = name
        self._outbox = outbox
        self._seats: dict[int, _Seat] = {}
        self._given_up: dict[int, str] = {}  # by game, why; until its end is heard
        self._thoughts: set[asyncio.Task[None]] = set()

    @property
    def games(self) -> list[int]:
        """The games that run as far as the bot knows."""
        return [*self._seats, *self._given_up]

    async def close(self) -> None:
        """End all thinking."""
        for thought in self._thoughts:
            thought.cancel()
        await asyncio.gather(*self._thoughts, return_exceptions=True)

    def lose(self) -> None:
        """Note that the connection is lost: what was not sent is sent only if it is asked for again."""
        self._outbox.take()
        for seat in self._seats.values():
            seat.wanted = False

    def welcome(self, *, resumed: bool) -> None:
        """Note that a server took the bot in; the games go on only if it says so."""
        if resumed:
            for game_id, reason in self._given_up.items():
                self._outbox.resign(game_id=game_id, reason=reason)
            return
        self._given_up.clear()
        for seat in [*self._seats.values()]:
            self._void(seat, VoidReason.UNKNOWN)

    def start(self, message: play.GameStarted) -> None:
        """Begin a game."""
        older = self._seats.get(message.game_id)
        if older is not None:
            self._void(older, VoidReason.UNKNOWN)
        self._given_up.pop(message.game_id, None)
        try:
            bot = self._factory(game_start_of(message))
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._give_up(message.game_id, error)
        else:
            self._seats[message.game_id] = _Seat(message.game_id, bot)

    def decide(self, message: play.Decision) -> None:
        """Answer a decision: from the bot, or from memory if the server sends it again."""
        seat = self._seats.get(message.game_id)
        if seat is None:
            if message.game_id not in self._given_up:
                _log.warning("%s: game %d: a decision, but no such game", self._name, message.game_id)
            return
        if message.decision_id > seat.asked:
            self._ask(seat, message)
        elif message.decision_id == seat.asked:
            seat.wanted = True
            self._deliver(seat)

    def end(self, message: play.GameOver) -> None:
        """Note that a game is over, and tell its bot."""
        self._given_up.pop(message.game_id, None)
        seat = self._seats.get(message.game_id)
        if seat is None:
            return
        if not message.HasField("result"):
            self._void(seat, void_reason_of(message))
            return
        self._leave(seat)
        try:
            seat.bot.game_over(game_over_of(message))
        except Exception:  # noqa: BLE001 - the boundary to the author's code
            _log.exception("%s: game %d: game_over failed", self._name, seat.game_id)

    def _void(self, seat: _Seat, reason: VoidReason) -> None:
        self._leave(seat)
        try:
            seat.bot.game_voided(seat.game_id, reason)
        except Exception:  # noqa: BLE001 - the boundary to the author's code
            _log.exception("%s: game %d: game_voided failed", self._name, seat.game_id)

    def _leave(self, seat: _Seat) -> None:
        seat.drop_thought()
        del self._seats[seat.game_id]

    def _ask(self, seat: _Seat, message: play.Decision) -> None:
        seat.drop_thought()  # about a decision that the clock has settled
        seat.asked, seat.answer, seat.wanted = message.decision_id, None, True
        try:
            decision = decision_of(message)
            choice = seat.bot.choose(decision)
            if isinstance(choice, Move) or not inspect.isawaitable(choice):
                self._settle(seat, message, decision, choice)
            else:
                self._await(seat, message, decision, choice)
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._fail(seat, error)

    def _await(
        self, seat: _Seat, message: play.Decision, decision: Decision, choice: Awaitable[Move]
    ) -> None:
        """Let an asynchronous bot think beside its other games."""

        async def think() -> None:
            try:
                self._settle(seat, message, decision, await choice)
            except Exception as error:  # noqa: BLE001 - the boundary to the author's code
                self._fail(seat, error)

        seat.thought = asyncio.create_task(think())
        self._thoughts.add(seat.thought)
        seat.thought.add_done_callback(self._thoughts.discard)

    def _settle(self, seat: _Seat, message: play.Decision, decision: Decision, choice: object) -> None:
        seat.answer = position_of(choice, message, decision)
        seat.notes = decision.notes
        seat.thought = None
        self._deliver(seat)

    def _deliver(self, seat: _Seat) -> None:
        if seat.wanted and seat.answer is not None:
            self._outbox.answer(
                game_id=seat.game_id, decision_id=seat.asked, move=seat.answer, metrics=seat.notes
            )
            seat.wanted = False

    def _fail(self, seat: _Seat, error: Exception) -> None:
        self._leave(seat)
        self._give_up(seat.game_id, error)

    def _give_up(self, game_id: int, error: Exception) -> None:
        """Resign a game in which the bot failed; its other games go on."""
        _log.error("%s: game %d is resigned: the bot failed", self._name, game_id, exc_info=error)
        reason = self._given_up[game_id] = repr(error)[:200]
        self._outbox.resign(game_id=game_id, reason=reason)
