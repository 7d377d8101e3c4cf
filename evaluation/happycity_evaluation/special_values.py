"""What specials are worth to a city: printed values, and what their effects may be expected to do.

No special is known by name. The engine's effects are evaluated at tables that may come about: with the
special in the city, with one card more, and with all cities grown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, NamedTuple

from happycity.rules.cards import BUILDINGS, CARDS, DWELLINGS, Card
from happycity.rules.cities import Cities
from happycity.rules.deals import CITY_SIZE
from happycity.rules.effects import EFFECTS, Effect, Gains, Occasion
from happycity.rules.views import View
from happycity_evaluation.usual_cards import TWO_PER_COLOUR, USUAL_CARDS, USUAL_COLOURS

RIVALS_BUYS: Final = 0.85
"""Cards that a rival buys in a round."""
FOCUS: Final = 1.2
"""How much more often than the others an owner buys the cards that a discount is for."""
BEST_OF_FREE: Final = 0.75
"""Share of the highest saving that a discount for a few purchases brings: the best card is rarely there."""
PASSES: Final = 0.15
"""Share of the turns that an owner uses to buy nothing, if that is well paid."""
SPREAD = (0.75, 0.9, 1.0, 1.1, 1.25)  # not Final: the nested function that reads it would find it unset
"""Shares of the expected points at which a rule about final points is asked: the estimate is rough."""

_ON_SALE: Final = (*BUILDINGS, *DWELLINGS)

PointsRule = Callable[[float], float]
"""Returns the final points, from the points that a city would have without the effect."""
Values = tuple[float, float, float]
"""Income, inhabitants and hearts."""


class SpecialValue(NamedTuple):
    """What a special adds to a city, on the average of the time to come."""

    income: float
    inhabitants: float
    hearts: float
    coins: float = 0.0
    """Coins gained or saved, once."""
    positions: int = 1
    """Positions of the city that the special uses up."""
    points_rule: PointsRule | None = None
    """How the special changes the final points, if it does."""


NOTHING: Final = SpecialValue(0, 0, 0, positions=0)
PRINTED: Final[tuple[SpecialValue, ...]] = (
    NOTHING,
    *(SpecialValue(card.income, card.inhabitants, card.hearts) for card in CARDS),
)
"""The printed values by card number: all that a family special has."""


class Remaining(NamedTuple):
    """What a city still has before it."""

    turns: float
    buys: float
    """Cards that its owner will still buy."""


def value_if_taken(
    table: Cities,
    seat: int,
    special: Card,
    left: Remaining,
    *,
    specials: Sequence[Card],
    replacing: bool = False,
) -> SpecialValue:
    """Estimate what a city gains by taking a special now, whether its condition is met or not.

    `specials` are all that can still be taken. Unless `replacing`, a special that discards the last card of
    the city is supposed to discard one that is worth nothing.
    """
    printed = PRINTED[special.number]
    effect = EFFECTS.get(special)
    if effect is None:
        return printed
    city = table.cards[seat]
    if replacing and effect.replaces_last:
        lost, positions = PRINTED[city[-1].number], 0
        having = table.with_card_at(seat, len(city) - 1, special)
    else:
        lost, positions = NOTHING, 1
        having = table.with_cards(seat, special)
    extra = value_if_owned(having, seat, left, specials=specials)
    return SpecialValue(
        printed.income + extra.income - lost.income,
        printed.inhabitants + extra.inhabitants - lost.inhabitants,
        printed.hearts + extra.hearts - lost.hearts,
        extra.coins + coins_at_once(having, seat),
        positions,
        extra.points_rule,
    )


def value_if_owned(table: Cities, seat: int, left: Remaining, *, specials: Sequence[Card]) -> SpecialValue:
    """Estimate what the effect of a city's special adds to the printed values from now on.

    `specials` are those that can still be taken: a special that copies another one may copy one of them.
    """
    effect = table.effect(seat)
    if effect.chooses_copy:
        return _copied(table, seat, specials)
    income, inhabitants, hearts = effect_values(table, seat)
    if looks_at_cities(effect):
        own = _preferred_cards(table, seat)[: round(left.turns)]
        later, inhabitants, hearts = effect_values(_grown(table, seat, left, own=own), seat)
        income += (later - income) / 2  # it grows little by little
    stream, coins = coins_to_come(table, seat, left)
    return SpecialValue(income + stream, inhabitants, hearts, coins, 0, points_rule_of(table, seat))


def coins_to_come(table: Cities, seat: int, left: Remaining) -> tuple[float, float]:
    """Estimate the coins that an effect brings each round besides the income, and those once in all."""
    savings = _savings(table.effect(seat), table.uses[seat], left.buys)
    return _stream(table, seat), savings + _limited_income(table, seat)


def coins_at_once(table: Cities, seat: int) -> float:
    """Return the coins that a city's special brings when it is taken, compared with the rivals'."""
    taken = table.effect(seat).taken
    return 0.0 if taken is None else _margin(taken(table, seat, table.special_at[seat]), table, seat)


def effect_values(table: Cities, seat: int) -> Values:
    """Return the income, inhabitants and hearts that an effect adds to a city if the game ended now."""
    effect, position = table.effect(seat), table.special_at[seat]
    income = table.income(seat) - table.printed_incomes[seat]
    inhabitants, hearts = effect.symbols(table, seat, position)
    card = effect.copied(table, seat, position) if effect.copied else None
    if card is not None:
        inhabitants += card.inhabitants
        hearts += card.hearts
    return income, inhabitants, hearts


def points_rule_of(table: Cities, seat: int) -> PointsRule | None:
    """Return how the effect of a city changes estimated final points, if it does."""
    change = table.effect(seat).points
    if change is None:
        return None

    def change_points(points: float) -> float:
        samples = [round(points * share) for share in SPREAD]
        return points + sum([change(table, seat, sample) - sample for sample in samples]) / len(samples)

    return change_points


def price_of_buying(view: View, seat: int) -> float:
    """Return the coins lost by buying any card, as that uses up a discount that is limited."""
    effect = effect_in(view, seat)
    if effect is None or not view.uses[seat] or effect.used_by is not Occasion.PURCHASE:
        return 0.0
    return _savings(effect, 1, 1)


def effect_in(view: View, seat: int) -> Effect | None:
    """Return the effect of a city's special, if it has one that has one."""
    for card in view.cities[seat]:
        if card.effect:
            return EFFECTS[card]
    return None


