"""What a tournament consists of: the one model seen by flags, files, messages and store.

Every type refuses, with a ConfigError that begins with the field's name, values that no tournament can have.
What depends on how games are scheduled, such as bots that can't fill a table, `schedule_of` refuses.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import ConfigDict, Field, ValidationError

from happycity.errors import ConfigError, FieldError, suggestion
from happycity.match import (
    MAX_LABEL,
    FailurePolicy,
    TimeControl,
    check_bot_name,
    check_bot_spelling,
    check_range,
    name_key,
)
from happycity.rules.deals import MAX_SEED, Config
from happycity_tournament.plain_json import adapter

DEFAULT_ROUNDS = 100
DECISIONS_OF_A_SEAT = 28
"""Decisions of a seat in a game, about, as measured with the reference bots at 2 to 5 seats."""
STOP_SECONDS = 3.0
"""The time in which the running games of a tournament that is stopped must end to count."""
DEFAULT_CONCURRENCY = 768
"""Many, so that messages carry many decisions: a message costs as much as ten of them. A bot sets its own
limit; games that wait for it are not lost by a stop or a kill."""
DEFAULT_SPRT_CONCURRENCY = 128
"""Fewer than `DEFAULT_CONCURRENCY`: when a test has decided, the games that still run are of no use. One of
planner against greedy that needed 208 games took 4.4 s with 310 games at 128, and 8.4 s with 800 at 512."""
MEAN_ELO = 1500.0
"""The rating of the anchor, or of the mean of the bots."""

MAX_BOTS = 500
MAX_GAMES = 10_000_000
"""Maximum number of games of a tournament, and so of its rounds: weeks of play."""
MAX_CONCURRENCY = 10_000
MAX_ELO = 100_000
COMMITMENT_FILE = "commitment.json"
"""The file of a run's folder with what was fixed before its first game."""
MIN_ERROR = 0.1
"""Of a rating, in Elo: half of its 95% interval."""
MAX_ROUNDS_UNTIL_ERROR = 10_000
"""The maximum of rounds where they end by the errors of the ratings, unless another one is given."""

