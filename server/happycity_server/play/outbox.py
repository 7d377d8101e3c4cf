"""One connection of a bot, without gRPC: what waits to be sent over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Final

from happycity.v1 import play_service_pb2 as play
from happycity.wire.decisions import response_part
from happycity_server.errors import ApiError, Reason
from happycity_server.play.counters import Counters
from happycity_server.play.limits import SessionLimits
from happycity_server.play.referee import AskedDecision

HOLD_SECONDS = 0.03
"""Coalesce decisions for at most this long while the bot is busy (like Nagle's algorithm): each message costs
far more than the decisions in it."""

HOP_SECONDS = 0.25
"""How long a message may be under way between a gateway and its server without being charged to its bot."""


class OutboxState(Enum):
    """What an outbox waits for before it sends."""

    IDLE = "idle"
    """Nothing: the bot is done with all decisions that it was sent, or takes its time."""
    BUSY = "busy"
    """The bot, which has been sent decisions and has said nothing since, or `HOLD_SECONDS`."""
    ENDING = "ending"
    """Nothing: the stream ends when all is sent."""


_IDLE: Final = OutboxState.IDLE  # bound once: looking a member up in its class is slow
_BUSY: Final = OutboxState.BUSY
_ENDING: Final = OutboxState.ENDING
_NEXT: Final = {_IDLE: (_BUSY, _ENDING), _BUSY: (_IDLE, _ENDING), _ENDING: ()}


class Pings:
    """The pings of one connection, which measure round trips. One that isn't answered measures nothing."""

    def __init__(self, seconds: float, now: float) -> None:
        self._seconds = seconds
        self._last = play.Ping()
        self._due = now + seconds
        self.waits = False
        """Whether one waits to be sent."""
        self._sent_at: float | None = None  # until the pong comes

    def begin(self, now: float) -> bool:
        """Let the next ping wait to be sent, if it is due; return whether it is."""
        if now < self._due:
            return False
        self._due = now + self._seconds
        self._last.nonce += 1
        self.waits, self._sent_at = True, None
        return True

    def take(self, now: float) -> bytes:
        """Return the ping that waits, which is sent now."""
        self.waits, self._sent_at = False, now
        return response_part("ping", self._last)

    def end(self, nonce: int, now: float) -> int | None:
        """Return the microseconds since the ping that is answered; None if that was not the last one."""
        if self._sent_at is None or nonce != self._last.nonce:
            return None
        round_trip, self._sent_at = now - self._sent_at, None
        return max(1, round(round_trip * 1e6))


class Outbox:
    """What goes over one connection; the connection's tasks feed and drain it.

    What is sent gathers while the bot is busy with the last batch, so messages grow with the load, and one
    message carries the decisions of many games. A bot that takes its time over one game is sent the others'
    decisions after `HOLD_SECONDS` all the same.
    """

    def __init__(
        self,
        limits: SessionLimits,
        clock: Callable[[], float],
        counters: Counters,
        *,
        on_ends_sent: Callable[[], None],
    ) -> None:
        """Begin with nothing to send.

        Args:
            limits: what the bot may do.
            clock: returns the time in seconds.
            counters: those of the server.
            on_ends_sent: called whenever ends of games are handed to the connection.
        """
        self.error: ApiError | None = None
        """Why the server ended the stream, if it did."""
        self.cut_off: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the stream must end at once, whatever waits to be sent."""
        self.waiting_bytes = 0
        """How much waits to be sent."""
        self.unsent_ends = 0
        """Of how many games the end waits to be sent; each seat of a match is a game."""
        self._on_ends_sent = on_ends_sent
        self._limits = limits
        self._clock = clock
        self._counters = counters
        self._parts: list[bytes] = []
        self._decisions: list[AskedDecision] = []  # those among the parts
        self._notices = 0
        self._withheld = 0
        self._last_withheld = play.NOTICE_KIND_UNSPECIFIED
        self.pings = Pings(limits.ping_seconds, clock())
        self._writing_since: float | None = None
        self._state: OutboxState = _IDLE
        self._ready = asyncio.Event()
        self.on_ready: Callable[[], None] = self._ready.set
        """Called when something is to be sent, or the stream is to end; then `take` returns it."""
        self.hop_seconds = 0.0
        """How long the bot's answers may be under way after they were read: `HOP_SECONDS` at a gateway."""
        self._hold: asyncio.TimerHandle | None = None  # until it ends, what waits is held back
        self._drained = asyncio.Event()

    @property
    def congested(self) -> bool:
        """Whether so much waits to be sent that nothing more should be read."""
        return self.waiting_bytes > self._limits.high_water_bytes

    def send(self, part: bytes) -> None:
        """Add a fragment of a `PlayResponse` to what is sent next."""
        self._parts.append(part)
        self.waiting_bytes += len(part)
        if len(self._parts) == 1:
            self._announce()

    def ask(self, decision: AskedDecision, encoded: bytes) -> None:
        """Add a decision, which the bot will answer; its clock starts when it is sent."""
        self._decisions.append(decision)
        self.send(encoded)

    def end_match(self, over: bytes, *, seats: int = 1) -> None:
        """Add the end of a match in which the bot filled some seats."""
        self.unsent_ends += seats
        self.send(over)

    def notice(
        self,
        kind: play.NoticeKind.ValueType,
        text: str,
        *,
        match_id: int = 0,
        decision_id: int = 0,
        game_round: int = 0,
    ) -> None:
        """Add a notice, unless too many wait already."""
        if self._notices >= self._limits.notices:
            self._withheld += 1
            self._last_withheld = kind
            return
        self._notices += 1
        notice = play.Notice(
            kind=kind,
            match_id=match_id or None,
            decision_id=decision_id or None,
            text=text,
            round=game_round or None,
        )
        self.send(response_part("notices", notice))

    def end(self, error: ApiError | None) -> None:
        """End the stream once the outbox is sent: with an error, or in good order."""
        if self._state is not _ENDING:
            self._enter(_ENDING)
            self.error = error
            if error is not None and error.reason is Reason.SHUTTING_DOWN:
                self.notice(play.NOTICE_KIND_SHUTDOWN, str(error))
            self._announce()

    def cut(self, error: ApiError) -> None:
        """End the stream now; what waits is not sent."""
        if not self.cut_off.done():
            self.error = error
            self.cut_off.set_result(None)

    async def next_batch(self) -> bytes:
        """Wait for something to send and return all there is; empty when the stream is to end."""
        self.written()
        await self._ready.wait()
        self._ready.clear()
        return self.take()

    def written(self) -> None:
        """Note that the connection has written the last batch: it can take the next one."""
        self._writing_since = None
        self._announce()

    def _announce(self) -> None:
        """Let the connection take what waits: at once, or when the bot is done, or after `HOLD_SECONDS`."""
        if self._writing_since is not None or not (self._parts or self.pings.waits or self._state is _ENDING):
            return
        if self._state is not _BUSY:
            self.on_ready()
        elif self._hold is None:
            self._hold = asyncio.get_running_loop().call_later(HOLD_SECONDS, self.heard)

    def _enter(self, state: OutboxState) -> None:
        assert state in _NEXT[self._state], (self._state, state)
        self._state = state
        if self._hold is not None:
            self._hold.cancel()
            self._hold = None

    def take(self) -> bytes:
        """Return all that waits, to be written now: clocks of decisions start; empty at the end."""
        now = self._clock()
        if self._decisions:
            for decision in self._decisions:
                decision.sent(now)
            self._decisions.clear()
            if self._state is _IDLE:
                self._enter(_BUSY)
        counters = self._counters
        counters.outbox_high_water_bytes = max(counters.outbox_high_water_bytes, self.waiting_bytes)
        if self._notices:
            self._add_withheld()
        if self.pings.waits:
            self._parts.append(self.pings.take(now))
        batch = b"".join(self._parts)
        self._parts.clear()
        self.waiting_bytes = 0
        self._drained.set()
        if batch:
            self._writing_since = now
        if self.unsent_ends:
            self.unsent_ends = 0
            self._on_ends_sent()
        return batch

    def _add_withheld(self) -> None:
        """Add the notice about withheld notices."""
        if self._withheld:
            text = f"and {self._withheld} more such notices"
            self._parts.append(response_part("notices", play.Notice(kind=self._last_withheld, text=text)))
        self._notices = self._withheld = 0

    def heard(self) -> None:
        """Note a message of the bot: it is done with the last batch."""
        if self._state is _BUSY:
            self._enter(_IDLE)
            self._announce()

    async def drained(self) -> None:
        """Wait until what waits now is sent."""
        self._drained.clear()
        await self._drained.wait()

    def sweep(self, now: float, *, thinking: Callable[[], float]) -> None:
        """Send a ping when that is due; end a stream that is stuck.

        Args:
            now: the time.
            thinking: returns for how many seconds the bot may think without looking at the stream.
        """
        if self.pings.begin(now):
            self._announce()
        limits = self._limits
        writing = 0.0 if self._writing_since is None else now - self._writing_since
        if self.waiting_bytes > limits.outbox_bytes:
            text = f"{self.waiting_bytes} bytes wait to be read by the bot, {limits.outbox_bytes} may"
            self.cut(ApiError(Reason.STALLED, text))
        elif writing > limits.stall_seconds and writing > thinking():
            self.cut(ApiError(Reason.STALLED, f"the bot read nothing for {writing:.1f} s"))