def looks_at_cities(effect: Effect) -> bool:
    """Return whether cards added to cities may change what an effect adds to its owner's city."""
    hooks = (
        effect.income,
        effect.late_income,
        effect.copied,
        effect.inhabitants,
        effect.hearts,
        effect.points,
    )
    return any(hook is not None for hook in hooks)


def additions(table: Cities, seat: int, cards: Sequence[Card]) -> list[Values]:
    """Return what each card would change at once in what the effect of a city's special adds."""
    before = effect_values(table, seat)
    changes = []
    for card in cards:
        income, inhabitants, hearts = effect_values(table.with_cards(seat, card), seat)
        changes.append((income - before[0], inhabitants - before[1], hearts - before[2]))
    return changes


def _grown(table: Cities, seat: int, left: Remaining, *, own: Sequence[Card]) -> Cities:
    """Return the table at the end: rivals have grown evenly, the owner by the cards `own`."""
    room = CITY_SIZE - len(table.cards[seat])
    table = table.with_cards(seat, *own[:room])
    for rival in table.opponents(seat):
        room = min(round(left.turns), CITY_SIZE - len(table.cards[rival]))
        if room > 0:
            table = table.with_cards(rival, *USUAL_CARDS[:room])
    return table


def _preferred_cards(table: Cities, seat: int) -> list[Card]:
    """Return usual cards by colours, those that an effect gains by most first, without those it loses by."""
    now, room = sum(effect_values(table, seat)), CITY_SIZE - len(table.cards[seat])
    gains = {
        cards[0].colour: sum(effect_values(table.with_cards(seat, *cards[:room]), seat)) - now
        for cards in TWO_PER_COLOUR
    }
    order = {card.colour: -place for place, card in enumerate(reversed(USUAL_CARDS))}
    acceptable = [card for card in USUAL_CARDS if gains[card.colour] >= 0]
    return sorted(acceptable, key=lambda card: (-gains[card.colour], order[card.colour]))


