"""The referee of one game: whose clock runs, what counts, what happens to a bot that errs.

No sockets, no asyncio, no clock of its own: every call takes the time and returns what is to be done, so
a whole match can be tested in a millisecond. Times are seconds on any steady clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from happycity import Deal, Event, Game, Move
from happycity.records import FINISHED, Json, Recorder, places


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulings:
    """What a referee is strict about."""

    decision_seconds: float = 10.0
    """Time for each decision; 0 means no limit."""
    max_strikes: int = 3
    """Late and illegal answers that a seat may give; one more forfeits it."""


class NoteKind(Enum):
    """What a bot is told about its play."""

    LATE_ANSWER = "late_answer"
    UNKNOWN_DECISION = "unknown_decision"
    ILLEGAL_ANSWER = "illegal_answer"
    TIMEOUT = "timeout"
    FORFEIT = "forfeit"


class Ask(NamedTuple):
    """A seat must choose: send it the decision that waits in `Referee.game`."""

    seat: int
    decision_id: int


class Note(NamedTuple):
    """A seat's bot should hear of this."""

    seat: int
    kind: NoteKind
    decision_id: int
    text: str


class Finished(NamedTuple):
    """The game is over and has a result."""


Effect = Ask | Note | Finished


class Referee:
    """Runs one game to its end, whatever its players do or fail to do.

    A seat that answers late or with no legal move gets a strike, and its neutral move is played. With too
    many strikes, or when its bot leaves or resigns, the seat is forfeited: it plays neutral moves to the
    end and ranks last.
    """

    def __init__(self, deal: Deal, rulings: Rulings) -> None:
        self.game = Game(deal)
        self.deadline: float | None = None
        """When `tick` is due, if the open decision has a limit."""
        self.decision_id = 0
        """The open decision; afterwards the last one. Decisions count from 1."""
        self.think_seconds = [0.0] * deal.config.players
        """How long each seat's last decision took."""
        self.endings = [FINISHED] * deal.config.players
        self.recorder = Recorder(deal)
        self._events = list(self.game.events)
        self._rulings = rulings
        self._strikes = [0] * deal.config.players
        self._asked_at = 0.0
        self._defaulted: set[int] = set()  # decisions that the referee settled itself

    @property
    def places(self) -> tuple[int, ...]:
        """The places that count, once the game is over."""
        assert self.game.outcome is not None
        return places(self.game.outcome, self.endings)

    def take_events(self) -> list[Event]:
        """Return what happened since this was called last."""
        events, self._events = self._events, []
        return events

    def record(self) -> Json:
        """Return the record of the finished game."""
        return self.recorder.record(self.game, endings=self.endings)

    def start(self, now: float) -> list[Effect]:
        """Ask for the first decision."""
        return self._go_on(now)

    def answer(self, seat: int, decision_id: int, index: int, now: float) -> list[Effect]:
        """Take a bot's choice: the position of a legal move."""
        if decision_id != self.decision_id or seat != self.game.seat or self.endings[seat] != FINISHED:
            return self._stray_answer(seat, decision_id)
        self.think_seconds[seat] = now - self._asked_at
        moves = self.game.legal_moves
        if not 0 <= index < len(moves):
            text = f"there is no move {index}, the decision has {len(moves)}"
            return self._strike(seat, NoteKind.ILLEGAL_ANSWER, text, now)
        self._play(moves[index])
        return self._go_on(now)

    def tick(self, now: float) -> list[Effect]:
        """Notice that the deadline has passed, if it has."""
        if self.deadline is None or now < self.deadline:
            return []
        seat = self.game.seat
        self.think_seconds[seat] = now - self._asked_at
        text = f"no answer within {self._rulings.decision_seconds:g} s"
        return self._strike(seat, NoteKind.TIMEOUT, text, now)

    def forfeit(self, seat: int, reason: str, now: float) -> list[Effect]:
        """Go on without a seat's bot; `reason` is one of `happycity.records.FORFEIT_REASONS`."""
        if self.game.outcome is not None or self.endings[seat] != FINISHED:
            return []
        note = self._note_forfeit(seat, reason)
        # Before the start nobody has been asked yet.
        if self.decision_id == 0 or seat != self.game.seat:
            return [note]
        self._play_neutral()
        return [note, *self._go_on(now)]

    def _strike(self, seat: int, kind: NoteKind, text: str, now: float) -> list[Effect]:
        self._strikes[seat] += 1
        allowed = self._rulings.max_strikes
        count = f"strike {self._strikes[seat]}, {allowed} are allowed; played {self.game.neutral_move}"
        effects: list[Effect] = [Note(seat, kind, self.decision_id, f"{text}: {count}")]
        if self._strikes[seat] > allowed:
            effects.append(self._note_forfeit(seat, "timeout" if kind is NoteKind.TIMEOUT else "illegal"))
        self._play_neutral()
        return effects + self._go_on(now)

    def _note_forfeit(self, seat: int, reason: str) -> Note:
        self.endings[seat] = f"forfeit:{reason}"
        return Note(seat, NoteKind.FORFEIT, self.decision_id, f"the seat is forfeited: {reason}")

    def _stray_answer(self, seat: int, decision_id: int) -> list[Effect]:
        """Ignore an answer that settles nothing; say so unless it repeats one that counted."""
        moves = self.recorder.moves
        own = 0 < decision_id <= len(moves) and moves[decision_id - 1][0] == seat
        if not own:
            text = f"decision {decision_id} was not asked of this seat"
            return [Note(seat, NoteKind.UNKNOWN_DECISION, decision_id, text)]
        if decision_id not in self._defaulted:
            return []
        return [Note(seat, NoteKind.LATE_ANSWER, decision_id, "the decision was settled already")]

    def _play(self, move: Move) -> None:
        self.recorder.add(self.game, move)
        self.game.apply(move)
        self._events += self.game.events

    def _play_neutral(self) -> None:
        self._defaulted.add(self.decision_id)
        self._play(self.game.neutral_move)

    def _go_on(self, now: float) -> list[Effect]:
        """Play for forfeited seats, then ask or finish."""
        game = self.game
        while game.outcome is None and self.endings[game.seat] != FINISHED:
            self.decision_id += 1
            self._play_neutral()
        if game.outcome is not None:
            self.deadline = None
            return [Finished()]
        self.decision_id += 1
        self._asked_at = now
        limit = self._rulings.decision_seconds
        self.deadline = now + limit if limit else None
        return [Ask(game.seat, self.decision_id)]
