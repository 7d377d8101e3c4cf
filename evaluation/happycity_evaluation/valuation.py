"""What a city may still become: the estimates that the planner and the rollout bot share.

Everything is judged in points at the end of the game. The future of a city is reduced to its purse, its
income, its inhabitants and hearts, the positions still free and the turns that its owner still has. The
constants were found by letting bots with different ones play each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from typing import Final, NamedTuple

from happycity import Card, Mode, View
from happycity.rules.cards import BUILDINGS, CARDS, DWELLINGS
from happycity.rules.cities import Cities
from happycity.rules.deals import CITY_SIZE, LAST_ROUND
from happycity.rules.effects import Effect
from happycity_evaluation.outlook import STRETCH, VALUES, Outlook
from happycity_evaluation.special_values import (
    PRINTED,
    PointsRule,
    Remaining,
    additions,
    effect_in,
    looks_at_cities,
    points_rule_of,
    price_of_buying,
    value_if_owned,
    value_if_taken,
)

PACE: Final = 0.98
"""Turns that a seat takes to fill one free position, at the pace of a card a turn."""
SLACK: Final = 0.15
"""Turns added to the filling of a city."""
PACE_PRIOR: Final = 17.0
"""Turns of one card each that are mixed into a seat's shown pace."""
REACH: Final = (1.0, 0.41, 0.26, 0.24, 0.12, 0.06)
"""How likely a special is to be won, by the number of cards that its condition still misses."""
WAIT: Final = 0.035
"""What is lost by buying a dwelling one turn early, as it would still be there: in symbols a turn."""
UNAFFORDABLE: Final = -1e9
"""The gain of a card that a city can't buy."""
SECOND_DRAW: Final = 0.6
"""What a second draw in the same turn is worth, compared with the first."""

DECKS: Final = tuple(tuple(card.number for card in BUILDINGS if card.deck == deck) for deck in (1, 2, 3))
"""The numbers of the cards in decks 1, 2 and 3, each card once as every one exists twice."""
STACKS: Final = tuple(card.number for card in DWELLINGS)
"""The numbers of the dwellings, in the order of a view's `dwellings`."""

_Offer = tuple[int, Card, float, float, float, int]
"""A card on sale: number, card, and what it adds in income, inhabitants and hearts, and its colour."""

_ON_SALE: Final[tuple[_Offer, ...]] = tuple(
    (card.number, card, *VALUES[card.number]) for card in (*BUILDINGS, *DWELLINGS)
)
_PRINTED_PRICES: Final = tuple(card.cost for _, card, *_ in _ON_SALE)
_COLOURS: Final = 6
CONDITIONS: Final = ((), *(tuple((int(colour), n) for colour, n in card.condition.items()) for card in CARDS))
"""What specials ask for, by card number: each colour, and how many cards of it."""


def prices(view: View, seat: int) -> tuple[int, ...]:
    """Return what `seat` pays for each building and dwelling, in table order."""
    effect = effect_in(view, seat) if view.config.mode is Mode.EXPERT else None
    if effect is None or effect.price is None or (effect.uses and not view.uses[seat]):
        return _PRINTED_PRICES
    return _changed_prices(effect)


@cache
def _changed_prices(effect: Effect) -> tuple[int, ...]:
    assert effect.price is not None
    return tuple([effect.price(card, card.cost) for _, card, *_ in _ON_SALE])


def cities_of(view: View) -> Cities | None:
    """Return the cities at which effects are evaluated; None if no special of the game has an effect."""
    return Cities.of_view(view) if view.config.mode is Mode.EXPERT else None


def turns_left(view: View, seat: int) -> float:
    """Estimate how many turns `seat` will have after its current or next one, unless it ends the game."""
    least = float(LAST_ROUND - view.round)
    for rival, city in enumerate(view.cities):
        if rival != seat:
            least = min(least, rounds_to_fill(len(city), view.round, 1 if rival > view.seat else 0))
    return least


def rounds_to_fill(size: int, number: int, to_play: int) -> float:
    """Estimate the rounds after round `number` until a city of this size is full, from its pace so far.

    `to_play` is how many turns of this round its owner still has.
    """
    if size >= CITY_SIZE:
        return 0.0
    pace = (size - 1 + PACE_PRIOR) / (number - to_play + PACE_PRIOR)
    return (CITY_SIZE - size - to_play) * PACE / pace + SLACK


