"""What a special does beyond its printed values: the one place that knows one special from another.

An expert special's row in `data/specials.csv` names its effect, and `EFFECTS` holds one `Effect` for each
(chapter 6); family specials have none. The engine calls the hooks and never tests for a card. A hook reads
the table and returns what is to happen; the engine alone changes anything. Unless its line says otherwise, a
hook gets the table, the owner's seat, and the special's position in the city.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeVar

from happycity.rules.cards import BUILDINGS, HAPPY_MARKET, SPECIALS, Card, CardKind, Colour
from happycity.rules.deals import Config, happiness

_T = TypeVar("_T")


class EffectTable(Protocol):
    """What effects may ask of a table, of which `Cities` is one; it doesn't know whose turn it is."""

    @property
    def config(self) -> Config:
        """The kind of game."""

    @property
    def coins(self) -> Sequence[int]:
        """Coins by seat."""

    @property
    def cards(self) -> Sequence[tuple[Card, ...]]:
        """The cards of each seat's city, by position."""

    def count(self, seat: int, colour: Colour) -> int:
        """Return how many cards of a colour a city has, the Happy Market included."""

    def symbols(self, seat: int) -> tuple[int, int]:
        """Return a city's inhabitants and hearts as printed, not cut at 0, without what effects add."""

    def income(self, seat: int) -> int:
        """Return the coins that a seat would gain in an income phase held now (articles 3.1, 6.2)."""

    def incomes(self) -> Sequence[int]:
        """Return every seat's income."""

    def neighbours(self, seat: int) -> tuple[int, ...]:
        """Return the left and the right neighbour; with two players they are one (article 2.1)."""

    def opponents(self, seat: int) -> tuple[int, ...]:
        """Return all other seats."""


_Hook = Callable[[EffectTable, int, int], _T]

Gains = Iterable[tuple[int, int]]
"""Seats and the coins that each of them gains, or loses if negative."""


class Occasion(Enum):
    """What uses up one application of an effect that applies a limited number of times."""

    PURCHASE = "purchase"
    """The owner buys a card."""
    INCOME_PHASE = "income phase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The hooks of one special; those it doesn't use keep their defaults."""

    price: Callable[[Card, int], int] | None = None
    """Price that the owner pays for a card, from the card and its printed price."""
    coin_gain: int = 1
    """Coins that the owner takes when buying nothing (article 3.6)."""
    paid: Callable[[EffectTable, int, int, int, int], Gains] | None = None
    """Coins gained whenever a card is bought; also gets the buyer's seat and the price."""

    taken: _Hook[Gains] | None = None
    """Coins gained at once when the special is taken; it is in its place by then."""
    replaces_last: bool = False
    """Whether the special, when taken, discards the last card of the city and takes its position."""

    income: _Hook[int] | None = None
    """Income on top of the printed one, evaluated whenever income is asked for (6.2)."""
    late_income: Callable[[EffectTable, int, int, Sequence[int]], int] | None = None
    """The same for an effect that compares incomes: also gets every seat's income without late ones."""
    before_income: _Hook[Gains] | None = None
    """Coins gained at the start of every income phase (6.1)."""
    with_income: Callable[[EffectTable, int, int, Sequence[int]], Gains] | None = None
    """Coins gained along with the incomes, which it gets by seat, but not part of the owner's income."""
    after_income: _Hook[Gains] | None = None
    """Coins gained at the end of every income phase."""

    chooses_copy: bool = False
    """Whether the owner chooses a special at the end whose values and effect this one gets (6.3)."""
    copied: _Hook[Card | None] | None = None
    """The card whose values this special gets at the end, if there is one."""
    inhabitants: _Hook[int] | None = None
    """Inhabitants at the end, on top of the printed ones."""
    hearts: _Hook[int] | None = None
    """Hearts at the end, on top of the printed ones."""
    points: Callable[[EffectTable, int, int], int] | None = None
    """The owner's final points, from the table, the seat and the points so far."""

    uses: int = 0
    """How many times `price` or `with_income` applies; 0 if there is no limit."""
    used_by: Occasion | None = None
    """What uses up one of these times."""

    def __reduce__(self) -> tuple[object, tuple[Card]]:
        # Pickles are the same special's effect again, as hooks may be local functions.
        special = next((card for card, effect in EFFECTS.items() if effect is self), HAPPY_MARKET)
        return (effect_of, (special,))

    def symbols(self, table: EffectTable, seat: int, position: int) -> tuple[int, int]:
        """Return the inhabitants and the hearts that the hooks add."""
        inhabitants = self.inhabitants(table, seat, position) if self.inhabitants is not None else 0
        return inhabitants, self.hearts(table, seat, position) if self.hearts is not None else 0


_LOWEST_PRICE = {
    deck: min(card.cost for card in BUILDINGS if card.deck == deck)
    for deck in {card.deck for card in BUILDINGS}
}


def _discount(colour: Colour) -> Callable[[Card, int], int]:
    """Return the price of a card for an owner who pays 3 less for cards of `colour`."""
    return lambda card, price: max(0, price - 3) if card.colour is colour else price


