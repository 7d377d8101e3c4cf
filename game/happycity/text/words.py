"""Cards, moves and events in words for people. Seats are counted from 1, as people see them.

The words are English, or those of a catalogue in the form of gettext, which `texts` is everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from gettext import NullTranslations
from itertools import groupby

from happycity.rules.cards import Card, CardKind
from happycity.rules.moves import COPY_BOX, Move, MoveKind
from happycity.rules.views import Event, EventKind, Phase

ENGLISH = NullTranslations()
"""Leaves texts as they are."""

INHABITANTS, HEARTS, COINS = "☺", "♥", "$"
"""The symbols of a card's values."""

PHASES = {
    Phase.MARKET: "choose a Happy Market",
    Phase.DISCARD: "discard a building, or keep them all",
    Phase.DRAW: "choose a deck",
    Phase.BUY: "buy a card, or take coins",
    Phase.SPECIAL: "take a special, or none",
    Phase.SPHINX: "choose what the Sphinx copies",
    Phase.OVER: "the game is over",
}
"""What the seat to decide has to do."""


def seat_name(bots: Sequence[str], seat: int, texts: NullTranslations = ENGLISH) -> str:
    """Return the bot in a seat, or the seat's number where bots aren't known."""
    return bots[seat] if seat < len(bots) else texts.gettext(SEAT_TEXT) % {"number": seat + 1}


def card_values(card: Card) -> str:
    """Return what a card gives, as printed: `1$ 2☺ -1♥`; "" if it gives nothing."""
    values = ((card.income, COINS), (card.inhabitants, INHABITANTS), (card.hearts, HEARTS))
    return " ".join(f"{value}{symbol}" for value, symbol in values if value)


def card_name(card: Card, texts: NullTranslations = ENGLISH) -> str:
    """Return the name of a card; a Happy Market by its colour alone."""
    if card.kind is not CardKind.MARKET:
        return texts.pgettext("card", card.name)
    return texts.pgettext("card", f"{card.colour} Happy Market" if card.colour else "Happy Market")


def move_in_words(
    move: Move, coins: int = 0, bots: Sequence[str] = (), *, texts: NullTranslations = ENGLISH
) -> str:
    """Return what a move does; `coins` is by how much it changes the seat's coins."""
    if move is COPY_BOX:
        return texts.gettext(COPY_BOX_TEXT)
    if move.kind is MoveKind.COIN and not coins:
        return texts.gettext(COINS_TEXT)
    name = card_name(move.card, texts) if move.card is not None else ""
    bot = seat_name(bots, move.number, texts)
    return _text(MOVE_TEXTS[move.kind], texts, coins, card=name, deck=move.number, bot=bot)


def event_in_words(event: Event, bots: Sequence[str] = (), *, texts: NullTranslations = ENGLISH) -> str:
    """Return one event as a sentence without a full stop: `greedy built Museum (4 coins)`."""
    if event.kind is EventKind.ROUND_STARTED or event.seat is None:
        return texts.gettext(ROUND_TEXT) % {"round": event.round}
    return f"{seat_name(bots, event.seat, texts)} {action_in_words(event, texts=texts)}"


def action_in_words(event: Event, *, texts: NullTranslations = ENGLISH) -> str:
    """Return what an event did to its seat, without the seat: `built Museum (4 coins)`."""
    form = LOSS_TEXT if event.kind is EventKind.EFFECT_PAID and event.coins < 0 else EVENT_TEXTS[event.kind]
    name = card_name(event.card, texts) if event.card is not None else ""
    return _text(form, texts, event.coins, card=name, deck=event.deck)


