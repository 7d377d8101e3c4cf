"""What a person's page asks: the legal moves with what each changes, and why other cards can't be had."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from happycity import DWELLINGS, Card, Colour, Move, Phase, View
from happycity.rules.cities import Cities
from happycity.rules.moves import COPY_BOX, MoveKind
from happycity.text.board import SeatTotals, coins_short, colours_short, totals_after
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import move_of, view_of


@dataclass(frozen=True, slots=True)
class Gain:
    """By how much a move changes one number of the person's city."""

    name: str
    """`income`, `inhabitants`, `hearts` or `points`."""
    change: int
    now: int
    """The number that results; inhabitants and hearts below 0 count as 0 (article 4.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveChoice:
    """A legal move."""

    position: int
    """In the decision; the answer."""
    number: int
    """From 1, in the order in which the moves are shown: the key that chooses it."""
    move: Move
    coins: int
    """By how much it changes the person's coins."""
    card: Card | None
    """What it is about: for a Sphinx's choice the special that is copied."""
    gains: tuple[Gain, ...]

    @property
    def kind(self) -> str:
        """What the move does, as its notation says it."""
        return self.move.kind.name.lower()

    @property
    def on(self) -> str:
        """The card or deck of the table that is its control, as a selector; empty without one."""
        return control_of(self.move)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What a card of the table says to a person who can't have it now."""

    on: str
    """The card, as a selector."""
    is_owned: bool = False
    """The city has such a card already."""
    short: int = 0
    """Coins that are missing."""
    missing: Mapping[Colour, int] = field(default_factory=dict)
    """Cards of colours that a special needs beside those of the city."""


@dataclass(frozen=True, slots=True)
class Question:
    """A decision that waits for a person."""

    decision_id: int
    view: View
    groups: tuple[tuple[str, tuple[MoveChoice, ...]], ...]
    """The moves, those of one kind together."""
    hints: tuple[Hint, ...]
    missing: Mapping[Card, Mapping[Colour, int]]
    """By special of the table the cards of each colour that the city lacks for it; empty with a special."""

    @property
    def phase(self) -> Phase:
        """The step of the turn that asks."""
        return self.view.phase

    def nearer(self, card: Card) -> list[str]:
        """Return the ids of the specials of which the city lacks a card of this one's colour."""
        return [special.id for special, colours in self.missing.items() if card.colour in colours]


_ZONES = {
    MoveKind.BUILD: "centre",
    MoveKind.DISCARD: "centre",
    MoveKind.DWELL: "dwellings",
    MoveKind.TAKE: "specials",
}
_LAST = (MoveKind.KEEP, MoveKind.COIN, MoveKind.DECLINE)  # rarely the best choice


def question(decision: play.Decision) -> Question:
    """Return a decision as it is shown."""
    view = view_of(decision.view)
    cities = Cities.of_view(view)
    moves = [(move_of(message), position, message.coins) for position, message in enumerate(decision.moves)]
    moves.sort(key=lambda entry: (entry[0].kind in _LAST, entry[0].kind))
    before = SeatTotals.of(cities, view.seat)
    choices = [
        MoveChoice(
            position=position,
            number=number,
            move=move,
            coins=coins,
            card=_card(view, move),
            gains=gains_of(view, move, before),
        )
        for number, (move, position, coins) in enumerate(moves, start=1)
    ]
    groups = tuple((kind, tuple(group)) for kind, group in groupby(choices, lambda choice: choice.kind))
    missing = colours_short(view, cities)
    hints = [
        Hint(on=on_table("specials", card), missing=colours) for card, colours in missing.items() if colours
    ]
    if view.phase is Phase.BUY:
        hints += _refusals(view, cities, {choice.card for choice in choices})
    return Question(decision.decision_id, view, groups, tuple(hints), missing)


def control_of(move: Move) -> str:
    """Return the selector of the card or deck of the table that a move is about; empty without one."""
    if move.kind is MoveKind.DRAW:
        return f".d{move.number}"
    zone = _ZONES.get(move.kind)
    return "" if zone is None or move.card is None else on_table(zone, move.card)


def gains_of(view: View, move: Move, before: SeatTotals | None = None) -> tuple[Gain, ...]:
    """Return by how much a move changes the numbers of the city of the seat that decides: those `before`."""
    before, after = before or SeatTotals.of(Cities.of_view(view), view.seat), totals_after(view, move)
    if after is None:
        return ()
    names = ("income", "inhabitants", "hearts", "points")
    found = [(name, getattr(before, name), getattr(after, name)) for name in names]
    return tuple(Gain(name, now - old, now) for name, old, now in found if now != old)


def on_table(zone: str, card: Card) -> str:
    """Return the selector of a card in a zone of the table."""
    if zone == "dwellings":
        return f'[data-stack="{card.id}"]'
    return f'[data-list="{zone}"] [data-card="{card.id}"]'


def _refusals(view: View, cities: Cities, legal: Collection[Card | None]) -> Iterator[Hint]:
    """Yield why the cards that are for sale can't be bought."""
    offers = [("centre", card) for card in view.centre] + [("dwellings", card) for card in DWELLINGS]
    for zone, card in offers:
        if card not in legal:
            owned, short = card in view.cities[view.seat], coins_short(cities, view.seat, card)
            yield Hint(on=on_table(zone, card), is_owned=owned, short=short)


def _card(view: View, move: Move) -> Card | None:
    """Return the card that a move is about."""
    if move.kind is not MoveKind.COPY or move is COPY_BOX:
        return move.card
    return next((card for card in view.cities[move.number] if card.special_set is not None), None)
