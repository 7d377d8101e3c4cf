"""A game to look at: every decision with its position, the move, and what is known of the bot."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from happycity.match import Incident, IncidentKind, SeatResult, VoidReason
from happycity.records.record import Json
from happycity.records.replay import choosers_of, clock_of, incidents_of, metrics_of, positions_of, results_of
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.views import Event, Phase, View

_NO_ANSWER = {IncidentKind.TIMEOUT, IncidentKind.ILLEGAL_ANSWER, IncidentKind.FORFEIT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One decision of a game, or its last position."""

    decision_id: int
    """Counts the decisions of the game, from 1; the last position has the number after the last decision."""
    view: View
    """The position before the move."""
    events: tuple[Event, ...]
    """What brought the position about: the move before and what followed from it; at first, the set-up."""
    options: tuple[tuple[Move, int], ...]
    """The legal moves, each with the change of the seat's coins; empty in the last position."""
    move: Move | None = None
    """What was chosen; None in the last position, and while the decision waits."""
    think_seconds: float | None = None
    """How long the seat took on the server's clock; None if the bot was not asked, or it was not measured."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Numbers that the bot sent with its answer."""
    chosen_by: str = ""
    """What chose the move in the place of the seat's player, who was away; "" where the player did."""
    incidents: tuple[Incident, ...] = ()
    """What went wrong at the decision; at the first one also what went wrong before it."""

    @property
    def is_last(self) -> bool:
        """Whether the game is over."""
        return not self.options


@dataclass(slots=True, kw_only=True)
class Playback:
    """A game to look at. One that is still being played grows by `add_position`, `answer` and `finish`."""

    bots: Sequence[str] = ()
    """The bots' names by seat; empty where they aren't known."""
    match_id: int | None = None
    """The match, if it is known."""
    steps: list[Step] = field(default_factory=list)
    """The decisions so far; of a finished game, its last position follows."""
    results: tuple[SeatResult, ...] = ()
    """How the game ended by seat; empty as long as it is played."""
    void_reason: VoidReason | None = None
    """Why the match was voided, if it was."""
    timed: bool = False
    """Whether think times are known, so that a decision without one was put to no bot."""

    @classmethod
    def of_record(cls, record: Json, *, bots: Sequence[str] = (), match_id: int | None = None) -> Playback:
        """Return the game of a record; errors are those of `positions_of`."""
        playback = cls(bots=bots, match_id=match_id)
        for game in positions_of(record):
            playback.show(game)
        lines = record["moves"]
        think_us = clock_of(record)[0] or [0] * len(lines)
        decisions = [entry["decision"] for entry in record.get("metrics", ())]
        choosers = choosers_of(record)
        metrics = {
            decision: values for decision, (_, values) in zip(decisions, metrics_of(record), strict=True)
        }
        for number, (line, micros) in enumerate(zip(lines, think_us, strict=True), start=1):
            playback.answer(
                Move.parse(line["move"]),
                think_seconds=micros / 1e6 if micros else None,
                metrics=metrics.get(number),
                chosen_by=choosers.get(number, ""),
                decision_id=number,
            )
        playback.add_incidents(incidents_of(record))
        playback.finish(results_of(record))
        return playback

    @property
    def decisions(self) -> int:
        """How many decisions were answered."""
        return max(0, len(self.steps) - 1)

    def show(self, game: Game) -> None:
        """Add the present position of a game."""
        self._append(game.view(), game.events, game)

    def add_position(self, view: View, events: Sequence[Event]) -> None:
        """Add the next position of a game that is being played, with what brought it about.

        Raises:
            DealError: no game can look like this view.
        """
        game = None if view.phase is Phase.OVER else Game.from_view(view, random.Random(0))
        self._append(view, events, game)

    def answer(
        self,
        move: Move,
        *,
        think_seconds: float | None = None,
        metrics: Mapping[str, float] | None = None,
        chosen_by: str = "",
        decision_id: int = 0,
    ) -> None:
        """Note what was chosen at a decision, by default at the last position that was added."""
        index = decision_id - 1
        self.steps[index] = replace(
            self.steps[index],
            move=move,
            think_seconds=think_seconds,
            metrics=dict(metrics or {}),
            chosen_by=chosen_by,
        )
        self.timed = self.timed or think_seconds is not None

    def add_incidents(self, incidents: Iterable[Incident]) -> None:
        """Note what went wrong, each incident at its decision, or at the first one if none was open."""
        for incident in incidents:
            index = min(max(incident.decision_id, 1), len(self.steps)) - 1
            step = self.steps[index]
            self.steps[index] = replace(step, incidents=(*step.incidents, incident))

    def finish(self, results: Sequence[SeatResult]) -> None:
        """Note how the game ended."""
        self.results = tuple(results)

    def name(self, seat: int) -> str:
        """Return the bot in a seat, or the seat's number if the bots aren't known."""
        return self.bots[seat] if seat < len(self.bots) else f"seat {seat + 1}"

    def was_answered(self, step: Step) -> bool:
        """Return whether the move of a decision is an answer of its seat's bot, and not the fallback's."""
        seat = step.view.seat
        if any(incident.seat == seat and incident.kind in _NO_ANSWER for incident in step.incidents):
            return False
        return not (self.timed and step.think_seconds is None)

    def _append(self, view: View, events: Sequence[Event], game: Game | None) -> None:
        """Add a position; `game` knows the legal moves there, None: the game is over."""
        options = () if game is None else [(move, game.coin_change(move)) for move in game.legal_moves]
        self.steps.append(
            Step(decision_id=len(self.steps) + 1, view=view, events=tuple(events), options=tuple(options))
        )
