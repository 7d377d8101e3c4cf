"""What specials are worth to a city: printed values, and what their effects may be expected to do.

No special is known by name. The engine's effects are asked what they would do at tables that may come
about (`Sketch`): with the special in the city, with one card more, and with all cities grown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from happycity import CARDS, Card, View
from happycity.cards import BUILDINGS, DWELLINGS
from happycity.effects import EFFECTS, Effect, Gains, Occasion
from happycity.rulebook import CITY_SIZE
from happycity_bots.sketch import TWO_PER_COLOUR, USUAL_CARDS, USUAL_COLOURS, Sketch

RIVALS_BUYS = 0.85
"""Cards that a rival buys in a round."""
FOCUS = 1.2
"""How much more often than the others an owner buys the cards that a discount is for."""
BEST_OF_FREE = 0.75
"""Share of the highest saving that a discount for a few purchases brings: the best card is seldom there."""
PASSES = 0.15
"""Share of the turns that an owner uses to buy nothing, if that is well paid."""
SPREAD = (0.75, 0.9, 1.0, 1.1, 1.25)
"""Shares of the expected points at which a rule about final points is asked: the estimate is rough."""

_ON_SALE = (*BUILDINGS, *DWELLINGS)

Finish = Callable[[float], float]
Values = tuple[float, float, float]
"""Income, inhabitants and hearts."""


class Boon(NamedTuple):
    """What a special adds to a city, on the average of the time to come."""

    income: float
    inhabitants: float
    hearts: float
    coins: float = 0.0
    """Coins gained or saved, once."""
    positions: int = 1
    """Positions of the city that the special uses up."""
    finish: Finish | None = None
    """What becomes of the final points, if the special changes them."""


NOTHING = Boon(0, 0, 0, positions=0)
PRINTED: tuple[Boon, ...] = (NOTHING, *(Boon(card.income, card.inhabitants, card.hearts) for card in CARDS))
"""The printed values by card number: all that a family special has."""


class Remaining(NamedTuple):
    """What a city still has before it."""

    turns: float
    buys: float
    """Cards that its owner will still buy."""


def promise(sketch: Sketch, seat: int, special: Card, left: Remaining, *, replacing: bool = False) -> Boon:
    """Estimate what a city gains by taking a special now, whether its condition is met or not.

    With `replacing`, a special that discards the last card of the city does so; else it is supposed to
    find a card that is worth nothing.
    """
    printed = PRINTED[special.number]
    effect = EFFECTS.get(special)
    if effect is None:
        return printed
    city = sketch.city(seat)
    if replacing and effect.replaces_last:
        lost, positions = PRINTED[city[-1].number], 0
        table = sketch.with_card_at(seat, len(city) - 1, special)
    else:
        lost, positions = NOTHING, 1
        table = sketch.with_cards(seat, special)
    extra = held(table, seat, left)
    return Boon(
        printed.income + extra.income - lost.income,
        printed.inhabitants + extra.inhabitants - lost.inhabitants,
        printed.hearts + extra.hearts - lost.hearts,
        extra.coins + coins_at_once(table, seat),
        positions,
        extra.finish,
    )


def held(table: Sketch, seat: int, left: Remaining) -> Boon:
    """Estimate what the effect of a city's special adds to the printed values from now on."""
    effect = table.effect(seat)
    if effect.chooses_copy:
        return _copied(table, seat)
    income, inhabitants, hearts = effect_values(table, seat)
    if looks_at_cities(effect):
        own = _favourites(table, seat)[: round(left.turns)]
        later, inhabitants, hearts = effect_values(_grown(table, seat, left, own=own), seat)
        income += (later - income) / 2  # it grows little by little
    stream, coins = coins_to_come(table, seat, left)
    return Boon(income + stream, inhabitants, hearts, coins, 0, finisher(table, seat))


def coins_to_come(table: Sketch, seat: int, left: Remaining) -> tuple[float, float]:
    """Estimate the coins that an effect brings each round beside the income, and those once in all."""
    savings = _savings(table.effect(seat), table.uses[seat], left.buys)
    return _stream(table, seat), savings + _windfalls(table, seat)


def coins_at_once(table: Sketch, seat: int) -> float:
    """Return the coins that a city's special brings when it is taken, compared with the rivals'."""
    taken = table.effect(seat).taken
    return 0.0 if taken is None else _lead(taken(table, seat, table.special_at(seat)), table, seat)


def effect_values(table: Sketch, seat: int) -> Values:
    """Return the income, inhabitants and hearts that an effect adds to a city if the game ended now."""
    effect, position = table.effect(seat), table.special_at(seat)
    income = table.income(seat) - table.printed_income(seat)
    inhabitants = effect.inhabitants(table, seat, position) if effect.inhabitants else 0
    hearts = effect.hearts(table, seat, position) if effect.hearts else 0
    card = effect.copied(table, seat, position) if effect.copied else None
    if card is not None:
        inhabitants += card.inhabitants
        hearts += card.hearts
    return income, inhabitants, hearts


def finisher(table: Sketch, seat: int) -> Finish | None:
    """Return what becomes of estimated points at the end, if the effect of a city changes them."""
    change = table.effect(seat).points
    if change is None:
        return None

    def finish(points: float) -> float:
        samples = [round(points * share) for share in SPREAD]
        return points + sum([change(table, seat, sample) - sample for sample in samples]) / len(samples)

    return finish


