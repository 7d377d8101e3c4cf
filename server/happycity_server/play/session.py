"""One bot, by its name: the games that it plays, and its connection while it has one."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol

import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from happycity import BotInfo, Ending, FailurePolicy, TimeControl
from happycity.match import one_line
from happycity.text.catalogue import catalogue_digest
from happycity.tournament.v1beta1.tournament_service_pb2 import BotActivity
from happycity.v1 import play_service_pb2 as play
from happycity.wire.decisions import response_part
from happycity.wire.match import bot_info_of
from happycity.wire.moments import timestamp
from happycity_server.errors import ApiError, Reason, invalid
from happycity_server.latest import LatestEntries
from happycity_server.play.counters import Counters
from happycity_server.play.limits import SessionLimits
from happycity_server.play.outbox import Outbox
from happycity_tournament.games import BotProfile


class SeatedMatch(Protocol):
    """A match in which bots have seats, which are counted from 0."""

    @property
    def match_id(self) -> int:
        """The match's number."""

    def asked_at(self, seat: int) -> float | None:
        """Return when the clock of a seat's open decision was started; None if none waits for its bot."""

    def was_asked(self, seat: int, decision_id: int) -> bool:
        """Return whether a decision is or was this seat's."""

    def answer(
        self, seat: int, decision_id: int, index: int, now: float, metrics: Mapping[str, float] | None = None
    ) -> None:
        """Take a bot's choice."""

    def forfeit(self, seat: int, ending: Ending, now: float, *, reason: str = "") -> bool:
        """Continue without a seat's bot, which is asked no more in this seat; return whether that is new."""

    def keep(self, seat: int, *, resumed: bool) -> bool:
        """Return whether a seat's bot goes on with the game over a new connection.

        A program that is not `resumed` has nothing to do with a forfeited seat, and is sent nothing of it.
        """

    def present(self, seat: int, now: float, *, resumed: bool) -> None:
        """Send the game to a seat's bot over a new connection.

        A `resumed` bot gets the events that it may have missed, another one all.
        """

    def drop(self, seat: int) -> None:
        """Send a seat's bot nothing more of this match."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One seat of one match."""

    match: SeatedMatch
    index: int
    time: TimeControl
    policy: FailurePolicy
    practice: bool


_SERVER = f"happycity-server/{version('happycity')}"
SILENT_SECONDS = 5.0
"""Seconds between a bot's first late decision and the one after which it counts as silent: where clocks are
short, a program that is still warming up is late more than once."""

WAITING_SECONDS = 1.0
"""Seconds after which watchers get that a decision waits."""

GOODBYE = "the bot said goodbye"
"""The reason of forfeits of a bot that has left by itself."""
_SOFTWARE = 80  # characters of a bot's software that are kept

_log = structlog.get_logger()


