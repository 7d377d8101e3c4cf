"""What a city may still become: the estimates that the planner and the rollout bot share.

Everything is judged in points at the end of the game. The future of a city is reduced to its purse, its
income, its inhabitants and hearts, the positions still free and the turns that its owner still has. The
constants were found by letting bots with different ones play each other.
"""

from __future__ import annotations

from typing import NamedTuple

from happycity import CARDS, Card, Scoring, View
from happycity.cards import BUILDINGS, DWELLINGS

CITY_SIZE = 10
LAST_ROUND = 30

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

_ON_SALE = tuple((card.number, card, *VALUES[card.number]) for card in (*BUILDINGS, *DWELLINGS))
_PRINTED_PRICES = tuple(card.cost for _, card, *_ in _ON_SALE)
_COLOURS = 6
_CONDITIONS = ((), *(tuple((int(colour), n) for colour, n in card.condition.items()) for card in CARDS))


def prices(view: View, seat: int) -> tuple[int, ...]:
    """Return what `seat` pays for each building and dwelling, in table order."""
    return _PRINTED_PRICES


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

    def points(self, coins: int, income: int, inhabitants: int, hearts: int) -> float:
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

    income: int
    inhabitants: int
    hearts: int
    free: int
    """Positions left."""
    colours: list[int]
    """How many cards of each colour; colourless ones at index 0."""
    owned: set[Card]
    has_special: bool


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
        if card.special_set is not None:
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
        total = 0.0
        numbers = DECKS[deck - 1]
        for number in numbers:
            if self.gains[number] > floor:
                total += self.gains[number] - floor
        return total / len(numbers)


def appraise(view: View, seat: int, coins: int) -> Appraisal:
    """Value every building and dwelling for `seat`, which has `coins` to spend in this or its next turn."""
    city = summarise(view, seat)
    turns = turns_left(view, seat)
    outlook = Outlook(view, free=city.free, turns=turns)
    hopes = special_hopes(view, city, outlook, coins=coins, turns=turns)
    idle = outlook.points(coins + 1, city.income, city.inhabitants, city.hearts) + hopes[0]
    gains = [UNAFFORDABLE] * (len(_ON_SALE) + 1)
    gains[0] = 0.0
    if city.free == 0:
        return Appraisal(idle, gains)
    income, inhabitants, hearts, free, _, owned, _ = city
    points = Outlook(view, free=free - 1, turns=turns).points
    for (number, card, more, people, love, colour), cost in zip(_ON_SALE, prices(view, seat), strict=True):
        if cost <= coins and card not in owned:
            bought = points(coins - cost, income + more, inhabitants + people, hearts + love)
            gains[number] = bought + hopes[colour] - idle
    _discount_waiting(gains, idle, turns)
    return Appraisal(idle, gains)


def _discount_waiting(gains: list[float], points: float, turns: float) -> None:
    """Take off dwellings what they lose by being bought early: nobody can snatch them all."""
    if points > 0:
        for number in STACKS:
            gains[number] -= WAIT * turns * points**0.5


def special_hopes(view: View, city: Summary, outlook: Outlook, *, coins: int, turns: float) -> list[float]:
    """Return the points to hope for from a special, by the colour of the card that the city gets next.

    A hope is the gain of owning the special, times the likelihood of reaching it. Index 0 is for no card
    or one without colour. Only the best hope counts, as a city takes one special at most (article 3.10).
    """
    hopes = [0.0] * _COLOURS
    if city.has_special or city.free == 0:
        return hopes
    income, inhabitants, hearts, free, colours, _, _ = city
    now = outlook.points(coins, income, inhabitants, hearts)
    points = Outlook(view, free=free - 1, turns=turns).points
    most = min(turns + 1, free - 1)
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
        more, people, love, _ = VALUES[number]
        gain = points(coins, income + more, inhabitants + people, hearts + love) - now
        hopes[0] = max(hopes[0], gain * REACH[missing])
        for colour in lacking:
            hopes[colour] = max(hopes[colour], gain * REACH[missing - 1])
    return [max(hope, hopes[0]) for hope in hopes]
