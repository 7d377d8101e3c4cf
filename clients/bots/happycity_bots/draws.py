"""The draws of a turn, weighed card by card: by what is left in the decks, and what may be bought then."""

from __future__ import annotations

import math
from collections.abc import Sequence

from happycity import MoveKind, View
from happycity.rules.deals import CENTRE_SIZE
from happycity.rules.determinization import HiddenCards
from happycity_bots.situation import Situation
from happycity_client import Decision


def weigh_draws(situation: Situation, decision: Decision) -> list[float]:
    """Return the worth of each discard, or of drawing from each deck."""
    centre = [card.number for card in decision.centre]
    draws, worths = Draws(situation, decision.view), []
    for move in decision.moves:
        if move.kind is MoveKind.DRAW:
            worths.append(draws.after(centre, draws.decks[move.number - 1]))
        else:
            kept = centre[:]
            if move.card is not None:
                kept.remove(move.number)
            worths.append(draws.best(kept))
    return worths


class Draws:
    """What may be drawn in a turn."""

    def __init__(self, situation: Situation, view: View) -> None:
        self._situation = situation
        self.decks: list[list[int]] = []
        """Cards of each deck, or of the pile that replaces an empty one; 0 for those that gain nothing."""
        for deck, pile in zip(HiddenCards(view).by_deck, view.discards, strict=True):
            cards = deck or [card.number for card in pile]
            self.decks.append(sorted([number if situation.is_of_use(number) else 0 for number in cards]))

    def best(self, centre: Sequence[int]) -> float:
        """Return what a turn is worth with these cards in the centre, once it is full."""
        if len(centre) == CENTRE_SIZE:
            return self._situation.worth_of_offer(centre)
        return max([self.after(centre, deck) for deck in self.decks if deck], default=-math.inf)

    def after(self, centre: Sequence[int], deck: Sequence[int]) -> float:
        """Return the same after a card of a deck, the mean over its cards."""
        last, worth, total = -1, 0.0, 0.0
        for number in deck:
            if number != last:
                last, worth = number, self.best([*centre, number])
            total += worth
        return total / len(deck)
