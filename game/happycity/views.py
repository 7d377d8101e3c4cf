"""What the table may know (chapter 7): the same for every seat, never a hidden order."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from happycity.cards import DWELLINGS, Card
from happycity.deals import Config


class Phase(IntEnum):
    """The step that waits for a choice (article 5.6); the value is the wire's."""

    MARKET = 1
    DISCARD = 2
    DRAW = 3
    BUY = 4
    SPECIAL = 5
    SPHINX = 6
    OVER = 7
    """Nothing waits any more: the game has an outcome."""

    def __str__(self) -> str:
        return self.name.lower()


class EventKind(IntEnum):
    """What happened; the value is the wire's."""

    ROUND = 1
    """A round begins; `amount` is its number."""
    INCOME = 2
    """A seat gained `amount` coins in the income phase."""
    KEEP = 3
    """A seat discarded nothing."""
    DISCARD = 4
    """A seat discarded `card` from the centre."""
    RESHUFFLE = 5
    """Deck number `amount` was rebuilt from its discard pile."""
    DRAW = 6
    """A seat turned over `card`."""
    BUILD = 7
    """A seat bought the building `card` for `amount` coins."""
    DWELL = 8
    """A seat bought the dwelling `card` for `amount` coins."""
    COIN = 9
    """A seat bought nothing and gained `amount` coins."""
    TAKE = 10
    """A seat took the special `card`."""
    DECLINE = 11
    """A seat took no special."""
    MARKET = 12
    """A seat drafted the coloured Happy Market `card`."""
    COINS = 13
    """A seat gained `amount` coins, or lost them if negative, by the effect of the special `card`."""
    DEMOLISH = 14
    """A seat's city lost `card`, which a special replaces: a building is discarded, a dwelling is gone."""
    COPY = 15
    """A seat's Sphinx copies the special `card`."""


class Event(NamedTuple):
    """One thing that happened face up, forced moves included."""

    kind: EventKind
    seat: int
    """Who did it; 0 for a round's beginning, which nobody does."""
    card: Card | None
    amount: int
    """Coins, a deck or a round, as the kind says; else 0."""


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
    """Cards left in the stacks of `happycity.cards.DWELLINGS`, in that order."""
    decks: tuple[int, ...]
    """Cards left in decks 1, 2 and 3."""
    discards: tuple[int, ...]
    """Cards in the discard piles of decks 1, 2 and 3."""
    uses: tuple[int, ...]
    """How often the effect of each seat's special will still apply, if that is limited; else 0."""

    def dwellings_left(self) -> dict[str, int]:
        """Return the cards left of each dwelling, empty stacks included, by card id."""
        return {card.id: left for card, left in zip(DWELLINGS, self.dwellings, strict=True)}
