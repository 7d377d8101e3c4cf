"""The referee of one game: whose clock runs, what counts, what happens to a bot that errs.

No sockets, no asyncio, no clock of its own: every call takes the time and returns what is to be done, so
a whole match can be tested in a millisecond. Times are seconds on any steady clock.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from happycity import Deal, Event, Game, Move
from happycity.records import FINISHED, Json, Recorder, clock_json, metrics_json, places
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity_server.bot_metrics import METRIC_NAME, MOST_METRICS, kept


class NoteKind(Enum):
    """What a bot is told about its play."""

    LATE_ANSWER = "late_answer"
    UNKNOWN_DECISION = "unknown_decision"
    ILLEGAL_ANSWER = "illegal_answer"
    TIMEOUT = "timeout"
    FORFEIT = "forfeit"
    METRICS_DROPPED = "metrics_dropped"


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

    A seat that answers late or with no legal move gets a strike, and the policy's fallback is played for
    it. With too many strikes, or when its bot leaves or resigns, the seat is forfeited: the fallback plays
    for it to the end, and it ranks last.

    The clock of a decision starts when the decision is handed to the bot's connection (`flushed`). Until
    then it runs from the question, so that a bot that doesn't read is late all the same.
    """

    def __init__(self, deal: Deal, time: TimeControl, policy: FailurePolicy) -> None:
        players = deal.config.players
        self.game = Game(deal)
        self.deadline: float | None = None
        """When `tick` is due, if the open decision has a limit; the margin is part of it."""
        self.limit = time.decision_seconds
        """Seconds that the open decision may take, the margin not counted."""
        self.decision_id = 0
        """The open decision; afterwards the last one. Decisions count from 1."""
        self.think_seconds = [0.0] * players
        """How long each seat's last decision took."""
        self.bank = [time.bank_seconds] * players
        """Seconds left in each seat's bank, if there are banks."""
        self.endings = [FINISHED] * players
        self.recorder = Recorder(deal)
        self._think_us: list[int] = []  # of each decision
        self._seed = deal.seed
        self._events = list(self.game.events)
        self._time = time
        self._policy = policy
        self._strikes = [0] * players
        self._asked_at = 0.0
        self._unflushed = 0  # the open decision while it waits to be sent
        self._metrics: list[Json] = []
        self._told_of_metrics: set[int] = set()  # seats
        self._defaulted: set[int] = set()  # decisions that the referee settled itself

    @property
    def think_us(self) -> Sequence[int]:
        """Microseconds that each decision so far took; 0 where nobody was asked."""
        return self._think_us

    @property
    def places(self) -> tuple[int, ...]:
        """The places that count, once the game is over."""
        assert self.game.outcome is not None
        return places(self.game.outcome, self.endings)

    def time_left(self, now: float) -> float | None:
        """Return the seconds that the open decision may still take, the margin not counted."""
        return None if self.deadline is None else self.deadline - self._time.margin_seconds - now

    def take_events(self) -> list[Event]:
        """Return what happened since this was called last."""
        events, self._events = self._events, []
        return events

    def record(self, *, round_trip_us: Sequence[int] = ()) -> Json:
        """Return the record of the finished game; round trips are by seat, 0 where none was measured."""
        trips = round_trip_us or [0] * len(self.endings)
        clock = clock_json(think_us=self._think_us, round_trip_us=trips)
        return self.recorder.record(self.game, endings=self.endings, clock=clock, metrics=self._metrics)

    def start(self, now: float) -> list[Effect]:
        """Ask for the first decision."""
        return self._go_on(now)

    def flushed(self, decision_id: int, now: float) -> None:
        """Note that a decision is handed to its bot's connection: only now does its clock start.

        Sending a decision again, to a bot that was away, starts nothing.
        """
        if decision_id != self._unflushed:
            return
        self._unflushed = 0
        if self.deadline is not None:
            self.deadline += now - self._asked_at
        self._asked_at = now

    def answer(
        self, seat: int, decision_id: int, index: int, now: float, metrics: Mapping[str, float] | None = None
    ) -> list[Effect]:
        """Take a bot's choice, the position of a legal move, and what else the bot tells of it."""
        if decision_id != self.decision_id or seat != self.game.seat or self.endings[seat] != FINISHED:
            return self._stray_answer(seat, decision_id)
        think = self._stop_clock(seat, now)
        moves = self.game.legal_moves
        if not 0 <= index < len(moves):
            text = f"there is no move {index}, the decision has {len(moves)}"
            return self._strike(seat, NoteKind.ILLEGAL_ANSWER, text, think=think, now=now)
        notes = self._note_metrics(seat, metrics) if metrics else []
        self._play(moves[index], think)
        return [*notes, *self._go_on(now)] if notes else self._go_on(now)

    def tick(self, now: float) -> list[Effect]:
        """Notice that the deadline has passed, if it has."""
        if self.deadline is None or now < self.deadline:
            return []
        seat = self.game.seat
        think = self._stop_clock(seat, now)
        text = f"no answer within {self.limit:g} s"
        return self._strike(seat, NoteKind.TIMEOUT, text, think=think, now=now)

    def forfeit(self, seat: int, reason: str, now: float) -> list[Effect]:
        """Go on without a seat's bot; `reason` is one of `happycity.records.FORFEIT_REASONS`."""
        if self.game.outcome is not None or self.endings[seat] != FINISHED:
            return []
        note = self._note_forfeit(seat, reason)
        # Before the start nobody has been asked yet.
        if self.decision_id == 0 or seat != self.game.seat:
            return [note]
        self._play_fallback(self._stop_clock(seat, now))
        return [note, *self._go_on(now)]

    def _stop_clock(self, seat: int, now: float) -> float:
        """Return the seconds that the open decision took, and charge them to the seat's bank."""
        think = self.think_seconds[seat] = now - self._asked_at
        if self._time.bank_seconds:
            charged = max(0.0, think - self._time.margin_seconds)
            self.bank[seat] = max(0.0, self.bank[seat] - charged)
        return think

    def _start_clock(self, seat: int, now: float) -> None:
        """Let the time of a new decision run."""
        self._asked_at = now
        self._unflushed = self.decision_id
        time = self._time
        if time.bank_seconds:
            self.bank[seat] += time.increment_seconds
            self.limit = min(time.decision_seconds, self.bank[seat])
        if not time.no_clock:
            self.deadline = now + self.limit + time.margin_seconds

    def _strike(self, seat: int, kind: NoteKind, text: str, *, think: float, now: float) -> list[Effect]:
        decision_id = self.decision_id
        self._strikes[seat] += 1
        count, allowed = self._strikes[seat], self._policy.max_strikes
        move = self._play_fallback(think)
        text = f"{text}: strike {count}, {allowed} are allowed; played {move}"
        effects: list[Effect] = [Note(seat, kind, decision_id, text)]
        if count > allowed:
            effects.append(self._note_forfeit(seat, "timeout" if kind is NoteKind.TIMEOUT else "illegal"))
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

    def _note_metrics(self, seat: int, metrics: Mapping[str, float]) -> list[Effect]:
        """Keep what a bot tells of the open decision; say once what is dropped."""
        fine = kept(metrics)
        if fine:
            self._metrics.append(metrics_json(self.decision_id, fine))
        if len(fine) == len(metrics) or seat in self._told_of_metrics:
            return []
        self._told_of_metrics.add(seat)
        text = (
            f"{len(metrics) - len(fine)} of {len(metrics)} metrics are not kept: at most {MOST_METRICS} are, "
            f"with finite numbers and names like {METRIC_NAME.pattern}"
        )
        return [Note(seat, NoteKind.METRICS_DROPPED, self.decision_id, text)]

    def _play(self, move: Move, think: float) -> None:
        self._think_us.append(int(think * 1e6))
        self.recorder.add(self.game, move)
        self.game.apply(move)
        self._events += self.game.events

    def _play_fallback(self, think: float) -> Move:
        self._defaulted.add(self.decision_id)
        move = self._fallback()
        self._play(move, think)
        return move

    def _fallback(self) -> Move:
        """Return what is played for a bot that doesn't choose."""
        if self._policy.fallback is Fallback.NEUTRAL:
            return self.game.neutral_move
        # Nothing of Python's `random` but `random()` is promised to stay the same in every release.
        rng = random.Random(f"happycity fallback {self._seed} {self.decision_id}")
        moves = self.game.legal_moves
        return moves[int(rng.random() * len(moves))]

    def _go_on(self, now: float) -> list[Effect]:
        """Play for forfeited seats, then ask or finish."""
        game = self.game
        while game.outcome is None and self.endings[game.seat] != FINISHED:
            self.decision_id += 1
            self._play_fallback(0.0)
        if game.outcome is not None:
            self.deadline = None
            return [Finished()]
        self.decision_id += 1
        self._start_clock(game.seat, now)
        return [Ask(game.seat, self.decision_id)]