def price_of_buying(view: View, seat: int) -> float:
    """Return the coins lost by buying any card, as that uses up a discount that is limited."""
    effect = effect_of(view, seat)
    if effect is None or not view.uses[seat] or effect.used_by is not Occasion.PURCHASE:
        return 0.0
    return _savings(effect, 1, 1)


def effect_of(view: View, seat: int) -> Effect | None:
    """Return the effect of a city's special, if it has one that has one."""
    for card in view.cities[seat]:
        if card.effect:
            return EFFECTS[card]
    return None


def looks_at_cities(effect: Effect) -> bool:
    """Tell whether cards added to cities may change what an effect adds to its owner's city."""
    hooks = (
        effect.income,
        effect.late_income,
        effect.copied,
        effect.inhabitants,
        effect.hearts,
        effect.points,
    )
    return any(hook is not None for hook in hooks)


def additions(table: Sketch, seat: int, cards: Sequence[Card]) -> list[Values]:
    """Return what each card would change at once in what the effect of a city's special adds."""
    before = effect_values(table, seat)
    changes = []
    for card in cards:
        income, inhabitants, hearts = effect_values(table.with_cards(seat, card), seat)
        changes.append((income - before[0], inhabitants - before[1], hearts - before[2]))
    return changes


def _grown(table: Sketch, seat: int, left: Remaining, *, own: Sequence[Card]) -> Sketch:
    """Return the table at the end: rivals have grown evenly, the owner by the cards `own`."""
    room = CITY_SIZE - len(table.city(seat))
    table = table.with_cards(seat, *own[:room])
    for rival in table.opponents(seat):
        room = min(round(left.turns), CITY_SIZE - len(table.city(rival)))
        if room > 0:
            table = table.with_cards(rival, *USUAL_CARDS[:room])
    return table


def _likings(table: Sketch, seat: int) -> list[tuple[Card, float]]:
    """Return usual cards with what an effect gains by two cards of their colours."""
    now, room = sum(effect_values(table, seat)), CITY_SIZE - len(table.city(seat))
    likings = {
        cards[0].colour: sum(effect_values(table.with_cards(seat, *cards[:room]), seat)) - now
        for cards in TWO_PER_COLOUR
    }
    return [(card, likings[card.colour]) for card in USUAL_CARDS]


def _favourites(table: Sketch, seat: int) -> list[Card]:
    """Return usual cards by colours, those that an effect likes most first, without those it dislikes."""
    likings = _likings(table, seat)
    order = {card.colour: -place for place, (card, _) in enumerate(reversed(likings))}
    bearable = [(-liking, order[card.colour], card) for card, liking in likings if liking >= 0]
    return [card for *_, card in sorted(bearable, key=lambda entry: entry[:2])]


def _copied(table: Sketch, seat: int) -> Boon:
    """Estimate what a copy chosen at the end will add: the best special of a rival, else a usual one."""
    rivals = [rival for rival in table.opponents(seat) if table.special_at(rival) >= 0]
    owned = [table.city(rival)[table.special_at(rival)] for rival in rivals]
    copies = [_copy(table, seat, special) for special in owned or table.specials]
    if not copies:
        return NOTHING
    if owned:
        return max(copies, key=lambda copy: copy.inhabitants + copy.hearts)
    inhabitants = sum([copy.inhabitants for copy in copies]) / len(copies)
    hearts = sum([copy.hearts for copy in copies]) / len(copies)
    return Boon(0, inhabitants, hearts, positions=0)


def _copy(table: Sketch, seat: int, special: Card) -> Boon:
    """Return what a copy of `special` would add if the game ended now."""
    table = table.with_card_at(seat, table.special_at(seat), special)
    _, inhabitants, hearts = effect_values(table, seat)
    return Boon(0, special.inhabitants + inhabitants, special.hearts + hearts, 0, 0, finisher(table, seat))


def _stream(table: Sketch, seat: int) -> float:
    """Return the coins a round that an effect brings beside the income, compared with the rivals'."""
    effect, position = table.effect(seat), table.special_at(seat)
    coins = PASSES * (effect.coins_for_nothing - 1)
    for hook in (effect.before_income, effect.after_income):
        if hook is not None:
            coins += _lead(hook(table, seat, position), table, seat)
    if effect.paid is not None:
        for buyer in table.opponents(seat):
            gains = [effect.paid(table, seat, position, buyer, card.cost) for card in _ON_SALE]
            coins += RIVALS_BUYS * sum([_lead(gain, table, seat) for gain in gains]) / len(gains)
    return coins


def _windfalls(table: Sketch, seat: int) -> float:
    """Return the coins of the income phases in which a limited effect will still apply."""
    effect, uses = table.effect(seat), table.uses[seat]
    if effect.with_income is None or not uses:
        return 0.0
    return uses * _lead(effect.with_income(table, seat, table.special_at(seat), table.incomes()), table, seat)


def _lead(gains: Gains, table: Sketch, seat: int) -> float:
    """Return the coins that a seat gains, less what its opponents gain on average."""
    rivals = table.config.players - 1
    return sum([coins if owner == seat else -coins / rivals for owner, coins in gains])


def _savings(effect: Effect, uses: int, buys: float) -> float:
    """Return the coins that a discount will save on so many purchases, or in the times it still applies."""
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
