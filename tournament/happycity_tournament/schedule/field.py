"""What all formats share: the bots, their tables and seeds, and how one deal becomes games."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from happycity import ConfigError
from happycity_tournament.config import Participation, SeatOrders
from happycity_tournament.games import Fixture

_SEED_BITS = 53  # a JSON number is a double in most languages: whole up to 2^53


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The bots of a tournament and the tables they play at.

    Raises:
        ConfigError: the bots can't fill the tables.
    """

    bots: tuple[str, ...]
    """The names of all bots that ever take part, those that join later behind the others."""
    seats: int
    """Seats at a table, 2 to 5."""
    seed: int
    """Fixes everything random; 0 to 2^64 - 1."""
    seat_orders: SeatOrders = SeatOrders.ROTATIONS
    """The orders in which each deal is played."""
    participations: tuple[Participation, ...] = ()
    """The bots that don't take part in all rounds."""

    def __post_init__(self) -> None:
        """Refuse bots that can't fill the tables."""
        if len(self.bots) < self.seats:
            raise ConfigError(f"bots: {len(self.bots)} can't fill a table of {self.seats} seats")
        by_bot = {entry.bot: entry for entry in self.participations}
        for entry in self.participations:
            if entry.bot not in self.bots:
                raise ConfigError(f"participations: {entry.bot!r} is not one of the bots")
            if by_bot[entry.bot] is not entry:
                raise ConfigError(f"participations: {entry.bot!r} is there more than once")
        joined = [by_bot[bot].first_round if bot in by_bot else 1 for bot in self.bots]
        if joined != sorted(joined):
            raise ConfigError("participations: bots that join later have to be listed later")
        for number in self.changes():
            present = len(self.present(number))
            if present < self.seats:
                raise ConfigError(
                    f"bots: from round {number} on {present} are left, too few for a table of "
                    f"{self.seats} seats"
                )

    @property
    def tables(self) -> int:
        """How many tables all bots fill at once."""
        return len(self.bots) // self.seats

    def changes(self) -> list[int]:
        """Return the rounds from which other bots take part than before, the first round among them."""
        left = {entry.last_round + 1 for entry in self.participations if entry.last_round is not None}
        return sorted({1, *(entry.first_round for entry in self.participations), *left})

    def present(self, number: int) -> tuple[str, ...]:
        """Return the bots that take part in a round, in their order."""
        absent = {entry.bot for entry in self.participations if not entry.covers(number)}
        return tuple(bot for bot in self.bots if bot not in absent)

    def stretches(self, rounds: int) -> Iterator[tuple[range, tuple[str, ...]]]:
        """Yield so many rounds, those together in which the same bots take part, with these bots."""
        starts = [number for number in self.changes() if number <= rounds]
        for start, end in pairwise([*starts, rounds + 1]):
            yield range(start, end), self.present(start)

    def tables_in(self, rounds: int) -> int:
        """Return how many tables so many rounds have in which everybody present plays."""
        return sum(len(stretch) * (len(bots) // self.seats) for stretch, bots in self.stretches(rounds))

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


def deal_games(seated: Iterator[tuple[str, ...]], *, seed: int, number: int, table: int) -> Iterator[Fixture]:
    """Return the games of one deal, one for each way in which the bots are seated."""
    deal = f"{seed} {number} {table}"
    deal_seed = deal_seed_of(seed, number, table)
    for rotation, bots in enumerate(seated):
        yield Fixture(
            round=number,
            table=table,
            rotation=rotation,
            deal_seed=deal_seed,
            bots=bots,
            bot_seeds=bot_seeds(deal, bots=bots),
        )


def deal_seed_of(seed: int, number: int, table: int) -> int:
    """Return the seed of the deal of a table in a round of the tournament with this seed."""
    return _derive(f"happycity deal seed {seed} {number} {table}")


def bot_seeds(deal: str, *, bots: Sequence[str]) -> tuple[int, ...]:
    """Return each bot's seed, by seat, for a game on the deal that `deal` names."""
    return tuple(_derive(f"happycity bot seed {deal} {seat} {bot}") for seat, bot in enumerate(bots))


def _derive(text: str) -> int:
    """Return the seed below 2^53 that belongs to a text.

    SHA-256 has no way back and the texts begin with the kind of seed, so a bot that knows its own seed can
    only find the deal's by guessing the tournament's.
    """
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _SEED_BITS)
