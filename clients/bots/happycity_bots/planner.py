"""The bot with a plan: it values what a city may become, not only what it gains at once."""

from __future__ import annotations

from collections.abc import Sequence

from happycity import Move, MoveKind, View
from happycity.rules.moves import COIN, DECLINE, KEEP
from happycity_bots.sampled import plan
from happycity_bots.situation import Situation
from happycity_bots.specials import copy_value, market_value, take_values
from happycity_client import Bot, Decision, GameStarted
from happycity_evaluation.valuation import appraise, cities_of

DENIAL = {2: 0.35, 3: 0.28, 4: 0.2, 5: 0.16}
"""What a gain of the next player costs, by the number of seats: the fewer rivals, the more each matters."""

# Bound once: looking one up in its class is slow.
_DRAW, _MARKET, _COPY = MoveKind.DRAW, MoveKind.MARKET, MoveKind.COPY


class PlannerBot(Bot):
    """Play for the expected points at the end, for a likely special, and a little against the next player."""

    def __init__(self, start: GameStarted) -> None:
        super().__init__(start)
        self._situation: Situation | None = None
        self._round = 0

    def choose(self, decision: Decision) -> Move:
        """Return the move of the greatest worth, the first one on a tie."""
        moves = decision.moves
        values, points = self.weigh(decision)
        if moves[0] is COIN or moves[0] is DECLINE:
            return self.pick(decision, values, points=points)
        return best(moves, values)

    def weigh(self, decision: Decision) -> tuple[list[float], float]:
        """Return the worth of each move, and at a purchase or a special the points expected without it."""
        return plan(decision) or self.weigh_in_python(decision)

    def weigh_in_python(self, decision: Decision) -> tuple[list[float], float]:
        """Return the same where the native engine isn't installed, or isn't asked."""
        moves, first = decision.moves, decision.moves[0]
        if first is DECLINE:
            values = self.take(decision)
            return values, values[0]
        if first.kind is _MARKET:
            return [market_value(decision.view, move) for move in moves], 0.0
        if first.kind is _COPY:
            return [copy_value(decision.view, move) for move in moves], 0.0
        situation = self._appraised(decision)
        if first is KEEP:
            return situation.discards(decision.centre, moves), 0.0
        if first.kind is _DRAW:
            return situation.draws(decision.centre, moves), 0.0
        return situation.buys(decision.centre, moves), situation.own.points

    def take(self, decision: Decision) -> list[float]:
        """Return the worth of `decline`, and of each special."""
        return take_values(decision.view, decision.moves)

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


def best(moves: tuple[Move, ...], values: Sequence[float]) -> Move:
    """Return the move of the greatest worth, the first one on a tie."""
    return moves[values.index(max(values))]
