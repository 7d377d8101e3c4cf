"""What a special does beyond its printed values: the one place that knows one special from another.

An expert special's row in `data/specials.csv` names its effect, and `EFFECTS` holds one `Effect` for each
(chapter 6); family specials have none. The engine asks the hooks and never tests for a card. A hook reads
what the seats own and returns what is to happen; the engine alone changes anything. Unless its line says
otherwise, a hook is called with the holdings, the owner's seat, and the special's position in the city.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from happycity.cards import BUILDINGS, SPECIALS, Card, CardKind, Colour
from happycity.scoring import happiness

if TYPE_CHECKING:
    from happycity.holdings import Holdings

_T = TypeVar("_T")
_Hook = Callable[["Holdings", int, int], _T]

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

    text: str = ""
    """What the special does, in one or two sentences for people."""

    price: Callable[[Card, int], int] | None = None
    """Price that the owner pays for a card, from the card and its printed price."""
    coins_for_nothing: int = 1
    """What the owner gains by buying nothing (article 3.6)."""
    paid: Callable[[Holdings, int, int, int, int], Gains] | None = None
    """Coins gained whenever a card is bought; also gets the buyer's seat and the price."""

    taken: _Hook[Gains] | None = None
    """Coins gained at once when the special is taken; it is in its place by then."""
    replaces_last: bool = False
    """Whether the special, when taken, discards the last card of the city and takes its position."""

    income: _Hook[int] | None = None
    """Income on top of the printed one, evaluated whenever income is asked for (6.2)."""
    late_income: Callable[[Holdings, int, int, Sequence[int]], int] | None = None
    """The same for an effect that compares incomes: also gets every seat's income without late ones."""
    before_income: _Hook[Gains] | None = None
    """Coins gained at the start of every income phase (6.1)."""
    with_income: Callable[[Holdings, int, int, Sequence[int]], Gains] | None = None
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
    points: Callable[[Holdings, int, int], int] | None = None
    """The owner's final points, from the holdings, the seat and the points so far."""

    uses: int = 0
    """How many times `price` or `with_income` applies; 0 if there is no limit."""
    used_by: Occasion | None = None
    """What uses up one of these times."""


# Prices and coins ----------------------------------------------------------------------------------------

_LOWEST_PRICE = {
    deck: min(card.cost for card in BUILDINGS if card.deck == deck)
    for deck in {card.deck for card in BUILDINGS}
}


def _discount(colour: Colour) -> Callable[[Card, int], int]:
    """Return the price of a card for whoever pays 3 less for cards of `colour`."""
    return lambda card, price: max(0, price - 3) if card.colour is colour else price


def _deck_minimum(card: Card, price: int) -> int:
    return _LOWEST_PRICE.get(card.deck, price)


def _toll(holdings: Holdings, seat: int, position: int, buyer: int, price: int) -> Gains:
    return [(seat, 1)] if price >= 4 and buyer in holdings.neighbours(seat) else []


def _coin_per_card(holdings: Holdings, seat: int, position: int) -> Gains:
    return [(seat, len(holdings.city(seat)))]


def _twice_the_income(holdings: Holdings, seat: int, position: int) -> Gains:
    return [(seat, 2 * holdings.income(seat))]


def _coin_for_everybody(holdings: Holdings, seat: int, position: int) -> Gains:
    return [(player, 1) for player in range(holdings.config.players)]


def _arcade(holdings: Holdings, seat: int, position: int) -> Gains:
    return [(seat, 2)] if holdings.coins(seat) else []


def _highest_income(holdings: Holdings, seat: int, position: int, incomes: Sequence[int]) -> Gains:
    return [(seat, max(incomes[opponent] for opponent in holdings.opponents(seat)))]


def _theft(holdings: Holdings, seat: int, position: int) -> Gains:
    most = max(holdings.coins(opponent) for opponent in holdings.opponents(seat))
    richest = [opponent for opponent in holdings.opponents(seat) if holdings.coins(opponent) == most > 0]
    return [*((victim, -1) for victim in richest), (seat, len(richest))]


