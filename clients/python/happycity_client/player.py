"""The games of one bot. They outlive the connection: it may be lost and resumed."""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Awaitable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf.message import DecodeError

from happycity import Move, VoidReason
from happycity.match import one_line
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import result_of, void_reason_of
from happycity.wire.messages import config_of
from happycity_client.bot import NO_GAME, Bot, BotFactory, Decision, GameOver, GameStarted, IllegalChoiceError
from happycity_client.errors import ProtocolError

Log = logging.LoggerAdapter[logging.Logger]
_LIBRARY = str(Path(traceback.__file__).parent)
"""The folder of the standard library."""


class Outbox:
    """Gathers a batch while the last one is being written."""

    def __init__(self) -> None:
        self.filled = asyncio.Event()
        """Whether there is something to send."""
        self._request = play.PlayRequest()

    def answer(self, match_id: int, decision_id: int, move: int, metrics: Mapping[str, float]) -> None:
        """Add an answer; `move` is a position, and `metrics` are the bot's numbers about it."""
        answer = self._request.answers.add(match_id=match_id, decision_id=decision_id, move=move)
        if metrics:
            answer.metrics.update(metrics)
        self.filled.set()

    def resign(self, resignation: play.Resign) -> None:
        """Add that a game is given up."""
        self._request.resigns.append(resignation)
        self.filled.set()

    def pong(self, nonce: int) -> None:
        """Add the answer to a ping. A batch holds one: the newest says all that an older one would."""
        self._request.pong.nonce = nonce
        self.filled.set()

    def goodbye(self) -> None:
        """Add that the bot leaves for good."""
        self._request.goodbye.SetInParent()
        self.filled.set()

    def take(self) -> play.PlayRequest:
        """Return what has gathered, and begin an empty batch."""
        request, self._request = self._request, play.PlayRequest()
        self.filled.clear()
        return request


@dataclass(slots=True, eq=False)
class _Seat:
    """A bot in one seat of a match, the last decision that it was asked, and its reply."""

    match_id: int
    number: int
    outbox: Outbox
    """Of the connection that asked last: after its end, a reply is sent if the server asks again."""
    bot: Bot | None = None
    """None: it could not be made."""
    asked: int = 0
    """The last decision that the bot was asked, or 0."""
    round: int = 0
    """The round of that decision. The message itself would keep the whole batch in memory that it came in."""
    position: int | None = None
    """The answer to that decision; None while the bot thinks. A message would take more memory."""
    notes: Mapping[str, float] = field(default_factory=dict)
    """What the bot noted about that answer."""
    resignation: play.Resign | None = None
    """The reply from now on, if the bot has crashed."""
    task: asyncio.Task[None] | None = None
    """The thinking of an asynchronous bot."""

    def __str__(self) -> str:
        """Say where the game is, as far as the bot knows."""
        return place(self.match_id, self.round, self.asked)

    def cancel_task(self) -> None:
        """End the thinking about a decision that is settled."""
        if self.task is not None:
            self.task.cancel()
            self.task = None

    def reply(self) -> None:
        """Send the reply, if there is one yet."""
        if self.resignation is not None:
            self.outbox.resign(self.resignation)
        elif self.position is not None:
            self.outbox.answer(self.match_id, self.asked, self.position, self.notes)


