"""What a city may still become: the estimates that the planner and the rollout bot share.

Everything is judged in points at the end of the game. The future of a city is reduced to its purse, its
income, its inhabitants and hearts, the positions still free and the turns that its owner still has. The
constants were found by letting bots with different ones play each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from happycity import CARDS, Card, Mode, Scoring, View
from happycity.cards import BUILDINGS, DWELLINGS
from happycity.effects import Effect
from happycity.rulebook import CITY_SIZE, LAST_ROUND
from happycity_bots.boons import (
    PRINTED,
    Finish,
    Remaining,
    additions,
    effect_of,
    finisher,
    held,
    looks_at_cities,
    price_of_buying,
    promise,
)
from happycity_bots.sketch import Sketch

SYMBOLS_AT_MOST = 3.2
"""Inhabitants and hearts that one bought card brings if money is no object."""
HALF_PRICE = 3.5
"""Coins a card at which it brings half as much as that."""
INHABITANT = 0.96
"""What an inhabitant costs to come by, measured in hearts."""
STRETCH = 0.73
"""Turns an owner takes to fill one free position: below 1, as a special takes no turn."""
INCOME = 0.98
"""Share of the income still to come that will be spent well."""
OTHERS_STRETCH = 0.98
"""Turns a rival takes to fill one free position, at the pace of a card a turn."""
OTHERS_SLACK = 0.15
"""Turns added to a rival's filling of a city."""
PACE_PRIOR = 17.0
"""Turns of one card each that are mixed into a rival's shown pace."""
REACH = (1.0, 0.41, 0.26, 0.24, 0.12, 0.06)
"""How likely a special is to be won, by the number of cards that its condition still misses."""
COIN_LEFT = 0.02
"""Points that a coin is worth at the end: coins only break ties (article 4.4)."""
WAIT = 0.035
"""What is lost by buying a dwelling one turn early, as it would still be there: in symbols a turn."""
UNAFFORDABLE = -1e9
"""The gain of a card that a city can't buy."""

Values = tuple[int, int, int, int]

VALUES: tuple[Values, ...] = (
    (0, 0, 0, 0),
    *((card.income, card.inhabitants, card.hearts, int(card.colour or 0)) for card in CARDS),
)
"""Income, inhabitants, hearts and colour (0 for none) by card number, which begin with 1."""

DECKS = tuple(tuple(card.number for card in BUILDINGS if card.deck == deck) for deck in (1, 2, 3))
"""The numbers of the cards in decks 1, 2 and 3, each card once as every one exists twice."""
STACKS = tuple(card.number for card in DWELLINGS)
"""The numbers of the dwellings, in the order of a view's `dwellings`."""

_Offer = tuple[int, Card, float, float, float, int]
"""A card on sale: number, card, and what it adds in income, inhabitants and hearts, and its colour."""

_ON_SALE: tuple[_Offer, ...] = tuple(
    (card.number, card, *VALUES[card.number]) for card in (*BUILDINGS, *DWELLINGS)
)
_PRINTED_PRICES = tuple(card.cost for _, card, *_ in _ON_SALE)
_COLOURS = 6
_CONDITIONS = ((), *(tuple((int(colour), n) for colour, n in card.condition.items()) for card in CARDS))


def prices(view: View, seat: int) -> tuple[int, ...]:
    """Return what `seat` pays for each building and dwelling, in table order."""
    effect = effect_of(view, seat) if view.config.mode is Mode.EXPERT else None
    if effect is None or effect.price is None or (effect.uses and not view.uses[seat]):
        return _PRINTED_PRICES
    return _changed_prices(effect)


@cache
def _changed_prices(effect: Effect) -> tuple[int, ...]:
    assert effect.price is not None
    return tuple([effect.price(card, card.cost) for _, card, *_ in _ON_SALE])


def sketch_of(view: View) -> Sketch | None:
    """Return the table for asking what effects do; None if no special of the game has one."""
    return Sketch.of(view) if view.config.mode is Mode.EXPERT else None


def turns_left(view: View, seat: int) -> float:
    """Estimate how many turns `seat` will have after its current or next one, unless it ends the game."""
    least = float(LAST_ROUND - view.round)
    for rival, city in enumerate(view.cities):
        if rival != seat:
            least = min(least, _turns_to_fill(view, rival, len(city)))
    return least


def _turns_to_fill(view: View, rival: int, size: int) -> float:
    """Estimate the rounds after this one until a rival's city is full, from its pace so far."""
    if size == CITY_SIZE:
        return 0.0
    to_play = 1 if rival > view.seat else 0
    had = view.round - to_play
    pace = (size - 1 + PACE_PRIOR) / (had + PACE_PRIOR)
    return (CITY_SIZE - size - to_play) * OTHERS_STRETCH / pace + OTHERS_SLACK


