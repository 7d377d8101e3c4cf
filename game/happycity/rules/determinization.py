"""Worlds that look like a view: what is hidden, drawn at random so that nothing seen contradicts it."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from happycity.errors import DealError
from happycity.rules.cards import (
    COLOURED_MARKETS,
    DWELLINGS,
    HAPPY_MARKET,
    Card,
    CardKind,
    Mode,
    deck_cards,
    specials_of,
)
from happycity.rules.deals import CENTRE_SIZE, CITY_SIZE, DECKS, LAST_ROUND
from happycity.rules.effects import NO_EFFECT, Effect, effect_of
from happycity.rules.shuffling import shuffled
from happycity.rules.views import Phase, View


@lru_cache(maxsize=16)  # a search samples the same view many times over
def check_possible(view: View) -> None:
    """Refuse a view that no game can look like; sizes of the decks are checked as they are drawn.

    Raises:
        DealError: a part of the view is impossible.
    """
    for part, possible in _CHECKS.items():
        if not possible(view):
            raise DealError(f"{part}: no game can look like this view")


def _cities_possible(view: View) -> bool:
    markets = [card for city in view.cities for card in city[:1]]
    expert = view.config.mode is Mode.EXPERT
    if expert and (not set(markets) <= set(COLOURED_MARKETS.values()) or len(set(markets)) < len(markets)):
        return False
    if not expert and any(market is not HAPPY_MARKET for market in markets):
        return False
    return all(_city_possible(view, seat) for seat in range(len(view.cities)))


def _city_possible(view: View, seat: int) -> bool:
    city = view.cities[seat]
    if view.phase is Phase.MARKET:  # drafted from the last seat down to seat 0 (article 2.7)
        return len(city) == (1 if seat > view.seat else 0)
    later = [card.kind for card in city[1:]]
    return (
        0 < len(city) <= CITY_SIZE
        and len(set(city)) == len(city)
        and CardKind.MARKET not in later
        and later.count(CardKind.SPECIAL) <= 1
    )


def special_in(city: tuple[Card, ...]) -> Card | None:
    """Return the special of a city, of which there is one at most (article 3.10)."""
    return next((card for card in city if card.kind is CardKind.SPECIAL), None)


def _effect(view: View, seat: int) -> Effect:
    special = special_in(view.cities[seat])
    return effect_of(special) if special is not None else NO_EFFECT


def _specials_possible(view: View) -> bool:
    owned = [special for special in map(special_in, view.cities) if special is not None]
    known = [*view.specials, *owned]
    return (
        len(set(known)) == len(known)
        and all(card.special_set is view.config.mode for card in known)
        and (view.phase is not Phase.SPHINX or _effect(view, view.seat).chooses_copy)
    )


def _dwellings_possible(view: View) -> bool:
    """Return whether the stacks lack what was bought, and at most what specials have discarded since."""
    if len(view.dwellings) != len(DWELLINGS) or min(view.dwellings) < 0:
        return False
    bought = [card for city in view.cities for card in city]
    missing = [
        view.config.players - 1 - left - bought.count(card)
        for card, left in zip(DWELLINGS, view.dwellings, strict=True)
    ]
    discarders = sum(_effect(view, seat).replaces_last for seat in range(len(view.cities)))
    return min(missing) >= 0 and sum(missing) <= discarders


def _uses_possible(view: View) -> bool:
    return all(0 <= left <= _effect(view, seat).uses for seat, left in enumerate(view.uses))


def _discards_possible(view: View) -> bool:
    piles = zip(DECKS, view.discards, strict=True)
    return all(card.deck == deck for deck, pile in piles for card in pile)


# In this order: the later ones rely on one city for each seat.
_CHECKS: Final[dict[str, Callable[[View], bool]]] = {
    "cities": lambda view: len(view.cities) == view.config.players and _cities_possible(view),
    "seat": lambda view: 0 <= view.seat < view.config.players,
    "phase": lambda view: view.phase is not Phase.OVER,
    "round": lambda view: 0 <= view.round <= LAST_ROUND and (view.round == 0) == (view.phase is Phase.MARKET),
    "coins": lambda view: len(view.coins) == view.config.players and min(view.coins) >= 0,
    "centre": lambda view: len(view.centre) <= CENTRE_SIZE and all(card.deck for card in view.centre),
    "specials": _specials_possible,
    "dwellings": _dwellings_possible,
    "decks": lambda view: len(view.decks) == len(DECKS),
    "discards": lambda view: len(view.discards) == len(DECKS) and _discards_possible(view),
    "uses": lambda view: len(view.uses) == view.config.players and _uses_possible(view),
}


_DECK_NUMBERS: Final = {deck: [card.number for card in deck_cards(deck)] for deck in DECKS}


class HiddenCards:
    """The cards that a view hides."""

    def __init__(self, view: View) -> None:
        """List the cards that are not in sight.

        Raises:
            DealError: the sizes of the decks don't fit the cards in sight.
        """
        cities = [card for city in view.cities for card in city]
        seen = [*view.centre, *cities, *[card for pile in view.discards for card in pile]]
        self.by_deck = [_hidden_cards(deck, seen, left) for deck, left in zip(DECKS, view.decks, strict=True)]
        """The numbers of the cards of each deck, in table order."""
        owned_or_offered = {*view.specials, *cities}
        self._box = [card for card in specials_of(view.config.mode) if card not in owned_or_offered]

    def decks(self, rng: random.Random) -> list[list[int]]:
        """Draw the orders of the decks as card numbers, top card last."""
        return [shuffled(cards, rng) for cards in self.by_deck]

    def box(self, rng: random.Random) -> tuple[Card, ...]:
        """Draw an order of the box: the specials of the mode's set that aren't in sight."""
        return tuple(shuffled(self._box, rng))


def _hidden_cards(deck: int, seen: list[Card], left: int) -> list[int]:
    """Return the numbers of the cards of a deck, of which there are `left`."""
    hidden = _DECK_NUMBERS[deck][:]
    for card in seen:
        if card.deck == deck:
            if card.number not in hidden:
                raise DealError(f"{card.id}: more than two in sight")
            hidden.remove(card.number)
    if left != len(hidden):
        raise DealError(f"deck {deck}: {left} hidden cards instead of {len(hidden)}")
    return hidden