def _copied(table: Cities, seat: int, specials: Sequence[Card]) -> SpecialValue:
    """Estimate what a copy chosen at the end will add: the best special of a rival, else a usual one."""
    rivals = [rival for rival in table.opponents(seat) if table.special_at[rival] >= 0]
    owned = [table.cards[rival][table.special_at[rival]] for rival in rivals]
    copies = [_copy(table, seat, special) for special in owned or specials]
    if not copies:
        return NOTHING
    if owned:
        return max(copies, key=lambda copy: copy.inhabitants + copy.hearts)
    inhabitants = sum([copy.inhabitants for copy in copies]) / len(copies)
    hearts = sum([copy.hearts for copy in copies]) / len(copies)
    return SpecialValue(0, inhabitants, hearts, positions=0)


def _copy(table: Cities, seat: int, special: Card) -> SpecialValue:
    """Return what a copy of `special` would add if the game ended now."""
    table = table.with_card_at(seat, table.special_at[seat], special)
    _, inhabitants, hearts = effect_values(table, seat)
    return SpecialValue(
        0, special.inhabitants + inhabitants, special.hearts + hearts, 0, 0, points_rule_of(table, seat)
    )


def _stream(table: Cities, seat: int) -> float:
    """Return the coins a round that an effect brings besides the income, compared with the rivals'."""
    effect, position = table.effect(seat), table.special_at[seat]
    coins = PASSES * (effect.coin_gain - 1)
    for hook in (effect.before_income, effect.after_income):
        if hook is not None:
            coins += _margin(hook(table, seat, position), table, seat)
    if effect.paid is not None:
        for buyer in table.opponents(seat):
            gains = [effect.paid(table, seat, position, buyer, card.cost) for card in _ON_SALE]
            coins += RIVALS_BUYS * sum([_margin(gain, table, seat) for gain in gains]) / len(gains)
    return coins


def _limited_income(table: Cities, seat: int) -> float:
    """Return the coins of the income phases in which a limited effect will still apply."""
    effect, uses = table.effect(seat), table.uses[seat]
    if effect.with_income is None or not uses:
        return 0.0
    return uses * _margin(
        effect.with_income(table, seat, table.special_at[seat], table.incomes()), table, seat
    )


def _margin(gains: Gains, table: Cities, seat: int) -> float:
    """Return the coins that a seat gains, less what its opponents gain on average."""
    rivals = table.config.players - 1
    return sum([coins if owner == seat else -coins / rivals for owner, coins in gains])


def _savings(effect: Effect, uses: int, buys: float) -> float:
    """Return the coins that a discount will save on these purchases, or in the times it still applies."""
    if effect.price is None or (effect.uses and not uses):
        return 0.0
    average, highest = _saving(effect)
    if effect.used_by is Occasion.PURCHASE:
        return uses * highest * BEST_OF_FREE
    return buys * average * FOCUS


@cache
def _saving(effect: Effect) -> tuple[float, int]:
    """Return what a discount saves on the average card, colours weighted as usual, and at most."""
    assert effect.price is not None
    average, highest = 0.0, 0
    for colour in USUAL_COLOURS:
        savings = [card.cost - effect.price(card, card.cost) for card in _ON_SALE if card.colour is colour]
        average += sum(savings) / len(savings) / len(USUAL_COLOURS)
        highest = max(highest, *savings)
    return average, highest
