"""What the seats own, cities and coins, and what their specials do to it (chapters 3 and 6).

Small integers and shared tuples, so that a copy is cheap. Nothing here knows whose turn it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from happycity.cards import CARDS, HAPPY_MARKET, Card, CardKind, Colour
from happycity.deals import Config
from happycity.effects import EFFECTS, NO_EFFECT, Effect, Gains, Occasion
from happycity.rulebook import CITY_SIZE, START_COINS
from happycity.views import Event, EventKind

_T = TypeVar("_T")

# Tables by card number, so that the inner loop touches integers only.
CARD: tuple[Card, ...] = (HAPPY_MARKET, *CARDS)  # number 0 is nobody's
PILE = tuple(card.deck - 1 for card in CARD)
_PRINTED_PRICES: tuple[int, ...] = tuple(card.cost for card in CARD)
_INCOME = tuple(card.income for card in CARD)

# A city's cards by colour are counted in one integer, five bits a colour (a count is at most 10, the
# fifth bit is spare). A condition is met if subtracting it from that and all spare bits borrows from none.
_SHIFT = (0, *(5 * (colour - 1) for colour in Colour))  # by colour, which begin with 1
_ONE_OF = tuple(1 << _SHIFT[card.colour] if card.colour else 0 for card in CARD)
SPARE_BITS = sum(16 << _SHIFT[colour] for colour in Colour)
CONDITION = tuple(sum(n << _SHIFT[colour] for colour, n in card.condition.items()) for card in CARD)

# Who sits on the left and on the right, and who else there is, by players and seat (article 2.1).
_NEIGHBOURS = {
    players: tuple(
        tuple(dict.fromkeys(((seat + 1) % players, (seat - 1) % players))) for seat in range(players)
    )
    for players in range(2, 6)
}
_OPPONENTS = {
    players: tuple(tuple(other for other in range(players) if other != seat) for seat in range(players))
    for players in range(2, 6)
}

_NO_VALUES = (0, 0, 0)


@cache
def event(kind: EventKind, seat: int, number: int, amount: int) -> Event:
    """Return an event; `number` is the card's, or 0. They are made once: a few thousand are all there are."""
    return Event(kind, seat, CARD[number] if number else None, amount)


