"""One connection of a bot, without gRPC: what waits to be sent over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from happycity.v1 import play_service_pb2 as play
from happycity.wire.decisions import response_part
from happycity_server.errors import ApiError, Reason
from happycity_server.play.clock import Sending
from happycity_server.play.counters import Counters
from happycity_server.play.limits import SessionLimits

HOLD_SECONDS = 0.03
"""Coalesce decisions for at most this long while the bot is busy (like Nagle's algorithm): each message costs
far more than the decisions in it."""


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
        now = clock()
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
        self._sending = Sending()  # starts the clocks of the decisions
        self._notices = 0
        self._withheld = 0
        self._last_withheld = play.NOTICE_KIND_UNSPECIFIED
        self._last_ping = play.Ping()
        self._ping_due = now + limits.ping_seconds
        self._ping_waits = False
        self._pinged_at: float | None = None  # until the pong comes
        self._writing_since: float | None = None
        self._ending = False
        self._asking = False  # whether the outbox holds a decision
        self._wake = asyncio.Event()
        self._drained = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def congested(self) -> bool:
        """Whether so much waits to be sent that nothing more should be read."""
        return self.waiting_bytes > self._limits.high_water_bytes

    def send(self, part: bytes) -> None:
        """Add a fragment of a `PlayResponse` to what is sent next."""
        self._parts.append(part)
        self.waiting_bytes += len(part)
        self._wake.set()

    def ask(self, decision: bytes) -> Sending:
        """Add a decision, which the bot will answer; return the message that it will be sent in."""
        self._asking = True
        self.send(decision)
        return self._sending

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
        if not self._ending:
            self._ending = True
            self.error = error
            if error is not None and error.reason is Reason.SHUTTING_DOWN:
                self.notice(play.NOTICE_KIND_SHUTDOWN, str(error))
            self._wake.set()

    def cut(self, error: ApiError) -> None:
        """End the stream now; what waits is not sent."""
        if not self.cut_off.done():
            self.error = error
            self.cut_off.set_result(None)

    async def next_batch(self) -> bytes:
        """Wait for something to send and return all there is; empty when the stream is to end."""
        self._writing_since = None
        while True:
            await self._wake.wait()
            if not self._idle.is_set():
                await self._wait_until_idle()
            self._wake.clear()
            now = self._clock()
            batch = self._take(now)
            if self._ending:
                self._wake.set()  # come back once more, for the end
            if batch:
                self._writing_since = now
            if batch or self._ending:
                return batch

    async def _wait_until_idle(self) -> None:
        timer = asyncio.get_running_loop().call_later(HOLD_SECONDS, self._idle.set)
        await self._idle.wait()
        timer.cancel()

    def _take(self, now: float) -> bytes:
        """Empty the outbox; the clocks of the decisions in it start."""
        if self._asking:
            self._asking = False
            self._idle.clear()
            self._sending.time = now
            self._sending = Sending()
        counters = self._counters
        counters.outbox_high_water_bytes = max(counters.outbox_high_water_bytes, self.waiting_bytes)
        if self._notices or self._ping_waits:
            self._take_extras(now)
        batch = b"".join(self._parts)
        self._parts.clear()
        self.waiting_bytes = 0
        self._drained.set()
        if self.unsent_ends:
            self.unsent_ends = 0
            self._on_ends_sent()
        return batch

    def _take_extras(self, now: float) -> None:
        """Add the notice about withheld notices, and the newest ping."""
        if self._withheld:
            text = f"and {self._withheld} more such notices"
            self._parts.append(response_part("notices", play.Notice(kind=self._last_withheld, text=text)))
        self._notices = self._withheld = 0
        if self._ping_waits:
            self._parts.append(response_part("ping", self._last_ping))
            self._ping_waits = False
            self._pinged_at = now

    def heard(self) -> None:
        """Note a message of the bot: it is done with the last batch."""
        self._idle.set()

    def pong(self, nonce: int, now: float) -> int | None:
        """Return the microseconds since the ping that is answered; None if that was not the last one."""
        if self._pinged_at is None or nonce != self._last_ping.nonce:
            return None
        round_trip = now - self._pinged_at
        self._pinged_at = None
        return max(1, round(round_trip * 1e6))

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
        if now >= self._ping_due:
            self._ping(now)
        limits = self._limits
        writing = 0.0 if self._writing_since is None else now - self._writing_since
        if self.waiting_bytes > limits.outbox_bytes:
            text = f"{self.waiting_bytes} bytes wait to be read by the bot, {limits.outbox_bytes} may"
            self.cut(ApiError(Reason.STALLED, text))
        elif writing > limits.stall_seconds and writing > thinking():
            self.cut(ApiError(Reason.STALLED, f"the bot read nothing for {writing:.1f} s"))

    def _ping(self, now: float) -> None:
        """Send a ping; an older one that was not answered measures nothing."""
        self._ping_due = now + self._limits.ping_seconds
        self._last_ping.nonce += 1
        self._ping_waits = True
        self._pinged_at = None
        self._wake.set()
