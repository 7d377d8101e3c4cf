"""One match: a referee, the sessions of its bots, and whoever watches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import structlog

from happycity import Deal
from happycity.v1 import play_service_pb2 as play
from happycity.wire import DecisionEncoder, config_message, response_part, result_message
from happycity_server.referee import Ask, Effect, Finished, Note, NoteKind, Referee, Rulings
from happycity_server.sessions import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSpec:
    """What is to be played, and by whom."""

    deal: Deal
    bots: tuple[str, ...]
    """Names by seat."""
    bot_seeds: tuple[int, ...]
    """By seat."""
    rulings: Rulings
    tournament_id: int = 0
    """The tournament it belongs to, or 0."""


class MatchState(Enum):
    """Where a match stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    VOIDED = "voided"


_log = structlog.get_logger()

_NOTICES = {
    NoteKind.LATE_ANSWER: play.NOTICE_KIND_LATE_ANSWER,
    NoteKind.UNKNOWN_DECISION: play.NOTICE_KIND_UNKNOWN_DECISION,
    NoteKind.ILLEGAL_ANSWER: play.NOTICE_KIND_ILLEGAL_ANSWER,
    NoteKind.TIMEOUT: play.NOTICE_KIND_TIMEOUT,
    NoteKind.FORFEIT: play.NOTICE_KIND_FORFEIT,
}


class Match:
    """A match from its creation to its end. All methods are called on the event loop."""

    def __init__(self, match_id: int, spec: MatchSpec) -> None:
        self.match_id = match_id
        self.spec = spec
        self.state = MatchState.WAITING
        self.referee = Referee(spec.deal, spec.rulings)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the match is finished or voided."""
        self.closed = asyncio.Event()
        """Set when nothing more will be done about the match: a finished one is stored by then."""
        self.started_at = 0.0
        self.finished_at = 0.0
        self._sessions: list[Session | None] = []
        self._encoder = DecisionEncoder(match_id, spec.deal.config)
        self._watchers: set[asyncio.Event] = set()

    @property
    def seconds(self) -> float:
        """How long the match took; 0 if it never began."""
        return self.finished_at - self.started_at if self.started_at else 0.0

    def summary(self) -> dict[str, object]:
        """Return the match as a log line tells it."""
        return {
            "match": self.match_id,
            "tournament": self.spec.tournament_id,
            "state": self.state.value,
            "decisions": self.referee.decision_id,
            "seconds": round(self.seconds, 3),
            "endings": self.referee.endings,
        }

    def start(self, sessions: Sequence[Session | None], now: float) -> None:
        """Begin the game with the bots that are there; the seats of missing ones are forfeited."""
        self.state = MatchState.RUNNING
        self.started_at = now
        self._sessions = list(sessions)
        for seat, session in enumerate(self._sessions):
            if session is None:
                self.referee.forfeit(seat, "absent", now)
            else:
                session.join(self, seat)
                session.send(response_part("games_started", self._started(seat).SerializeToString()))
        self._perform(self.referee.start(now), now)

    def answer(self, seat: int, decision_id: int, index: int, now: float) -> None:
        """Pass on a bot's choice."""
        try:
            self._perform(self.referee.answer(seat, decision_id, index, now), now)
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail(now)

    def forfeit(self, seat: int, reason: str, now: float) -> None:
        """Go on without a seat's bot, of which nothing more is heard in this game."""
        if self.state is not MatchState.RUNNING:
            return
        try:
            self._perform(self.referee.forfeit(seat, reason, now), now)
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail(now)

    def tick(self, now: float) -> None:
        """Notice passed deadlines."""
        deadline = self.referee.deadline
        if deadline is None or now < deadline:
            return
        try:
            self._perform(self.referee.tick(now), now)
        except Exception:  # noqa: BLE001 - the boundary of a match
            self._fail(now)

    def _fail(self, now: float) -> None:
        """Void the match over an error of the arena's own: no bot is charged, and other matches go on."""
        _log.exception("match_failed", match=self.match_id)
        self.void(now)

    def lose(self, session: Session, now: float) -> None:
        """Notice that a session has ended."""
        for seat, other in enumerate(self._sessions):
            if other is session:
                self._sessions[seat] = None
                self.forfeit(seat, "disconnected", now)

    def void(self, now: float) -> None:
        """Break the match off: it counts for nobody."""
        if not self.over.done():
            self._end(MatchState.VOIDED, play.GameOver(game_id=self.match_id), now)

    def watch(self) -> asyncio.Event:
        """Return an event that is set whenever a move was made or the match ended."""
        event = asyncio.Event()
        self._watchers.add(event)
        return event

    def unwatch(self, event: asyncio.Event) -> None:
        """Take back a `watch`."""
        self._watchers.discard(event)

    def _perform(self, effects: Sequence[Effect], now: float) -> None:
        self._encoder.add_events(self.referee.take_events())
        for effect in effects:
            if type(effect) is Ask:
                self._ask(effect, now)
            elif type(effect) is Note:
                self._note(effect)
            else:
                assert type(effect) is Finished
                self._finish(now)
        for watcher in self._watchers:
            watcher.set()

    def _ask(self, ask: Ask, now: float) -> None:
        session = self._sessions[ask.seat]
        assert session is not None  # a seat without a session is forfeited
        referee, encoder, seat = self.referee, self._encoder, ask.seat
        deadline = referee.deadline
        left = int((deadline - now) * 1000) if deadline is not None else 0
        session.ask(
            encoder.decision(
                referee.game,
                decision_id=ask.decision_id,
                time_left_ms=left,
                last_think_us=int(referee.think_seconds[seat] * 1e6),
            )
        )

    def _note(self, note: Note) -> None:
        session = self._sessions[note.seat]
        if session is not None:
            session.notice(
                _NOTICES[note.kind], note.text, game_id=self.match_id, decision_id=note.decision_id
            )

    def _finish(self, now: float) -> None:
        referee = self.referee
        assert referee.game.outcome is not None
        result = result_message(referee.game.outcome, places=referee.places, endings=referee.endings)
        self._end(MatchState.FINISHED, play.GameOver(game_id=self.match_id, result=result), now)

    def _end(self, state: MatchState, over: play.GameOver, now: float) -> None:
        self.state = state
        self.finished_at = now
        part = response_part("games_over", over.SerializeToString())
        for session in self._sessions:
            if session is not None:
                session.send(part)
                session.leave(self)
        self.over.set_result(None)
        for watcher in self._watchers:
            watcher.set()

    def _started(self, seat: int) -> play.GameStarted:
        spec = self.spec
        return play.GameStarted(
            game_id=self.match_id,
            config=config_message(spec.deal.config),
            seat=seat,
            bots=spec.bots,
            seed=spec.bot_seeds[seat],
        )
