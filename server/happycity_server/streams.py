"""One connection of a bot: what waits to be sent over it, and its signs of life."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from happycity.v1 import play_service_pb2 as play
from happycity.wire import response_part
from happycity_server.refusals import Reason, Refusal
from happycity_server.tally import Tally

if TYPE_CHECKING:
    from happycity_server.referee import Referee

HOLD_SECONDS = 0.03
"""How long new decisions wait for the bot's next sign at most. Without this pause, small messages beget
small messages, and most of the time goes into sending them."""

_LARGEST_UINT32 = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """What the server puts up with from a bot and its connection."""

    ping_seconds: float = 5.0
    """How often bots are asked for a sign of life; after three times as long without any, the stream ends."""
    stall_seconds: float = 15.0
    """How long a bot may leave a message unread."""
    outbox_bytes: int = 4 * 1024 * 1024
    """How much may wait to be sent to a bot before its stream ends."""
    high_water_bytes: int = 256 * 1024
    """How much may wait to be sent to a bot before nothing more is read from it."""
    notices: int = 100
    """Notices in one message; further ones are only counted."""
    batch: int = 10_000
    """Answers and resignations in one message, and games in a hello."""
    games: int = 0
    """Games at once, whatever the bot asks for; 0 means any number."""
    keep_seconds: float = 10.0
    """How long a bot that is away and plays nothing is remembered, if no match's grace time is longer."""
    ended_games: int = 1000
    """Ended games whose results are kept for a bot that may have missed them."""
    no_clock: bool = False
    """Whether no bot is ever dropped for its silence, for debugging."""


