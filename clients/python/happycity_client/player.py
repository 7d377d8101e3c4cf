"""The games of one bot. They outlive the connection: it may be lost and resumed."""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Awaitable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf.message import DecodeError

from happycity import Move, VoidReason
from happycity.match import one_line
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import outcome_message, outcome_of
from happycity_client.bot import NO_GAME, Bot, BotFactory, GameOver
from happycity_client.decision import Decision
from happycity_client.errors import IllegalChoiceError, ProtocolError
from happycity_client.recorded import started_of
from happycity_runtime.event_loop import end_tasks


class RequestOutbox:
    """Gathers a batch while the last one is being written."""

    def __init__(self) -> None:
        self.filled = asyncio.Event()
        """Whether there is something to send."""
        self._request: play.PlayRequest | None = None

    def gathered(self) -> play.PlayRequest:
        """Return the batch that is sent next, for something to be added."""
        if self._request is None:
            self._request = play.PlayRequest()
            self.filled.set()
        return self._request

    def take(self) -> play.PlayRequest:
        """Return what has gathered, and begin an empty batch."""
        request, self._request = self._request, None
        self.filled.clear()
        return play.PlayRequest() if request is None else request


@dataclass(slots=True, eq=False)
class _PlayedSeat:
    """A bot in one seat of a match, the last decision that it was asked, and its reply."""

    match_id: int
    number: int
    outbox: RequestOutbox
    """Of the connection that asked last: after its end, a reply is sent if the server asks again."""
    bot: Bot | None = None
    """None: it could not be made, or has crashed."""
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
            self.outbox.gathered().resigns.append(self.resignation)
        elif self.position is not None:
            answers = self.outbox.gathered().answers
            answer = answers.add(match_id=self.match_id, decision_id=self.asked, move=self.position)
            if self.notes:
                answer.metrics.update(self.notes)


