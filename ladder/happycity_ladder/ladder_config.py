"""What a ladder consists of: the file that `happycity serve --ladder` reads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError

from happycity import Config, ConfigError, FailurePolicy, Mode, Scoring, TimeControl
from happycity.errors import FieldError
from happycity.match import check_bot_name
from happycity_runtime.settings import SettingsError, read_toml
from happycity_tournament.config import MEAN_ELO, check_elo, check_title
from happycity_tournament.plain_json import adapter

_STRICT = ConfigDict(extra="forbid")


DEFAULT_HOUSE = "planner,careless,greedy"
"""The house for a ladder as it is by default: the anchor, and steps of less than 300 Elo to a first bot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One kind of table, which has ratings of its own."""

    __pydantic_config__: ClassVar = _STRICT

    players: Annotated[int, Field(ge=2, le=5)]
    mode: Mode = Mode.FAMILY
    scoring: Scoring = Scoring.PRODUCT
    weight: PositiveFloat = 1.0
    """Deals are divided among the boards by their weights."""

    @property
    def game(self) -> Config:
        """What is played on it."""
        return Config(players=self.players, mode=self.mode, scoring=self.scoring)

    @property
    def name(self) -> str:
        """Its name, such as 4-family; the usual scoring isn't named."""
        name = f"{self.players}-{self.mode.value}"
        return name if self.scoring is Scoring.PRODUCT else f"{name}-{self.scoring.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """How much a bot plays, and how much authors may ask for."""

    __pydantic_config__: ClassVar = _STRICT

    games_per_day: Annotated[int, Field(ge=5)] = 600
    """Games of rated deals that a guest may begin in a day (UTC), on all boards together.

    Each further version of it that plays the same day may begin half as many as the one before.
    """
    exact_error: Annotated[float, Field(ge=0)] = 20.0
    """The standard error, in Elo, from which on a rating is exact; 0: none ever is."""
    exact_share: Annotated[float, Field(ge=0, le=1)] = 0.25
    """The share of these that a bot begins for its own sake on a board where its rating is exact."""
    open_challenges: PositiveInt = 4
    """Challenges of an owner that may be open or be played at once."""
    deals_per_challenge: PositiveInt = 50
    deals_per_day: PositiveInt = 500
    """Deals that the challenges of an owner may ask for in 24 hours."""
    challenge_hours: PositiveFloat = 24.0
    """The time after which a challenge expires that not all have accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderConfig:
    """What a ladder consists of."""

    __pydantic_config__: ClassVar = _STRICT

    name: str = "Ladder"
    """What people call it: one line of at most 80 characters."""
    boards: tuple[Board, ...] = (Board(players=4),)
    """The kinds of tables, the one that is shown first in front."""
    anchor: str = "planner"
    """The bot of the house whose rating is `anchor_elo` on every board, for good."""
    anchor_elo: float = MEAN_ELO
    drift: Annotated[float, Field(gt=0, le=1000)] = 20.0
    """Elo by which the strength of a version changes in a week, as a standard deviation, before any deal."""
    version_change: Annotated[float, Field(gt=0, le=2000)] = 100.0
    """Elo by which a new version differs from the one before it, as a standard deviation."""
    provisional_error: PositiveFloat = 50.0
    """The standard error, in Elo, above which a rating is provisional."""
    inactive_days: PositiveFloat = 14.0
    """The time without a connection after which a bot isn't ranked."""
    season_days: Annotated[float, Field(ge=0)] = 0.0
    """How long a season lasts; 0: until the organiser ends it."""
    deals_per_bot: PositiveInt = 2
    """Deals that a bot plays at once at most, each in all rotations of the seats."""
    deals_at_once: PositiveInt = 100
    """Deals that are played at once at most."""
    return_seconds: PositiveFloat = 120.0
    """How long the deals that a stop of the server broke off wait for their bots; then they are dropped."""
    quotas: Quotas = field(default_factory=Quotas)
    time: TimeControl = field(default_factory=TimeControl)
    """How long things may take."""
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    """What happens to a bot that fails."""

    def __post_init__(self) -> None:
        """Refuse what no ladder can have."""
        check_title(self.name, field="name")
        check_bot_name(self.anchor)
        check_elo("anchor_elo", self.anchor_elo)
        names = [board.name for board in self.boards]
        if not names:
            raise FieldError("boards", "a ladder needs at least one")
        for name in names:
            if names.count(name) > 1:
                raise FieldError("boards", f"{name} is there more than once")

    def board(self, name: str) -> Board:
        """Return a board by its name, the first one for "".

        Raises:
            ConfigError: the ladder has no board of this name.
        """
        for board in self.boards:
            if name in ("", board.name):
                return board
        known = ", ".join(board.name for board in self.boards)
        raise FieldError("board", f"there is no {name[:80]!r} in this ladder; there are: {known}")

    def has_board(self, name: str) -> bool:
        """Return whether the ladder has a board of this name."""
        return any(board.name == name for board in self.boards)

    def json(self) -> dict[str, Any]:
        """Return it as JSON, which `of` reads."""
        content: dict[str, Any] = adapter(LadderConfig).dump_python(self, mode="json")
        return content

    @classmethod
    def of(cls, content: object) -> Self:
        """Read JSON or the content of a file; ValidationError or ConfigError if it can't be one."""
        return adapter(cls).validate_python(content)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a TOML file.

        Raises:
            ConfigError: it can't be read, or has a key or value that no ladder can have.
        """
        try:
            return cls.of(read_toml(path))
        except SettingsError as error:
            raise FieldError("ladder", f"{error}") from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "file"
            unknown = first["type"] == "unexpected_keyword_argument"
            problem = "there is no such key" if unknown else first["msg"]
            raise FieldError("ladder", f"{path}: {where}: {problem}") from None
        except ConfigError as error:
            raise FieldError("ladder", f"{path}: {error}") from None


def example() -> str:
    """Return a commented example of the file: each key with its default."""
    return Path(__file__).with_name("example.toml").read_text(encoding="utf-8")


def season_secret(secret: int, season_id: int) -> tuple[int, str]:
    """Return seed and salt of a season, which are published at its end, from the ladder's secret."""
    digest = hashlib.blake2b(f"{secret} season {season_id}".encode(), digest_size=48).digest()
    return int.from_bytes(digest[:16], "big"), digest[16:].hex()


def deal_seed(secret: int, deal_id: int) -> int:
    """Return the seed of a deal, below 2^53; without the season's seed no one can know it before."""
    digest = hashlib.blake2b(f"{secret} {deal_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 11
