"""What each decision of a seat cost, and how lucky its draws were, from the record of a game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from happycity import Game, Move, Phase
from happycity.records.record import Json
from happycity.records.replay import deal_of, positions_of
from happycity_bots.evaluator import Evaluator
from happycity_bots.luck import Draw, draws_of


class JudgedDecision(NamedTuple):
    """A decision, compared with the best move by the evaluator."""

    decision_id: int
    """Counts the decisions of the game, all seats together, from 1."""
    round: int
    phase: Phase
    move: Move
    """What was chosen."""
    best: Move
    """The best move; the chosen one if no other one is better."""
    place: float
    """The expected place after the best move, from 1."""
    loss: float
    """By how much the expected place is worse after the chosen one: 0 or more."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What happened to a seat in a game."""

    seat: int
    decisions: Sequence[JudgedDecision]
    """Its decisions, the costliest first."""
    draws: Sequence[Draw]
    """All cards that came by chance, in their order; each has its luck for this seat too."""

    @property
    def loss(self) -> float:
        """Places lost by all decisions."""
        return sum(decision.loss for decision in self.decisions)

    @property
    def luck(self) -> float:
        """Places won by chance, lost if negative."""
        return sum(draw.luck[self.seat] for draw in self.draws)

    def loss_by_phase(self) -> dict[Phase, float]:
        """Return the places lost in each phase with decisions, most first."""
        losses: dict[Phase, float] = {}
        for decision in self.decisions:
            losses[decision.phase] = losses.get(decision.phase, 0.0) + decision.loss
        return dict(sorted(losses.items(), key=lambda entry: -entry[1]))


def analyse(record: Json, seat: int, evaluator: Evaluator) -> Analysis:
    """Return what the decisions of a seat cost and how lucky it was; errors are those of `positions_of`."""
    decisions = []
    moves = []
    for number, game in enumerate(positions_of(record), start=1):
        if game.outcome is not None:
            break
        move = Move.parse(record["moves"][number - 1]["move"])
        moves.append(move)
        if game.seat == seat:
            decisions.append(_judge(game, number, move, evaluator))
    decisions.sort(key=lambda decision: -decision.loss)
    return Analysis(seat, decisions, list(draws_of(Game(deal_of(record)), moves, evaluator.after_cards)))


def _judge(game: Game, number: int, move: Move, evaluator: Evaluator) -> JudgedDecision:
    places = {value.move: value.places[game.seat] for value in evaluator.moves(game)}
    place = min(places.values())
    best = move if places[move] == place else min(places, key=places.__getitem__)
    return JudgedDecision(number, game.round, game.phase, move, best, place, places[move] - place)