Seed = int | str
"""A number from 0 to 2^64 - 1, or a name such as a benchmark's, which has deals that no number has.

Deals follow from a hash of a text with the seed in it, where a name begins with a letter.
"""
_SEED_NAME = re.compile(r"[A-Za-z][ -~]{0,399}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_STRICT = ConfigDict(extra="forbid")


class TournamentState(Enum):
    """Where a tournament stands."""

    WAITING = "waiting"
    """It waits for its bots to connect."""
    RUNNING = "running"
    """Its games are being played."""
    FINISHED = "finished"
    """All games are played, or the test is over."""
    STOPPED = "stopped"
    """It was stopped early, and continues only when that is asked for."""
    INTERRUPTED = "interrupted"
    """Its host stopped; the next one on the same store continues it."""
    UNREADABLE = "unreadable"
    """What is stored of it can't be read; it can only be deleted."""

    @property
    def over(self) -> bool:
        """Whether its host plays no more of its games."""
        return self not in (TournamentState.WAITING, TournamentState.RUNNING)

    @property
    def ended(self) -> bool:
        """Whether no host continues it by itself, so that its results stay as they are."""
        return self in (TournamentState.FINISHED, TournamentState.STOPPED, TournamentState.UNREADABLE)


class SeatOrders(Enum):
    """The orders of seats in which each deal is played."""

    ROTATIONS = "rotations"
    """Every bot in every seat once; who sits to the left of whom stays the same."""
    ALL = "all"
    """Every order, n! of them: the neighbours are balanced too."""
    SINGLE = "single"
    """One order only: seats and cards are left to chance."""

    def count(self, seats: int) -> int:
        """Return how many games a deal is played in."""
        if self is SeatOrders.ROTATIONS:
            return seats
        return math.factorial(seats) if self is SeatOrders.ALL else 1

    def of(self, lineup: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Return the bots by seat, game for game; the first order is that of `lineup`."""
        if self is SeatOrders.ALL:
            return itertools.permutations(lineup)
        return ((*lineup[first:], *lineup[:first]) for first in range(self.count(len(lineup))))


class _Format:
    """What the formats share."""

    __slots__ = ()
    __pydantic_config__: ClassVar = _STRICT

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        for name in ("rounds", "cycles"):
            if hasattr(self, name):
                check_range(name, getattr(self, name), 1, MAX_GAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomRounds(_Format):
    """Everybody plays in every round, with those whom it met least."""

    kind: Literal["random-rounds"] = "random-rounds"
    rounds: int = DEFAULT_ROUNDS
    """In a round each table plays one deal in all its seat orders; with `until_error`, the maximum."""
    seat_orders: SeatOrders = SeatOrders.ROTATIONS
    until_error: float | None = None
    """End as soon as half of each rating's 95% interval is this many Elo at most; None: play all rounds."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        _Format.__post_init__(self)
        if self.until_error is not None:
            check_range("until_error", self.until_error, MIN_ERROR, MAX_ELO)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRobin(_Format):
    """Everybody meets everybody equally often."""

    kind: Literal["round-robin"] = "round-robin"
    cycles: int = 1
    """How often it is played, on different deals."""
    seat_orders: SeatOrders = SeatOrders.ROTATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Swiss(_Format):
    """In every round bots of about equal scores meet."""

    kind: Literal["swiss"] = "swiss"
    rounds: int = DEFAULT_ROUNDS
    seat_orders: SeatOrders = SeatOrders.ROTATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauntlet(_Format):
    """Challengers against all others."""

    kind: Literal["gauntlet"] = "gauntlet"
    challengers: tuple[str, ...] = ()
    """The bots that sit at one table each with some of the others."""
    cycles: int = 1
    """How often it is played, on different deals."""
    seat_orders: SeatOrders = SeatOrders.ROTATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtTest(_Format):
    """Two bots fill all seats until a sequential test has decided between them.

    It tests H0, the candidate is `elo0` stronger than the base, against H1, it is `elo1` stronger.
    """

    kind: Literal["sprt"] = "sprt"
    candidate: str
    base: str
    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    """The probability that H1 is accepted though H0 is true."""
    beta: float = 0.05
    """The probability that H0 is accepted though H1 is true."""
    max_blocks: int = 100_000
    """Maximum number of deal blocks."""
    luck_evaluator: str = ""
    """Digest of the evaluator by which the luck of the draws is taken off the scores; empty: it isn't."""

    def __post_init__(self) -> None:
        """Refuse numbers that make no test."""
        check_elo("elo0", self.elo0)
        check_elo("elo1", self.elo1)
        if not self.elo0 < self.elo1:
            raise FieldError("elo0", f"{self.elo0:g} is not less than elo1, {self.elo1:g}")
        for name, error in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < error < 0.5:
                raise FieldError(name, f"{error:g} is not between 0 and 1/2")
        check_range("max_blocks", self.max_blocks, 1, MAX_GAMES)


Format = RandomRounds | RoundRobin | Swiss | Gauntlet | SprtTest
"""How the games of a tournament are chosen."""
FORMATS: Final[dict[str, type[Format]]] = {
    "random-rounds": RandomRounds,
    "round-robin": RoundRobin,
    "swiss": Swiss,
    "gauntlet": Gauntlet,
    "sprt": SprtTest,
}
"""The formats by their kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentConfig:
    """What a tournament consists of."""

    __pydantic_config__: ClassVar = _STRICT

    bots: tuple[str, ...]
    """The names, each once."""
    game: Config
    """The kind of game; its players are the seats at a table."""
    format: Annotated[Format, Field(discriminator="kind")] = field(default_factory=RandomRounds)
    """How its games are chosen."""
    seed: Seed
    """All deals and the bots' seeds come from it."""
    anchor: str | None = None
    """The bot whose final rating is `anchor_elo`; None: the mean of the bots has that rating."""
    anchor_elo: float = MEAN_ELO
    time: TimeControl = field(default_factory=TimeControl)
    """How long things may take; `connect_seconds` is how long the tournament waits for its bots."""
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    """What happens to a bot that fails."""
    concurrency: int = DEFAULT_CONCURRENCY
    """Games at once."""
    title: str = ""
    """What people call it: one line of at most `MAX_LABEL` characters; "" if it has no name."""
    begin_incomplete: bool = False
    """Whether to begin without bots that are missing after `connect_seconds`; else the tournament stops."""
    hosted_bots: Mapping[str, str] = field(default_factory=dict, hash=False)
    """By bot that the server hosts: the digest of the submission that plays, in 64 hexadecimal digits."""

    def __post_init__(self) -> None:
        """Refuse what no tournament can have, whatever its schedule."""
        _check_stored_bots(self.bots)
        check_title(self.title)
        if isinstance(self.format, SprtTest) and self.bots != (self.format.candidate, self.format.base):
            raise FieldError("bots", "those of a sequential test are its candidate and its base")
        _check_seed(self.seed)
        if self.anchor is not None and self.anchor not in self.bots:
            name = self.anchor[:80]
            raise FieldError("anchor", f"{name!r} is not one of the bots; {suggestion(name, self.bots)}")
        check_elo("anchor_elo", self.anchor_elo)
        for bot, digest in self.hosted_bots.items():
            if bot not in self.bots or not _DIGEST.fullmatch(digest):
                raise FieldError("hosted_bots", f"{bot[:80]!r} is not one of the bots, or has no digest")
        check_range("concurrency", self.concurrency, 1, MAX_CONCURRENCY)

    @property
    def rounds(self) -> int:
        """The number of rounds; 0 in formats that don't fix it."""
        return getattr(self.format, "rounds", 0)

    @property
    def luck_evaluator(self) -> str:
        """The digest of the evaluator by which a test takes luck off the scores; empty: it doesn't."""
        return getattr(self.format, "luck_evaluator", "")

    def can_be_rated(self, disqualified: Collection[str]) -> bool:
        """Return whether a table can be filled without disqualified bots, whose games are not rated."""
        left = [bot for bot in self.bots if bot not in disqualified]
        return len(left) >= min(self.game.players, len(self.bots))

    def json(self) -> dict[str, Any]:
        """Return the configuration as a JSON object."""
        fields: dict[str, Any] = adapter(TournamentConfig).dump_python(self, mode="json")
        return fields

    @classmethod
    def of(cls, stored: object) -> Self:
        """Read what `json` wrote; ConfigError if this version can't read it."""
        try:
            return adapter(cls).validate_python(stored)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(f"the configuration can't be read: {where}: {first['msg']}") from None


def check_bots(bots: Sequence[str]) -> None:
    """Refuse names that the bots of a new tournament can't have.

    ConfigError if there are too many, one can't be taken, or two differ by capitals alone or not at all.
    """
    _check_stored_bots(bots)
    spelt: dict[str, str] = {}
    for bot in bots:
        try:
            check_bot_name(bot)
        except ConfigError as error:
            raise FieldError("bots", f"{error}") from None
        if other := spelt.get(name_key(bot)):
            raise FieldError("bots", f"{other!r} and {bot!r} differ by capitals alone")
        spelt[name_key(bot)] = bot


def _check_stored_bots(bots: Sequence[str]) -> None:
    """Refuse what no bots of a tournament of any version are called."""
    if len(bots) > MAX_BOTS:
        raise FieldError("bots", f"{len(bots)} are more than {MAX_BOTS}")
    for bot, count in Counter(bots).items():
        try:
            check_bot_spelling(bot)
        except ConfigError as error:
            raise FieldError("bots", f"{error}") from None
        if count > 1:
            raise FieldError("bots", f"{bot!r} is named more than once")


def _check_seed(seed: Seed) -> None:
    if isinstance(seed, str):
        if not _SEED_NAME.fullmatch(seed):
            raise FieldError("seed", f"{seed[:80]!a} is not a letter and at most 399 ASCII characters")
    elif not 0 <= seed <= MAX_SEED:
        raise FieldError("seed", f"{seed} is not between 0 and 2^64 - 1")


def check_title(title: str, *, field: str = "title") -> None:
    """Refuse a title that is too long, or can't be shown in a line; `field` is the name of its key.

    ConfigError if it is so.
    """
    if len(title) > MAX_LABEL:
        raise FieldError(field, f"it has {len(title)} characters, more than {MAX_LABEL}")
    if not title.isprintable():
        raise FieldError(field, f"{title!a} has control characters; use one line of text")


def check_elo(name: str, elo: float) -> None:
    """Raise a ConfigError unless a rating is a number of a sensible size."""
    check_range(name, elo, -MAX_ELO, MAX_ELO)
