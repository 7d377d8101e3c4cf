"""One match: a referee, the sessions of its bots, and its watchers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import ParamSpec

import structlog

from happycity import Ending, Incident, IncidentKind, SeatResult, VoidReason
from happycity.records.record import Json
from happycity.tournament.v1beta1.tournament_service_pb2 import MatchIncident
from happycity.v1 import play_service_pb2 as play
from happycity.wire.decisions import DecisionEncoder, response_part
from happycity.wire.match import incident_message, outcome_message
from happycity.wire.messages import config_message
from happycity.wire.moments import timestamp
from happycity_server.play.counters import Counters
from happycity_server.play.events import Events
from happycity_server.play.referee import (
    Action,
    AskedDecision,
    GameFinished,
    MovePlayed,
    Notify,
    Referee,
)
from happycity_server.play.session import Seat, Session
from happycity_tournament.play.match_spec import MatchSpec


class MatchState(Enum):
    """Where a match stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    VOIDED = "voided"


_log = structlog.get_logger()
_P = ParamSpec("_P")

_STRIKES = (IncidentKind.ILLEGAL_ANSWER, IncidentKind.TIMEOUT)

Watcher = Callable[[], None]
"""Called after each move and at the end of a match."""


class OpenMatch:
    """A match that waits, runs or is being stored, wherever it is played, as lists show it."""

    def __init__(self, match_id: int, spec: MatchSpec, *, created_at: float) -> None:
        self.match_id = match_id
        self.spec = spec
        self.state = MatchState.WAITING
        self.void_reason: VoidReason | None = None
        """Why the match was voided, if it was."""
        self.results: tuple[SeatResult, ...] = ()
        """How the game ended, once it is finished."""
        self.packed_record = b""
        """The record as the store keeps it, once a worker has finished the match."""
        self.decisions = 0
        """Decisions so far, those of the fallback too; forced moves are not counted."""
        self.decisions_asked = 0
        """Decisions that bots were asked for, once it is finished."""
        self.created_at = created_at
        """When the match was set up, Unix time in seconds."""
        self.started_at: float | None = None
        """When the game began, Unix time in seconds."""
        self.finished_at: float | None = None
        """When the match ended, Unix time in seconds."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the match is finished or voided."""
        self.closed = asyncio.Event()
        """Set when nothing more will be done about the match: a finished one is stored by then."""

    @property
    def bots(self) -> tuple[str, ...]:
        """The bots' names by seat."""
        return self.spec.bots

    def void(self, reason: VoidReason) -> None:
        """Break the match off: it counts for no bot."""
        if not self.over.done():
            self.void_reason = reason
            self.end(MatchState.VOIDED)

    def end(self, state: MatchState) -> None:
        """Note that the match is finished or voided."""
        self.state = state
        self.over.set_result(None)