class Session:
    """A bot that is connected, or was a moment ago: it outlives its connection.

    While no connection is attached the bot's games go on and its clocks run. A new connection with the
    session's resume token continues the games where they are; one without takes the name over, and the games
    start over for it.
    """

    def __init__(self, name: str, limits: SessionLimits, counters: Counters) -> None:
        self.name = name
        self.max_games: int | None = None
        """Games that the bot is willing to play at once; None: any number."""
        self.software = ""
        """The SDK and its version, by the bot's hello."""
        self.info = BotInfo()
        """What the bot's hello says of it."""
        self.since = 0.0
        """Since when the bot is connected, or isn't, Unix time in seconds."""
        self.outbox: Outbox | None = None
        """The connection that the bot has at present."""
        self.detached_at = 0.0
        """Since when there is no connection, if there is none."""
        self.gone = False
        """Whether the bot said goodbye: then it has no games and gets none."""
        self.resume_token = ""
        """Proves that a new connection comes from the same program."""
        self.answers = 0
        """Answers of the bot since its program connected first, late and illegal ones included."""
        self.strikes = 0
        """Late and illegal answers since then."""
        self._late_since: float | None = None  # while it has answered nothing
        self.round_trip_us: int | None = None
        """Microseconds of the last measured round trip; None before the first one."""
        # Since when, by the server's clock, as watchers got it.
        self._shown_waiting: tuple[float, Timestamp | None] = (-math.inf, None)
        self.grace_seconds = 0.0
        """The longest grace time of the matches that the bot was in."""
        self._limits = limits
        self._counters = counters
        self.games = 0
        """How many games the bot plays at present, counting each of its seats."""
        self._seats: dict[int, list[Seat]] = {}  # by match
        self._ended = LatestEntries[int, bytes](limits.ended_games)  # GameOver parts by match
        self._untimed = False  # whether it plays without clocks, perhaps in a debugger

    def has_room(self, seats: int = 1) -> bool:
        """Return whether the bot may take this number of seats more, by its own limit and the server's.

        A batch is applied in field order (started before over), so a game counts until its GameOver is
        sent. A match in which the bot fills more seats than it plays games at once is played when it plays
        no other.
        """
        limits = [limit for limit in (self.max_games, self._limits.games) if limit]
        if not limits:
            return True
        games = self.games + (self.outbox.unsent_ends if self.outbox is not None else 0)
        return not games or games + seats <= min(limits)

    @property
    def profile(self) -> BotProfile:
        """What the bot says of itself."""
        return BotProfile(self.info, self.software)

    @property
    def plays_rated(self) -> bool:
        """Whether the bot plays a match at present that is no practice."""
        return any(not seats[0].practice for seats in self._seats.values())

    @property
    def waiting_since(self) -> list[float]:
        """When the clock of each decision that waits for the bot was started."""
        asked = (seat.match.asked_at(seat.index) for seat in self._all_seats())
        return [moment for moment in asked if moment is not None]

    def oldest_wait(self, now: float, unix_clock: Callable[[], float]) -> Timestamp | None:
        """Return since when the oldest decision waits for the bot; None if none waits.

        `now` is a moment of its lobby's clock. The time stays equal while nothing changes.
        """
        oldest = min(self.waiting_since, default=None)
        if oldest is None:
            return None
        if oldest != self._shown_waiting[0]:
            self._shown_waiting = oldest, timestamp(unix_clock() - (now - oldest))
        return self._shown_waiting[1]

    def activity(self, now: float, unix_clock: Callable[[], float]) -> BotActivity:
        """Write what the bot does at a moment of its lobby's clock; it stays equal while nothing changes."""
        waiting = [since for since in self.waiting_since if now - since >= WAITING_SECONDS]
        return BotActivity(
            bot=self.name,
            connected=self.outbox is not None,
            has_answered=self.answers > 0,
            strikes=self.strikes,
            waiting_since=self.oldest_wait(now, unix_clock) if waiting else None,
            games_waiting=len(waiting),
        )

    def attach(self, outbox: Outbox, hello: play.Hello, now: float) -> bool:
        """Continue over a new connection and end the older one; return whether the games are resumed."""
        resumed = self._is_own(hello.resume_token)
        older, self.outbox = self.outbox, outbox
        self.max_games = hello.max_games if hello.HasField("max_games") else None
        self.software = one_line(hello.software)[:_SOFTWARE]
        self.info = bot_info_of(hello.info)
        self._count(resumed=resumed, taken_over=bool(older is not None or self._seats))
        if older is not None:
            text = (
                f"another program connected with the name {self.name!r}, which is played by the newest one; "
                "end one of the two, or give it another name"
            )
            older.cut(ApiError(Reason.REPLACED, text))
        if not resumed:
            self.resume_token = secrets.token_urlsafe(16)
            self.round_trip_us = None
            self.answers = self.strikes = 0
            self._late_since = None
            self._ended.clear()
        for match_id, seats in list(self._seats.items()):
            kept = [seat for seat in seats if seat.match.keep(seat.index, resumed=resumed)]
            self.games -= len(seats) - len(kept)
            seats[:] = kept
            if not kept:
                del self._seats[match_id]
        outbox.send(response_part("welcome", self._welcome(resumed=resumed)))
        missed = list(self._ended.values())
        for seat in self._all_seats():
            seat.match.present(seat.index, now, resumed=resumed)
        for over in missed:
            outbox.end_match(over)
        return resumed

    def detach(self, now: float) -> None:
        """Notice that the bot's connection has ended."""
        self.outbox = None
        self.detached_at = now

    def away_for(self, now: float) -> float:
        """Return the seconds for which the bot has been away; 0 while it is connected."""
        return now - self.detached_at if self.outbox is None else 0.0

    def sweep(self, now: float) -> None:
        """Look after the connection; without one, give up the games whose grace time is over."""
        if self.outbox is not None:
            self.outbox.sweep(now, thinking=self._thinking_seconds)
            return
        away = now - self.detached_at
        for seat in self._all_seats():
            grace = seat.policy.grace_seconds
            if away > grace:
                seat.match.forfeit(seat.index, Ending.DISCONNECTED, now, reason=f"away for {grace:g} s")

    def is_silent(self, now: float) -> bool:
        """Note that a decision of the bot is late; return whether the bot is connected and never answers."""
        if self.answers or self.outbox is None:
            return False
        if self._late_since is None:
            self._late_since = now
        return now - self._late_since >= SILENT_SECONDS

    def forfeit_timed(self, ending: Ending, now: float, *, reason: str) -> None:
        """Forfeit all seats of the bot that have a clock."""
        for seat in self._all_seats():
            if not seat.time.no_clock:
                seat.match.forfeit(seat.index, ending, now, reason=reason)

    def expired(self, now: float) -> bool:
        """Return whether the bot is gone, or has been away for longer than its games are kept."""
        keep = max(self._limits.keep_seconds, self.grace_seconds)
        return self.gone or (not self._seats and self.away_for(now) > keep)

    def depart(self, now: float, *, reason: str = GOODBYE) -> None:
        """Let the bot leave for good: its games are forfeited."""
        self.gone = True
        seats = self._all_seats()
        self._seats, self.games = {}, 0
        for seat in seats:
            seat.match.forfeit(seat.index, Ending.DISCONNECTED, now, reason=reason)
            seat.match.drop(seat.index)
        if self.outbox is not None:
            self.outbox.end(None)

    def join(self, seat: Seat) -> None:
        """Note that the bot plays in a seat of a match."""
        self._seats.setdefault(seat.match.match_id, []).append(seat)
        self.games += 1
        self.grace_seconds = max(self.grace_seconds, seat.policy.grace_seconds)
        self._untimed = self._untimed or seat.time.no_clock

    def end_match(self, match_id: int, over: bytes) -> None:
        """Note that a match has ended, and send its end to the bot if it was still in it."""
        seats = self._seats.pop(match_id, None)
        if seats is None:
            return
        self.games -= len(seats)
        if self.outbox is not None:
            self.outbox.end_match(over, seats=len(seats))
        self._ended[match_id] = over

    def send(self, part: bytes) -> None:
        """Send a fragment of a `PlayResponse` if the bot is connected."""
        if self.outbox is not None:
            self.outbox.send(part)

    def notice(self, kind: play.NoticeKind.ValueType, text: str, **decision: int) -> None:
        """Send a notice if the bot is connected; see `Outbox.notice` for what says where it belongs."""
        if self.outbox is not None:
            self.outbox.notice(kind, text, **decision)

    def receive(self, outbox: Outbox, request: play.PlayRequest, now: float) -> None:
        """Take a batch from the bot.

        Raises:
            ApiError: the batch is not one that a bot may send.
        """
        outbox.heard()
        if outbox is not self.outbox or self.gone:
            return  # replaced, or on its way out
        answers, resigns = request.answers, request.resigns
        for field, entries in (("answers", answers), ("resigns", resigns)):
            if len(entries) > self._limits.batch:
                raise invalid(field, f"{len(entries)} in one message are more than {self._limits.batch}")
        games, unexpected = self._seats, 0
        for answer in answers[:]:
            seats = games.get(answer.match_id)
            if seats is None:
                unexpected += 1
                self._unknown_match(answer.match_id)
                continue
            seat, number = seats[0], answer.decision_id
            if len(seats) > 1:
                seat = next((each for each in seats if each.match.was_asked(each.index, number)), seat)
            seat.match.answer(seat.index, number, answer.move, now, answer.metrics)
        self.answers += len(answers) - unexpected
        for resign in resigns:
            self._resign(resign, now)
        if request.HasField("pong"):
            round_trip = outbox.pings.end(request.pong.nonce, now)
            self.round_trip_us = self.round_trip_us if round_trip is None else round_trip
        if request.HasField("hello"):
            raise invalid("hello", "a stream has one")
        if request.HasField("goodbye"):
            self.depart(now)

    def _resign(self, resign: play.Resign, now: float) -> None:
        seats = self._seats.get(resign.match_id, [])
        own = [seat for seat in seats if not resign.HasField("seat") or seat.index == resign.seat]
        if not own:
            self._unknown_match(resign.match_id)
            return
        ending = Ending.CRASHED if resign.crashed else Ending.RESIGNED
        reason = one_line(resign.reason)
        for seat in own:
            if seat.match.forfeit(seat.index, ending, now, reason=reason):
                _log.info(
                    "bot_resigned",
                    bot=self.name,
                    match=resign.match_id,
                    seat=seat.index,
                    crashed=resign.crashed,
                    reason=reason,
                )

    def _unknown_match(self, match_id: int) -> None:
        self.notice(
            play.NOTICE_KIND_UNKNOWN_MATCH,
            "the bot does not play this match, or no longer",
            match_id=match_id,
        )

    def _all_seats(self) -> list[Seat]:
        return [seat for seats in self._seats.values() for seat in seats]

    def _thinking_seconds(self) -> float:
        """Return for how long the bot may think without looking at its stream."""
        if self._untimed:
            return math.inf
        return max((seat.time.decision_seconds for seat in self._all_seats()), default=0.0)

    def _is_own(self, resume_token: str) -> bool:
        own = self.resume_token.encode()
        return bool(own) and secrets.compare_digest(resume_token.encode(), own)

    def _count(self, *, resumed: bool, taken_over: bool) -> None:
        self._counters.streams_opened += 1
        if resumed:
            self._counters.streams_resumed += 1
        elif taken_over:
            self._counters.streams_taken_over += 1

    def _welcome(self, *, resumed: bool) -> play.Welcome:
        return play.Welcome(
            server=_SERVER,
            catalogue_digest=catalogue_digest(),
            resume_token=self.resume_token,
            match_ids=[*self._seats, *self._ended] if resumed else (),
        )
