"""What the table may know (chapter 7): the same for every seat, never a hidden order."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from happycity.rules.cards import DWELLINGS, Card
from happycity.rules.deals import Config


class Phase(IntEnum):
    """The step that waits for a choice (article 5.6); the value is the wire's."""

    MARKET = 1
    DISCARD = 2
    DRAW = 3
    BUY = 4
    SPECIAL = 5
    SPHINX = 6
    OVER = 7
    """No decision waits: the game has an outcome."""

    def __str__(self) -> str:
        return self.name.lower()


class EventKind(IntEnum):
    """What happened; the value is the wire's. The first ten are the moves, with their names and numbers."""

    KEEP = 1
    """A seat discarded nothing."""
    DISCARD = 2
    """A seat discarded `card` from the centre."""
    DRAW = 3
    """A seat turned over `card`."""
    BUILD = 4
    """A seat bought the building `card`; `coins` is what it paid, as a negative number."""
    DWELL = 5
    """A seat bought the dwelling `card`; `coins` is what it paid, as a negative number."""
    COIN = 6
    """A seat bought nothing and gained `coins`."""
    TAKE = 7
    """A seat took the special `card`."""
    DECLINE = 8
    """A seat took no special."""
    MARKET = 9
    """A seat chose the coloured Happy Market `card`."""
    COPY = 10
    """A seat's Sphinx copies the special `card`."""
    ROUND_STARTED = 11
    """The round with the number `round` began."""
    INCOME_PAID = 12
    """A seat gained `coins` in the income phase."""
    DECK_REBUILT = 13
    """`deck` was rebuilt from its discard pile, for a draw of the seat."""
    EFFECT_PAID = 14
    """A seat gained `coins`, or lost them if negative, by the effect of the special `card`."""
    CARD_LOST = 15
    """A seat's city lost `card`, which a special replaces: a building is discarded, a dwelling is gone."""


class Event(NamedTuple):
    """One thing that happened face up, a player's move or a step without a choice."""

    kind: EventKind
    """It says which of the fields below are set."""
    seat: int | None = None
    """The seat concerned; None when a round begins, which concerns all."""
    card: Card | None = None
    deck: int = 0
    """1 to 3."""
    coins: int = 0
    """By how much the seat's coins changed."""
    round: int = 0
    """From 1."""


class View(NamedTuple):
    """The public state of a game at a decision, complete enough to go on playing from it."""

    config: Config
    round: int
    """1 and up; 0 in the market draft."""
    seat: int
    """Whose decision it is."""
    phase: Phase
    coins: tuple[int, ...]
    """Coins of each seat."""
    incomes: tuple[int, ...]
    """What each seat would gain in an income phase held now."""
    cities: tuple[tuple[Card, ...], ...]
    """The cards of each seat's city, by position."""
    centre: tuple[Card, ...]
    """Buildings face up in the centre, in table order: slots have no meaning (article 5.2)."""
    specials: tuple[Card, ...]
    """Specials that can still be taken."""
    dwellings: tuple[int, ...]
    """Cards left in the stacks of `happycity.rules.cards.DWELLINGS`, in that order."""
    decks: tuple[int, ...]
    """Cards left in decks 1, 2 and 3."""
    discards: tuple[tuple[Card, ...], ...]
    """The cards in the discard piles of decks 1, 2 and 3, each in table order: all were seen before."""
    uses: tuple[int, ...]
    """How often the effect of each seat's special will still apply, if that is limited; else 0."""

    def dwellings_left(self) -> dict[str, int]:
        """Return the cards left of each dwelling, empty stacks included, by card id."""
        return {card.id: left for card, left in zip(DWELLINGS, self.dwellings, strict=True)}