class Player:
    """Plays all games of one bot: reads the server's messages, and fills the outbox.

    Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply
    comes from memory: asking twice would advance the bot's randomness.
    """

    def __init__(self, factory: BotFactory, name: str) -> None:
        self.outbox = RequestOutbox()
        """Of the present connection."""
        self.log = logging.LoggerAdapter(logging.getLogger("happycity_client"), {"bot": name and f"{name}: "})
        """Where the bot's author reads what happens."""
        self._factory = factory
        self._seats: dict[int, dict[int, _PlayedSeat]] = {}  # by match, by seat
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End all thinking."""
        await end_tasks(*self._tasks)

    def keep(self, match_ids: Collection[int]) -> None:
        """End the games of all other matches as voided, because the server no longer knows them."""
        for match_id in self._seats.keys() - set(match_ids):
            self.end(play.GameOver(match_id=match_id, outcome=outcome_message(VoidReason.UNKNOWN)))

    def start(self, message: play.GameStarted) -> None:
        """Begin a game in one seat, unless it is being played."""
        match_id, seats = message.match_id, self._seats.setdefault(message.match_id, {})
        if message.seat in seats:
            return
        seat = seats[message.seat] = _PlayedSeat(match_id, message.seat, self.outbox)
        try:
            bot = self._factory(started_of(message))
            if not isinstance(bot, Bot):
                raise TypeError(f"what makes the bots returned {bot!r}, which is not a Bot")
            if getattr(bot, "start", None) is NO_GAME:
                raise TypeError("the start of the game is missing: write super().__init__(start)")
            seat.bot = bot
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._crash(seat, error)

    def decide(self, message: play.Decision) -> None:
        """Answer a decision: from the bot, or from memory if the server sends it again.

        Raises:
            ProtocolError: the decision can't be read.
        """
        if not message.HasField("view"):
            raise ProtocolError("a decision without a view")
        match_id, decision_id, view = message.match_id, message.decision_id, message.view
        seats = self._seats.get(match_id)
        seat = None if seats is None else seats.get(view.seat)
        if seat is None:
            self.log.warning("match %d: a decision of an unknown game", match_id)
        elif seat.bot is not None and decision_id > seat.asked:
            seat.asked, seat.round = decision_id, view.round
            self._ask(seat, seat.bot, message)
        elif decision_id == seat.asked or (seat.bot is None and seat.outbox is not self.outbox):
            seat.outbox = self.outbox  # a resignation is the reply to later decisions too, once on each
            seat.reply()

    def end(self, message: play.GameOver) -> None:
        """End a match: in every seat that the bot has there, the game is over or voided."""
        outcome = outcome_of(message.outcome)
        for seat in self._seats.pop(message.match_id, {}).values():
            seat.cancel_task()
            if seat.bot is None:
                continue
            try:
                if isinstance(outcome, VoidReason):
                    seat.bot.game_voided(message.match_id, outcome)
                    continue
                own = outcome[seat.number]
                if own.forfeited:
                    ending = f"{own.ending.word}: {own.reason}" if own.reason else own.ending.word
                    self.log.warning("%s: the seat was forfeited: %s", seat, one_line(ending))
                seat.bot.game_over(GameOver(message.match_id, outcome))
            except Exception as error:  # the boundary to the author's code
                self.log.error("%s: the bot crashed at the end of the game", seat, exc_info=error)

    def _ask(self, seat: _PlayedSeat, bot: Bot, message: play.Decision) -> None:
        if seat.task is not None:
            seat.cancel_task()  # about a decision that the clock has settled
        seat.outbox, seat.position = self.outbox, None
        try:
            decision = Decision(message)
            choice = bot.choose(decision)
            if isinstance(choice, Move) or not inspect.isawaitable(choice):
                self._settle(seat, decision, choice)
            else:
                seat.task = asyncio.create_task(self._think(seat, decision, choice))
                self._tasks.add(seat.task)
                seat.task.add_done_callback(self._tasks.discard)
                if isinstance(choice, Coroutine):  # it may be cancelled before it begins
                    seat.task.add_done_callback(lambda _: choice.close())
        except ProtocolError:
            raise
        except DecodeError as error:
            raise ProtocolError(f"a decision can't be decoded: {one_line(str(error))}") from None
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._crash(seat, error)

    async def _think(self, seat: _PlayedSeat, decision: Decision, choice: Awaitable[object]) -> None:
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

    def _settle(self, seat: _PlayedSeat, decision: Decision, choice: object) -> None:
        seat.position, seat.notes = decision.position_of(choice), decision.notes
        seat.reply()

    def _crash(self, seat: _PlayedSeat, error: BaseException) -> None:
        """Give up a game in which the bot failed; its other games go on."""
        trace = None if isinstance(error, IllegalChoiceError) else error
        reason = one_line(_crash_reason(error) if trace else str(error))
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()) if not trace)
        self.log.error("%s: the bot crashed, the game is given up: %s%s", seat, reason, notes, exc_info=trace)
        seat.bot = None
        seat.resignation = play.Resign(match_id=seat.match_id, seat=seat.number, crashed=True, reason=reason)
        seat.reply()


def place(match_id: int, game_round: int, decision_id: int) -> str:
    """Name a place in a game, such as `match 7, round 1, decision 3`, without what is 0."""
    parts = {"match": match_id, "round": game_round, "decision": decision_id}
    return ", ".join(f"{name} {number}" for name, number in parts.items() if number)


def _crash_reason(error: BaseException) -> str:
    """Return why a bot crashed, with the innermost place in the author's code."""
    where, library = "", str(Path(traceback.__file__).parent)
    for frame, line in traceback.walk_tb(error.__traceback__):
        file, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "")
        if not (module.startswith("happycity") or file.startswith(library) or "site-packages" in file):
            where = f" ({Path(file).name}:{line})"
    text = f": {error}" if str(error) else ""
    return f"{type(error).__name__}{text}{where}"
