"""One match: a referee, the sessions of its bots, and whoever watches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import structlog

from happycity import Deal
from happycity.records import FINISHED, Json
from happycity.terms import FailurePolicy, TimeControl
from happycity.v1 import play_service_pb2 as play
from happycity.wire import DecisionEncoder, config_message, response_part, result_message
from happycity_server.referee import Ask, Effect, Finished, Note, NoteKind, Referee
from happycity_server.sessions import Session
from happycity_server.tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSpec:
    """What is to be played, and by whom."""

    deal: Deal
    bots: tuple[str, ...]
    """Names by seat."""
    bot_seeds: tuple[int, ...]
    """By seat."""
    time: TimeControl
    policy: FailurePolicy
    tournament_id: int = 0
    """The tournament it belongs to, or 0."""
    disqualified: frozenset[str] = frozenset()
    """Bots that are not asked any more: their seats are forfeited from the start."""


class MatchState(Enum):
    """Where a match stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    VOIDED = "voided"


class VoidReason(Enum):
    """Why a match was broken off; none of these is a bot's fault."""

    SHUTDOWN = play.VOID_REASON_SHUTDOWN
    SERVER_ERROR = play.VOID_REASON_SERVER_ERROR
    STOPPED = play.VOID_REASON_STOPPED


_log = structlog.get_logger()

_NOTICES = {
    NoteKind.LATE_ANSWER: play.NOTICE_KIND_LATE_ANSWER,
    NoteKind.UNKNOWN_DECISION: play.NOTICE_KIND_UNKNOWN_DECISION,
    NoteKind.ILLEGAL_ANSWER: play.NOTICE_KIND_ILLEGAL_ANSWER,
    NoteKind.TIMEOUT: play.NOTICE_KIND_TIMEOUT,
    NoteKind.FORFEIT: play.NOTICE_KIND_FORFEIT,
    NoteKind.METRICS_DROPPED: play.NOTICE_KIND_METRICS_DROPPED,
}
_STRIKES = (NoteKind.ILLEGAL_ANSWER, NoteKind.TIMEOUT)
_NOBODY = -1


