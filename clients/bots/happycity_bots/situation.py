"""The choices of one turn, weighed: what each gains in the own city, less what the next player gets."""

from __future__ import annotations

from collections.abc import Sequence

from happycity import Card, Move, View
from happycity.rules.deals import CENTRE_SIZE, DECKS
from happycity_evaluation.valuation import SECOND_DRAW, Appraisal


class Situation:
    """The appraisals of one turn, which hold until the purchase, and the worth of its choices by them."""

    def __init__(self, view: View, own: Appraisal, following: Appraisal, *, denial: float) -> None:
        """Take the appraisals of the own and the next player's turn.

        `denial` is what a gain of the next player costs, as a share of it.
        """
        self.own = own
        self.next = following
        self._denial = denial
        self._own_dwelling = own.best_dwelling(view)
        self._next_dwelling = following.best_dwelling(view)

    def discards(self, centre: Sequence[Card], moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of keeping everything and of each discard, with the draws that follow."""
        numbers = [card.number for card in centre]
        upsides: dict[tuple[float, float], float] = {}  # of the best deck: most discards leave the same offer
        values = []
        for move in moves:
            kept = numbers[:]
            if move.card is not None:
                kept.remove(move.number)
            own, left = self._offer(kept)
            worth = own - self._denial * left
            draws = CENTRE_SIZE - len(kept)
            if draws:
                if (own, left) not in upsides:
                    upsides[own, left] = max([self._upside(deck, own, left) for deck in DECKS])
                worth += upsides[own, left] * (1 + SECOND_DRAW * (draws - 1))
            values.append(worth)
        return values

    def draws(self, centre: Sequence[Card], moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of drawing from each deck, besides the cards on sale."""
        own, left = self._offer([card.number for card in centre])
        return [self._upside(move.number, own, left) for move in moves]

    def buys(self, centre: Sequence[Card], moves: tuple[Move, ...]) -> list[float]:
        """Return the worth of each purchase, and of taking a coin."""
        numbers = [card.number for card in centre]
        values = []
        for move in moves:
            left = max(self._next_dwelling, _left(self.next, numbers, move.number))
            values.append(self.own.gains[move.number] - self._denial * left)
        return values

    def worth_of_offer(self, centre: Sequence[int]) -> float:
        """Return what a turn is worth with these cards in the centre."""
        own, left = self._offer(centre)
        return own - self._denial * left

    def is_of_use(self, number: int) -> bool:
        """Tell whether a card would change that."""
        return self.own.gains[number] > self._own_dwelling or self.next.gains[number] > self._next_dwelling

    def _offer(self, centre: Sequence[int]) -> tuple[float, float]:
        """Return the own best gain among the cards on sale, and the next player's best from the rest."""
        gains = self.own.gains
        pick, own = 0, self._own_dwelling
        for number in centre:
            if gains[number] > own:
                pick, own = number, gains[number]
        return own, max(_left(self.next, centre, pick), self._next_dwelling)

    def _upside(self, deck: int, own: float, left: float) -> float:
        """Return what one more card of a deck adds on average to the own gain, less to the next player's."""
        return self.own.surplus(deck, own) - self._denial * self.next.surplus(deck, left)


def _left(appraisal: Appraisal, centre: Sequence[int], taken: int) -> float:
    """Return the best gain in the centre, at least 0, once a card is `taken` from it (0 for none)."""
    best, gains = 0.0, appraisal.gains
    for number in centre:
        if number == taken:
            taken = 0  # a second copy stays
        elif gains[number] > best:
            best = gains[number]
    return best