class Player:
    """Plays all games of one bot: reads the server's messages, and fills the outbox.

    Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply
    comes from memory: asking twice would advance the bot's randomness.
    """

    def __init__(self, factory: BotFactory, log: Log) -> None:
        self.outbox = Outbox()
        """Of the present connection."""
        self._factory = factory
        self._log = log
        self._seats: dict[int, dict[int, _Seat]] = {}  # by match, by seat
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End all thinking."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def keep(self, match_ids: Collection[int]) -> None:
        """End the games of all other matches as voided, because the server no longer knows them."""
        for match_id in self._seats.keys() - set(match_ids):
            self._void(match_id, VoidReason.UNKNOWN)

    def start(self, message: play.GameStarted) -> None:
        """Begin a game in one seat, unless it is being played."""
        match_id, seats = message.match_id, self._seats.setdefault(message.match_id, {})
        if message.seat in seats:
            return
        seat = seats[message.seat] = _Seat(match_id, message.seat, self.outbox)
        try:
            config, bots = config_of(message.config), tuple(message.bots)
            bot = self._factory(GameStarted(match_id, config, message.seat, bots, message.seed))
            if not isinstance(bot, Bot):
                raise TypeError(f"what makes the bots returned {bot!r}, which is not a Bot")
            if getattr(bot, "start", None) is NO_GAME:
                raise TypeError("the start of the game is missing: write super().__init__(start)")
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._crash(seat, error)
        else:
            seat.bot = bot

    def decide(self, message: play.Decision) -> None:
        """Answer a decision: from the bot, or from memory if the server sends it again.

        Raises:
            ProtocolError: the decision can't be read.
        """
        if not message.HasField("view"):
            raise ProtocolError("a decision without a view")
        seat = self._seats.get(message.match_id, {}).get(message.view.seat)
        if seat is None:
            self._log.warning("match %d: a decision of an unknown game", message.match_id)
        elif seat.resignation is not None:
            if seat.outbox is not self.outbox:  # once for each connection
                seat.outbox = self.outbox
                seat.reply()
        elif message.decision_id > seat.asked:
            self._ask(seat, message)
        elif message.decision_id == seat.asked:
            seat.outbox = self.outbox
            seat.reply()

    def end(self, message: play.GameOver) -> None:
        """End a match: in every seat that the bot has there, the game is over or voided."""
        if message.WhichOneof("end") != "result":
            self._void(message.match_id, void_reason_of(message.void_reason))
            return
        over = GameOver(message.match_id, result_of(message.result))
        for seat, bot in self._leave(message.match_id):
            for own in over.seats[seat.number : seat.number + 1]:
                if own.forfeited:
                    ending = f"{own.ending.word}: {own.reason}" if own.reason else own.ending.word
                    self._log.warning("%s: the seat was forfeited: %s", seat, one_line(ending))
            try:
                bot.game_over(over)
            except Exception as error:  # noqa: BLE001 - the boundary to the author's code
                self._log.error("%s: game_over failed", seat, exc_info=error)

    def _void(self, match_id: int, reason: VoidReason) -> None:
        for seat, bot in self._leave(match_id):
            try:
                bot.game_voided(match_id, reason)
            except Exception as error:  # noqa: BLE001 - the boundary to the author's code
                self._log.error("%s: game_voided failed", seat, exc_info=error)

    def _leave(self, match_id: int) -> Iterator[tuple[_Seat, Bot]]:
        """Forget a match, and yield the seats whose bots have not crashed."""
        for seat in self._seats.pop(match_id, {}).values():
            seat.cancel_task()
            if seat.bot is not None and seat.resignation is None:
                yield seat, seat.bot

    def _ask(self, seat: _Seat, message: play.Decision) -> None:
        assert seat.bot is not None
        seat.cancel_task()  # about a decision that the clock has settled
        seat.outbox, seat.position = self.outbox, None
        seat.asked, seat.round = message.decision_id, message.view.round
        try:
            decision = Decision(message)
            choice = seat.bot.choose(decision)
            if isinstance(choice, Move) or not inspect.isawaitable(choice):
                self._settle(seat, decision, choice)
            else:
                seat.task = asyncio.create_task(self._think(seat, decision, choice))
                self._tasks.add(seat.task)
                seat.task.add_done_callback(self._tasks.discard)
        except ProtocolError:
            raise
        except DecodeError as error:
            raise ProtocolError(f"a decision can't be decoded: {one_line(str(error))}") from None
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._crash(seat, error)

    async def _think(self, seat: _Seat, decision: Decision, choice: Awaitable[object]) -> None:
        """Let an asynchronous bot think while its other games go on."""
        task = asyncio.current_task()
        assert task is not None
        try:
            move = await choice
            if not task.cancelling():  # else the decision is settled
                self._settle(seat, decision, move)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the author's code
            if not task.cancelling():
                self._crash(seat, error)

    def _settle(self, seat: _Seat, decision: Decision, choice: object) -> None:
        seat.position, seat.notes = decision.position_of(choice), decision.notes
        seat.reply()

    def _crash(self, seat: _Seat, error: BaseException) -> None:
        """Give up a game in which the bot failed; its other games go on."""
        reason = _crash_reason(error)
        trace = None if isinstance(error, IllegalChoiceError) else error
        self._log.error("%s: the bot crashed, the game is given up: %s", seat, reason, exc_info=trace)
        seat.resignation = play.Resign(match_id=seat.match_id, seat=seat.number, crashed=True, reason=reason)
        seat.reply()


def place(match_id: int, game_round: int, decision_id: int) -> str:
    """Name a place in a game, such as `match 7, round 1, decision 3`, without what is 0."""
    parts = {"match": match_id, "round": game_round, "decision": decision_id}
    return ", ".join(f"{name} {number}" for name, number in parts.items() if number)


def _crash_reason(error: BaseException) -> str:
    """Return why a bot crashed, in one line, with the innermost place in the author's code."""
    if isinstance(error, IllegalChoiceError):
        return one_line(str(error))
    where = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "")
        if not (module.startswith("happycity") or file.startswith(_LIBRARY) or "site-packages" in file):
            where = f" ({Path(file).name}:{line})"
    text = f": {error}" if str(error) else ""
    return one_line(f"{type(error).__name__}{text}{where}")