class Match:
    """A match from its creation to its end. All methods are called on the event loop."""

    def __init__(self, match_id: int, spec: MatchSpec, tally: Tally | None = None) -> None:
        self.match_id = match_id
        self.spec = spec
        self.state = MatchState.WAITING
        self.void_reason: VoidReason | None = None
        """Why the match was voided, if it was."""
        self.referee = Referee(spec.deal, spec.time, spec.policy)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the match is finished or voided."""
        self.closed = asyncio.Event()
        """Set when nothing more will be done about the match: a finished one is stored by then."""
        self.started_at = 0.0
        self.finished_at = 0.0
        self.open_seat = _NOBODY
        """The seat that was asked and has not answered yet, or -1."""
        self._tally = tally if tally is not None else Tally()
        self._sessions: list[Session | None] = []
        self._round_trips = [0] * len(spec.bots)  # of bots that said goodbye
        self._encoder = DecisionEncoder(match_id, spec.deal.config)
        self._watchers: set[asyncio.Event] = set()
        time = spec.time
        self._banked = time.bank_seconds > 0 and not time.no_clock
        self._limit_ms = 0 if time.no_clock else _milliseconds(time.decision_seconds)

    @property
    def seconds(self) -> float:
        """How long the match took; 0 if it never began."""
        return self.finished_at - self.started_at if self.started_at else 0.0

    def summary(self) -> dict[str, object]:
        """Return the match as a log line tells it."""
        void = {"void_reason": self.void_reason.name.lower()} if self.void_reason is not None else {}
        return {
            "match": self.match_id,
            "tournament": self.spec.tournament_id,
            "state": self.state.value,
            **void,
            "decisions": self.referee.decision_id,
            "seconds": round(self.seconds, 3),
            "endings": self.referee.endings,
        }

    def record(self) -> Json:
        """Return the record of the finished match."""
        return self.referee.record(round_trip_us=self._round_trips)

    # The game ------------------------------------------------------------------------------------------

    def start(self, sessions: Sequence[Session | None], now: float) -> None:
        """Begin the game with the bots that are there; the seats of missing ones are forfeited."""
        self.state = MatchState.RUNNING
        self.started_at = now
        self._tally.matches_started += 1
        disqualified = self.spec.disqualified
        self._sessions = [
            None if name in disqualified else session
            for name, session in zip(self.spec.bots, sessions, strict=True)
        ]
        try:
            for seat, session in enumerate(self._sessions):
                self._seat(seat, session, now)
            self._perform(self.referee.start(now), now)
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail(now)

    def answer(
        self, seat: int, decision_id: int, index: int, now: float, metrics: Mapping[str, float] | None = None
    ) -> None:
        """Pass on a bot's choice."""
        try:
            self._perform(self.referee.answer(seat, decision_id, index, now, metrics), now, answered=True)
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail(now)

    def forfeit(self, seat: int, reason: str, now: float) -> bool:
        """Go on without a seat's bot, which is asked no more in this game; return whether that is new."""
        if self.state is not MatchState.RUNNING or self.referee.endings[seat] != FINISHED:
            return False
        try:
            self._perform(self.referee.forfeit(seat, reason, now), now)
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail(now)
        return True

    def disqualify(self, bot: str, now: float) -> None:
        """Forfeit the seat of a bot, if it has one, whether the match runs or still waits."""
        spec = self.spec
        if bot in spec.bots:
            self.spec = replace(spec, disqualified=spec.disqualified | {bot})
            self.forfeit(spec.bots.index(bot), "disqualified", now)

    def tick(self, now: float) -> None:
        """Notice passed deadlines."""
        deadline = self.referee.deadline
        if deadline is None or now < deadline:
            return
        try:
            self._perform(self.referee.tick(now), now)
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail(now)

    def void(self, now: float, reason: VoidReason) -> None:
        """Break the match off: it counts for nobody."""
        if not self.over.done():
            self.void_reason = reason
            self._tally.matches_voided[reason.name.lower()] += 1
            over = play.GameOver(game_id=self.match_id, void_reason=reason.value)
            self._end(MatchState.VOIDED, over, now)

    def _fail(self, now: float) -> None:
        """Void the match over an error of the arena's own: no bot is charged, and other matches go on."""
        _log.exception("match_failed", match=self.match_id)
        self.void(now, VoidReason.SERVER_ERROR)

    # Bots ----------------------------------------------------------------------------------------------

    def present(self, session: Session, seat: int, now: float, *, resumed: bool, known: bool) -> None:
        """Tell a bot that has a new stream of the game that it is in.

        Args:
            session: the bot's.
            seat: its seat.
            now: the time.
            resumed: whether it is the program that played before.
            known: whether it still knows of this game; if not, the game begins anew for it.
        """
        try:
            if self.referee.endings[seat] != FINISHED:
                self._present_forfeit(session, seat, resumed=resumed)
                return
            if known:
                self._encoder.tell_again(seat)
            else:
                session.send(response_part("games_started", self._started(seat).SerializeToString()))
                self._encoder.tell_all(seat)
            if self.open_seat == seat:
                left = self.referee.time_left(now)
                # Sent again, so it starts no clock.
                session.send(self._decision(session, seat, 0 if left is None else _milliseconds(left)))
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail(now)

    def drop(self, seat: int) -> None:
        """Send a seat's bot nothing more of this match."""
        session = self._sessions[seat]
        if session is not None:
            self._round_trips[seat] = session.round_trip_us
            self._sessions[seat] = None

    def _seat(self, seat: int, session: Session | None, now: float) -> None:
        """Let a bot take its seat, or forfeit it."""
        if session is None:
            disqualified = self.spec.bots[seat] in self.spec.disqualified
            self.referee.forfeit(seat, "disqualified" if disqualified else "absent", now)
        else:
            session.join(self, seat)
            session.send(response_part("games_started", self._started(seat).SerializeToString()))

    def _present_forfeit(self, session: Session, seat: int, *, resumed: bool) -> None:
        if resumed:
            text = f"the seat is forfeited: {self.referee.endings[seat].removeprefix('forfeit:')}"
            session.notice(play.NOTICE_KIND_FORFEIT, text, game_id=self.match_id)
        else:  # a new program has nothing to do with it any more
            self.drop(seat)
            session.leave(self)

    def _started(self, seat: int) -> play.GameStarted:
        spec = self.spec
        return play.GameStarted(
            game_id=self.match_id,
            config=config_message(spec.deal.config),
            seat=seat,
            bots=spec.bots,
            seed=spec.bot_seeds[seat],
        )

    # Watchers ------------------------------------------------------------------------------------------

    def watch(self) -> asyncio.Event:
        """Return an event that is set whenever a move was made or the match ended."""
        event = asyncio.Event()
        self._watchers.add(event)
        return event

    def unwatch(self, event: asyncio.Event) -> None:
        """Take back a `watch`."""
        self._watchers.discard(event)

    # Effects -------------------------------------------------------------------------------------------

    def _perform(self, effects: Sequence[Effect], now: float, *, answered: bool = False) -> None:
        events = self.referee.take_events()
        if events:  # the open decision is settled
            if self.open_seat != _NOBODY:
                self._encoder.settled(self.open_seat, answered=answered)
                self.open_seat = _NOBODY
            self._encoder.add_events(events)
        for effect in effects:
            if type(effect) is Ask:
                self._ask(effect)
            elif type(effect) is Note:
                self._note(effect)
            else:
                assert type(effect) is Finished
                self._finish(now)
        for watcher in self._watchers:
            watcher.set()

    def _ask(self, ask: Ask) -> None:
        seat = self.open_seat = ask.seat
        session = self._sessions[seat]
        assert session is not None  # a seat without a session is forfeited
        if session.stream is not None:  # else the bot is told when it comes back
            referee = self.referee
            left_ms = self._limit_ms
            if self._banked:
                left_ms = _milliseconds(referee.limit)
            session.stream.ask(self._decision(session, seat, left_ms), referee, ask.decision_id)

    def _decision(self, session: Session, seat: int, left_ms: int) -> bytes:
        """Encode the open decision, for which the bot has so many milliseconds left; 0 means any time."""
        referee = self.referee
        return self._encoder.decision(
            referee.game,
            decision_id=referee.decision_id,
            time_left_ms=left_ms,
            last_think_us=int(referee.think_seconds[seat] * 1e6),
            bank_left_ms=int(referee.bank[seat] * 1000) if self._banked else 0,
            round_trip_us=session.round_trip_us,
        )

    def _note(self, note: Note) -> None:
        if note.kind in _STRIKES:
            self._tally.strikes[note.kind.value] += 1
        session = self._sessions[note.seat]
        if session is not None:
            session.notice(
                _NOTICES[note.kind], note.text, game_id=self.match_id, decision_id=note.decision_id
            )

    def _finish(self, now: float) -> None:
        referee, tally = self.referee, self._tally
        assert referee.game.outcome is not None
        tally.matches_finished += 1
        tally.forfeits.update(
            ending.removeprefix("forfeit:") for ending in referee.endings if ending != FINISHED
        )
        result = result_message(referee.game.outcome, places=referee.places, endings=referee.endings)
        self._end(MatchState.FINISHED, play.GameOver(game_id=self.match_id, result=result), now)

    def _end(self, state: MatchState, over: play.GameOver, now: float) -> None:
        self.state = state
        self.finished_at = now
        self.open_seat = _NOBODY
        self._tally.add_thoughts(self.referee.think_us)
        part = response_part("games_over", over.SerializeToString())
        for seat, session in enumerate(self._sessions):
            if session is not None:
                self.drop(seat)
                session.leave(self, part)
        self.over.set_result(None)
        for watcher in self._watchers:
            watcher.set()


def _milliseconds(left: float) -> int:
    """Return the time that a bot has left as it is told: never 0, which would mean no limit."""
    return max(1, int(left * 1000))
