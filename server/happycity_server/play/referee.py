"""The referee of one game: whose clock runs, what counts, what happens to a bot that fails.

No sockets, no asyncio, no clock of its own: every call takes an event and the time, and returns the actions
that follow, so a whole match can be tested in a millisecond. Times are seconds on any steady clock.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from happycity import (
    Deal,
    Ending,
    Event,
    FailurePolicy,
    Game,
    Incident,
    IncidentKind,
    Move,
    SeatResult,
    TimeControl,
)
from happycity.match import one_line, seat_results
from happycity.records.record import Json, Recorder, clock_json, metrics_json
from happycity.records.replay import choosers_of, clock_of, endings_of, incidents_of

MAX_METRICS = 16
"""How many of an answer are kept."""
METRIC_NAME = re.compile(r"[A-Za-z0-9._+-]{1,32}")
"""What a metric may be called."""


def accepted(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics that are kept, by name, so that the order of the message doesn't matter."""
    fine = [name for name in sorted(metrics) if METRIC_NAME.fullmatch(name) and math.isfinite(metrics[name])]
    return {name: metrics[name] for name in fine[:MAX_METRICS]}


_FINISHED: Final = Ending.FINISHED  # a member of an enum, bound once: looking it up in its class is slow
SILENT_DECISIONS = 2
"""Decisions of a game for which a bot is late before it is out, if it has never answered."""


class NoteKind(Enum):
    """What a bot's author is notified of besides incidents, as it has no part in the game."""

    LATE_ANSWER = "late_answer"
    UNKNOWN_DECISION = "unknown_decision"
    METRICS_DROPPED = "metrics_dropped"


class MovePlayed:
    """The game went on: by a move, or by its set-up."""

    # Like `AskedDecision` no NamedTuple: each decision makes one of both, and compiled code makes these
    # quicker.

    def __init__(self, seat: int, move: Move | None, events: Sequence[Event], *, answered: bool) -> None:
        self.seat = seat
        """The seat that decided; -1 for the set-up."""
        self.move = move
        """None for the set-up."""
        self.events = events
        self.answered = answered
        """Whether the seat's bot answered, rather than the fallback."""


class AskedDecision:
    """A seat must choose: send it the decision that waits in the game, and tell this when it was sent.

    Its clock runs from then on. Until it is sent the clock runs from the question, so that a bot that doesn't
    read is late all the same. Sending it again, to a bot that was away, starts nothing.
    """

    def __init__(
        self,
        seat: int,
        decision_id: int,
        *,
        asked_at: float,
        limit: float | None,
        limit_us: int | None,
        bank_left_us: int | None,
        last_think_us: int | None,
    ) -> None:
        self.seat = seat
        self.decision_id = decision_id
        self.asked_at = asked_at
        """When its clock was started."""
        self.limit = limit
        """Seconds to decide, the margin not counted; None: no limit."""
        self.limit_us = limit_us
        """The same in whole microseconds."""
        self.bank_left_us = bank_left_us
        """Microseconds left in the seat's bank; None: no bank."""
        self.last_think_us = last_think_us
        """Microseconds that the seat's last decision took; None before the first one."""

    def sent(self, now: float) -> None:
        """Note that it was handed to its bot's connection: its clock starts."""
        self.asked_at = now

    @property
    def due(self) -> float | None:
        """When the answer is due, the margin not counted; None: no limit."""
        return None if self.limit is None else self.asked_at + self.limit

    def time_left_us(self, now: float) -> int | None:
        """Return the microseconds that it may still take; None: no limit."""
        due = self.due
        return None if due is None else _microseconds(due - now)


class Notify(NamedTuple):
    """A seat's bot should get a notice."""

    seat: int
    kind: NoteKind | IncidentKind
    decision_id: int
    text: str
    incident: Incident | None = None
    """What the record keeps of it, if it is a strike or a forfeit."""


class GameFinished(NamedTuple):
    """The game is over."""

    seats: tuple[SeatResult, ...]


Action = MovePlayed | AskedDecision | Notify | GameFinished