def events_in_words(
    events: Iterable[Event], bots: Sequence[str] = (), *, texts: NullTranslations = ENGLISH
) -> list[str]:
    """Return a sentence for each seat's events in a row, and for the start and the incomes of a round."""
    sentences = []
    for (kind, seat), group in groupby(events, _subject):
        row = list(group)
        if kind is EventKind.INCOME_PAID:
            paid = ((event.seat, event.coins) for event in row if event.seat is not None)
            gains = ", ".join(f"{seat_name(bots, seat, texts)} {coins:+}" for seat, coins in paid)
            sentences.append(texts.gettext(INCOMES_TEXT) % {"gains": gains})
        elif seat is None:
            sentences.append(event_in_words(row[0], bots, texts=texts))
        else:
            actions = ", ".join(action_in_words(event, texts=texts) for event in row)
            sentences.append(f"{seat_name(bots, seat, texts)} {actions}")
    return sentences


def _text(form: str | tuple[str, str], texts: NullTranslations, coins: int, **values: object) -> str:
    """Return a text with its values, in the form that goes with a number of coins, positive or negative."""
    coins = abs(coins)
    text = texts.gettext(form) if isinstance(form, str) else texts.ngettext(*form, coins)
    return text % {"num": f"{coins:,}", **values}


MOVE_TEXTS: dict[MoveKind, str | tuple[str, str]] = {
    MoveKind.KEEP: "keep the centre",
    MoveKind.DISCARD: "discard %(card)s",
    MoveKind.DRAW: "draw from deck %(deck)s",
    MoveKind.BUILD: ("build %(card)s for %(num)s coin", "build %(card)s for %(num)s coins"),
    MoveKind.DWELL: ("buy %(card)s for %(num)s coin", "buy %(card)s for %(num)s coins"),
    MoveKind.COIN: ("take %(num)s coin", "take %(num)s coins"),
    MoveKind.TAKE: "take %(card)s",
    MoveKind.DECLINE: "take no special",
    MoveKind.MARKET: "choose %(card)s",
    MoveKind.COPY: "copy the special of %(bot)s",
}
"""Moves, with placeholders; of two texts the first is that for one coin."""
COPY_BOX_TEXT = "copy a special of the box"
COINS_TEXT = "take coins"
EVENT_TEXTS: dict[EventKind, str | tuple[str, str]] = {
    EventKind.KEEP: "kept the centre",
    EventKind.DISCARD: "discarded %(card)s",
    EventKind.DRAW: "turned over %(card)s",
    EventKind.BUILD: ("built %(card)s (%(num)s coin)", "built %(card)s (%(num)s coins)"),
    EventKind.DWELL: ("bought %(card)s (%(num)s coin)", "bought %(card)s (%(num)s coins)"),
    EventKind.COIN: ("took %(num)s coin", "took %(num)s coins"),
    EventKind.TAKE: "took the special %(card)s",
    EventKind.DECLINE: "took no special",
    EventKind.MARKET: "chose the %(card)s",
    EventKind.COPY: "copies %(card)s",
    EventKind.INCOME_PAID: ("got %(num)s coin of income", "got %(num)s coins of income"),
    EventKind.DECK_REBUILT: "had deck %(deck)s rebuilt from its discards",
    EventKind.EFFECT_PAID: ("gained %(num)s coin by %(card)s", "gained %(num)s coins by %(card)s"),
    EventKind.CARD_LOST: "lost %(card)s",
}
"""What events did to their seats, in the same form."""
LOSS_TEXT = ("lost %(num)s coin by %(card)s", "lost %(num)s coins by %(card)s")
ROUND_TEXT = "round %(round)s began"
INCOMES_TEXT = "incomes: %(gains)s"
SEAT_TEXT = "seat %(number)s"


def _subject(event: Event) -> tuple[EventKind | None, int | None]:
    """Return what events in a row have in common if one sentence has them."""
    if event.kind in (EventKind.ROUND_STARTED, EventKind.INCOME_PAID):
        return event.kind, None
    return None, event.seat


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 game" and "2,000 games"."""
    return f"{count:,} {noun}" if abs(count) == 1 else f"{count:,} {noun}s"