class Match(OpenMatch):
    """A match that is played here, from its creation to its end. All methods are called on the event loop."""

    def __init__(
        self,
        match_id: int,
        spec: MatchSpec,
        counters: Counters,
        *,
        unix_clock: Callable[[], float],
        events: Events,
    ) -> None:
        super().__init__(match_id, spec, created_at=unix_clock())
        self.disqualified = set(spec.disqualified)
        """Bots that are asked no more."""
        self.referee = Referee(spec.deal, spec.time, spec.policy, spec.past)
        self.watchers: set[Watcher] = set()
        self._asked: AskedDecision | None = None  # what was asked and is not answered yet
        self._unix_clock = unix_clock
        self._arena_events = events
        self._counters = counters
        self._sessions: list[Session | None] = [None] * len(spec.bots)
        self._round_trips: list[int | None] = [None] * len(spec.bots)  # of bots that left the match
        self._encoder = DecisionEncoder(match_id, spec.deal.config)
        self._events = EventLog(len(spec.bots))

    def summary(self) -> dict[str, object]:
        """Return the match as a log line has it."""
        seconds = self.finished_at - self.started_at if self.started_at and self.finished_at else 0.0
        void = {"void_reason": self.void_reason.value} if self.void_reason is not None else {}
        return {
            "match": self.match_id,
            "tournament": self.spec.tournament_id,
            **({"ladder_deal": self.spec.ladder_deal_id} if self.spec.ladder_deal_id else {}),
            "state": self.state.value,
            **void,
            "decisions": self.referee.decision_id,
            "seconds": round(seconds, 3),
            "endings": [ending.value for ending in self.referee.endings],
        }

    def record(self) -> Json:
        """Return the record of the game so far."""
        return self.referee.record(round_trip_us=[trip or 0 for trip in self._round_trips])

    def start(self, sessions: Sequence[Session | None], now: float) -> None:
        """Begin the game with the bots that are there; the seats of missing ones are forfeited."""
        self.state = MatchState.RUNNING
        self.started_at = self._unix_clock()
        self._counters.matches_started += 1
        self._perform(self._begin, sessions, now)

    def answer(
        self, seat: int, decision_id: int, index: int, now: float, metrics: Mapping[str, float] | None = None
    ) -> None:
        """Pass on a bot's choice."""
        try:  # as `_perform` does, without its detours: this is called for each decision
            self._follow(self.referee.answer(seat, decision_id, index, now, metrics))
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail()

    def forfeit(self, seat: int, ending: Ending, now: float, *, reason: str = "") -> bool:
        """Continue without a seat's bot, which is asked no more in this seat; return whether that is new."""
        if self.state is not MatchState.RUNNING or self.is_forfeited(seat):
            return False
        self._perform(self.referee.forfeit, seat, ending, now, reason=reason)
        return True

    def disqualify(self, bot: str, now: float) -> None:
        """Forfeit the seats of a bot, if it has any, whether the match runs or still waits."""
        self.disqualified.add(bot)
        for seat, name in enumerate(self.spec.bots):
            if name == bot:
                self.forfeit(seat, Ending.DISQUALIFIED, now)

    def tick(self, now: float) -> None:
        """Notice passed deadlines."""
        deadline = self.referee.deadline
        if deadline is None or now < deadline or self.state is not MatchState.RUNNING:
            return
        seat = self.referee.game.seat
        session = self._sessions[seat]
        outbox = None if session is None else session.outbox
        if outbox is not None and now < deadline + outbox.hop_seconds:
            return  # an answer that a gateway has read in time may be under way
        self._perform(self.referee.tick, now, silent=session is not None and session.is_silent(now))
        if session is not None and self.referee.endings[seat] is Ending.SILENT:
            session.forfeit_timed(Ending.SILENT, now, reason=self.referee.reasons[seat])

    def void(self, reason: VoidReason) -> None:
        """Break the match off: it counts for no bot."""
        if not self.over.done():
            self.void_reason = reason
            self._counters.matches_voided[reason.value] += 1
            self._close(MatchState.VOIDED, reason)

    def is_forfeited(self, seat: int) -> bool:
        """Return whether a seat is forfeited."""
        return self.referee.endings[seat] is not Ending.FINISHED

    @property
    def open_decision(self) -> AskedDecision | None:
        """The decision that waits for a bot; None if none does."""
        return self._asked

    def asked_at(self, seat: int) -> float | None:
        """Return when the clock of a seat's open decision was started; None if none waits for its bot."""
        return self._asked.asked_at if self._asked is not None and self._asked.seat == seat else None

    def was_asked(self, seat: int, decision_id: int) -> bool:
        """Return whether a decision, the open one or an earlier one, is or was this seat's."""
        return self.referee.was_asked(seat, decision_id)

    def keep(self, seat: int, *, resumed: bool) -> bool:
        """Return whether a seat's bot goes on with the game over a new connection; see `SeatedMatch.keep`."""
        if not resumed and self.is_forfeited(seat):
            self.drop(seat)
        return self._sessions[seat] is not None

    def present(self, seat: int, now: float, *, resumed: bool) -> None:
        """Send the game to a seat's bot over a new connection; see `SeatedMatch.present`."""
        session = self._sessions[seat]
        if session is None:
            return  # the match failed when another seat of the bot was presented
        if self.is_forfeited(seat):
            text = f"the seat is forfeited: {self.referee.endings[seat].word}"
            session.notice(play.NOTICE_KIND_FORFEIT, text, match_id=self.match_id)
        else:
            self._perform(self._show_game, seat, session, now, resumed=resumed)

    def drop(self, seat: int) -> None:
        """Send a seat's bot nothing more of this match."""
        session = self._sessions[seat]
        if session is not None:
            self._round_trips[seat] = session.round_trip_us
            self._sessions[seat] = None

    def _show_game(self, seat: int, session: Session, now: float, *, resumed: bool) -> Sequence[Action]:
        """Send the game to a bot, with the events that it may have missed if it is resumed, else with all."""
        session.send(response_part("games_started", self._started(seat)))
        if resumed:
            self._events.rewind(seat)
        else:
            self._events.reset(seat)
        if self._asked is not None and self._asked.seat == seat:
            left_us = self._asked.time_left_us(now)
            session.send(self._decision(self._asked, session, left_us))  # again, so it starts no clock
        return ()

    def _begin(self, sessions: Sequence[Session | None], now: float) -> Sequence[Action]:
        actions: list[Action] = []
        for index, (name, session) in enumerate(zip(self.spec.bots, sessions, strict=True)):
            if name in self.disqualified:  # which is no news
                self.referee.forfeit(index, Ending.DISQUALIFIED, now)
            elif self.is_forfeited(index):
                continue  # before a restart
            elif session is None:
                actions += self.referee.forfeit(index, Ending.ABSENT, now)
            else:
                self._take_seat(index, session)
        return [*actions, *self.referee.start(now)]

    def _take_seat(self, index: int, session: Session) -> None:
        self._sessions[index] = session
        session.join(Seat(self, index, self.spec.time, self.spec.policy, self.spec.practice))
        session.send(response_part("games_started", self._started(index)))

    def _started(self, seat: int) -> play.GameStarted:
        spec = self.spec
        return play.GameStarted(
            match_id=self.match_id,
            config=config_message(spec.deal.config),
            seat=seat,
            bots=spec.bots,
            seed=spec.bot_seeds[seat],
        )

    def _perform(self, decide: Callable[_P, Sequence[Action]], *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Do what follows from a call."""
        try:
            self._follow(decide(*args, **kwargs))
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail()

    def _fail(self) -> None:
        """Void the match for an error of the arena's own: no bot is charged, and other matches go on."""
        _log.exception("match_failed", match=self.match_id)
        self.void(VoidReason.SERVER_ERROR)

    def _follow(self, actions: Sequence[Action]) -> None:
        """Do what follows from a call of the referee."""
        self.decisions = len(self.referee.moves)
        for action in actions:
            if isinstance(action, MovePlayed):
                self._played(action)
            elif isinstance(action, AskedDecision):
                self._ask(action)
            elif isinstance(action, Notify):
                self._notify(action)
            else:
                self._finish(action)
        if self.watchers and not self.over.done():
            self._call(*self.watchers)

    def _played(self, played: MovePlayed) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            self._events.settle(asked.seat, answered=played.answered)
        self._events.append(self._encoder.events(played.events))

    def _ask(self, asked: AskedDecision) -> None:
        self._asked = asked
        session = self._sessions[asked.seat]
        assert session is not None  # a seat without a session is forfeited
        if session.outbox is not None:  # else the bot is asked when it comes back
            session.outbox.ask(asked, self._decision(asked, session, asked.limit_us))

    def _decision(self, asked: AskedDecision, session: Session, time_left_us: int | None) -> bytes:
        """Encode the open decision."""
        return self._encoder.decision(
            self.referee.game,
            decision_id=asked.decision_id,
            events=self._events.unsent(asked.seat),
            time_left_us=time_left_us,
            bank_left_us=asked.bank_left_us,
            last_think_us=asked.last_think_us,
            round_trip_us=session.round_trip_us,
        )

    def _notify(self, note: Notify) -> None:
        session = self._sessions[note.seat]
        if note.kind in _STRIKES:
            self._counters.strikes[note.kind.value] += 1
            if session is not None:
                session.strikes += 1
        if note.incident is not None and self.spec.tournament_id:
            self._arena_events.incident(self.spec.tournament_id, self._incident_message(note.incident))
        if session is not None:
            session.notice(
                play.NoticeKind.Value(f"NOTICE_KIND_{note.kind.name}"),
                note.text,
                match_id=self.match_id,
                decision_id=note.decision_id,
                game_round=self.referee.round_of(note.decision_id),
            )

    def _incident_message(self, incident: Incident) -> MatchIncident:
        """Write what has gone wrong just now."""
        return MatchIncident(
            match_id=self.match_id,
            bot=self.bots[incident.seat],
            time=timestamp(self._unix_clock()),
            round=self.referee.round_of(incident.decision_id) or None,
            incident=incident_message(incident),
        )

    def _finish(self, finished: GameFinished) -> None:
        self.results = finished.seats
        self._counters.matches_finished += 1
        self._counters.forfeits.update(seat.ending.word for seat in finished.seats if seat.forfeited)
        self._close(MatchState.FINISHED, finished.seats)

    def _close(self, state: MatchState, outcome: Sequence[SeatResult] | VoidReason) -> None:
        over = play.GameOver(match_id=self.match_id, outcome=outcome_message(outcome))
        self.state = state  # at once, though sessions don't know it yet
        self.decisions_asked = self.referee.decision_id
        self.finished_at = self._unix_clock()
        self._asked = None
        self._counters.add_think_times(self.referee.think_us)
        part = response_part("games_over", over)
        sessions = filter(None, dict.fromkeys(self._sessions))
        try:
            self._call(*(partial(session.end_match, self.match_id, part) for session in sessions))
        finally:
            for seat in range(len(self._sessions)):
                self.drop(seat)
            self.end(state)
        self._call(*self.watchers)

    def _call(self, *others: Callable[[], object]) -> None:
        """Tell sessions or watchers; one of them that fails keeps neither the match nor the others."""
        for other in others:
            try:
                other()
            except Exception:  # noqa: BLE001 - the boundary of a match
                _log.exception("match_failed", match=self.match_id)


class EventLog:
    """The encoded events of a match, move by move, with a cursor for each seat.

    Only an answer proves that a bot has got the events: what was sent before a connection broke may have to
    be sent again.
    """

    def __init__(self, seats: int) -> None:
        self._events: list[bytes] = []
        self._sent = [0] * seats  # how much each bot was sent over its present connection
        self._acknowledged = [0] * seats  # how much each bot has answered to

    def append(self, events: bytes) -> None:
        """Add what a move brought about; every seat gets it with its next decision."""
        self._events.append(events)

    def unsent(self, seat: int) -> Sequence[bytes]:
        """Return the events for the seat's open decision: the same until it is settled."""
        return self._events[self._sent[seat] :]

    def settle(self, seat: int, *, answered: bool) -> None:
        """Note that the seat's open decision is settled, by an answer of its bot or without one."""
        self._sent[seat] = len(self._events)
        if answered:
            self._acknowledged[seat] = len(self._events)

    def rewind(self, seat: int) -> None:
        """Let the seat's next decision carry all that no answer has acknowledged."""
        self._sent[seat] = self._acknowledged[seat]

    def reset(self, seat: int) -> None:
        """Let the seat's next decision carry all that has happened in the game."""
        self._sent[seat] = self._acknowledged[seat] = 0
