"""What the seats own, cities and coins, and what their specials do to it (chapters 3 and 6).

Small integers and shared tuples, so that a copy is cheap. Nothing here knows whose turn it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self, TypeVar

from happycity.rules.cards import CARDS, HAPPY_MARKET, Card, Colour
from happycity.rules.deals import START_COINS, Config
from happycity.rules.effects import EFFECTS, NO_EFFECT, Effect, Occasion
from happycity.rules.views import View

_T = TypeVar("_T")

# Tables by card number, so that the inner loop touches integers only. Final: compiled code reads such names
# without looking them up.
CARD: Final[tuple[Card, ...]] = (HAPPY_MARKET, *CARDS)
"""The card with each number; 0 is not a card."""
_PRINTED_PRICES: Final[tuple[int, ...]] = tuple(card.cost for card in CARD)
_INCOME: Final = tuple(card.income for card in CARD)

# The cards of a city by colour are packed counters: five bits a colour, of which a count needs four (it is
# at most 10) and the fifth is a guard bit. With all guard bits set, subtracting a condition clears the guard
# bit of each colour that the city lacks.
_SHIFT: Final = (0, *(5 * (colour - 1) for colour in Colour))  # by colour, which begin with 1
_ONE_OF: Final = tuple(1 << _SHIFT[card.colour] if card.colour else 0 for card in CARD)
_GUARD_BITS: Final = sum(16 << _SHIFT[colour] for colour in Colour)
_CONDITION: Final = tuple(sum(n << _SHIFT[colour] for colour, n in card.condition.items()) for card in CARD)

# Neighbours (left, right) and opponents, by players and seat (article 2.1).
_NEIGHBOURS: Final = {
    players: tuple(
        tuple(dict.fromkeys(((seat + 1) % players, (seat - 1) % players))) for seat in range(players)
    )
    for players in range(2, 6)
}
_OPPONENTS: Final = {
    players: tuple(tuple(other for other in range(players) if other != seat) for seat in range(players))
    for players in range(2, 6)
}

_NO_VALUES: Final = (0, 0, 0)


class Cities:
    """Cities and coins by seat, and the effects at work: a `EffectTable`.

    The attributes are to be read; only its methods and the engine change anything.
    """

    __slots__ = (
        "_colours",
        "_copied",
        "_symbols",
        "cards",
        "coins",
        "config",
        "effects",
        "longest",
        "owned",
        "prices",
        "printed_incomes",
        "special_at",
        "uses",
    )

    def __new__(cls, *_: object) -> Self:
        """Return cities without content; without this method, mypyc's `Cities.__new__` calls `__init__`."""
        return object.__new__(cls)

    def __init__(self, config: Config) -> None:
        players = config.players
        self.config = config
        self.coins = [START_COINS] * players
        """Coins by seat."""
        self.cards: list[tuple[Card, ...]] = [()] * players
        """The cards of each seat's city, by position."""
        self.owned = [0] * players
        """By seat: bit n is set if a card with number n is in the city."""
        self.printed_incomes = [0] * players
        """The income of each seat's cards without what effects add."""
        self.prices: list[Sequence[int]] = [_PRINTED_PRICES] * players
        """By seat and card number: the coins that the seat would pay now, after discounts (article 3.7)."""
        self.special_at = [-1] * players
        """The position of each city's special, -1 without one."""
        self.longest = 0
        """Cards of the city with the most of them."""
        self._colours = [0] * players  # packed counters
        self._symbols = [(0, 0)] * players  # printed inhabitants and hearts
        # What follows changes a few times a game at most, so copies of the game share it.
        self.effects: tuple[Effect, ...] = ()
        """What the special of each city does; empty as long as none does anything."""
        self.uses = (0,) * players
        """How often the effect of each seat's special still applies, if that is limited; else 0."""
        self._copied: tuple[tuple[int, int, int], ...] = ()  # by seat; empty as long as nothing is copied

    @classmethod
    def of_view(cls, view: View) -> Self:
        """Return the cities that `view` shows."""
        cities = cls(view.config)
        cities.coins = list(view.coins)
        for seat, city in enumerate(view.cities):
            for card in city:
                cities.add(seat, card)
        cities.set_uses(view.uses)
        return cities

    def copy(self) -> Cities:
        """Return the same cities, which change independently."""
        copied = Cities.__new__(Cities)
        copied.config = self.config
        copied.coins = self.coins[:]
        copied.cards = self.cards[:]
        copied.owned = self.owned[:]
        copied.printed_incomes = self.printed_incomes[:]
        copied.prices = self.prices[:]
        copied.special_at = self.special_at[:]
        copied.longest = self.longest
        copied._colours = self._colours[:]
        copied._symbols = self._symbols[:]
        copied.effects = self.effects
        copied.uses = self.uses
        copied._copied = self._copied
        return copied

    def coin_gain(self, seat: int) -> int:
        """Return the coins that `seat` would take now by buying nothing (article 3.6)."""
        return self.effects[seat].coin_gain if self.effects else 1

    def income(self, seat: int) -> int:
        """Return the coins that `seat` would gain in an income phase held now (articles 3.1, 6.2)."""
        return self.incomes()[seat] if self.effects else self.printed_incomes[seat]

    def incomes(self) -> tuple[int, ...]:
        """Return every seat's income."""
        if not self.effects:
            return tuple(self.printed_incomes)
        incomes = self.printed_incomes[:]
        for seat, effect in enumerate(self.effects):
            if effect.income is not None:
                incomes[seat] += effect.income(self, seat, self.special_at[seat])
        for seat, (income, _, _) in enumerate(self._copied):
            incomes[seat] += income
        late = [
            (seat, effect.late_income(self, seat, self.special_at[seat], incomes))
            for seat, effect in enumerate(self.effects)
            if effect.late_income is not None
        ]
        for seat, income in late:
            incomes[seat] += income
        return tuple(incomes)

    def count(self, seat: int, colour: Colour) -> int:
        """Return how many cards of a colour a city has, the Happy Market included."""
        return self._colours[seat] >> _SHIFT[colour] & 31

    def eligible(self, seat: int, specials: Sequence[Card]) -> list[Card]:
        """Return those of `specials` whose condition a city meets (article 3.10)."""
        colours = self._colours[seat] | _GUARD_BITS
        return [card for card in specials if colours - _CONDITION[card.number] & _GUARD_BITS == _GUARD_BITS]

    def symbols(self, seat: int) -> tuple[int, int]:
        """Return a city's inhabitants and hearts as printed, not cut at 0, without what effects add."""
        if not self._copied:
            return self._symbols[seat]
        inhabitants, hearts = self._symbols[seat]
        _, more_inhabitants, more_hearts = self._copied[seat]
        return inhabitants + more_inhabitants, hearts + more_hearts

    def effect(self, seat: int) -> Effect:
        """Return what the special of a city does; without a special, an effect that does nothing."""
        return self.effects[seat] if self.effects else NO_EFFECT

    def applies(self, seat: int) -> bool:
        """Return whether the effect of a city's special is not used up."""
        return not self.effect(seat).uses or self.uses[seat] > 0

    def neighbours(self, seat: int) -> tuple[int, ...]:
        """Return the left and the right neighbour; with two players they are one (article 2.1)."""
        return _NEIGHBOURS[self.config.players][seat]

    def opponents(self, seat: int) -> tuple[int, ...]:
        """Return all other seats."""
        return _OPPONENTS[self.config.players][seat]

    def with_cards(self, seat: int, *cards: Card) -> Cities:
        """Return the cities with `cards` at the end of one of them, without paying or meeting conditions."""
        changed = self.copy()
        for card in cards:
            changed.add(seat, card)
        return changed

    def with_card_at(self, seat: int, position: int, card: Card) -> Cities:
        """Return the cities with `card` in the place of another card."""
        changed = Cities(self.config)
        changed.coins = self.coins[:]
        for rival in self.opponents(seat):
            for other in self.cards[rival]:
                changed.add(rival, other)
        changed.set_uses(self.uses)
        city = self.cards[seat]
        for own in (*city[:position], card, *city[position + 1 :]):
            changed.add(seat, own)
        return changed

    def add(self, seat: int, card: Card) -> None:
        """Put a card on the next free position of a city (articles 3.7, 3.9, 3.10)."""
        number = card.number
        city = self.cards[seat]
        self.cards[seat] = (*city, card)
        self.owned[seat] |= 1 << number
        self._colours[seat] += _ONE_OF[number]
        self.printed_incomes[seat] += _INCOME[number]
        inhabitants, hearts = self._symbols[seat]
        self._symbols[seat] = (inhabitants + card.inhabitants, hearts + card.hearts)
        if card.special_set is not None:
            self.special_at[seat] = len(city)
            if card in EFFECTS:
                self._activate(seat, EFFECTS[card], uses=EFFECTS[card].uses)
        if len(city) >= self.longest:
            self.longest = len(city) + 1

    def remove_last(self, seat: int) -> Card:
        """Take the last card, which is not a special, out of a city."""
        *rest, card = self.cards[seat]
        number = card.number
        self.cards[seat] = tuple(rest)
        self.longest = max([len(city) for city in self.cards])
        self.owned[seat] ^= 1 << number
        self._colours[seat] -= _ONE_OF[number]
        self.printed_incomes[seat] -= _INCOME[number]
        inhabitants, hearts = self._symbols[seat]
        self._symbols[seat] = (inhabitants - card.inhabitants, hearts - card.hearts)
        return card

    def set_uses(self, uses: tuple[int, ...]) -> None:
        """Set how often the limited effect of each seat's special still applies."""
        if uses != self.uses:
            self.uses = uses
            for seat in range(self.config.players):
                self._set_prices(seat)

    def use(self, seat: int, occasion: Occasion) -> None:
        """Count one application of a limited effect, if the occasion uses it up."""
        if self.uses[seat] and self.effects[seat].used_by is occasion:
            self.uses = _with(self.uses, seat, self.uses[seat] - 1)
            self._set_prices(seat)

    def copy_special(self, seat: int, special: Card) -> None:
        """Let the special of a city have the values and the effect of another one (article 6.3)."""
        self.copy_values(seat, special)
        # The game is over next, so limited effects have no use.
        self._activate(seat, EFFECTS.get(special, NO_EFFECT), uses=0)

    def copy_values(self, seat: int, card: Card) -> None:
        """Add the printed values of another card to the special of a city (article 6.3)."""
        copied = self._copied or (_NO_VALUES,) * self.config.players
        income, inhabitants, hearts = copied[seat]
        more = (income + card.income, inhabitants + card.inhabitants, hearts + card.hearts)
        self._copied = _with(copied, seat, more)

    def _activate(self, seat: int, effect: Effect, *, uses: int) -> None:
        self.effects = _with(self.effects or (NO_EFFECT,) * self.config.players, seat, effect)
        self.uses = _with(self.uses, seat, uses)
        self._set_prices(seat)

    def _set_prices(self, seat: int) -> None:
        effect = self.effect(seat)
        if effect.price is not None and self.applies(seat):
            price = effect.price
            self.prices[seat] = [price(card, card.cost) for card in CARD]
        else:
            self.prices[seat] = _PRINTED_PRICES


def _with(values: tuple[_T, ...], seat: int, value: _T) -> tuple[_T, ...]:
    """Return values by seat with one of them changed."""
    return (*values[:seat], value, *values[seat + 1 :])
