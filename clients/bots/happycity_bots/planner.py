"""The bot with a plan: it values what a city may become, not only what it gains at once."""

from __future__ import annotations

from happycity import Move, Phase, View
from happycity.deals import DECKS
from happycity_bots.valuation import (
    VALUES,
    Appraisal,
    Outlook,
    appraise,
    special_hopes,
    summarise,
    turns_left,
)
from happycity_client import Bot, Decision, GameStart

CENTRE_SIZE = 3
DENIAL = {2: 0.35, 3: 0.28, 4: 0.2, 5: 0.16}
"""What a gain of the next player costs, by the number of seats: the fewer rivals, the more each matters."""
SECOND_DRAW = 0.6
"""What a second draw in the same turn is worth, compared with the first."""


class Situation:
    """One turn's appraisals, and the worth of its choices: own gain less what is left to the next player."""

    def __init__(self, view: View) -> None:
        seat = view.seat
        follower = (seat + 1) % len(view.cities)
        coins = view.coins[follower]
        if follower == 0:
            coins += view.incomes[follower]  # its next turn is in the next round
        self.own = appraise(view, seat, view.coins[seat])
        self.next = appraise(view, follower, coins)
        self._denial = DENIAL[len(view.cities)]
        self._own_dwelling = self.own.best_dwelling(view)
        self._next_dwelling = self.next.best_dwelling(view)
        self._best_upsides: dict[tuple[float, float], float] = {}

    def discards(self, view: View, moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of keeping everything and of each discard, with the draws that follow."""
        worths = []
        for move in moves:
            kept = [card.number for card in view.centre]
            if move.card is not None:
                kept.remove(move.number)
            own, left = self._offer(kept)
            worth = own - self._denial * left
            draws = CENTRE_SIZE - len(kept)
            if draws:
                worth += self._best_upside(own, left) * (1 + SECOND_DRAW * (draws - 1))
            worths.append(worth)
        return worths

    def draws(self, view: View, moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of drawing from each deck, beside the cards on sale."""
        own, left = self._offer([card.number for card in view.centre])
        return [self._upside(move.number, own, left) for move in moves]

    def buys(self, view: View, moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of each purchase, and of taking a coin."""
        centre = [card.number for card in view.centre]
        worths = []
        for move in moves:
            left = max(self._next_dwelling, _left(self.next, centre, move.number))
            worths.append(self.own.gains[move.number] - self._denial * left)
        return worths

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

    def __init__(self, start: GameStart) -> None:
        super().__init__(start)
        self._situation: Situation | None = None
        self._round = 0

    def choose(self, decision: Decision) -> Move:
        """Return the move of the greatest worth, the first one on a tie."""
        view, moves = decision.view, decision.moves
        if view.phase is Phase.SPECIAL:
            return best_special(view, moves)
        situation = self._appraised(view)
        if view.phase is Phase.BUY:
            return self.buy(situation, view, moves)
        worths = situation.draws(view, moves) if view.phase is Phase.DRAW else situation.discards(view, moves)
        return moves[worths.index(max(worths))]

    def buy(self, situation: Situation, view: View, moves: tuple[Move, ...]) -> Move:
        """Return the purchase of the greatest worth."""
        worths = situation.buys(view, moves)
        return moves[worths.index(max(worths))]

    def _appraised(self, view: View) -> Situation:
        """Return this turn's appraisals, made at its first decision: they hold until the purchase."""
        if self._situation is None or self._round != view.round:
            self._situation, self._round = Situation(view), view.round
        return self._situation


def best_special(view: View, moves: tuple[Move, ...]) -> Move:
    """Return the special that helps the city most, or `decline` if a better one is worth waiting for."""
    seat = view.seat
    city, coins, turns = summarise(view, seat), view.coins[seat], turns_left(view, seat)
    offered = {move.card for move in moves}
    others = view._replace(specials=tuple([card for card in view.specials if card not in offered]))
    without = Outlook(view, free=city.free, turns=turns)
    best = without.points(coins, city.income, city.inhabitants, city.hearts)
    best += special_hopes(others, city, without, coins=coins, turns=turns)[0]
    choice = moves[0]
    having = Outlook(view, free=city.free - 1, turns=turns)
    for move in moves[1:]:
        income, people, love, _ = VALUES[move.number]
        worth = having.points(coins, city.income + income, city.inhabitants + people, city.hearts + love)
        if worth > best:
            choice, best = move, worth
    return choice
