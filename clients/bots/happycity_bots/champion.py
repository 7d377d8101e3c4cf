"""The champion: it values positions by a network that has learnt from games of itself and other bots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from happycity import Game, Move, MoveKind, Outcome, View
from happycity.rules.moves import KEEP
from happycity_bots.draws import weigh_draws
from happycity_bots.halving import TrialBudget, halve, prune
from happycity_bots.planner import PlannerBot
from happycity_bots.sampled import native_champion, native_worlds, next_turn, plan
from happycity_bots.situation import Situation
from happycity_client import Decision, GameStarted
from happycity_evaluation.features import Frame, takings, waiting_rows
from happycity_evaluation.turn_strengths import CONFIDENCE, TurnStrengths, champions_network, lead
from happycity_evaluation.valuation import STACKS, UNAFFORDABLE, Appraisal, cities_of

if TYPE_CHECKING:
    from happycity_evaluation.network import Network

DENIAL = 0.6
"""How likely it is that the next player buys the best card that is left to it, and not one that it draws."""


def _appraisal(strengths: Mapping[int, float], points: float, gain: Callable[[float], float]) -> Appraisal:
    """Return an appraisal with the gain of each purchase, by the strength that the city has after it."""
    gains = [0.0] + [UNAFFORDABLE] * STACKS[-1]
    for number, strength in strengths.items():
        gains[number] = gain(strength) if number else 0.0
    return Appraisal(points, gains)


class ChampionBot(PlannerBot):
    """Play for the place at the end, by a network that has learnt from many games how likely each one is."""

    network: ClassVar[Network | None] = None
    """The network to play by; None: the one that comes with the package."""
    budget = TrialBudget(playouts=24)
    near: ClassVar[float] = 0.3
    """How far behind the best move another one may be to be tried; 2 is from the last place to the first."""
    most: ClassVar[int] = 4
    """Moves that are tried, at most."""
    confidence: ClassVar[float] = CONFIDENCE
    """Trials that the first judgement of a move counts as."""
    ahead: ClassVar[bool] = True
    """Whether draws are weighed by what is left in the decks, not by the mean over all cards of a deck."""

    def __init__(self, start: GameStarted, *, budget: TrialBudget | None = None) -> None:
        super().__init__(start)
        if budget is not None:
            self.budget = budget
        self._play_by(self.network or champions_network())

    def _play_by(self, network: Network) -> None:
        self._network = network
        self._native = native_champion(
            network, self.budget, near=self.near, most=self.most, confidence=self.confidence
        )

    def weigh(self, decision: Decision) -> tuple[list[float], float]:
        """Return the worth of each move, by the network where it is a matter of the place at the end."""
        return plan(decision, self._native, ahead=self.ahead) or self.weigh_in_python(decision)

    def weigh_in_python(self, decision: Decision) -> tuple[list[float], float]:
        """Return the same where the native engine isn't installed, or isn't asked."""
        first = decision.moves[0]
        if self.ahead and (first is KEEP or first.kind is MoveKind.DRAW):
            return weigh_draws(self._appraised(decision), decision), 0.0
        return super().weigh_in_python(decision)

    def take(self, decision: Decision) -> list[float]:
        """Return the mean place that is expected after `decline`, and after each special."""
        view, moves = decision.view, decision.moves
        cities, seat = cities_of(view), view.seat
        before = Frame.before_turn(view)
        rows = takings(view, [move.card for move in moves if move.card is not None], before, cities)
        for rival in range(len(view.cities)):
            if rival != seat:
                rows += waiting_rows(view, rival, [before.after_turn(seat, bought=1)], cities)
        strengths = self._network.strengths(rows)
        rivals = strengths[len(moves) :]
        return [mean_lead(own, rivals) for own in strengths[: len(moves)]]

    def assess(self, view: View) -> Situation:
        """Return the situation at a turn's first decision, by the place at the end: -1 for the last."""
        strengths = TurnStrengths.of(view, self._network, rivals_after=True)
        on_sale = {0, *[card.number for card in view.centre]}
        level = max([strength for number, strength in strengths.own.items() if number in on_sale])
        idle, waits = mean_lead(strengths.own[0], strengths.after_coin), lead(level, strengths.next[0])
        after, rivals = strengths.after_purchase, len(view.cities) - 1
        own = _appraisal(strengths.own, idle, lambda strength: mean_lead(strength, after) - idle)
        following = _appraisal(strengths.next, waits, lambda other: (waits - lead(level, other)) / rivals)
        return Situation(view, own, following, denial=DENIAL)

    def pick(self, decision: Decision, values: Sequence[float], *, points: float) -> Move:
        """Return the move that does best at once and a round later."""
        view = decision.view
        candidates = prune(decision.moves, values, near=self.near, most=self.most)
        if self._native is not None and any(self.budget) and len(candidates) > 1:
            by_number = {candidate.move.index: candidate for candidate in candidates}
            tried = [(number, candidate.prior) for number, candidate in by_number.items()]
            return by_number[self._native.pick(native_worlds(view), self.rng, tried)].move

        def trial(world: Game, moves: Sequence[Move]) -> list[float]:
            return self._worths([next_turn(world, move) for move in moves], view.seat)

        worlds = Game.worlds(view, self.rng)
        return halve(worlds, candidates, trial, budget=self.budget, confidence=self.confidence)

    def _worths(self, turns: Sequence[Outcome | list[list[float]]], seat: int) -> list[float]:
        """Return the worth of each position before a seat's next turn, or of an outcome."""
        rows = [row for turn in turns if isinstance(turn, list) for row in turn]
        strengths = iter(self._network.strengths(rows) if rows else ())
        worths = []
        for turn in turns:
            if isinstance(turn, list):
                seats = [next(strengths) for _ in turn]
                worths.append(mean_lead(seats.pop(seat), seats))
            else:
                worths.append(_place_value(turn, seat))
        return worths


def mean_lead(own: float, others: Sequence[float]) -> float:
    """Return the expected place of a seat among others: 1 for the first, -1 for the last."""
    total = 0.0
    for other in others:  # `sum` rounds otherwise from Python 3.12 on
        total += lead(own, other)
    return total / len(others)


def _place_value(outcome: Outcome, seat: int) -> float:
    """Return the place of a seat, as `happycity_envs.selfplay.Reward.RANK`, which imports numpy."""
    own, ranks = outcome.ranks[seat], outcome.ranks
    return sum([(own < rank) - (own > rank) for rank in ranks]) / (len(ranks) - 1)
