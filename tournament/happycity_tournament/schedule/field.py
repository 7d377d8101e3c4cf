"""What all formats share: the bots, their tables and seeds, and how one deal becomes games."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from happycity.deals import MAX_SEED
from happycity.errors import ConfigError
from happycity_tournament.results import Fixture
from happycity_tournament.schedule.orders import Orders
from happycity_tournament.schedule.roster import Stay, changes, check_roster, present_in

SEATS = range(2, 6)

_SEED_BITS = 53  # a JSON number is a double in most languages: whole up to 2^53


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The bots of a tournament and the tables they play at.

    Raises:
        ConfigError: no tournament can be made of these numbers or names.
    """

    bots: tuple[str, ...]
    """The names of all bots that ever take part, those that join later behind the others."""
    seats: int
    """Seats at a table, 2 to 5."""
    seed: int
    """Fixes everything random; 0 to 2^64 - 1."""
    orders: Orders = Orders.ROTATIONS
    """The orders in which each deal is played."""
    roster: tuple[Stay, ...] = ()
    """The bots that don't take part in all rounds."""

    def __post_init__(self) -> None:
        """Refuse what no tournament can be made of."""
        check_seats(self.seats)
        check_seed(self.seed)
        twice = [bot for bot, count in Counter(self.bots).items() if count > 1]
        if twice:
            raise ConfigError(f"bots: {twice[0]!r} is named more than once")
        if len(self.bots) < self.seats:
            raise ConfigError(f"bots: {len(self.bots)} can't fill a table of {self.seats} seats")
        check_roster(self.bots, self.roster, seats=self.seats)

    @property
    def tables(self) -> int:
        """How many tables all bots fill at once."""
        return tables_per_round(bots=len(self.bots), seats=self.seats)

    def present(self, number: int) -> tuple[str, ...]:
        """Return the bots that take part in a round, in their order."""
        return present_in(self.bots, self.roster, number)

    def stretches(self, rounds: int) -> Iterator[tuple[range, tuple[str, ...]]]:
        """Yield so many rounds, those together in which the same bots take part, with these bots."""
        starts = [number for number in changes(self.roster) if number <= rounds]
        for start, end in pairwise([*starts, rounds + 1]):
            yield range(start, end), self.present(start)

    def tables_in(self, rounds: int) -> int:
        """Return how many tables so many rounds have in which everybody present plays."""
        return sum(
            len(stretch) * tables_per_round(bots=len(bots), seats=self.seats)
            for stretch, bots in self.stretches(rounds)
        )

    @property
    def games_per_deal(self) -> int:
        """How many games a deal is played in."""
        return self.orders.count(self.seats)

    def rng(self, subject: str, number: int) -> random.Random:
        """Return the randomness of one part of the schedule, such as a round."""
        return random.Random(f"happycity tournament {subject} {self.seed} {number}")

    def deal(self, company: Sequence[str], *, number: int, table: int) -> Iterator[Fixture]:
        """Return the games of a table's deal, in every order that is played.

        Args:
            company: the table's bots, by seat in the first game.
            number: the round, from 1.
            table: the table, from 0; no deal has the same round and table.
        """
        return deal_games(self.orders.of(company), seed=self.seed, number=number, table=table)


def tables_per_round(*, bots: int, seats: int) -> int:
    """Return how many tables so many bots fill."""
    return bots // seats


def deal_games(seated: Iterator[tuple[str, ...]], *, seed: int, number: int, table: int) -> Iterator[Fixture]:
    """Return the games of one deal, one for each way in which the bots are seated."""
    deal = f"{seed} {number} {table}"
    deal_seed = _derive(f"happycity deal seed {deal}")
    for rotation, bots in enumerate(seated):
        yield Fixture(
            round=number,
            table=table,
            rotation=rotation,
            deal_seed=deal_seed,
            bots=bots,
            bot_seeds=bot_seeds(deal, bots=bots),
        )


def bot_seeds(deal: str, *, bots: Sequence[str]) -> tuple[int, ...]:
    """Return each bot's seed, by seat, for a game on the deal that `deal` names."""
    return tuple(_derive(f"happycity bot seed {deal} {seat} {bot}") for seat, bot in enumerate(bots))


def check_seats(seats: int) -> None:
    """Refuse a table that the game is not made for.

    Raises:
        ConfigError: there is no such table.
    """
    if seats not in SEATS:
        raise ConfigError(f"seats: {seats} is not between {SEATS[0]} and {SEATS[-1]}")


def check_seed(seed: int) -> None:
    """Refuse a seed of more than 64 bits.

    Raises:
        ConfigError: it is out of range.
    """
    if not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"seed: {seed} is not between 0 and 2^64 - 1")


def check_count(name: str, count: int) -> None:
    """Refuse a number of rounds or the like that makes no tournament.

    Raises:
        ConfigError: it is less than 1.
    """
    if count < 1:
        raise ConfigError(f"{name}: {count} is less than 1")


def _derive(text: str) -> int:
    """Return the seed below 2^53 that belongs to a text.

    SHA-256 has no way back and the texts begin with the kind of seed, so a bot that knows its own seed can
    only find the deal's by guessing the tournament's.
    """
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _SEED_BITS)