# Counting cards ------------------------------------------------------------------------------------------


def _per_card(amount: int, colour: Colour) -> _Hook[int]:
    """Return `amount` for each card of `colour` in the owner's city."""
    return lambda holdings, seat, position: amount * holdings.count(seat, colour)


def _per_card_next_door(colour: Colour) -> _Hook[int]:
    """Return 1 for each card of `colour` in the city of the neighbour who has more."""
    return lambda holdings, seat, position: max(
        holdings.count(other, colour) for other in holdings.neighbours(seat)
    )


def _without(amount: int, colour: Colour) -> _Hook[int]:
    """Return `amount` if the owner's city has no card of `colour`."""
    return lambda holdings, seat, position: 0 if holdings.count(seat, colour) else amount


def _most(colour: Colour, *, strictly: int, tied: int, otherwise: int) -> _Hook[int]:
    """Return an amount by how the owner's cards of `colour` compare with everybody else's."""

    def hook(holdings: Holdings, seat: int, position: int) -> int:
        own = holdings.count(seat, colour)
        most = max(holdings.count(opponent, colour) for opponent in holdings.opponents(seat))
        return strictly if own > most else tied if own == most else otherwise

    return hook


def _escape_room(holdings: Holdings, seat: int, position: int) -> int:
    own = holdings.count(seat, Colour.YELLOW)
    return 2 if all(holdings.count(other, Colour.YELLOW) >= own for other in holdings.opponents(seat)) else 0


def _machu_picchu(holdings: Holdings, seat: int, position: int) -> int:
    return holdings.count(holdings.neighbours(seat)[0], Colour.ORANGE)


def _few_cards(holdings: Holdings, seat: int, position: int) -> int:
    return {10: 0, 9: 2}.get(len(holdings.city(seat)), 4)


# Comparing incomes and totals ----------------------------------------------------------------------------


def _barber(holdings: Holdings, seat: int, position: int, incomes: Sequence[int]) -> int:
    return 3 if all(incomes[seat] < incomes[opponent] for opponent in holdings.opponents(seat)) else 0


def _taj_mahal(holdings: Holdings, seat: int, position: int) -> int:
    incomes = holdings.incomes()
    return 3 if all(incomes[seat] < incomes[other] for other in holdings.neighbours(seat)) else 1


def _pairs_of_symbols(holdings: Holdings, seat: int, position: int) -> int:
    return max(0, min(holdings.symbols(seat)))


def _less_income(holdings: Holdings, seat: int, points: int) -> int:
    return max(0, points - holdings.income(seat))


def _doubled_below_30(holdings: Holdings, seat: int, points: int) -> int:
    return 2 * points if points < 30 else points


# Looking at positions (6.4) ------------------------------------------------------------------------------


def _previous(symbol: Callable[[Card], int]) -> _Hook[int]:
    """Return a printed value of the card before the special in the city."""
    return lambda holdings, seat, position: symbol(holdings.city(seat)[position - 1])


def _colours_before(holdings: Holdings, seat: int, position: int) -> int:
    return len({card.colour for card in holdings.city(seat)[:position] if card.colour is not None})


def _great_wall(holdings: Holdings, seat: int, position: int) -> int:
    following = [card.colour for card in holdings.city(seat)[position + 1 : position + 3]]
    return 3 if len(following) == 2 and following[0] is following[1] is not None else 1


def _adjacent(position: int) -> Iterator[int]:
    """Yield the positions beside, above and below one on the grid of two rows of five (3.9)."""
    row, column = divmod(position, 5)
    if column > 0:
        yield position - 1
    if column < 4:
        yield position + 1
    yield position - 5 if row else position + 5


def _alike_around(holdings: Holdings, seat: int, position: int) -> int:
    """Return how many cards around a position share one colour, at most."""
    city = holdings.city(seat)
    colours = [city[near].colour for near in _adjacent(position) if near < len(city)]
    return max((colours.count(colour) for colour in colours if colour is not None), default=0)


def _golden_gate_inhabitants(holdings: Holdings, seat: int, position: int) -> int:
    return 1 if _alike_around(holdings, seat, position) >= 2 else 0


