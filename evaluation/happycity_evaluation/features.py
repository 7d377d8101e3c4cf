"""Positions as numbers for the champion's network: a row for each seat, or for each purchase of a seat.

A row tells of one seat between two turns: its purse at its next turn, its totals, the turns still to come.
What the effect of a special adds is in the totals. Everything is computed by additions, multiplications,
divisions and square roots, which every machine rounds alike, so that decisions are equal everywhere.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from happycity import CARDS, Card, Mode, Scoring, View
from happycity.rules.cities import Cities
from happycity.rules.deals import CITY_SIZE, LAST_ROUND
from happycity_evaluation.outlook import VALUES, Outlook
from happycity_evaluation.special_values import PRINTED, SpecialValue, effect_in, value_if_taken
from happycity_evaluation.valuation import (
    CONDITIONS,
    REACH,
    STACKS,
    CityTotals,
    EffectTerms,
    prices,
    remaining,
    rounds_to_fill,
    summarise,
    with_effect,
)

FARTHEST: Final = 3
"""Specials that miss more cards than this are out of sight."""
_COLOURS: Final = 5
GOAL: Final = 2 + _COLOURS
"""How many numbers of a raw row describe one of the two best specials in sight."""

RAW: Final = (
    "players", "expert", "sum", "round", "order", "moved",
    "purse", "income", "inhabitants", "hearts", "free", "special",
    "turns", "fastest", "slowest",
    "gain1", "gain2", "gain3", "near1", "near2",
    "yellow", "blue", "green", "orange", "purple",
    "shift",
    "house", "apartments", "residence",
    "gain_a", "rival_a", "yellow_a", "blue_a", "green_a", "orange_a", "purple_a",
    "gain_b", "rival_b", "yellow_b", "blue_b", "green_b", "orange_b", "purple_b",
)  # fmt: skip
"""What a raw row holds, in this order.

After `shift` come the dwellings that the seat may still buy, and the two best specials in sight, a and b: the
points that it adds, how many cards the nearest rival misses, and how many of each colour the seat misses.
"""
PURSE, INCOME, INHABITANTS, HEARTS, FREE, SPECIAL, TURNS = 6, 7, 8, 9, 10, 11, 12
GAINS, COLOURS, SHIFT, DWELLINGS, GOALS = 15, 20, 25, 26, 29


class Frame(NamedTuple):
    """Between two turns: whose turn of the round is over, and how many cards each city holds."""

    round: int
    moved: tuple[bool, ...]
    sizes: tuple[int, ...]

    @classmethod
    def before_turn(cls, view: View) -> Frame:
        """Return the frame before the turn of the acting seat."""
        seats = range(len(view.cities))
        return cls(view.round, tuple([seat < view.seat for seat in seats]), tuple(map(len, view.cities)))

    def after_turn(self, seat: int, *, bought: int) -> Frame:
        """Return the frame after the turn of a seat that adds this number of cards to its city."""
        moved, sizes = list(self.moved), list(self.sizes)
        moved[seat] = True
        sizes[seat] = min(CITY_SIZE, sizes[seat] + bought)
        return Frame(self.round, tuple(moved), tuple(sizes))

    def next_round(self) -> Frame:
        """Return the frame when the next round begins."""
        return Frame(self.round + 1, (False,) * len(self.moved), self.sizes)

    def turns(self, seat: int) -> float:
        """Estimate how many turns a seat will still have, unless it ends the game."""
        least = float(LAST_ROUND - self.round)
        for rival, size in enumerate(self.sizes):
            if rival != seat:
                least = min(least, rounds_to_fill(size, self.round, 0 if self.moved[rival] else 1))
        return least + (0.0 if self.moved[seat] else 1.0)


class Held(NamedTuple):
    """What a seat has: its city with what its effect adds, and coins that the effect is worth."""

    seat: int
    city: CityTotals
    terms: EffectTerms
    shift: float
    """Points that a rule about final points adds."""


def held(view: View, seat: int, coins: float, frame: Frame, cities: Cities | None) -> Held:
    """Return what a seat has."""
    city, terms, shift = summarise(view, seat), _PLAIN, 0.0
    effect = effect_in(view, seat) if cities is not None else None
    if cities is not None and effect is not None:
        turns = frame.turns(seat)
        city, terms = with_effect(view, seat, cities, effect, city=city, turns=turns)
        if terms.points_rule is not None:
            worth = Outlook(view.config.scoring, free=city.free, turns=turns).points(
                coins, city.income, city.inhabitants, city.hearts
            )
            shift = terms.points_rule(worth, None) - worth
    return Held(seat, city, terms, shift)


_PLAIN: Final = EffectTerms()


class Promise(NamedTuple):
    """What a special promises to a city."""

    missing: int
    """Cards that its condition still misses."""
    lacks: list[int]
    """How many of them are of each colour, in the order of `Colour`."""
    gain: float
    """Points at the end that it adds."""
    value: SpecialValue
    rival: int
    """Cards that the nearest rival misses, `FARTHEST` + 1 at most."""


class Reach(NamedTuple):
    """What specials promise to a city, given the colour of its next card (0 for none)."""

    taken: SpecialValue | None
    """The best special whose condition is met with the card; None if there is none."""
    gains: list[float]
    """Points of the best special that misses 1, 2, 3 more cards; then how many miss 1 and 2."""
    goals: list[float]
    """The two best specials in sight: see `RAW`."""


def promises(view: View, own: Held, coins: float, turns: float, cities: Cities | None) -> list[Promise]:
    """Return what the specials on the table promise to a seat; none if it can't take any."""
    city, seat = own.city, own.seat
    if city.has_special or city.free == 0:
        return []
    scoring = view.config.scoring
    income, inhabitants, hearts, colours = city.income, city.inhabitants, city.hearts, city.colours
    now = Outlook(scoring, free=city.free, turns=turns).points(coins, income, inhabitants, hearts)
    points = Outlook(scoring, free=city.free - 1, turns=turns).points
    left = remaining(turns=turns, free=city.free - 1)
    rivals = _rivals_colours(view, seat)
    promised = []
    for special in view.specials:
        lacks = _lacks(special, colours)
        missing = sum(lacks)
        if missing > FARTHEST + 1:
            continue
        value = PRINTED[special.number]
        if cities is not None:
            value = value_if_taken(cities, seat, special, left, specials=view.specials)
        worth = points(
            coins + value.coins, income + value.income, inhabitants + value.inhabitants, hearts + value.hearts
        )
        gain = (value.points_rule(worth) if value.points_rule else worth) - now
        if gain > 0:
            rival = FARTHEST + 1
            for owned in rivals:
                rival = min(rival, sum(_lacks(special, owned)))
            promised.append(Promise(missing, lacks, gain, value, rival))
    return promised


