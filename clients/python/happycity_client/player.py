"""The games of one bot. They outlive the connection: it may be lost and resumed."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from happycity import Move, SeatResult, VoidReason
from happycity.match import one_line
from happycity.v1 import play_service_pb2 as play
from happycity.wire import ShallowDecision, config_of, result_of, void_reason_of
from happycity_client.bot import Bot, Decision, GameOver, GameStarted
from happycity_client.crash import CrashLog
from happycity_client.log import place
from happycity_client.outbox import Outbox

BotFactory = Callable[[GameStarted], Bot]

_log = logging.getLogger("happycity_client")


@dataclass(slots=True, eq=False)
class _Seat:
    """A bot in one seat of a match, and the state of the last decision that it was asked."""

    match_id: int
    seat: int
    bot: Bot
    asked: int = 0
    """The last decision that the bot was asked, or 0."""
    answer: int | None = None
    """The position that it answered with; None while it thinks."""
    notes: Mapping[str, float] = field(default_factory=dict)
    """What it noted about that answer."""
    answer_due: bool = False
    """Whether this connection's server still waits for that answer."""
    round: int = 0
    """The round of that decision. The message itself would keep the whole batch in memory that it came in."""
    task: asyncio.Task[None] | None = None
    """The thinking of an asynchronous bot."""

    @property
    def place(self) -> str:
        """Where the game is, as far as the bot knows."""
        if not self.asked:
            return place(self.match_id)
        return place(self.match_id, game_round=self.round, decision_id=self.asked)

    def cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()
            self.task = None