class Referee:
    """Runs one game to its end, whatever its bots do or fail to do.

    A seat that answers late or with no legal move gets a strike, and the policy's fallback is played for
    it. With too many strikes, or when its bot leaves or resigns, the seat is forfeited: the fallback plays
    for it to the end, and it ranks last.
    """

    def __init__(
        self, deal: Deal, time: TimeControl, policy: FailurePolicy, past: Json | None = None
    ) -> None:
        """Set the game of a deal up; `past` is its record so far, if it was begun before a restart.

        Raises:
            HappyCityError: `past` is malformed, or has a move that is not legal.
        """
        players = deal.config.players
        self.game = Game(deal)
        self.decision_id = 0
        """The open decision; afterwards the last one. Decisions count from 1."""
        self.open: AskedDecision | None = None
        """The decision that waits for a bot; None before the start and after the end."""
        self._recorder = Recorder(deal)
        self.think_us: list[int] = []
        """Microseconds that each decision so far took; 0 where no bot was asked."""
        self.endings = [_FINISHED] * players
        """How each seat stands: finished until it is forfeited."""
        self.incidents: list[Incident] = []
        """What went wrong so far, in the order in which it happened."""
        self.reasons = [""] * players
        """Why each seat was forfeited; "" where nobody said."""
        self._last_think_us: list[int | None] = [None] * players
        self._banks = [time.bank_seconds] * players
        self._limit = None if time.no_clock else time.decision_seconds
        self._limit_us = None if time.no_clock else _microseconds(time.decision_seconds)
        self._seed = deal.seed
        self._time = time
        self._policy = policy
        self._strikes = [0] * players
        self._late = [0] * players  # decisions without an answer in time
        self.stand_ins: dict[int, str] = {}
        """By seat: what chooses at present for its player, who is away."""
        self.choosers: dict[int, str] = {}
        """By decision: what chose in the place of the seat's player, where something did."""
        self.metrics: list[Json] = []
        """The bots' numbers about their decisions so far, as a record has them."""
        self._notified_of_metrics: set[int] = set()  # seats
        self._defaulted: dict[int, float | None] = {}  # the fallback settled it: when it was due
        self._round_starts: list[int] = []  # the first decision of each round
        # What has happened before `start`.
        self._past: list[Action] = [MovePlayed(-1, None, self.game.events, answered=False)]
        if past is not None:
            self._replay(past)

    @property
    def moves(self) -> Sequence[tuple[int, Move]]:
        """Seat and move of each decision so far."""
        return self._recorder.moves

    @property
    def results(self) -> tuple[SeatResult, ...]:
        """How the finished game ended for each seat."""
        assert self.game.outcome is not None
        return seat_results(self.game.outcome, self.endings, self.reasons)

    @property
    def deadline(self) -> float | None:
        """When `tick` is due, if a decision with a limit is open; the margin is part of it."""
        due = None if self.open is None else self.open.due
        return None if due is None else due + self._time.margin_seconds

    def was_asked(self, seat: int, decision_id: int) -> bool:
        """Return whether a decision, the open one or an earlier one, is or was this seat's."""
        if decision_id == self.decision_id and self.game.outcome is None:
            return seat == self.game.seat
        return 0 < decision_id <= len(self.moves) and self.moves[decision_id - 1][0] == seat

    def round_of(self, decision_id: int) -> int:
        """Return the round of the open decision or an earlier one; 0 if there is no such decision."""
        return bisect_right(self._round_starts, decision_id) if decision_id <= self.decision_id else 0

    def record(self, *, round_trip_us: Sequence[int] = ()) -> Json:
        """Return the record of the game so far; round trips are by seat, 0 where none was measured."""
        trips = round_trip_us or [0] * len(self.endings)
        clock = clock_json(think_us=self.think_us, round_trip_us=trips)
        return self._recorder.record(
            self.game,
            endings=self.endings,
            reasons=self.reasons,
            clock=clock,
            metrics=self.metrics,
            incidents=self.incidents,
            choosers=self.choosers,
        )

    def start(self, now: float) -> list[Action]:
        """Begin the game and ask for the first decision."""
        actions, self._past = self._past, []
        return self._continue(actions, now)

    def _replay(self, past: Json) -> None:
        """Bring the game to where its record so far ends; the open decision gets its whole time again."""
        self.endings, self.metrics = list(endings_of(past)), list(past.get("metrics", []))
        self.reasons = list(past.get("reasons", self.reasons))
        self.incidents, self.choosers = incidents_of(past), choosers_of(past)
        for incident in self.incidents:
            self._strikes[incident.seat] += incident.kind is not IncidentKind.FORFEIT
            self._late[incident.seat] += incident.kind is IncidentKind.TIMEOUT
        think_us, _ = clock_of(past)
        for line, taken in zip(past["moves"], think_us, strict=True):
            self._open_decision()
            self._past.append(self._play(Move.parse(line["move"]), taken, answered=True))

    def answer(
        self, seat: int, decision_id: int, index: int, now: float, metrics: Mapping[str, float] | None = None
    ) -> list[Action]:
        """Take a bot's choice, the position of a legal move, and its numbers about that."""
        decision = self.open
        if decision is None or decision_id != decision.decision_id or seat != decision.seat:
            return self._unexpected_answer(seat, decision_id, now)
        think_us = self._stop_clock(decision, now)
        moves = self.game.legal_moves
        if not 0 <= index < len(moves):
            text = f"answered {index}, but the legal moves are 0 to {len(moves) - 1}"
            actions, allowed = self._strike(seat, IncidentKind.ILLEGAL_ANSWER, text, think_us)
            if not allowed:
                reason = f"answers that are no legal moves, such as {index}"
                actions.append(self._note_forfeit(seat, Ending.ILLEGAL, reason))
            return self._continue(actions, now)
        actions = self._keep_metrics(seat, metrics) if metrics else []
        actions.append(self._play(moves[index], think_us, answered=True))
        return self._continue(actions, now)

    def tick(self, now: float, *, silent: bool = False) -> list[Action]:
        """Notice that the deadline has passed, if it has.

        With `silent`, the bot has never answered in any game: then a second late decision forfeits the seat.
        """
        decision, deadline = self.open, self.deadline
        if decision is None or deadline is None or now < deadline:
            return []
        seat, limit = decision.seat, f"{decision.limit:g} s"
        self._late[seat] += 1
        actions, allowed = self._strike(
            seat, IncidentKind.TIMEOUT, f"no answer within {limit}", self._stop_clock(decision, now)
        )
        if silent and self._late[seat] >= SILENT_DECISIONS:
            reason = (
                f"has never answered ({self._late[seat]} decisions, {limit} each; is its output buffered?)"
            )
            actions.append(self._note_forfeit(seat, Ending.SILENT, reason))
        elif not allowed:
            actions.append(self._note_forfeit(seat, Ending.TIMEOUT, f"no answer within {limit}"))
        return self._continue(actions, now)

    def forfeit(self, seat: int, ending: Ending, now: float, *, reason: str = "") -> list[Action]:
        """Continue without a seat's bot; `reason` is what it said, if it said anything."""
        if self.game.outcome is not None or self.endings[seat] is not _FINISHED:
            return []
        actions: list[Action] = [self._note_forfeit(seat, ending, one_line(reason))]
        if self.open is None or seat != self.open.seat:
            return actions
        actions.append(self._play_fallback(self._stop_clock(self.open, now)))
        return self._continue(actions, now)

    def _stop_clock(self, decision: AskedDecision, now: float) -> int:
        """Return the microseconds that the open decision took, and charge them to its seat's bank."""
        seat, think = decision.seat, now - decision.asked_at
        if self._time.bank_seconds:
            charged = max(0.0, think - self._time.margin_seconds)
            self._banks[seat] = max(0.0, self._banks[seat] - charged)
        think_us = self._last_think_us[seat] = _microseconds(think)
        return think_us

    def _strike(self, seat: int, kind: IncidentKind, text: str, think_us: int) -> tuple[list[Action], bool]:
        """Play the fallback in place of an answer; return what follows, and whether the strike is allowed."""
        decision_id = self.decision_id
        self._strikes[seat] += 1
        count, allowed = self._strikes[seat], self._policy.max_strikes
        played = self._play_fallback(think_us)
        text = f"{text}: strike {count}, {allowed} are allowed; played {played.move}"
        return [played, self._note_incident(decision_id, seat, kind, text)], count <= allowed

    def _note_forfeit(self, seat: int, ending: Ending, reason: str) -> Notify:
        self.endings[seat] = ending
        self.reasons[seat] = reason
        text = f"the seat is forfeited: {ending.word}" + (f": {reason}" if reason else "")
        return self._note_incident(self.decision_id, seat, IncidentKind.FORFEIT, text)

    def _note_incident(self, decision_id: int, seat: int, kind: IncidentKind, text: str) -> Notify:
        incident = Incident(decision_id, seat, kind, one_line(text))
        self.incidents.append(incident)
        return Notify(seat, kind, decision_id, text, incident)

    def _unexpected_answer(self, seat: int, decision_id: int, now: float) -> list[Action]:
        """Ignore an answer that settles nothing; notify the bot unless it repeats one that counted."""
        if not self.was_asked(seat, decision_id):
            text = f"decision {decision_id} was not asked of this seat"
            return [Notify(seat, NoteKind.UNKNOWN_DECISION, decision_id, text)]
        if decision_id not in self._defaulted:
            return []
        due = self._defaulted[decision_id]
        if due is not None and now > due:
            text = f"your answer came {max(now - due, 0.01):.2f} s too late and was ignored"
        else:
            text = "your answer was ignored: the decision was settled before it came"
        return [Notify(seat, NoteKind.LATE_ANSWER, decision_id, text)]

    def _keep_metrics(self, seat: int, metrics: Mapping[str, float]) -> list[Action]:
        """Keep a bot's numbers about the open decision; notify it once of those that are dropped."""
        kept = accepted(metrics)
        if kept:
            self.metrics.append(metrics_json(self.decision_id, kept))
        if len(kept) == len(metrics) or seat in self._notified_of_metrics:
            return []
        self._notified_of_metrics.add(seat)
        text = (
            f"{len(metrics) - len(kept)} of {len(metrics)} metrics are dropped: at most {MAX_METRICS} are "
            f"kept, with finite numbers and names like {METRIC_NAME.pattern}"
        )
        return [Notify(seat, NoteKind.METRICS_DROPPED, self.decision_id, text)]

    def _play(self, move: Move, think_us: int, *, answered: bool) -> MovePlayed:
        game, seat = self.game, self.game.seat
        if self.stand_ins and answered and seat in self.stand_ins:
            self.choosers[self.decision_id] = self.stand_ins[seat]
        self.think_us.append(think_us)
        self._recorder.add(game, move)
        game.apply(move)
        return MovePlayed(seat, move, game.events, answered=answered)

    def _play_fallback(self, think_us: int) -> MovePlayed:
        self._defaulted[self.decision_id] = None if self.open is None else self.open.due
        move = self._policy.fallback.move(self.game, self._seed, self.decision_id)
        return self._play(move, think_us, answered=False)

    def _continue(self, actions: list[Action], now: float) -> list[Action]:
        """Play for forfeited seats, then ask or finish."""
        game, endings = self.game, self.endings
        self.open = None
        while game.outcome is None and endings[game.seat] is not _FINISHED:
            self._open_decision()
            actions.append(self._play_fallback(0))
        if game.outcome is not None:
            actions.append(GameFinished(self.results))
            return actions
        self._open_decision()
        asked = self.open = self._ask(game.seat, now)
        actions.append(asked)
        return actions

    def _open_decision(self) -> None:
        """Count a decision."""
        self.decision_id += 1
        begun = self.game.round - len(self._round_starts)
        if begun:
            self._round_starts += [self.decision_id] * begun

    def _ask(self, seat: int, now: float) -> AskedDecision:
        """Return a new decision, of which the clock runs from now on."""
        limit, limit_us, bank_us = self._limit, self._limit_us, None
        if self._time.bank_seconds:
            bank = self._banks[seat] = self._banks[seat] + self._time.increment_seconds
            if limit is not None:
                limit, bank_us = min(limit, bank), _microseconds(bank)
                limit_us = _microseconds(limit)
        return AskedDecision(
            seat,
            self.decision_id,
            asked_at=now,
            limit=limit,
            limit_us=limit_us,
            bank_left_us=bank_us,
            last_think_us=self._last_think_us[seat],
        )


def _microseconds(seconds: float) -> int:
    return max(0, int(seconds * 1e6))