def _rivals_colours(view: View, seat: int) -> list[list[int]]:
    """Return how many cards of each colour each rival has that may still take a special."""
    rivals = []
    for rival, city in enumerate(view.cities):
        if rival != seat and len(city) < CITY_SIZE:
            colours = [0] * (_COLOURS + 1)
            for card in city:
                if card.special_set is not None:
                    break
                colours[VALUES[card.number][3]] += 1
            else:
                rivals.append(colours)
    return rivals


def _lacks(special: Card, colours: list[int]) -> list[int]:
    """Return how many cards of each colour the condition of a special still misses."""
    lacks = [0] * _COLOURS
    for colour, needed in CONDITIONS[special.number]:
        if needed > colours[colour]:
            lacks[colour - 1] = needed - colours[colour]
    return lacks


_NOTHING: Final = Reach(None, [0.0] * (FARTHEST + 2), [0.0] * (2 * GOAL))


def reach(promised: list[Promise], colour: int, *, take: bool) -> Reach:
    """Return what the specials promise after a card of that colour.

    With `take`, a special whose condition is met is taken; else it counts as missing one card.
    """
    if not promised:
        return _NOTHING
    gains = [0.0] * (FARTHEST + 2)
    goals = [0.0] * (2 * GOAL)
    taken, most, first, second = None, 0.0, 0.0, 0.0
    for special in promised:
        fits = colour > 0 and special.lacks[colour - 1] > 0
        missing = special.missing - fits
        if missing == 0 and take:
            if special.gain > most:
                taken, most = special.value, special.gain
        elif missing <= FARTHEST:
            place = max(missing, 1) - 1
            gains[place] = max(gains[place], special.gain)
            if place < 2:
                gains[FARTHEST + place] += 1
            worth = special.gain * REACH[missing]
            if worth > second:
                goal: list[float] = [special.gain, special.rival, *special.lacks]
                if fits:
                    goal[colour + 1] -= 1
                if worth > first:
                    goals = goal + goals[:GOAL]
                    first, second = worth, first
                else:
                    goals = goals[:GOAL] + goal
                    second = worth
    return Reach(taken, gains, goals)


def raw_row(view: View, own: Held, frame: Frame, purse: float, promised: Reach) -> list[float]:
    """Return the raw row of a seat as it is."""
    config, seat, city = view.config, own.seat, own.city
    players = config.players
    others = [CITY_SIZE - size for rival, size in enumerate(frame.sizes) if rival != seat]
    return [
        players,
        config.mode is Mode.EXPERT,
        config.scoring is Scoring.SUM,
        frame.round,
        seat,
        frame.moved[seat],
        purse,
        city.income,
        city.inhabitants,
        city.hearts,
        CITY_SIZE - frame.sizes[seat],
        city.has_special,
        frame.turns(seat),
        min(others),
        sum(others) / len(others),
        *promised.gains,
        *city.colours[1:],
        own.shift,
        *[
            1.0 if left and CARDS[number - 1] not in city.owned else 0.0
            for number, left in zip(STACKS, view.dwellings, strict=True)
        ],
        *promised.goals,
    ]