class CityTotals(NamedTuple):
    """A city, added up."""

    income: float
    inhabitants: float
    hearts: float
    free: int
    """Positions left."""
    colours: list[int]
    """How many cards of each colour; colourless ones at index 0."""
    owned: set[Card]
    has_special: bool


class Prospects(NamedTuple):
    """All that what a seat may still reach depends on."""

    view: View
    seat: int
    coins: int
    """The coins that it has to spend in this or its next turn."""
    turns: float
    """See `turns_left`."""
    city: CityTotals
    outlook: Outlook
    """What the city has before it as it is."""
    cities: Cities | None
    """The cities that `view` shows; None if no special of the game has an effect."""

    def points_now(self) -> float:
        """Estimate the points at the end, without a special that is not yet there."""
        return self.outlook.points(self.coins, self.city.income, self.city.inhabitants, self.city.hearts)


def assess(view: View, seat: int, coins: int, cities: Cities | None) -> Prospects:
    """Return the prospects of `seat` with these coins."""
    city, turns = summarise(view, seat), turns_left(view, seat)
    return Prospects(
        view, seat, coins, turns, city, Outlook(view.config.scoring, free=city.free, turns=turns), cities
    )


def summarise(view: View, seat: int) -> CityTotals:
    """Add up the city of `seat`."""
    inhabitants = hearts = 0
    colours = [0] * _COLOURS
    has_special = False
    city = view.cities[seat]
    for card in city:
        _, more_inhabitants, more_hearts, colour = VALUES[card.number]
        inhabitants += more_inhabitants
        hearts += more_hearts
        colours[colour] += 1
        if not colour and card.special_set is not None:
            has_special = True
    free = CITY_SIZE - len(city)
    return CityTotals(view.incomes[seat], inhabitants, hearts, free, colours, set(city), has_special)


class Appraisal:
    """What every card that may be on sale is worth to one city in one turn."""

    def __init__(self, points: float, gains: list[float]) -> None:
        self.points = points
        """Expected points if the turn goes by with taking a coin."""
        self.gains = gains
        """Expected points on top of that, by the number of the card bought instead; index 0 is the coin."""
        self._by_deck = [[gains[number] for number in deck if gains[number] > 0] for deck in DECKS]

    def best_dwelling(self, view: View) -> float:
        """Return the best gain among the dwellings left, at least 0."""
        best = 0.0
        for number, left in zip(STACKS, view.dwellings, strict=True):
            if left and self.gains[number] > best:
                best = self.gains[number]
        return best

    def surplus(self, deck: int, floor: float) -> float:
        """Return by how much a card drawn from a deck (1-3) beats the gain `floor`, 0 or more, on average."""
        total = 0.0
        for gain in self._by_deck[deck - 1]:
            if gain > floor:
                total += gain - floor
        return total / len(DECKS[deck - 1])


class EffectTerms(NamedTuple):
    """What the effect of a city's special changes in its appraisal."""

    coins: float = 0.0
    """Coins that the effect is worth to a city that buys."""
    if_passing: float = 1
    """What a city has on top of that if it buys nothing."""
    on_sale: Sequence[_Offer] = _ON_SALE
    points_rule: Callable[[float, Card | None], float] | None = None
    """How the final points change, with a card that is bought or without one; None if they don't."""


_USUAL_TERMS: Final = EffectTerms(coins=0)


def appraise(view: View, seat: int, coins: int, cities: Cities | None) -> Appraisal:
    """Value every building and dwelling for `seat`, which has `coins` to spend in this or its next turn.

    `cities` shows the same table as `view`, and is None if no special of the game has an effect.
    """
    prospects, terms = assess(view, seat, coins, cities), _USUAL_TERMS
    effect = effect_in(view, seat) if cities is not None else None
    if cities is not None and effect is not None:
        city, terms = with_effect(view, seat, cities, effect, city=prospects.city, turns=prospects.turns)
        prospects = prospects._replace(city=city)
    city, turns = prospects.city, prospects.turns
    potentials = special_potentials(prospects, view.specials)
    wealth, points_rule = coins + terms.coins, terms.points_rule
    idle = prospects.outlook.points(wealth + terms.if_passing, city.income, city.inhabitants, city.hearts)
    idle = (points_rule(idle, None) if points_rule else idle) + potentials[0]
    gains = [0.0] + [UNAFFORDABLE] * len(_ON_SALE)
    if city.free == 0:
        return Appraisal(idle, gains)
    income, inhabitants, hearts, free, _, owned, _ = city
    outlook = Outlook(view.config.scoring, free=free - 1, turns=turns)
    for (number, card, more, more_inhabitants, more_hearts, colour), cost in zip(
        terms.on_sale, prices(view, seat), strict=True
    ):
        if cost <= coins and card not in owned:
            bought = outlook.points(
                wealth - cost, income + more, inhabitants + more_inhabitants, hearts + more_hearts
            )
            if points_rule:
                bought = points_rule(bought, card)
            gains[number] = bought + potentials[colour] - idle
    _discount_waiting(gains, idle, turns)
    return Appraisal(idle, gains)


