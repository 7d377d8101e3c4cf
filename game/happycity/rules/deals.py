"""Configurations and deals: all that is random in a game, fixed in advance (articles 2, 5.4, 5.5)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Final

from happycity.errors import DealError, FieldError
from happycity.rules.cards import Card, Mode, deck_cards, specials_of
from happycity.rules.shuffling import shuffled

DECKS = (1, 2, 3)
MAX_SEED = 2**64 - 1
MIN_PLAYERS, MAX_PLAYERS = 2, 5
"""Seats at a table (article 2.1)."""

_FULL_DECKS = {deck: deck_cards(deck) for deck in DECKS}
_FULL_SETS = {mode: specials_of(mode) for mode in Mode}


class Scoring(Enum):
    """How inhabitants and hearts make points (article 4.3)."""

    PRODUCT = "product"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Config:
    """The kind of game: how many seats (2-5), which rules, which scoring."""

    players: int = 4
    mode: Mode = Mode.FAMILY
    scoring: Scoring = Scoring.PRODUCT

    def __post_init__(self) -> None:
        """Refuse a table that the game is not made for (article 2.1)."""
        if not MIN_PLAYERS <= self.players <= MAX_PLAYERS:
            raise FieldError("players", f"{self.players} is not between {MIN_PLAYERS} and {MAX_PLAYERS}")


@dataclass(frozen=True, slots=True)
class Deal:
    """Every card order of one game, top or first card first.

    A deal with explicit orders has a seed too: it drives the reshuffles.
    """

    config: Config
    seed: int
    decks: tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]
    """Decks 1, 2 and 3, top card first."""
    specials: tuple[Card, ...]
    """The specials on the table: players + 2 of the mode's set (article 2.4)."""
    box: tuple[Card, ...]
    """The unused specials, in the order in which they would leave the box."""

    def __post_init__(self) -> None:
        """Refuse orders that are not exactly the cards of the game.

        Raises:
            DealError: a deck or the specials lack a card or have one too many.
        """
        if not 0 <= self.seed <= MAX_SEED:
            raise DealError(f"seed {self.seed} is not between 0 and 2^64 - 1")
        for deck in DECKS:
            if _in_table_order(self.decks[deck - 1]) != _FULL_DECKS[deck]:
                raise DealError(f"deck {deck} does not hold exactly its {len(_FULL_DECKS[deck])} cards")
        if len(self.specials) != self.config.players + 2:
            raise DealError(f"{len(self.specials)} specials on the table instead of players + 2")
        if _in_table_order(self.specials + self.box) != _FULL_SETS[self.config.mode]:
            raise DealError(f"specials and box together are not the {self.config.mode.value} set")

    @classmethod
    def shuffle(cls, config: Config, *, seed: int) -> Deal:
        """Deal at random from `seed` (0 to 2^64 - 1)."""
        rng = random.Random(f"happycity deal {seed}")
        decks = [tuple(shuffled(_FULL_DECKS[deck], rng)) for deck in DECKS]
        specials = shuffled(_FULL_SETS[config.mode], rng)
        face_up = config.players + 2
        return cls(
            config=config,
            seed=seed,
            decks=(decks[0], decks[1], decks[2]),
            specials=tuple(specials[:face_up]),
            box=tuple(specials[face_up:]),
        )


def _in_table_order(cards: Sequence[Card]) -> tuple[Card, ...]:
    return tuple(sorted(cards, key=attrgetter("number")))


EDITION: Final = 1
"""The edition of the rules that is played here: a change of what a rule says makes a new one."""
DEALING: Final = 1
"""The version of deals: a seed that gives other cards, or another reshuffle, makes a new one."""
START_COINS: Final = 2
"""Article 2.5."""
CENTRE_SIZE: Final = 3
"""Buildings face up in the centre after a draw step (article 3.4)."""
CITY_SIZE: Final = 10
"""Positions of a city (article 3.9)."""
LAST_ROUND: Final = 30
"""The round that ends a game at the latest (article 4.5)."""


def happiness(config: Config, inhabitants: int, hearts: int) -> int:
    """Return the points of a city with these sums, each of which counts at least 0 (articles 4.2, 4.3)."""
    inhabitants, hearts = max(0, inhabitants), max(0, hearts)
    return inhabitants * hearts if config.scoring is Scoring.PRODUCT else inhabitants + hearts
