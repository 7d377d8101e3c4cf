"""Usual cards, by which a city is supposed to grow when a bot asks what specials would do later."""

from __future__ import annotations

from collections.abc import Iterator

from happycity.rules.cards import CARDS, Card, Colour

USUAL_COLOURS = (
    Colour.GREEN,
    Colour.ORANGE,
    Colour.YELLOW,
    Colour.BLUE,
    Colour.GREEN,
    Colour.ORANGE,
    Colour.BLUE,
    Colour.PURPLE,
    Colour.YELLOW,
)
"""The colours by which a city grows, in this order: their shares are those of cities built by the planner."""
USUAL_PRICE = 5
"""Coins that a card costs in the middle of a game."""


def _cards_of(colour: Colour) -> list[Card]:
    cards = [card for card in CARDS if card.cost and card.colour is colour]
    return sorted(cards, key=lambda card: abs(card.cost - USUAL_PRICE))


def _usual_cards() -> Iterator[Card]:
    left = {colour: iter(_cards_of(colour)) for colour in Colour}
    for colour in USUAL_COLOURS:
        yield next(left[colour])


USUAL_CARDS = tuple(_usual_cards())
"""Cards of the usual colours and of middling prices: they stand for unknown cards."""
TWO_PER_COLOUR = tuple(tuple(_cards_of(colour)[:2]) for colour in Colour)
"""Two such cards of each colour: enough to see whether an effect looks at a colour."""
