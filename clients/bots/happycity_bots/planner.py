"""The bot with a plan: it values what a city may become, not only what it gains at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from happycity import Move, MoveKind, View
from happycity.rules.moves import COIN, DECLINE, KEEP
from happycity_bots.situation import Situation
from happycity_bots.specials import copy_value, market_value, take_values
from happycity_client import Bot, Decision, GameStarted
from happycity_evaluation.valuation import appraise, cities_of

DENIAL = {2: 0.35, 3: 0.28, 4: 0.2, 5: 0.16}
"""What a gain of the next player costs, by the number of seats: the fewer rivals, the more each matters."""

_DRAW, _MARKET = MoveKind.DRAW, MoveKind.MARKET  # bound once: looking one up in its class is slow

Worth = TypeVar("Worth", float, tuple[float, float])


class PlannerBot(Bot):
    """Play for the expected points at the end, for a likely special, and a little against the next player."""

    def __init__(self, start: GameStarted) -> None:
        super().__init__(start)
        self._situation: Situation | None = None
        self._round = 0

    def choose(self, decision: Decision) -> Move:
        """Return the move of the greatest worth, the first one on a tie."""
        moves = decision.moves
        first = moves[0]
        if first is COIN:
            situation = self._appraised(decision)
            return self.pick(decision, situation.buys(decision.centre, moves), points=situation.own.points)
        if first is KEEP:
            return best(moves, self._appraised(decision).discards(decision.centre, moves))
        if first is DECLINE:
            return self.take(decision)
        if first.kind is _DRAW:
            return best(moves, self._appraised(decision).draws(decision.centre, moves))
        if first.kind is _MARKET:
            return best(moves, [market_value(decision.view, move) for move in moves])
        return best(moves, [copy_value(decision.view, move) for move in moves])

    def take(self, decision: Decision) -> Move:
        """Return the special to take, or `decline`."""
        values = take_values(decision.view, decision.moves)
        return self.pick(decision, values, points=values[0])

    def pick(self, decision: Decision, values: Sequence[float], *, points: float) -> Move:
        """Return the purchase or the special to play, by the worth of each and the points expected."""
        return best(decision.moves, values)

    def assess(self, view: View) -> Situation:
        """Return the situation at a turn's first decision, in points at the end."""
        seat, cities = view.seat, cities_of(view)
        follower = (seat + 1) % len(view.cities)
        coins = view.coins[follower]
        if follower == 0:
            coins += view.incomes[follower]  # its next turn is in the next round
        own = appraise(view, seat, view.coins[seat], cities)
        following = appraise(view, follower, coins, cities)
        return Situation(view, own, following, denial=DENIAL[len(view.cities)])

    def _appraised(self, decision: Decision) -> Situation:
        """Return this turn's situation, made at its first decision."""
        if self._situation is None or self._round != decision.round:
            self._situation, self._round = self.assess(decision.view), decision.round
        return self._situation


def best(moves: tuple[Move, ...], values: Sequence[Worth]) -> Move:
    """Return the move of the greatest worth, the first one on a tie."""
    return moves[values.index(max(values))]
