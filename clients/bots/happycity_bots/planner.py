"""The bot with a plan: it values what a city may become, not only what it gains at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from happycity import Move, Phase, View
from happycity.rules.deals import CENTRE_SIZE, DECKS
from happycity_bots.specials import copy_values, market_values, take_values
from happycity_client import Bot, Decision, GameStarted
from happycity_evaluation.valuation import SECOND_DRAW, Appraisal, appraise, cities_of

DENIAL = {2: 0.35, 3: 0.28, 4: 0.2, 5: 0.16}
"""What a gain of the next player costs, by the number of seats: the fewer rivals, the more each matters."""

Worth = TypeVar("Worth", float, tuple[float, float])


class Situation:
    """One turn's appraisals, and the worth of its choices: own gain less what is left to the next player."""

    def __init__(self, view: View) -> None:
        seat, cities = view.seat, cities_of(view)
        follower = (seat + 1) % len(view.cities)
        coins = view.coins[follower]
        if follower == 0:
            coins += view.incomes[follower]  # its next turn is in the next round
        self.own = appraise(view, seat, view.coins[seat], cities)
        self.next = appraise(view, follower, coins, cities)
        self._denial = DENIAL[len(view.cities)]
        self._own_dwelling = self.own.best_dwelling(view)
        self._next_dwelling = self.next.best_dwelling(view)
        self._best_upsides: dict[tuple[float, float], float] = {}

    def discards(self, view: View, moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of keeping everything and of each discard, with the draws that follow."""
        values = []
        for move in moves:
            kept = [card.number for card in view.centre]
            if move.card is not None:
                kept.remove(move.number)
            own, left = self._offer(kept)
            worth = own - self._denial * left
            draws = CENTRE_SIZE - len(kept)
            if draws:
                worth += self._best_upside(own, left) * (1 + SECOND_DRAW * (draws - 1))
            values.append(worth)
        return values

    def draws(self, view: View, moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of drawing from each deck, besides the cards on sale."""
        own, left = self._offer([card.number for card in view.centre])
        return [self._upside(move.number, own, left) for move in moves]

    def buys(self, view: View, moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of each purchase, and of taking a coin."""
        centre = [card.number for card in view.centre]
        values = []
        for move in moves:
            left = max(self._next_dwelling, _left(self.next, centre, move.number))
            values.append(self.own.gains[move.number] - self._denial * left)
        return values

    def _offer(self, centre: list[int]) -> tuple[float, float]:
        """Return the own best gain among the cards on sale, and the next player's best from the rest."""
        gains = self.own.gains
        pick, own = 0, self._own_dwelling
        for number in centre:
            if gains[number] > own:
                pick, own = number, gains[number]
        return own, max(_left(self.next, centre, pick), self._next_dwelling)

    def _best_upside(self, own: float, left: float) -> float:
        """Return the upside of the best deck; most discards leave the same offer, so it is remembered."""
        best = self._best_upsides.get((own, left))
        if best is None:
            best = max([self._upside(deck, own, left) for deck in DECKS])
            self._best_upsides[own, left] = best
        return best

    def _upside(self, deck: int, own: float, left: float) -> float:
        """Return what one more card of a deck adds on average to the own gain, less to the next player's."""
        return self.own.surplus(deck, own) - self._denial * self.next.surplus(deck, left)


def _left(appraisal: Appraisal, centre: list[int], taken: int) -> float:
    """Return the best gain in the centre, at least 0, once a card is `taken` from it (0 for none)."""
    best = 0.0
    for number in centre:
        if number == taken:
            taken = 0  # a second copy stays
        elif appraisal.gains[number] > best:
            best = appraisal.gains[number]
    return best


class PlannerBot(Bot):
    """Play for the expected points at the end, for a likely special, and a little against the next player."""

    def __init__(self, start: GameStarted) -> None:
        super().__init__(start)
        self._situation: Situation | None = None
        self._round = 0

    def choose(self, decision: Decision) -> Move:
        """Return the move of the greatest worth, the first one on a tie."""
        view, moves = decision.view, decision.moves
        phase = view.phase
        if phase is Phase.BUY:
            return self.buy(self._appraised(view), view, moves)
        if phase is Phase.SPECIAL:
            return self.take(view, moves)
        if phase is Phase.MARKET:
            return best(moves, market_values(view, moves))
        if phase is Phase.SPHINX:
            return best(moves, copy_values(view, moves))
        situation = self._appraised(view)
        if phase is Phase.DRAW:
            return best(moves, situation.draws(view, moves))
        return best(moves, situation.discards(view, moves))

    def buy(self, situation: Situation, view: View, moves: tuple[Move, ...]) -> Move:
        """Return the purchase of the greatest worth."""
        return best(moves, situation.buys(view, moves))

    def take(self, view: View, moves: tuple[Move, ...]) -> Move:
        """Return the special of the greatest worth, or `decline`."""
        return best(moves, take_values(view, moves))

    def _appraised(self, view: View) -> Situation:
        """Return this turn's appraisals, made at its first decision: they hold until the purchase."""
        if self._situation is None or self._round != view.round:
            self._situation, self._round = Situation(view), view.round
        return self._situation


def best(moves: tuple[Move, ...], values: Sequence[Worth]) -> Move:
    """Return the move of the greatest worth, the first one on a tie."""
    return moves[values.index(max(values))]