class Outlook:
    """The turns and free positions a city has left: they say what its coins may still become."""

    __slots__ = ("_buys", "_half", "_product", "_turns")

    def __init__(self, view: View, *, free: int, turns: float) -> None:
        turns = min(turns, free * STRETCH)
        buys = min(turns, free)
        self._turns = turns * INCOME
        self._buys = buys * SYMBOLS_AT_MOST
        self._half = buys * HALF_PRICE
        self._product = view.config.scoring is Scoring.PRODUCT

    def points(self, coins: float, income: float, inhabitants: float, hearts: float) -> float:
        """Estimate the points at the end of a city with these coins and totals.

        The money still to come is spread over the purchases still to come; a purchase brings the more
        symbols the more is spent on it, with diminishing returns. The symbols make up for whichever of
        inhabitants and hearts is behind, then for both.
        """
        money = coins + income * self._turns
        symbols = money * self._buys / (money + self._half) if self._buys > 0 and money > 0 else 0.0
        spare = coins * COIN_LEFT
        if not self._product:
            return inhabitants + hearts + symbols + spare
        people = inhabitants * INHABITANT
        if abs(people - hearts) <= symbols:
            total = people + hearts + symbols
            return total * total / (4 * INHABITANT) + spare if total > 0 else spare
        behind, ahead = (hearts, people) if people > hearts else (people, hearts)
        behind += symbols
        return behind * ahead / INHABITANT + spare if behind > 0 else spare


class Summary(NamedTuple):
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


class Standing(NamedTuple):
    """Where a seat stands: all that its prospects depend on."""

    view: View
    seat: int
    coins: int
    """The coins that it has to spend in this or its next turn."""
    turns: float
    """See `turns_left`."""
    city: Summary
    outlook: Outlook
    """What the city has before it as it is."""
    sketch: Sketch | None
    """The table that `view` shows; None if no special of the game has an effect."""

    def points_now(self) -> float:
        """Estimate the points at the end, without a special that is not yet there."""
        return self.outlook.points(self.coins, self.city.income, self.city.inhabitants, self.city.hearts)


def stand(view: View, seat: int, coins: int, sketch: Sketch | None) -> Standing:
    """Return where `seat` stands with so many coins."""
    city, turns = summarise(view, seat), turns_left(view, seat)
    return Standing(view, seat, coins, turns, city, Outlook(view, free=city.free, turns=turns), sketch)


def summarise(view: View, seat: int) -> Summary:
    """Add up the city of `seat`."""
    inhabitants = hearts = 0
    colours = [0] * _COLOURS
    has_special = False
    city = view.cities[seat]
    for card in city:
        _, people, love, colour = VALUES[card.number]
        inhabitants += people
        hearts += love
        colours[colour] += 1
        if not colour and card.special_set is not None:
            has_special = True
    free = CITY_SIZE - len(city)
    return Summary(view.incomes[seat], inhabitants, hearts, free, colours, set(city), has_special)


class Appraisal(NamedTuple):
    """What every card that may be on sale is worth to one city in one turn."""

    points: float
    """Expected points if the turn goes by with taking a coin."""
    gains: list[float]
    """Expected points on top of that, by the number of the card bought instead; index 0 is the coin."""

    def best_dwelling(self, view: View) -> float:
        """Return the best gain among the dwellings left, at least 0."""
        best = 0.0
        for number, left in zip(STACKS, view.dwellings, strict=True):
            if left and self.gains[number] > best:
                best = self.gains[number]
        return best

    def surplus(self, deck: int, floor: float) -> float:
        """Return by how much a card drawn from a deck (1-3) beats the gain `floor` on average."""
        total, gains = 0.0, self.gains
        numbers = DECKS[deck - 1]
        for number in numbers:
            gain = gains[number]
            if gain > floor:
                total += gain - floor
        return total / len(numbers)


class Terms(NamedTuple):
    """What the effect of a city's special changes in its appraisal."""

    coins: float = 0.0
    """Coins that the effect is worth to a city that buys."""
    for_nothing: float = 1
    """What a city has on top of that if it buys nothing."""
    on_sale: Sequence[_Offer] = _ON_SALE
    finish: Callable[[float, Card | None], float] | None = None
    """What becomes of the final points with a card that is bought, or with none."""


_USUAL_TERMS = Terms(coins=0)