def with_effect(
    view: View, seat: int, cities: Cities, effect: Effect, *, city: CityTotals, turns: float
) -> tuple[CityTotals, EffectTerms]:
    """Return a city with what its special adds beyond the printed values, and its terms."""
    left = remaining(turns=turns, free=city.free)
    value = value_if_owned(cities, seat, left, specials=view.specials)
    city = city._replace(
        income=cities.printed_incomes[seat] + value.income,
        inhabitants=city.inhabitants + value.inhabitants,
        hearts=city.hearts + value.hearts,
    )
    lost_discount = price_of_buying(view, seat)
    return city, EffectTerms(
        coins=value.coins - lost_discount,
        if_passing=effect.coin_gain + lost_discount,
        on_sale=_offers(cities, seat) if looks_at_cities(effect) else _ON_SALE,
        points_rule=_with_card(cities, seat, value.points_rule) if value.points_rule else None,
    )


def _with_card(cities: Cities, seat: int, usual: PointsRule) -> Callable[[float, Card | None], float]:
    """Return how the final points change with a card; `usual` says it where a copy is yet to come."""

    def change_points(points: float, card: Card | None) -> float:
        table = cities if card is None else cities.with_cards(seat, card)
        return (points_rule_of(table, seat) or usual)(points)

    return change_points


def _offers(cities: Cities, seat: int) -> list[_Offer]:
    """Return the cards on sale with what each adds to a city, changes to what its effect adds included."""
    changes = additions(cities, seat, [card for _, card, *_ in _ON_SALE])
    return [
        (number, card, more + income, more_inhabitants + inhabitants, more_hearts + hearts, colour)
        for (number, card, more, more_inhabitants, more_hearts, colour), (income, inhabitants, hearts) in zip(
            _ON_SALE, changes, strict=True
        )
    ]


def remaining(*, turns: float, free: int) -> Remaining:
    """Return what a city with free positions still has before it."""
    turns = min(turns, free)
    return Remaining(turns, min(turns, free * STRETCH))


def _discount_waiting(gains: list[float], points: float, turns: float) -> None:
    """Take off dwellings what they lose by being bought early: the others can't take them all."""
    if points > 0:
        loss = WAIT * turns * sqrt(points)
        for number in STACKS:
            gains[number] -= loss


def special_potentials(prospects: Prospects, specials: Sequence[Card]) -> list[float]:
    """Return the points to expect of the best of `specials`, by the colour of the next card of the city.

    The potential of a special is the gain of owning it, times the likelihood of reaching it. Index 0 is for
    no card or one without colour. Only the best one counts, as a city takes one special (article 3.10).
    """
    view, seat, coins, turns, city, _, cities = prospects
    potentials = [0.0] * _COLOURS
    if city.has_special or city.free == 0:
        return potentials
    now = prospects.points_now()
    points = Outlook(view.config.scoring, free=city.free - 1, turns=turns).points
    income, inhabitants, hearts, _, colours, _, _ = city
    most = min(turns + 1, city.free - 1, len(REACH) - 1)
    for special in specials:
        number = special.number
        missing, lacking = 0, []
        for colour, needed in CONDITIONS[number]:
            lack = needed - colours[colour]
            if lack > 0:
                missing += lack
                lacking.append(colour)
        if missing > most:
            continue
        if cities is None:
            value = PRINTED[number]
        else:
            left = remaining(turns=turns, free=city.free - 1)
            value = value_if_taken(cities, seat, special, left, specials=view.specials)
        more, more_inhabitants, more_hearts, extra, _, rule = value
        worth = points(coins + extra, income + more, inhabitants + more_inhabitants, hearts + more_hearts)
        gain = (rule(worth) if rule else worth) - now
        potential = gain * REACH[missing]
        potentials[0] = max(potentials[0], potential)
        for colour in lacking:
            potential = gain * REACH[missing - 1]
            potentials[colour] = max(potentials[colour], potential)
    least = potentials[0]
    return [potential if potential > least else least for potential in potentials]
