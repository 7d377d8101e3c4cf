"""What all formats share: the bots, their tables and seeds, and how one deal becomes games."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from happycity.errors import FieldError
from happycity_tournament.config import SeatOrders, Seed
from happycity_tournament.games import Fixture

_SEED_BITS = 53  # a JSON number is a double in most languages: whole up to 2^53


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The bots of a tournament and the tables they play at; ConfigError if the bots can't fill the tables."""

    bots: tuple[str, ...]
    """The names of the bots."""
    seats: int
    """Seats at a table, 2 to 5."""
    seed: Seed
    """Fixes everything random."""
    seat_orders: SeatOrders = SeatOrders.ROTATIONS
    """The orders in which each deal is played."""

    def __post_init__(self) -> None:
        """Refuse bots that can't fill the tables."""
        if len(self.bots) < self.seats:
            raise FieldError("bots", f"{len(self.bots)} can't fill a table of {self.seats} seats")

    @property
    def tables(self) -> int:
        """How many tables all bots fill at once."""
        return len(self.bots) // self.seats

    @property
    def games_per_deal(self) -> int:
        """How many games a deal is played in."""
        return self.seat_orders.count(self.seats)

    def rng(self, subject: str, number: int) -> random.Random:
        """Return the randomness of one part of the schedule, such as a round."""
        return random.Random(f"happycity tournament {subject} {self.seed} {number}")

    def round_games(self, lineups: Iterable[Sequence[str]], *, number: int) -> Iterator[Fixture]:
        """Yield the games of a round's tables, each lineup's deal in every order that is played."""
        for table, lineup in enumerate(lineups):
            yield from deal_games(self.seat_orders.of(lineup), seed=self.seed, number=number, table=table)


def deal_games(
    seated: Iterator[tuple[str, ...]], *, seed: Seed, number: int, table: int
) -> Iterator[Fixture]:
    """Return the games of one deal, one for each way in which the bots are seated."""
    deal_seed = _derive(f"happycity deal seed {seed} {number} {table}")
    for rotation, bots in enumerate(seated):
        yield Fixture(
            round=number,
            table=table,
            rotation=rotation,
            deal_seed=deal_seed,
            bots=bots,
            bot_seeds=game_seeds(seed, number, table, bots=bots),
        )


def game_seeds(seed: Seed, number: int, table: int, *, bots: Sequence[str]) -> tuple[int, ...]:
    """Return each bot's seed, by seat, for a game of a table in a round of the tournament with this seed."""
    return bot_seeds(f"{seed} {number} {table}", bots=bots)


def bot_seeds(deal: str, *, bots: Sequence[str]) -> tuple[int, ...]:
    """Return each bot's seed, by seat, for a game on the deal that `deal` names."""
    return tuple(_derive(f"happycity bot seed {deal} {seat} {bot}") for seat, bot in enumerate(bots))


def _derive(text: str) -> int:
    """Return the seed below 2^53 that belongs to a text.

    SHA-256 has no way back and the texts begin with the kind of seed, so a bot that knows its own seed can
    only find the deal's by guessing the tournament's. Where that is a name, no number gives the same text.
    """
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _SEED_BITS)