def position_rows(view: View) -> list[list[float]]:
    """Return the raw rows of all seats before the turn of the acting seat."""
    cities = Cities.of_view(view) if view.config.mode is Mode.EXPERT else None
    frame = Frame.before_turn(view)
    return [waiting_rows(view, seat, [frame], cities)[0] for seat in range(len(view.cities))]


def waiting_rows(view: View, seat: int, frames: list[Frame], cities: Cities | None) -> list[list[float]]:
    """Return the raw rows of a seat that waits for its next turn, in each of the frames of one round."""
    frame = frames[0]
    coins = float(view.coins[seat])
    if frame.moved[seat]:
        coins += float(view.incomes[seat])
    own = held(view, seat, coins, frame, cities)
    usual = reach(promises(view, own, coins, frame.turns(seat), cities), 0, take=False)
    return [raw_row(view, own, each, coins + own.terms.coins, usual) for each in frames]


class PurchaseRows(NamedTuple):
    """What a seat may buy in a turn, and the raw rows after it: the first row is that of taking a coin."""

    numbers: list[int]
    """The number of the card of each row; 0 for the coin."""
    rows: list[list[float]]


def purchases(view: View, seat: int, coins: int, frame: Frame, cities: Cities | None) -> PurchaseRows:
    """Return the rows after each purchase that `seat` can pay for with `coins` in the turn before it.

    `frame` is the one before the turn. Cards that aren't on sale now are listed too, as they may be drawn.
    """
    idle = frame.after_turn(seat, bought=0)
    own = held(view, seat, coins, idle, cities)
    city, terms, turns = own.city, own.terms, idle.turns(seat)
    with_income = coins + view.incomes[seat] + terms.coins
    promised = promises(view, own, coins, turns, cities)
    passing = raw_row(view, own, idle, with_income + terms.if_passing, reach(promised, 0, take=False))
    numbers, rows = [0], [passing]
    if city.free == 0:
        return PurchaseRows(numbers, rows)
    if city.free == 1:
        promised = []
    reached = [reach(promised, colour, take=True) for colour in range(_COLOURS + 1)]
    costs = prices(view, seat)
    bought = frame.after_turn(seat, bought=1)
    base = raw_row(view, own, bought, with_income, _NOTHING)
    for (number, card, more, more_inhabitants, more_hearts, colour), cost in zip(
        terms.on_sale, costs, strict=True
    ):
        if cost <= coins and card not in city.owned:
            row = base[:]
            row[PURSE] += more - cost
            row[INCOME] += more
            row[INHABITANTS] += more_inhabitants
            row[HEARTS] += more_hearts
            if colour:
                row[COLOURS + colour - 1] += 1
            now = reached[colour]
            row[GAINS:COLOURS] = now.gains
            row[GOALS:] = now.goals
            if number in STACKS:
                row[DWELLINGS + STACKS.index(number)] = 0.0
            if now.taken is not None:
                add_special(row, now.taken, turns, view.config.scoring)
            numbers.append(number)
            rows.append(row)
    return PurchaseRows(numbers, rows)


def add_special(row: list[float], value: SpecialValue, turns: float, scoring: Scoring) -> None:
    """Change the raw row of a seat to that with a special."""
    row[PURSE] += value.coins + value.income
    row[INCOME] += value.income
    row[INHABITANTS] += value.inhabitants
    row[HEARTS] += value.hearts
    row[FREE] = max(0.0, row[FREE] - value.positions)
    row[SPECIAL] = 1
    row[GAINS:COLOURS] = [0.0] * (FARTHEST + 2)
    row[GOALS:] = [0.0] * (2 * GOAL)
    if value.points_rule is not None:
        outlook = Outlook(scoring, free=int(row[FREE]), turns=turns)
        worth = outlook.points(row[PURSE], row[INCOME], row[INHABITANTS], row[HEARTS])
        row[SHIFT] = value.points_rule(worth) - worth


def takings(view: View, specials: list[Card], frame: Frame, cities: Cities | None) -> list[list[float]]:
    """Return the raw rows of the acting seat after declining, and after taking each of `specials`."""
    seat = view.seat
    coins = float(view.coins[seat])
    after = frame.after_turn(seat, bought=0)
    own = held(view, seat, coins, after, cities)
    turns = after.turns(seat)
    purse = coins + view.incomes[seat]
    usual = reach(promises(view, own, coins, turns, cities), 0, take=False)
    rows = [raw_row(view, own, after, purse, usual)]
    base = raw_row(view, own, after, purse, _NOTHING)
    for special in specials:
        row = base[:]
        value = PRINTED[special.number]
        if cities is not None:
            left = remaining(turns=turns, free=own.city.free)
            value = value_if_taken(cities, seat, special, left, specials=view.specials, replacing=True)
        add_special(row, value, turns, view.config.scoring)
        rows.append(row)
    return rows
