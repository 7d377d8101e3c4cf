"""Why a move is better than another one, in words: what each leaves its seat with, and what it is for.

An evaluator finds the better one by playing on. A person sees why by what stands on the table: points,
income, coins, a special's colours, and the end of the game.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from gettext import NullTranslations
from typing import NamedTuple

from happycity.rules.cards import Card
from happycity.rules.cities import Cities
from happycity.rules.deals import CITY_SIZE, Scoring
from happycity.rules.moves import Move, MoveKind
from happycity.rules.views import View
from happycity.text.board import SeatTotals, cities_after, coins_short, colours_short, deck_prices
from happycity.text.words import ENGLISH, card_name


def reasons(
    view: View, coins: Mapping[Move, int], best: Move, other: Move, texts: NullTranslations = ENGLISH
) -> list[str]:
    """Return what speaks for the best move against another one, the weightiest first.

    `coins` says by how much each legal move changes the seat's coins. Nothing is returned where the table
    doesn't show why.
    """
    if best.kind is MoveKind.DRAW:
        return list(_of_deck(view, best.number, texts))
    if MoveKind.DISCARD in (best.kind, other.kind):
        return list(_of_discards(view, best.card, other.card, texts))
    after, instead = (_After.of(view, move, coins[move]) for move in (best, other))
    found = [
        *_of_points(after.totals, instead.totals, view.config.scoring, texts),
        *_of_rest(after, instead, texts),
    ]
    if best.kind is MoveKind.DECLINE:
        found.append(texts.gettext("a city has one special only, and a better one may come within reach"))
    elif best.kind is MoveKind.TAKE and best.card is not None and best.card.effect_text:
        found.append(texts.gettext(best.card.effect_text).rstrip("."))
    return found


def _of_deck(view: View, deck: int, texts: NullTranslations) -> Iterator[str]:
    lowest, highest = deck_prices(deck)
    values = {"lowest": lowest, "highest": highest, "coins": view.coins[view.seat]}
    yield texts.gettext("its cards cost %(lowest)s to %(highest)s, and the coins are %(coins)s") % values


def _of_discards(view: View, best: Card | None, other: Card | None, texts: NullTranslations) -> Iterator[str]:
    cities, seat = Cities.of_view(view), view.seat

    def can_buy(seat: int, card: Card) -> bool:
        return not coins_short(cities, seat, card) and card not in cities.cards[seat]

    if best is not None:
        card = card_name(best, texts)
        if coins_short(cities, seat, best):
            values = {"card": card, "cost": cities.prices[seat][best.number], "coins": cities.coins[seat]}
            yield texts.gettext("%(card)s costs %(cost)s, and the coins are %(coins)s") % values
        if can_buy((seat + 1) % len(view.cities), best):
            yield texts.gettext("the next seat could buy %(card)s") % {"card": card}
    if other is not None and can_buy(seat, other):
        yield texts.gettext("the coins are enough for %(card)s") % {"card": card_name(other, texts)}


class _After(NamedTuple):
    """What a seat has after a move of its own."""

    totals: SeatTotals
    coins: int
    is_full: bool
    missing: Mapping[Card, int]
    """By special of the table, how many cards of its colours the city lacks; empty if the city has one."""

    @classmethod
    def of(cls, view: View, move: Move, coins: int) -> _After:
        cities, seat = cities_after(view, move), view.seat
        missing = {card: sum(colours.values()) for card, colours in colours_short(view, cities).items()}
        is_full = len(cities.cards[seat]) == CITY_SIZE
        return cls(SeatTotals.of(cities, seat), view.coins[seat] + coins, is_full, missing)


def _of_points(
    now: SeatTotals, other: SeatTotals, scoring: Scoring, texts: NullTranslations
) -> Iterator[str]:
    if now.points > other.points:
        values = {"now": now.points, "other": other.points, "people": now.inhabitants, "hearts": now.hearts}
        product = texts.gettext(
            "points so far %(now)s, not %(other)s: inhabitants %(people)s times hearts %(hearts)s"
        )
        total = texts.gettext(
            "points so far %(now)s, not %(other)s: inhabitants %(people)s and hearts %(hearts)s"
        )
        yield (product if scoring is Scoring.PRODUCT else total) % values
    elif now.inhabitants > other.inhabitants:
        values = {"now": now.inhabitants, "other": other.inhabitants}
        yield texts.gettext("inhabitants %(now)s, not %(other)s") % values
    elif now.hearts > other.hearts:
        yield texts.gettext("hearts %(now)s, not %(other)s") % {"now": now.hearts, "other": other.hearts}
    if now.income > other.income:
        values = {"now": now.income, "other": other.income}
        yield texts.gettext("income %(now)s, not %(other)s, in every round") % values


def _of_rest(now: _After, other: _After, texts: NullTranslations) -> Iterator[str]:
    nearer = [card for card, missing in now.missing.items() if missing < other.missing.get(card, 0)]
    if nearer:
        names = ", ".join(card_name(card, texts) for card in nearer)
        yield texts.gettext("nearer to %(cards)s") % {"cards": names}
    if now.coins > other.coins:
        values = {"now": now.coins, "other": other.coins}
        yield texts.gettext("coins left %(now)s, not %(other)s") % values
    if now.is_full and not other.is_full:
        yield texts.gettext("the city is full, so this round is the last")
    if other.is_full and not now.is_full:
        yield texts.gettext("the city isn't full yet, so the game goes on")
