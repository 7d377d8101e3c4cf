"""Tables that may come about, so that a bot can ask the engine what specials would do at them."""

from __future__ import annotations

from collections.abc import Iterator

from happycity import CARDS, Card, Colour, Config, View
from happycity.effects import EFFECTS
from happycity.holdings import Holdings

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
"""What a city grows by, in this order: the colours' shares are those of cities built by the planner."""
USUAL_PRICE = 5
"""Coins that a card costs in the middle of a game."""


class Sketch(Holdings):
    """Cities and coins as they are or might be. A sketch never changes: each variant is a new one."""

    __slots__ = ("specials", "uses")

    specials: tuple[Card, ...]
    """The specials that can still be taken; none unless the sketch was made from a view."""
    uses: tuple[int, ...]
    """How often the effect of each city's special still applies, if that is limited; else 0."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.specials = ()
        self.uses = (0,) * config.players

    @classmethod
    def of(cls, view: View) -> Sketch:
        """Return the table that `view` shows."""
        sketch = cls(view.config)
        sketch._coins = list(view.coins)
        sketch.specials = view.specials
        for seat, city in enumerate(view.cities):
            for card in city:
                sketch._add(seat, card)
        sketch.uses = view.uses
        return sketch

    def with_cards(self, seat: int, *cards: Card) -> Sketch:
        """Return the table with `cards` at the end of a city; the condition of a special is not asked."""
        twin = Sketch.__new__(Sketch)
        self._copy_to(twin)
        twin.specials, twin.uses = self.specials, self.uses
        for card in cards:
            twin._add(seat, card)
            if card in EFFECTS:
                twin.uses = (*self.uses[:seat], EFFECTS[card].uses, *self.uses[seat + 1 :])
        return twin

    def with_card_at(self, seat: int, position: int, card: Card) -> Sketch:
        """Return the table with `card` in the place of another card of a city."""
        city = self.city(seat)
        twin = Sketch(self.config)
        twin._coins = self._coins
        twin.specials, twin.uses = self.specials, self.uses
        for rival in self.opponents(seat):
            for other in self.city(rival):
                twin._add(rival, other)
        return twin.with_cards(seat, *city[:position], card, *city[position + 1 :])

    def printed_income(self, seat: int) -> int:
        """Return the income of a city without what effects add."""
        return sum([card.income for card in self.city(seat)])


def _cards_of(colour: Colour) -> list[Card]:
    cards = [card for card in CARDS if card.cost and card.colour is colour]
    return sorted(cards, key=lambda card: abs(card.cost - USUAL_PRICE))


def _usual_cards() -> Iterator[Card]:
    left = {colour: iter(_cards_of(colour)) for colour in Colour}
    for colour in USUAL_COLOURS:
        yield next(left[colour])


USUAL_CARDS = tuple(_usual_cards())
"""Cards of the usual colours and of middling prices: what an unknown card is taken for."""
TWO_PER_COLOUR = tuple(tuple(_cards_of(colour)[:2]) for colour in Colour)
"""Two such cards of each colour: enough to see whether an effect looks at a colour."""