class Stream:
    """What goes over one connection, without gRPC: the connection's tasks feed and drain it.

    What is sent gathers in an outbox while the bot is busy with the last batch, so messages grow by
    themselves with the load, and one message carries the decisions of many games. A bot that takes its time
    over one game is sent the others' decisions after `HOLD_SECONDS` all the same.
    """

    def __init__(
        self,
        limits: SessionLimits,
        clock: Callable[[], float],
        tally: Tally,
        *,
        ends_told: Callable[[], None],
    ) -> None:
        """Begin with nothing to send.

        Args:
            limits: what the bot may do.
            clock: returns the time in seconds.
            tally: counts what goes over the wire.
            ends_told: called whenever ends of games are handed to the connection.
        """
        now = clock()
        self.refusal: Refusal | None = None
        """Why the server ended the stream, if it did."""
        self.cut_off: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the stream must end at once, whatever waits to be sent."""
        self.heard_at = now
        """When the bot's last message came."""
        self.waiting_bytes = 0
        """How much waits to be sent."""
        self.untold_ends = 0
        """How many games that are over wait to be told so."""
        self._ends_told = ends_told
        self._limits = limits
        self._clock = clock
        self._tally = tally
        self._parts: list[bytes] = []
        self._unflushed: list[tuple[Referee, int]] = []  # decisions whose clocks start when they are sent
        self._notices = 0
        self._withheld = 0
        self._last_withheld = play.NOTICE_KIND_UNSPECIFIED
        self._echo: play.Heartbeat | None = None
        self._last_ping = play.Heartbeat()
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

    # Sending -------------------------------------------------------------------------------------------

    def send(self, part: bytes) -> None:
        """Add a fragment of a `PlayResponse` to what is sent next."""
        self._parts.append(part)
        self.waiting_bytes += len(part)
        self._wake.set()

    def ask(self, decision: bytes, referee: Referee, decision_id: int) -> None:
        """Add a decision, which the bot will answer; the referee is told when it is sent."""
        self._asking = True
        self._unflushed.append((referee, decision_id))
        self._parts.append(decision)
        self.waiting_bytes += len(decision)
        self._wake.set()

    def end_game(self, over: bytes) -> None:
        """Add the end of a game."""
        self.untold_ends += 1
        self.send(over)

    def notice(
        self, kind: play.NoticeKind.ValueType, text: str, *, game_id: int = 0, decision_id: int = 0
    ) -> None:
        """Tell the bot's author something, unless too much is to be told already."""
        if self._notices >= self._limits.notices:
            self._withheld += 1
            self._last_withheld = kind
            return
        self._notices += 1
        notice = play.Notice(kind=kind, game_id=game_id, decision_id=decision_id, text=text)
        self.send(response_part("notices", notice.SerializeToString()))

    def echo(self, heartbeat: play.Heartbeat) -> None:
        """Send the bot's heartbeat back; of several, the latest."""
        self._echo = heartbeat
        self._wake.set()

    def end(self, refusal: Refusal | None) -> None:
        """End the stream once the outbox is sent: with a refusal, or in good order."""
        if not self._ending:
            self._ending = True
            self.refusal = refusal
            if refusal is not None and refusal.reason is Reason.SHUTTING_DOWN:
                self.notice(play.NOTICE_KIND_SHUTDOWN, str(refusal))
            self._wake.set()

    def cut(self, refusal: Refusal) -> None:
        """End the stream now; nothing of what waits is sent any more."""
        if not self.cut_off.done():
            self.refusal = refusal
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
            for referee, decision_id in self._unflushed:
                referee.flushed(decision_id, now)
            self._unflushed.clear()
        self._tally.outbox_high_water = max(self._tally.outbox_high_water, self.waiting_bytes)
        if self._notices or self._echo is not None or self._ping_waits:
            self._take_extras(now)
        batch = b"".join(self._parts)
        self._parts.clear()
        self.waiting_bytes = 0
        self._drained.set()
        if self.untold_ends:
            self.untold_ends = 0
            self._ends_told()
        return batch

    def _take_extras(self, now: float) -> None:
        """Add what is kept apart because only the latest of it counts."""
        if self._withheld:
            text = f"and {self._withheld} more such remarks"
            notice = play.Notice(kind=self._last_withheld, text=text)
            self._parts.append(response_part("notices", notice.SerializeToString()))
        self._notices = self._withheld = 0
        if self._echo is not None:
            self._parts.append(response_part("heartbeat", self._echo.SerializeToString()))
            self._echo = None
        if self._ping_waits:
            self._parts.append(response_part("ping", self._last_ping.SerializeToString()))
            self._ping_waits = False
            self._pinged_at = now

    # Listening -----------------------------------------------------------------------------------------

    def heard(self, now: float) -> None:
        """Note a message of the bot: it is alive, and done with the last batch."""
        self.heard_at = now
        self._idle.set()

    def pong(self, nonce: int, now: float) -> int:
        """Return the microseconds since the ping that is answered; 0 if that was not the last one."""
        if self._pinged_at is None or nonce != self._last_ping.nonce:
            return 0
        round_trip = now - self._pinged_at
        self._pinged_at = None
        return max(1, min(round(round_trip * 1e6), _LARGEST_UINT32))

    async def drained(self) -> None:
        """Wait until what waits now is sent."""
        self._drained.clear()
        await self._drained.wait()
        self.heard_at = self._clock()  # it wasn't listened to

    def sweep(self, now: float, *, thinking: Callable[[], float]) -> None:
        """Ask for a sign of life when that is due; end a stream that is stuck or was silent for too long.

        Args:
            now: the time.
            thinking: returns for how many seconds the bot may think without looking at the stream.
        """
        if now >= self._ping_due:
            self._ping(now)
        limits = self._limits
        silent = 0.0 if self.congested else now - self.heard_at
        writing = 0.0 if self._writing_since is None else now - self._writing_since
        if self.waiting_bytes > limits.outbox_bytes:
            text = f"{self.waiting_bytes} bytes wait to be read by the bot, {limits.outbox_bytes} may"
            self.cut(Refusal(Reason.STALLED, text))
        elif writing > limits.stall_seconds and writing > thinking():
            self.cut(Refusal(Reason.STALLED, f"the bot read nothing for {writing:.1f} s"))
        elif self._is_silent(silent) and self._is_silent(silent - thinking()):
            self.cut(Refusal(Reason.NO_HEARTBEAT, f"no sign of life for {silent:.1f} s"))

    def _is_silent(self, seconds: float) -> bool:
        """Whether so many seconds without a sign of life mean that the bot is gone."""
        return seconds > 3 * self._limits.ping_seconds and not self._limits.no_clock

    def _ping(self, now: float) -> None:
        """Ask for a sign of life; an older question that was not answered measures nothing any more."""
        self._ping_due = now + self._limits.ping_seconds
        self._last_ping.nonce += 1
        self._ping_waits = True
        self._pinged_at = None
        self._wake.set()