def appraise(view: View, seat: int, coins: int, sketch: Sketch | None) -> Appraisal:
    """Value every building and dwelling for `seat`, which has `coins` to spend in this or its next turn.

    `sketch` shows the same table as `view`, and is None if no special of the game has an effect.
    """
    standing, terms = stand(view, seat, coins, sketch), _USUAL_TERMS
    effect = effect_of(view, seat) if sketch is not None else None
    if sketch is not None and effect is not None:
        city, terms = _with_effect(standing, sketch, effect)
        standing = standing._replace(city=city)
    city, turns, hopes = standing.city, standing.turns, special_hopes(standing)
    wealth, finish = coins + terms.coins, terms.finish
    idle = standing.outlook.points(wealth + terms.for_nothing, city.income, city.inhabitants, city.hearts)
    idle = (finish(idle, None) if finish else idle) + hopes[0]
    gains = [0.0] + [UNAFFORDABLE] * len(_ON_SALE)
    if city.free == 0:
        return Appraisal(idle, gains)
    income, inhabitants, hearts, free, _, owned, _ = city
    points = Outlook(view, free=free - 1, turns=turns).points
    costs = _PRINTED_PRICES if effect is None else prices(view, seat)
    for (number, card, more, people, love, colour), cost in zip(terms.on_sale, costs, strict=True):
        if cost <= coins and card not in owned:
            bought = points(wealth - cost, income + more, inhabitants + people, hearts + love)
            if finish:
                bought = finish(bought, card)
            gains[number] = bought + hopes[colour] - idle
    _discount_waiting(gains, idle, turns)
    return Appraisal(idle, gains)


def _with_effect(standing: Standing, sketch: Sketch, effect: Effect) -> tuple[Summary, Terms]:
    """Return a city with what its special adds beyond the printed values, and its terms."""
    view, seat, _, turns, city, _, _ = standing
    left = remaining(turns=turns, free=city.free)
    boon = held(sketch, seat, left)
    city = city._replace(
        income=sketch.printed_income(seat) + boon.income,
        inhabitants=city.inhabitants + boon.inhabitants,
        hearts=city.hearts + boon.hearts,
    )
    kept = price_of_buying(view, seat)
    return city, Terms(
        coins=boon.coins - kept,
        for_nothing=effect.coins_for_nothing + kept,
        on_sale=_offers(sketch, seat) if looks_at_cities(effect) else _ON_SALE,
        finish=_finish_with(sketch, seat, boon.finish) if boon.finish else None,
    )


def _finish_with(sketch: Sketch, seat: int, usual: Finish) -> Callable[[float, Card | None], float]:
    """Return what becomes of the final points with a card; `usual` tells it where a copy is yet to come."""

    def finish(points: float, card: Card | None) -> float:
        table = sketch if card is None else sketch.with_cards(seat, card)
        change = finisher(table, seat) or usual
        return change(points)

    return finish


def _offers(sketch: Sketch, seat: int) -> list[_Offer]:
    """Return the cards on sale with what each adds to a city, changes to what its effect adds included."""
    changes = additions(sketch, seat, [card for _, card, *_ in _ON_SALE])
    return [
        (number, card, more + income, people + inhabitants, love + hearts, colour)
        for (number, card, more, people, love, colour), (income, inhabitants, hearts) in zip(
            _ON_SALE, changes, strict=True
        )
    ]


def remaining(*, turns: float, free: int) -> Remaining:
    """Return what a city with so many free positions still has before it."""
    turns = min(turns, free)
    return Remaining(turns, min(turns, free * STRETCH))


def _discount_waiting(gains: list[float], points: float, turns: float) -> None:
    """Take off dwellings what they lose by being bought early: nobody can snatch them all."""
    if points > 0:
        loss = WAIT * turns * points**0.5
        for number in STACKS:
            gains[number] -= loss


def special_hopes(standing: Standing) -> list[float]:
    """Return the points to hope for from a special, by the colour of the card that the city gets next.

    A hope is the gain of owning the special, times the likelihood of reaching it. Index 0 is for no card
    or one without colour. Only the best hope counts, as a city takes one special at most (article 3.10).
    """
    view, seat, coins, turns, city, _, sketch = standing
    hopes = [0.0] * _COLOURS
    if city.has_special or city.free == 0:
        return hopes
    now = standing.points_now()
    points = Outlook(view, free=city.free - 1, turns=turns).points
    income, inhabitants, hearts, _, colours, _, _ = city
    most = min(turns + 1, city.free - 1, len(REACH) - 1)
    for special in view.specials:
        number = special.number
        missing, lacking = 0, []
        for colour, needed in _CONDITIONS[number]:
            lack = needed - colours[colour]
            if lack > 0:
                missing += lack
                lacking.append(colour)
        if missing > most:
            continue
        if sketch is None:
            boon = PRINTED[number]
        else:
            boon = promise(sketch, seat, special, remaining(turns=turns, free=city.free - 1))
        more, people, love, extra, _, finish = boon
        worth = points(coins + extra, income + more, inhabitants + people, hearts + love)
        gain = (finish(worth) if finish else worth) - now
        hope = gain * REACH[missing]
        hopes[0] = max(hopes[0], hope)
        for colour in lacking:
            hope = gain * REACH[missing - 1]
            hopes[colour] = max(hopes[colour], hope)
    least = hopes[0]
    return [hope if hope > least else least for hope in hopes]
