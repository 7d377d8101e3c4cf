"""What each decision of a seat cost, and how lucky its draws were, from the record of a game."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from happycity import Game, Move, Phase
from happycity.records.record import Json
from happycity.records.replay import choosers_of, deal_of, positions_of
from happycity_evaluation.evaluator import Evaluator, ExpectedPlaces
from happycity_evaluation.luck import Draw, draws_of


class JudgedDecision(NamedTuple):
    """A decision, compared with the best move by the evaluator."""

    decision_id: int
    """Counts the decisions of the game, all seats together, from 1."""
    seat: int
    round: int
    phase: Phase
    move: Move
    """What was chosen."""
    best: Move
    """The best move; the chosen one if no other one is better."""
    places: ExpectedPlaces
    """The expected place of each seat after the best move, from 1."""
    losses: Mapping[Move, float]
    """By legal move, by how much the seat's expected place is worse than after the best one: 0 or more."""

    @property
    def place(self) -> float:
        """The expected place of the seat after the best move, from 1."""
        return self.places[self.seat]

    @property
    def loss(self) -> float:
        """By how much the expected place is worse after the chosen move: 0 or more."""
        return self.losses[self.move]


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


def analyse(record: Json, seats: Collection[int], evaluator: Evaluator) -> list[Analysis]:
    """Return what the decisions of some seats cost and how lucky they were, seat by seat.

    Errors are those of `positions_of`.
    """
    judged = sorted(judged_decisions(record, seats, evaluator), key=lambda decision: -decision.loss)
    moves = [Move.parse(line["move"]) for line in record["moves"]]
    draws = list(draws_of(Game(deal_of(record)), moves, evaluator.after_cards))
    return [
        Analysis(seat, [decision for decision in judged if decision.seat == seat], draws) for seat in seats
    ]


def judged_decisions(record: Json, seats: Collection[int], evaluator: Evaluator) -> Iterator[JudgedDecision]:
    """Yield the decisions of some seats in their order, without those that another chose in their place.

    Errors are those of `positions_of`.
    """
    choosers = choosers_of(record)
    for number, game in enumerate(positions_of(record), start=1):
        if game.outcome is None and game.seat in seats and number not in choosers:
            yield _judge(game, number, Move.parse(record["moves"][number - 1]["move"]), evaluator)


def best_line(record: Json, decision: JudgedDecision, evaluator: Evaluator) -> list[tuple[Move, int]]:
    """Return the best move and those that follow it in the same turn, with the cards as they lay.

    Each comes with the change of the seat's coins.
    """
    game = next(islice(positions_of(record), decision.decision_id - 1, None)).copy()
    line, move = [(decision.best, game.coin_change(decision.best))], decision.best
    game.apply(move)
    while game.outcome is None and (game.seat, game.round) == (decision.seat, decision.round):
        move = min(evaluator.moves(game), key=lambda value: value.places[decision.seat]).move
        line.append((move, game.coin_change(move)))
        game.apply(move)
    return line


def _judge(game: Game, number: int, move: Move, evaluator: Evaluator) -> JudgedDecision:
    values = {value.move: value.places for value in evaluator.moves(game)}
    seat = game.seat
    best = min((move, *values), key=lambda legal: values[legal][seat])
    losses = {legal: places[seat] - values[best][seat] for legal, places in values.items()}
    return JudgedDecision(number, seat, game.round, game.phase, move, best, values[best], losses)