class Holdings:
    """Cities and coins by seat, and the effects at work. `Game` changes them, effects read them."""

    __slots__ = (
        "_cities",
        "_coins",
        "_colours",
        "_copied",
        "_discards",
        "_effects",
        "_ending",
        "_log",
        "_owned",
        "_prices",
        "_printed_income",
        "_special_at",
        "_uses",
        "config",
    )

    config: Config

    def __init__(self, config: Config) -> None:
        players = config.players
        self.config = config
        self._log: list[Event] = []
        self._discards: list[list[int]] = [[], [], []]
        self._coins = [START_COINS] * players
        self._cities: list[tuple[Card, ...]] = [()] * players
        self._owned = [0] * players  # bit n: a card with number n is in the city
        self._colours = [0] * players  # see _ONE_OF
        self._printed_income = [0] * players
        self._prices: list[Sequence[int]] = [_PRINTED_PRICES] * players  # by card number
        self._special_at = [-1] * players
        self._ending = False  # whether a city is full
        # What follows changes a few times a game at most, so copies of the game share it.
        self._effects: tuple[Effect, ...] = ()  # by seat; empty as long as nobody has one
        self._uses = (0,) * players  # how often a limited effect still applies
        self._copied: tuple[tuple[int, int, int], ...] = ()  # by seat; empty as long as nothing is copied

    def _copy_to(self, twin: Holdings) -> None:
        twin.config = self.config
        twin._log = self._log
        discards = self._discards
        twin._discards = [discards[0][:], discards[1][:], discards[2][:]]
        twin._coins = self._coins[:]
        twin._cities = self._cities[:]
        twin._owned = self._owned[:]
        twin._colours = self._colours[:]
        twin._printed_income = self._printed_income[:]
        twin._prices = self._prices[:]
        twin._special_at = self._special_at[:]
        twin._ending = self._ending
        twin._effects = self._effects
        twin._uses = self._uses
        twin._copied = self._copied

    # Asking --------------------------------------------------------------------------------------------

    def city(self, seat: int) -> tuple[Card, ...]:
        """Return the cards of a city, by position."""
        return self._cities[seat]

    def coins(self, seat: int) -> int:
        """Return the coins that `seat` has."""
        return self._coins[seat]

    def price(self, seat: int, card: Card) -> int:
        """Return the coins that `seat` would pay for `card` now, after discounts (article 3.7)."""
        return self._prices[seat][card.number]

    def coins_for_nothing(self, seat: int) -> int:
        """Return the coins that `seat` would gain now by buying nothing (article 3.6)."""
        return self._effects[seat].coins_for_nothing if self._effects else 1

    def income(self, seat: int) -> int:
        """Return the coins that `seat` would gain in an income phase held now (articles 3.1, 6.2)."""
        return self.incomes()[seat]

    def incomes(self) -> tuple[int, ...]:
        """Return every seat's income."""
        if not self._effects:
            return tuple(self._printed_income)
        incomes = self._printed_income[:]
        for seat, effect in enumerate(self._effects):
            if effect.income is not None:
                incomes[seat] += effect.income(self, seat, self._special_at[seat])
        for seat, (income, _, _) in enumerate(self._copied):
            incomes[seat] += income
        late = [
            (seat, effect.late_income(self, seat, self._special_at[seat], incomes))
            for seat, effect in enumerate(self._effects)
            if effect.late_income is not None
        ]
        for seat, income in late:
            incomes[seat] += income
        return tuple(incomes)

    def count(self, seat: int, colour: Colour) -> int:
        """Return how many cards of a colour a city has, the Happy Market included."""
        return self._colours[seat] >> _SHIFT[colour] & 31

    def symbols(self, seat: int) -> tuple[int, int]:
        """Return a city's inhabitants and hearts as printed, not cut at 0, without what effects add."""
        inhabitants = hearts = 0
        for card in self._cities[seat]:
            inhabitants += card.inhabitants
            hearts += card.hearts
        if self._copied:
            _, more_inhabitants, more_hearts = self._copied[seat]
            return inhabitants + more_inhabitants, hearts + more_hearts
        return inhabitants, hearts

    def special_at(self, seat: int) -> int:
        """Return the position of a city's special, -1 without one."""
        return self._special_at[seat]

    def effect(self, seat: int) -> Effect:
        """Return what the special of a city does; without a special, an effect that does nothing."""
        return self._effects[seat] if self._effects else NO_EFFECT

    def neighbours(self, seat: int) -> tuple[int, ...]:
        """Return who sits on the left and on the right; with two players that is one (article 2.1)."""
        return _NEIGHBOURS[self.config.players][seat]

    def opponents(self, seat: int) -> tuple[int, ...]:
        """Return all other seats."""
        return _OPPONENTS[self.config.players][seat]

    # Changing ------------------------------------------------------------------------------------------

    def _add(self, seat: int, card: Card) -> None:
        """Put a card on the next free position of a city (articles 3.7, 3.9, 3.10)."""
        number = card.number
        city = self._cities[seat]
        self._cities[seat] = (*city, card)
        self._owned[seat] |= 1 << number
        self._colours[seat] += _ONE_OF[number]
        self._printed_income[seat] += _INCOME[number]
        if card.special_set is not None:
            self._special_at[seat] = len(city)
            if card in EFFECTS:
                self._install(seat, EFFECTS[card], uses=EFFECTS[card].uses)
        if len(city) + 1 == CITY_SIZE:
            self._ending = True

    def _demolish_last(self, seat: int) -> None:
        """Discard the last card of a city: a building to its pile, a dwelling out of the game."""
        *rest, card = self._cities[seat]
        number = card.number
        self._cities[seat] = tuple(rest)
        self._owned[seat] ^= 1 << number
        self._colours[seat] -= _ONE_OF[number]
        self._printed_income[seat] -= _INCOME[number]
        if card.kind is CardKind.BUILDING:
            self._discards[PILE[number]].append(number)
        self._log.append(event(EventKind.DEMOLISH, seat, number, 0))

    def _install(self, seat: int, effect: Effect, *, uses: int) -> None:
        self._effects = _with(self._effects or (NO_EFFECT,) * self.config.players, seat, effect)
        self._uses = _with(self._uses, seat, uses)
        self._set_prices(seat)

    def _set_uses(self, uses: tuple[int, ...]) -> None:
        """Take over how often limited effects still apply."""
        self._uses = uses
        for seat in range(self.config.players):
            self._set_prices(seat)

    def _applies(self, seat: int) -> bool:
        """Tell whether the effect of a city's special is not used up."""
        return not self.effect(seat).uses or self._uses[seat] > 0

    def _use_up(self, seat: int, occasion: Occasion) -> None:
        """Count one application of a limited effect."""
        if self._uses[seat] and self._effects[seat].used_by is occasion:
            self._uses = _with(self._uses, seat, self._uses[seat] - 1)
            self._set_prices(seat)

    def _set_prices(self, seat: int) -> None:
        effect = self.effect(seat)
        if effect.price is not None and self._applies(seat):
            price = effect.price
            self._prices[seat] = [price(card, card.cost) for card in CARD]
        else:
            self._prices[seat] = _PRINTED_PRICES

    def _gain(self, owner: int, gains: Gains) -> None:
        """Pay what the special of `owner` brings about."""
        special = self._cities[owner][self._special_at[owner]]
        for seat, coins in gains:
            if coins:
                self._coins[seat] += coins
                self._log.append(event(EventKind.COINS, seat, special.number, coins))

    def _copy_values(self, seat: int, card: Card) -> None:
        """Give a seat's special the printed values of another card (article 6.3)."""
        copied = self._copied or (_NO_VALUES,) * self.config.players
        income, inhabitants, hearts = copied[seat]
        more = (income + card.income, inhabitants + card.inhabitants, hearts + card.hearts)
        self._copied = _with(copied, seat, more)


def _with(values: tuple[_T, ...], seat: int, value: _T) -> tuple[_T, ...]:
    """Return values by seat with one of them changed."""
    return (*values[:seat], value, *values[seat + 1 :])
