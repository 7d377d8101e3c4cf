"""A decision as a person gets it: the legal moves as buttons, in groups, with what each brings now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from happycity import Card, Move, Phase, View
from happycity.rules.cards import BUILDINGS
from happycity.rules.moves import COPY_BOX, MoveKind
from happycity.text.board import Standing, standing, standing_after
from happycity.text.words import events_in_words
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import event_of, move_of, view_of
from happycity_viewer.languages import Language


@dataclass(frozen=True, slots=True)
class Gain:
    """By how much a move changes one number of the person's city."""

    name: str
    """`income`, `inhabitants`, `hearts` or `points`."""
    change: int
    now: int
    """The number that results."""


@dataclass(frozen=True, slots=True)
class Deck:
    """A deck to draw from."""

    number: int
    """1 to 3."""
    lowest: int
    """The lowest price of its buildings."""
    highest: int
    """The highest price of its buildings."""
    left: int
    """Cards in it; with 0 its discards are shuffled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
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
    deck: Deck | None
    """What it draws from."""

    @property
    def kind(self) -> str:
        """What the move does, as its notation says it."""
        return self.move.kind.name.lower()


@dataclass(frozen=True, slots=True)
class Question:
    """A decision that waits for a person."""

    decision_id: int
    phase: Phase
    groups: tuple[tuple[str, tuple[Choice, ...]], ...]
    """The moves, those of one kind together."""


_LAST = (MoveKind.KEEP, MoveKind.COIN, MoveKind.DECLINE)  # rarely the best choice


def question(decision: play.Decision) -> Question:
    """Return a decision as it is shown."""
    view = view_of(decision.view)
    moves = [(move_of(message), position, message.coins) for position, message in enumerate(decision.moves)]
    moves.sort(key=lambda entry: (entry[0].kind in _LAST, entry[0].kind))
    before = standing(view)
    choices = [
        Choice(
            position=position,
            number=number,
            move=move,
            coins=coins,
            card=_card(view, move),
            gains=tuple(_gains(view, move, before)),
            deck=_deck(view, move),
        )
        for number, (move, position, coins) in enumerate(moves, start=1)
    ]
    groups = tuple((kind, tuple(group)) for kind, group in groupby(choices, lambda choice: choice.kind))
    return Question(decision.decision_id, view.phase, groups)


def news(decision: play.Decision, bots: Sequence[str], language: Language) -> list[str]:
    """Return what has happened since the person's last decision, in sentences."""
    return events_in_words(map(event_of, decision.events), bots, texts=language.texts)


def _card(view: View, move: Move) -> Card | None:
    """Return the card that a move is about."""
    if move.kind is not MoveKind.COPY or move is COPY_BOX:
        return move.card
    return next((card for card in view.cities[move.number] if card.special_set is not None), None)


def _deck(view: View, move: Move) -> Deck | None:
    """Return the deck that a move draws from."""
    if move.kind is not MoveKind.DRAW:
        return None
    costs = [card.cost for card in BUILDINGS if card.deck == move.number]
    return Deck(move.number, min(costs), max(costs), view.decks[move.number - 1])


def _gains(view: View, move: Move, before: Standing) -> Iterator[Gain]:
    after = standing_after(view, move)
    if after is None:
        return
    for name in ("income", "inhabitants", "hearts", "points"):
        now = getattr(after, name)
        if now != getattr(before, name):
            yield Gain(name, now - getattr(before, name), now)
