"""A game that is scheduled, and a game that is finished: what all other modules exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from happycity import BotInfo, Config, Ending, SeatResult

Position = tuple[int, int, int]
"""A game's place in the order of the schedule: (round, table, rotation)."""

PRACTICE_SEEDS = 2**63
"""The seeds of practice matches' deals begin here. Those of tournaments are below 2^53, so whatever a bot
learns of a deal by practice, that deal is in no tournament."""

LARGEST_ID = 2**63 - 1
"""The largest id of a game or tournament that a store can have."""


WIN = 2
"""Half points for the better one of two places."""


@dataclass(frozen=True, slots=True)
class BotProfile:
    """What a bot said of itself when it connected last."""

    info: BotInfo
    software: str = ""
    """The SDK and its version."""

    @property
    def about(self) -> str:
        """What the bot said of itself, in one line; "" if it named nothing but its SDK."""
        info = self.info
        facts = (
            f"version {info.version}" if info.version else "",
            f"in {info.language}" if info.language else "",
            f"by {info.author}" if info.author else "",
        )
        return "; ".join(filter(None, (" ".join(filter(None, facts)), info.description)))


@dataclass(frozen=True, slots=True)
class Fixture:
    """One scheduled game; all tuples are by seat."""

    round: int
    """From 1."""
    table: int
    """From 0, within the round."""
    rotation: int
    """Which of the orders of seats in which the deal is played, from 0."""
    deal_seed: int
    """The deal, the same in every order of seats; below 2^53."""
    bots: tuple[str, ...]
    """The bots' names; a bot may fill several seats."""
    bot_seeds: tuple[int, ...]
    """The seed of each seat's own randomness; below 2^53."""

    @property
    def position(self) -> Position:
        """The fixture's place in the order of the schedule."""
        return (self.round, self.table, self.rotation)

    @property
    def place(self) -> str:
        """The same in words."""
        return place_in_words(self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedGame:
    """A game that was played to its end, wherever it is kept; all tuples are by seat."""

    match_id: int
    """The match id in a store; in other sources its number there, from 1."""
    tournament_id: int | None = None
    """The tournament that it belongs to, if any."""
    position: Position | None = None
    """Its place in the schedule; None if it belongs to no tournament."""
    ladder: tuple[int, int] | None = None
    """Its deal of the ladder and the rotation of the seats; None if it has none, or that wasn't read."""
    deal_seed: int
    """0 to 2^64 - 1; games with the same seed share their cards. 0 while a server keeps the deal secret."""
    config: Config
    """The kind of game."""
    bots: tuple[str, ...]
    """The bots' names; a bot may fill several seats."""
    bot_seeds: tuple[int, ...] = ()
    """The seed of each seat's own randomness; empty where it isn't known."""
    seats: tuple[SeatResult, ...]
    """How the game ended."""
    luck: tuple[float, ...] = ()
    """The places that each seat won by chance (see `happycity_tournament.luck_adjusted`); empty where they
    aren't to be taken off."""
    recorded_luck: tuple[float, ...] = ()
    """The same as the game's record has it, for the sequential test that it belongs to; empty: it has none,
    or wasn't read."""
    decisions: int
    """Decisions asked of the bots; in a game that was read from a record, those of the fallback count too."""
    created_at: float | None = None
    """When its match was set up, Unix time in seconds; None where it isn't known."""
    started_at: float | None = None
    """When it began; None where it isn't known."""
    finished_at: float | None = None
    """When it ended; None where it isn't known."""

    @property
    def round(self) -> int:
        """The round of the schedule, from 1; 0 for a game of no tournament."""
        return self.position[0] if self.position is not None else 0

    @property
    def fixture(self) -> Fixture:
        """The game as it was scheduled; ValueError if it belongs to no tournament."""
        if self.position is None:
            raise ValueError(f"game {self.match_id} belongs to no tournament")
        return Fixture(*self.position, self.deal_seed, self.bots, self.bot_seeds)

    @property
    def practice(self) -> bool:
        """Whether it was a practice match, which is not rated."""
        return is_practice(self.deal_seed)

    @property
    def places(self) -> tuple[int, ...]:
        """The places that count; 1 is best, equal seats share one."""
        return tuple([seat.place for seat in self.seats])

    @property
    def seconds(self) -> float:
        """Wall time from the game's start to its end; 0 where it isn't known."""
        if self.started_at is None or self.finished_at is None:
            return 0.0
        return max(0.0, self.finished_at - self.started_at)

    @property
    def points(self) -> tuple[int, ...]:
        """The points by the rules."""
        return tuple([seat.points for seat in self.seats])

    @property
    def endings(self) -> tuple[Ending, ...]:
        """How the game ended for each seat; empty if no seat was forfeited."""
        return tuple([seat.ending for seat in self.seats]) if self.forfeited else ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why seats were forfeited; empty if none was."""
        return tuple([seat.reason for seat in self.seats]) if self.forfeited else ()

    @property
    def forfeited(self) -> bool:
        """Whether any seat was forfeited."""
        return any(seat.forfeited for seat in self.seats)

    @property
    def deal_label(self) -> str:
        """The same for all games of a deal: round.table, both from 1, or digits of its seed; else ""."""
        if self.position is not None:
            return f"{self.position[0]}.{self.position[1] + 1}"
        return f"{self.deal_seed:06x}"[-6:] if self.deal_seed else ""

    @property
    def result(self) -> Result:
        """What standings and ratings take of it."""
        endings = self.endings
        return Result(
            match_id=self.match_id,
            tournament_id=self.tournament_id,
            position=self.position,
            deal_seed=self.deal_seed,
            bots=self.bots,
            places=self.places,
            points=self.points,
            coins=tuple([seat.coins for seat in self.seats]),
            endings=endings,
            reasons=self.reasons if endings else (),
            decisions=self.decisions,
            inhabitants=tuple([seat.inhabitants for seat in self.seats]),
            hearts=tuple([seat.hearts for seat in self.seats]),
            started_at=self.started_at,
            finished_at=self.finished_at,
            luck=self.luck,
            recorded_luck=self.recorded_luck,
        )


class Result(NamedTuple):
    """What standings and ratings take of a finished game, of which a source may have millions."""

    match_id: int
    tournament_id: int | None
    position: Position | None
    """Its place in the schedule; None if it belongs to no tournament."""
    deal_seed: int
    bots: Sequence[str]
    """By seat, as are all lists here."""
    places: Sequence[int]
    points: Sequence[int] = ()
    coins: Sequence[int] = ()
    endings: Sequence[Ending] = ()
    """Empty if no seat was forfeited."""
    reasons: Sequence[str] = ()
    """Why seats were forfeited; empty if no seat was, or without any reason."""
    decisions: int = 0
    """A store reads this, and what follows up to the record, for tables and reports only."""
    inhabitants: Sequence[int] = ()
    hearts: Sequence[int] = ()
    started_at: float | None = None
    finished_at: float | None = None
    """The moments in Unix time; None where they aren't known."""
    record: str | bytes | None = None
    """Its record, or packed times if it has no metrics; None: it has none, or wasn't read."""
    luck: Sequence[float] = ()
    """The places that each seat won by chance; empty where they aren't to be taken off."""
    recorded_luck: Sequence[float] = ()
    """The same as the game's record has it; empty: it has none, or wasn't read."""

    @property
    def round(self) -> int:
        """The round of the schedule, from 1; 0 for a game of no tournament."""
        return self.position[0] if self.position is not None else 0

    @property
    def copy_key(self) -> int:
        """A hash that is the same for copies of a game in several sources: of deal, bots and results.

        Of a million games, two have the same 64 bits by chance once in 40 million times.
        """
        return hash((self.deal_seed, *self.bots, *self.points, *self.coins, *self.places, *self.endings))


CountedGame = FinishedGame | Result
"""A game as the rule of which games count takes it, and ratings: both have all that these need."""


def place_in_words(position: Position) -> str:
    """Return a place in the schedule as people read it: they count tables and rotations from 1 too."""
    number, table, rotation = position
    return f"round {number}, table {table + 1}, rotation {rotation + 1}"


def practice_seed(number: int) -> int:
    """Return the seed of the practice deal of this number, below 2^63."""
    return PRACTICE_SEEDS | number


def is_practice(deal_seed: int) -> bool:
    """Return whether a deal is one of practice matches."""
    return deal_seed >= PRACTICE_SEEDS


def half_points(place: int, other: int) -> int:
    """Return what a place scores against another one: `WIN` if it is better, 1 if it is shared, else 0."""
    return WIN if place < other else int(place == other)
