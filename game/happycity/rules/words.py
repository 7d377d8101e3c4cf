"""Cards, moves and events in words for people. Seats are counted from 1, as people see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from happycity.rules.cards import Card, CardKind
from happycity.rules.moves import COPY_BOX, Move, MoveKind
from happycity.rules.views import Event, EventKind, Phase

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


def seat_name(bots: Sequence[str], seat: int) -> str:
    """Return the bot in a seat, or the seat's number where bots aren't known."""
    return bots[seat] if seat < len(bots) else f"seat {seat + 1}"


def card_values(card: Card) -> str:
    """Return what a card gives, as printed: `1$ 2☺ -1♥`; "" if it gives nothing."""
    values = ((card.income, COINS), (card.inhabitants, INHABITANTS), (card.hearts, HEARTS))
    return " ".join(f"{value}{symbol}" for value, symbol in values if value)


def card_name(card: Card) -> str:
    """Return the name of a card; a Happy Market by its colour alone."""
    if card.kind is not CardKind.MARKET:
        return card.name
    return f"{card.colour} Happy Market" if card.colour else "Happy Market"


def coins_in_words(coins: int) -> str:
    """Return a number of coins."""
    return f"{coins} coin" if abs(coins) == 1 else f"{coins} coins"


def move_in_words(move: Move, coins: int = 0, bots: Sequence[str] = ()) -> str:
    """Return what a move does; `coins` is by how much it changes the seat's coins."""
    if move.card is not None:
        price = f" for {coins_in_words(-coins)}" if move.kind in (MoveKind.BUILD, MoveKind.DWELL) else ""
        return f"{_VERBS[move.kind]} {card_name(move.card)}{price}"
    if move.kind is MoveKind.DRAW:
        return f"draw from deck {move.number}"
    if move.kind is MoveKind.COPY:
        whose = (
            "a special of the box" if move is COPY_BOX else f"the special of {seat_name(bots, move.number)}"
        )
        return f"copy {whose}"
    if move.kind is MoveKind.COIN:
        return f"take {coins_in_words(coins)}" if coins else "take coins"
    return "keep the centre" if move.kind is MoveKind.KEEP else "take no special"


_VERBS = {
    MoveKind.DISCARD: "discard",
    MoveKind.BUILD: "build",
    MoveKind.DWELL: "buy",
    MoveKind.TAKE: "take",
    MoveKind.MARKET: "choose",
}


def _with_card(text: str) -> Callable[[Event], str]:
    return lambda event: f"{text} {card_name(event.card)}" if event.card is not None else text


def _with_price(text: str) -> Callable[[Event], str]:
    return lambda event: f"{_with_card(text)(event)} ({coins_in_words(-event.coins)})"


def _effect(event: Event) -> str:
    verb = "gained" if event.coins >= 0 else "lost"
    return f"{verb} {coins_in_words(abs(event.coins))} by {_with_card('')(event).strip()}"


_EVENTS: dict[EventKind, Callable[[Event], str]] = {
    EventKind.KEEP: lambda event: "kept the centre",
    EventKind.DISCARD: _with_card("discarded"),
    EventKind.DRAW: _with_card("turned over"),
    EventKind.BUILD: _with_price("built"),
    EventKind.DWELL: _with_price("bought"),
    EventKind.COIN: lambda event: f"took {coins_in_words(event.coins)}",
    EventKind.TAKE: _with_card("took the special"),
    EventKind.DECLINE: lambda event: "took no special",
    EventKind.MARKET: _with_card("chose the"),
    EventKind.COPY: _with_card("copies"),
    EventKind.INCOME_PAID: lambda event: f"got {coins_in_words(event.coins)} of income",
    EventKind.DECK_REBUILT: lambda event: f"had deck {event.deck} rebuilt from its discards",
    EventKind.EFFECT_PAID: _effect,
    EventKind.CARD_LOST: _with_card("lost"),
}


def event_in_words(event: Event, bots: Sequence[str] = ()) -> str:
    """Return one event as a sentence without a full stop: `greedy built Museum (4 coins)`."""
    if event.kind is EventKind.ROUND_STARTED:
        return f"round {event.round} began"
    return f"{seat_name(bots, event.seat)} {action_in_words(event)}"


def action_in_words(event: Event) -> str:
    """Return what an event did to its seat, without the seat: `built Museum (4 coins)`."""
    return _EVENTS[event.kind](event)


def events_in_words(events: Iterable[Event], bots: Sequence[str] = ()) -> list[str]:
    """Return a sentence for each seat's events in a row, and for the start and the incomes of a round."""
    return list(_sentences(events, bots))


def _sentences(events: Iterable[Event], bots: Sequence[str]) -> Iterator[str]:
    for (kind, seat), group in groupby(events, _subject):
        row = list(group)
        if kind is EventKind.ROUND_STARTED:
            yield event_in_words(row[0], bots)
        elif kind is EventKind.INCOME_PAID:
            gains = ", ".join(f"{seat_name(bots, event.seat)} {event.coins:+}" for event in row)
            yield f"incomes: {gains}"
        else:
            yield f"{seat_name(bots, seat)} {', '.join(map(action_in_words, row))}"


def _subject(event: Event) -> tuple[EventKind | None, int]:
    """Return what events in a row have in common if one sentence has them."""
    if event.kind in (EventKind.ROUND_STARTED, EventKind.INCOME_PAID):
        return event.kind, -1
    return None, event.seat