def _deck_minimum(card: Card, price: int) -> int:
    return _LOWEST_PRICE.get(card.deck, price)


def _toll(table: EffectTable, seat: int, position: int, buyer: int, price: int) -> Gains:
    return [(seat, 1)] if price >= 4 and buyer in table.neighbours(seat) else []


def _coin_per_card(table: EffectTable, seat: int, position: int) -> Gains:
    return [(seat, len(table.cards[seat]))]


def _twice_the_income(table: EffectTable, seat: int, position: int) -> Gains:
    return [(seat, 2 * table.income(seat))]


def _coin_for_all(table: EffectTable, seat: int, position: int) -> Gains:
    return [(player, 1) for player in range(table.config.players)]


def _arcade(table: EffectTable, seat: int, position: int) -> Gains:
    return [(seat, 2)] if table.coins[seat] else []


def _highest_income(table: EffectTable, seat: int, position: int, incomes: Sequence[int]) -> Gains:
    return [(seat, max(incomes[opponent] for opponent in table.opponents(seat)))]


def _theft(table: EffectTable, seat: int, position: int) -> Gains:
    most = max(table.coins[opponent] for opponent in table.opponents(seat))
    richest = [opponent for opponent in table.opponents(seat) if table.coins[opponent] == most > 0]
    return [*((victim, -1) for victim in richest), (seat, len(richest))]


def _per_card(amount: int, colour: Colour) -> _Hook[int]:
    """Return `amount` for each card of `colour` in the owner's city."""
    return lambda table, seat, position: amount * table.count(seat, colour)


def _per_card_next_door(colour: Colour) -> _Hook[int]:
    """Return 1 for each card of `colour` in the city of the neighbour who has more."""
    return lambda table, seat, position: max(table.count(other, colour) for other in table.neighbours(seat))


def _without(amount: int, colour: Colour) -> _Hook[int]:
    """Return `amount` if the owner's city has no card of `colour`."""
    return lambda table, seat, position: 0 if table.count(seat, colour) else amount


def _most(colour: Colour, *, strictly: int, tied: int, otherwise: int) -> _Hook[int]:
    """Return an amount by how the owner's cards of `colour` compare with those of the others."""

    def hook(table: EffectTable, seat: int, position: int) -> int:
        own = table.count(seat, colour)
        most = max(table.count(opponent, colour) for opponent in table.opponents(seat))
        return strictly if own > most else tied if own == most else otherwise

    return hook


def _escape_room(table: EffectTable, seat: int, position: int) -> int:
    own = table.count(seat, Colour.YELLOW)
    return 2 if all(table.count(other, Colour.YELLOW) >= own for other in table.opponents(seat)) else 0


def _machu_picchu(table: EffectTable, seat: int, position: int) -> int:
    return table.count(table.neighbours(seat)[0], Colour.ORANGE)


def _few_cards(table: EffectTable, seat: int, position: int) -> int:
    return {10: 0, 9: 2}.get(len(table.cards[seat]), 4)


def _barber(table: EffectTable, seat: int, position: int, incomes: Sequence[int]) -> int:
    return 3 if all(incomes[seat] < incomes[opponent] for opponent in table.opponents(seat)) else 0


def _taj_mahal(table: EffectTable, seat: int, position: int) -> int:
    incomes = table.incomes()
    return 3 if all(incomes[seat] < incomes[other] for other in table.neighbours(seat)) else 1


def _pairs_of_symbols(table: EffectTable, seat: int, position: int) -> int:
    return max(0, min(table.symbols(seat)))


def _less_income(table: EffectTable, seat: int, points: int) -> int:
    return max(0, points - table.income(seat))


def _doubled_below_30(table: EffectTable, seat: int, points: int) -> int:
    return 2 * points if points < 30 else points


def _previous(symbol: Callable[[Card], int]) -> _Hook[int]:
    """Return a printed value of the card before the special in the city."""
    return lambda table, seat, position: symbol(table.cards[seat][position - 1])


def _colours_before(table: EffectTable, seat: int, position: int) -> int:
    return len({card.colour for card in table.cards[seat][:position] if card.colour is not None})


def _great_wall(table: EffectTable, seat: int, position: int) -> int:
    following = [card.colour for card in table.cards[seat][position + 1 : position + 3]]
    return 3 if len(following) == 2 and following[0] is following[1] is not None else 1


def _adjacent(position: int) -> Iterator[int]:
    """Yield the positions left, right, above and below one on the grid of two rows of five (3.9)."""
    row, column = divmod(position, 5)
    if column > 0:
        yield position - 1
    if column < 4:
        yield position + 1
    yield position - 5 if row else position + 5


def _alike_around(table: EffectTable, seat: int, position: int) -> int:
    """Return how many cards around a position share one colour, at most."""
    city = table.cards[seat]
    colours = [city[near].colour for near in _adjacent(position) if near < len(city)]
    return max((colours.count(colour) for colour in colours if colour is not None), default=0)