def _golden_gate_hearts(holdings: Holdings, seat: int, position: int) -> int:
    return {2: 1, 3: 2}.get(_alike_around(holdings, seat, position), 0)


def _pyramid(holdings: Holdings, seat: int, position: int) -> Card | None:
    """Choose what is better for the owner's points, the left neighbour's on a tie (ruling)."""
    cities = [holdings.city(neighbour) for neighbour in holdings.neighbours(seat)]
    candidates = [city[position] for city in cities if position < len(city)]
    candidates = [card for card in candidates if card.kind is not CardKind.SPECIAL]
    return max(candidates, key=lambda card: _points_with(holdings, seat, card), default=None)


def _points_with(holdings: Holdings, seat: int, card: Card) -> int:
    """Return the points that a city would make with a card's printed values on top of its own."""
    inhabitants, hearts = holdings.symbols(seat)
    return happiness(holdings.config, inhabitants + card.inhabitants, hearts + card.hearts)


# The table -----------------------------------------------------------------------------------------------

_BY_NAME: dict[str, Effect] = {
    "copy_neighbour_same_position": Effect(
        text="At the end it copies income, inhabitants and hearts of a neighbour's card at the same "
        "position, specials excluded: of two cards the one that gives its owner more points.",
        copied=_pyramid,
    ),
    "coin_when_neighbour_spends_4": Effect(
        text="Gain 1 coin whenever a neighbour pays 4 or more coins for a card.", paid=_toll
    ),
    "coins_now_per_card": Effect(
        text="At once: gain 1 coin for each card in your city, this one included.", taken=_coin_per_card
    ),
    "discount_3_blue": Effect(text="Blue cards cost you 3 less, at least 0.", price=_discount(Colour.BLUE)),
    "discount_3_green": Effect(
        text="Green cards, dwellings included, cost you 3 less, at least 0.", price=_discount(Colour.GREEN)
    ),
    "discount_3_orange": Effect(
        text="Orange cards cost you 3 less, at least 0.", price=_discount(Colour.ORANGE)
    ),
    "copy_previous_card": Effect(
        text="It also has the income, inhabitants and hearts of the card before it in your city.",
        income=_previous(lambda card: card.income),
        inhabitants=_previous(lambda card: card.inhabitants),
        hearts=_previous(lambda card: card.hearts),
    ),
    "income_3_per_purple": Effect(
        text="3 income for each purple card in your city.", income=_per_card(3, Colour.PURPLE)
    ),
    "coins_now_twice_income_lose_points_income": Effect(
        text="At once: gain coins equal to twice your income. At the end you lose points equal to your "
        "income, but never more than you have.",
        taken=_twice_the_income,
        points=_less_income,
    ),
    "hearts_if_small_city": Effect(
        text="At the end: 2 hearts if your city has exactly 9 cards, 4 hearts if it has fewer.",
        hearts=_few_cards,
    ),
    "replace_last_card": Effect(
        text="At once: the last card of your city is discarded, and this takes its position. It may be taken "
        "with 10 cards.",
        replaces_last=True,
    ),
    "centre_costs_deck_minimum": Effect(
        text="Buildings cost you the lowest price of their deck: 1, 4 or 6.", price=_deck_minimum
    ),
    "income_3_if_strictly_lowest_income": Effect(
        text="3 income while your income, without these 3, is strictly the lowest at the table.",
        late_income=_barber,
    ),
    "copy_opponent_special_or_box": Effect(
        text="At the end you choose the special of an opponent, or a random one from the box, and this has "
        "its values and its effect, without what it does at once.",
        chooses_copy=True,
    ),
    "steal_1_from_richest_after_income": Effect(
        text="After each income phase, take 1 coin from the opponent with the most coins, on a tie from "
        "each of them.",
        after_income=_theft,
    ),
    "hearts_3_2_1_most_blue": Effect(
        text="3 hearts if you have strictly the most blue cards, 2 if you tie for the most, else 1.",
        hearts=_most(Colour.BLUE, strictly=3, tied=2, otherwise=1),
    ),
    "next_card_free": Effect(
        text="The next card that you buy is free.",
        price=lambda card, price: 0,
        uses=1,
        used_by=Occasion.PURCHASE,
    ),
    "every_player_gains_1_now": Effect(text="At once: every player gains 1 coin.", taken=_coin_for_everybody),
    "income_2_if_fewest_yellow": Effect(
        text="2 income while no other player has fewer yellow cards than you.", income=_escape_room
    ),
    "inhabitant_per_orange_of_left_neighbour": Effect(
        text="1 inhabitant for each orange card of your left neighbour.", inhabitants=_machu_picchu
    ),
    "buying_nothing_gains_8": Effect(
        text="Buying nothing gains you 8 coins instead of 1.", coins_for_nothing=8
    ),
    "adjacent_same_colour": Effect(
        text="1 heart and 1 inhabitant if two of the cards left, right, above and below share a colour; "
        "2 hearts and 1 inhabitant if three do.",
        inhabitants=_golden_gate_inhabitants,
        hearts=_golden_gate_hearts,
    ),
    "inhabitant_per_blue_of_one_neighbour": Effect(
        text="1 inhabitant for each blue card of the neighbour who has more of them.",
        inhabitants=_per_card_next_door(Colour.BLUE),
    ),
    "income_1_per_blue": Effect(
        text="1 income for each blue card in your city.", income=_per_card(1, Colour.BLUE)
    ),
    "heart_per_green": Effect(
        text="1 heart for each green card in your city.", hearts=_per_card(1, Colour.GREEN)
    ),
    "hearts_3_if_income_below_neighbours_else_1": Effect(
        text="3 hearts if your income at the end is strictly below that of every neighbour, else 1.",
        hearts=_taj_mahal,
    ),
    "opponent_income_next_two_phases": Effect(
        text="At each of the next two income phases, also gain the highest income among your opponents.",
        with_income=_highest_income,
        uses=2,
        used_by=Occasion.INCOME_PHASE,
    ),
    "income_1_per_heart_inhabitant_pair": Effect(
        text="1 income for each pair of a heart and an inhabitant in your city.", income=_pairs_of_symbols
    ),
    "income_2_per_green": Effect(
        text="2 income for each green card in your city.", income=_per_card(2, Colour.GREEN)
    ),
    "hearts_3_if_strictly_most_green_else_1": Effect(
        text="3 hearts if you have strictly the most green cards, else 1.",
        hearts=_most(Colour.GREEN, strictly=3, tied=1, otherwise=1),
    ),
    "heart_per_yellow_of_one_neighbour": Effect(
        text="1 heart for each yellow card of the neighbour who has more of them.",
        hearts=_per_card_next_door(Colour.YELLOW),
    ),
    "gain_2_before_income_if_any_coin": Effect(
        text="Before each income phase, gain 2 coins if you have any coin.", before_income=_arcade
    ),
    "hearts_3_if_next_two_share_colour_else_1": Effect(
        text="3 hearts if the next two cards of your city share a colour, else 1.", hearts=_great_wall
    ),
    "income_1_per_colour_before": Effect(
        text="1 income for each different colour among the cards before it in your city.",
        income=_colours_before,
    ),
    "hearts_3_if_no_orange": Effect(
        text="3 hearts if your city has no orange card.", hearts=_without(3, Colour.ORANGE)
    ),
    "double_points_below_30": Effect(
        text="At the end your points are doubled if they are below 30.", points=_doubled_below_30
    ),
    "inhabitants_4_if_no_green": Effect(
        text="4 inhabitants if your city has no green card.", inhabitants=_without(4, Colour.GREEN)
    ),
}

NO_EFFECT = Effect()
EFFECTS: dict[Card, Effect] = {card: _BY_NAME[card.effect] for card in SPECIALS if card.effect}
"""The effect of each special that has one."""


def effect_of(card: Card) -> Effect:
    """Return what a card does; of most of them, an effect that does nothing."""
    return EFFECTS.get(card, NO_EFFECT)
