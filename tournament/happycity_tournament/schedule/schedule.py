"""What all formats share: bots, tables and seeds, how one deal becomes games, and stages of games."""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from happycity.errors import FieldError
from happycity_tournament.config import SeatOrders, Seed
from happycity_tournament.games import CountedGame, Fixture

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


class Schedule(ABC):
    """The games of a tournament, stage by stage.

    A stage's games may be played all at once. Before the next stage is asked for, each of them must have
    been added or skipped; results of an earlier day may be added before the first stage. The same results,
    in whatever order they come, give the same games.
    """

    total_games: int
    """How many games there will be; a schedule that is decided by results may end with fewer."""
    draws_from_results = False
    """Whether a stage depends on the results of those before it."""

    @property
    def decided(self) -> bool:
        """Whether results have ended it, so that nothing is left to play."""
        return False

    @abstractmethod
    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield each stage's games in the order of their positions, worked out when they are asked for."""

    def add(self, result: CountedGame) -> None:  # noqa: B027 - most formats don't care for results
        """Take the result of a game, in any order."""

    def skip(self, fixture: Fixture) -> None:  # noqa: B027 - likewise
        """Note that a game has no result and never will."""


class FixedSchedule(Schedule):
    """A schedule that no result changes: one stage, and an iterable of all its games."""

    def __init__(self, field: Field, *, tables: int) -> None:
        self._field = field
        self.total_games = tables * field.games_per_deal

    @abstractmethod
    def lineups(self) -> Iterator[Iterable[Sequence[str]]]:
        """Yield the lineups of each round's tables; a round may be left without any."""

    def __iter__(self) -> Iterator[Fixture]:
        """Return all games in their order, each worked out when it is asked for."""
        for number, lineups in enumerate(self.lineups(), start=1):
            yield from self._field.round_games(lineups, number=number)

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield all games as one stage."""
        yield iter(self)


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