class Player:
    """Plays all games of one bot: takes the server's messages, and fills the outbox.

    Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer
    comes from memory: asking twice would advance the bot's randomness.
    """

    def __init__(self, factory: BotFactory, name: str, outbox: Outbox) -> None:
        self._factory = factory
        self._name = name
        self._outbox = outbox
        self._crashes = CrashLog(name)
        self._seats: dict[int, dict[int, _Seat]] = {}  # by match, by seat
        self._resigned: dict[tuple[int, int], play.Resign] = {}  # until the game's end arrives
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def match_ids(self) -> list[int]:
        """The matches that run as far as the bot knows."""
        return list(dict.fromkeys([*self._seats, *[match_id for match_id, _ in self._resigned]]))

    async def close(self) -> None:
        """End all thinking, and log how often the bot crashed."""
        self._crashes.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def on_disconnect(self) -> None:
        """Note that the connection is lost: what was not sent is sent only if it is asked for again."""
        self._outbox.take()
        for seat in self._all_seats():
            seat.answer_due = False

    def welcome(self, *, resumed: bool) -> None:
        """Note that a server took the bot in; the games go on only if it says so."""
        if resumed:
            for resignation in self._resigned.values():
                self._outbox.resign(resignation)
            return
        self._resigned.clear()
        self.void_all()

    def void_all(self) -> None:
        """End all games as voided, because the server has forgotten them or is given up."""
        for seat in self._all_seats():
            self._void(seat, VoidReason.UNKNOWN)

    def start(self, message: play.GameStarted) -> None:
        """Begin a game in one seat."""
        key = message.match_id, message.seat
        older = self._seats.get(message.match_id, {}).get(message.seat)
        if older is not None:
            self._void(older, VoidReason.UNKNOWN)
        self._resigned.pop(key, None)
        try:
            bot = self._factory(
                GameStarted(
                    match_id=message.match_id,
                    config=config_of(message.config),
                    seat=message.seat,
                    bots=tuple(message.bots),
                    seed=message.seed,
                )
            )
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._crash(key, error, where=place(message.match_id))
        else:
            self._seats.setdefault(message.match_id, {})[message.seat] = _Seat(*key, bot)

    def decide(self, message: ShallowDecision) -> None:
        """Answer a decision: from the bot, or from memory if the server sends it again."""
        match_id, decision_id = message.match_id, message.decision_id
        seats = self._seats.get(match_id)
        seat = None if seats is None else seats.get(message.view.seat)
        if seat is None:
            if (match_id, message.view.seat) not in self._resigned:
                _log.warning("%s: match %d: a decision of an unknown game", self._name, match_id)
            return
        if decision_id > seat.asked:
            self._ask(seat, message)
        elif decision_id == seat.asked:
            seat.answer_due = True
            self._deliver(seat)

    def end(self, message: play.GameOver) -> None:
        """End a match: in every seat that the bot has there, the game is over or voided."""
        for key in [key for key in self._resigned if key[0] == message.match_id]:
            del self._resigned[key]
        for seat in [*self._seats.get(message.match_id, {}).values()]:
            if message.WhichOneof("end") == "result":
                self._finish(seat, message)
            else:
                self._void(seat, void_reason_of(message.void_reason))

    def _finish(self, seat: _Seat, message: play.GameOver) -> None:
        self._leave(seat)
        try:
            results = result_of(message.result)
            self._log_forfeit(seat, results)
            seat.bot.game_over(GameOver(message.match_id, results))
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._log_failure("game_over", seat, error)

    def _void(self, seat: _Seat, reason: VoidReason) -> None:
        self._leave(seat)
        try:
            seat.bot.game_voided(seat.match_id, reason)
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._log_failure("game_voided", seat, error)

    def _log_forfeit(self, seat: _Seat, results: Sequence[SeatResult]) -> None:
        """Log that the server gave a seat up, if it did."""
        for own in results[seat.seat : seat.seat + 1]:
            if own.forfeited:
                ending = f"{own.ending.word}: {one_line(own.reason)}" if own.reason else own.ending.word
                _log.warning("%s: %s: the seat was forfeited: %s", self._name, seat.place, ending)

    def _log_failure(self, method: str, seat: _Seat, error: Exception) -> None:
        """Log that the bot crashed when its game had ended, so the crash has no effect."""
        self._crashes.add(f"{method} failed", error, match_id=seat.match_id, where=seat.place)

    def _leave(self, seat: _Seat) -> None:
        seat.cancel_task()
        seats = self._seats[seat.match_id]
        del seats[seat.seat]
        if not seats:
            del self._seats[seat.match_id]

    def _all_seats(self) -> list[_Seat]:
        return [seat for seats in self._seats.values() for seat in seats.values()]

    def _ask(self, seat: _Seat, message: ShallowDecision) -> None:
        seat.cancel_task()  # about a decision that the clock has settled
        seat.asked, seat.answer, seat.answer_due = message.decision_id, None, True
        seat.round = message.view.round
        try:
            decision = Decision(message)
            choice = seat.bot.choose(decision)
            if isinstance(choice, Move) or not inspect.isawaitable(choice):
                self._settle(seat, decision, choice)
            else:
                self._await(seat, decision, choice)
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._fail(seat, error)

    def _await(self, seat: _Seat, decision: Decision, choice: Awaitable[Move]) -> None:
        """Let an asynchronous bot think beside its other games."""

        async def think() -> None:
            task = asyncio.current_task()
            assert task is not None
            try:
                move = await choice
                if not task.cancelling():  # else the decision is settled, whatever the bot makes of that
                    self._settle(seat, decision, move)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the author's code
                if not task.cancelling():
                    self._fail(seat, error)

        seat.task = asyncio.create_task(think())
        self._tasks.add(seat.task)
        seat.task.add_done_callback(self._tasks.discard)

    def _settle(self, seat: _Seat, decision: Decision, choice: object) -> None:
        seat.answer = decision.position_of(choice)
        seat.notes = decision.notes
        seat.task = None
        self._deliver(seat)

    def _deliver(self, seat: _Seat) -> None:
        if seat.answer_due and seat.answer is not None:
            self._outbox.answer(seat.match_id, seat.asked, move=seat.answer, metrics=seat.notes)
            seat.answer_due = False

    def _fail(self, seat: _Seat, error: BaseException) -> None:
        self._leave(seat)
        self._crash((seat.match_id, seat.seat), error, where=seat.place)

    def _crash(self, key: tuple[int, int], error: BaseException, *, where: str) -> None:
        """Give up a game in which the bot failed; its other games go on."""
        match_id, seat = key
        what = "the bot crashed, the game is given up"
        reason = self._crashes.add(what, error, match_id=match_id, where=where)
        resignation = play.Resign(match_id=match_id, seat=seat, crashed=True, reason=reason)
        self._resigned[key] = resignation
        self._outbox.resign(resignation)