def _golden_gate_inhabitants(table: EffectTable, seat: int, position: int) -> int:
    return 1 if _alike_around(table, seat, position) >= 2 else 0


def _golden_gate_hearts(table: EffectTable, seat: int, position: int) -> int:
    return {2: 1, 3: 2}.get(_alike_around(table, seat, position), 0)


def _pyramid(table: EffectTable, seat: int, position: int) -> Card | None:
    """Choose what is better for the owner's points, the left neighbour's on a tie (ruling)."""
    cities = [table.cards[neighbour] for neighbour in table.neighbours(seat)]
    candidates = [city[position] for city in cities if position < len(city)]
    candidates = [card for card in candidates if card.kind is not CardKind.SPECIAL]
    return max(candidates, key=lambda card: _points_with(table, seat, card), default=None)


def _points_with(table: EffectTable, seat: int, card: Card) -> int:
    """Return the points that a city would make with a card's printed values on top of its own."""
    inhabitants, hearts = table.symbols(seat)
    return happiness(table.config, inhabitants + card.inhabitants, hearts + card.hearts)


_BY_NAME: dict[str, Effect] = {
    "copy_neighbour_same_position": Effect(copied=_pyramid),
    "coin_when_neighbour_spends_4": Effect(paid=_toll),
    "coins_now_per_card": Effect(taken=_coin_per_card),
    "discount_3_blue": Effect(price=_discount(Colour.BLUE)),
    "discount_3_green": Effect(price=_discount(Colour.GREEN)),
    "discount_3_orange": Effect(price=_discount(Colour.ORANGE)),
    "copy_previous_card": Effect(
        income=_previous(lambda card: card.income),
        inhabitants=_previous(lambda card: card.inhabitants),
        hearts=_previous(lambda card: card.hearts),
    ),
    "income_3_per_purple": Effect(income=_per_card(3, Colour.PURPLE)),
    "coins_now_twice_income_lose_points_income": Effect(taken=_twice_the_income, points=_less_income),
    "hearts_if_small_city": Effect(hearts=_few_cards),
    "replace_last_card": Effect(replaces_last=True),
    "centre_costs_deck_minimum": Effect(price=_deck_minimum),
    "income_3_if_strictly_lowest_income": Effect(late_income=_barber),
    "copy_opponent_special_or_box": Effect(chooses_copy=True),
    "steal_1_from_richest_after_income": Effect(after_income=_theft),
    "hearts_3_2_1_most_blue": Effect(hearts=_most(Colour.BLUE, strictly=3, tied=2, otherwise=1)),
    "next_card_free": Effect(price=lambda card, price: 0, uses=1, used_by=Occasion.PURCHASE),
    "every_player_gains_1_now": Effect(taken=_coin_for_all),
    "income_2_if_fewest_yellow": Effect(income=_escape_room),
    "inhabitant_per_orange_of_left_neighbour": Effect(inhabitants=_machu_picchu),
    "buying_nothing_gains_8": Effect(coin_gain=8),
    "adjacent_same_colour": Effect(inhabitants=_golden_gate_inhabitants, hearts=_golden_gate_hearts),
    "inhabitant_per_blue_of_one_neighbour": Effect(inhabitants=_per_card_next_door(Colour.BLUE)),
    "income_1_per_blue": Effect(income=_per_card(1, Colour.BLUE)),
    "heart_per_green": Effect(hearts=_per_card(1, Colour.GREEN)),
    "hearts_3_if_income_below_neighbours_else_1": Effect(hearts=_taj_mahal),
    "opponent_income_next_two_phases": Effect(
        with_income=_highest_income, uses=2, used_by=Occasion.INCOME_PHASE
    ),
    "income_1_per_heart_inhabitant_pair": Effect(income=_pairs_of_symbols),
    "income_2_per_green": Effect(income=_per_card(2, Colour.GREEN)),
    "hearts_3_if_strictly_most_green_else_1": Effect(
        hearts=_most(Colour.GREEN, strictly=3, tied=1, otherwise=1)
    ),
    "heart_per_yellow_of_one_neighbour": Effect(hearts=_per_card_next_door(Colour.YELLOW)),
    "gain_2_before_income_if_any_coin": Effect(before_income=_arcade),
    "hearts_3_if_next_two_share_colour_else_1": Effect(hearts=_great_wall),
    "income_1_per_colour_before": Effect(income=_colours_before),
    "hearts_3_if_no_orange": Effect(hearts=_without(3, Colour.ORANGE)),
    "double_points_below_30": Effect(points=_doubled_below_30),
    "inhabitants_4_if_no_green": Effect(inhabitants=_without(4, Colour.GREEN)),
}

NO_EFFECT: Final = Effect()
EFFECTS: Final[dict[Card, Effect]] = {card: _BY_NAME[card.effect] for card in SPECIALS if card.effect}
"""The effect of each special that has one."""


def effect_of(card: Card) -> Effect:
    """Return what a card does; of most of them, an effect that does nothing."""
    return EFFECTS.get(card, NO_EFFECT)
