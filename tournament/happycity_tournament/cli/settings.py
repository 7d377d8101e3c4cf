"""The settings of `tournament run` and `sprt`, as flags and in a file."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic.fields import FieldInfo

from happycity import Config, ConfigError, FailurePolicy, Fallback, Mode, Scoring, TimeControl
from happycity.match import DEFAULT_LINEUP
from happycity.rules.deals import MAX_PLAYERS, MAX_SEED, MIN_PLAYERS
from happycity_runtime.environment import SERVER_VARIABLE
from happycity_runtime.settings import CommandSettings, description, detail, setting
from happycity_runtime.transport import Target
from happycity_tournament.cli.options import BASICS
from happycity_tournament.config import (
    DEFAULT_CONCURRENCY,
    DEFAULT_ROUNDS,
    DEFAULT_SPRT_CONCURRENCY,
    FORMATS,
    MAX_ROUNDS_UNTIL_ERROR,
    MEAN_ELO,
    Format,
    SeatOrders,
    SprtTest,
    TournamentConfig,
)
from happycity_tournament.lineup import DEFAULT_RESTARTS, BotEntry

DEFAULT_SEATS = 4
_TIME, _POLICY, _SPRT = TimeControl(), FailurePolicy(), SprtTest(candidate="", base="")
_CONNECT_SECONDS = 30.0


def _split(value: object) -> object:
    """Split the list of a flag at its commas."""
    if isinstance(value, str):
        return [entry.strip() for entry in value.split(",") if entry.strip()]
    return value


_Text = Annotated[str, Field(strict=True, min_length=1)]
_Switch = Annotated[bool, Field(strict=True)]
_Number = Annotated[float, Field(strict=True)]
_Count = Annotated[int, Field(strict=True, ge=1)]
_CountOrNone = Annotated[int, Field(strict=True, ge=0)]
_Workers = Annotated[int, Field(strict=True, ge=0, le=256)]
_Seats = Annotated[int, Field(strict=True, ge=MIN_PLAYERS, le=MAX_PLAYERS)]
_Seconds = Annotated[float, Field(strict=True, ge=0)]
_SomeSeconds = Annotated[float, Field(strict=True, gt=0)]
_Share = Annotated[float, Field(strict=True, ge=0, le=1)]
_Seed = Annotated[int, Field(strict=True, ge=0, le=MAX_SEED)]
_Names = Annotated[tuple[_Text, ...], BeforeValidator(_split)]


def _address(text: str) -> str:
    """Refuse what is not the address of a server."""
    try:
        Target.parse(text, setting="")
    except ConfigError as error:
        raise ValueError(str(error)) from None
    return text


class BasicRunSettings(CommandSettings):
    """What nearly every run sets."""

    group: ClassVar[str] = BASICS

    seats: _Seats | None = setting(None, absent="4, or fewer with fewer bots", example=4)
    """Seats at each table, 2 to 5."""
    seed: _Seed | None = setting(None, absent="random", example=1)
    """Seed of all deals and of the bots."""
    salt: _Text | None = setting(None, absent="random", example="16 random characters or more")
    """Random text that hides the seed in the hash that `tournament commit` prints."""
    beacon: _Text | None = setting(None, absent="none", example="drand 123: 5f3c")
    """Public randomness, drawn after that hash was published; the deals follow from it, seed and salt."""


class RoundsSettings(CommandSettings):
    """How long a tournament is."""

    group: ClassVar[str] = BASICS

    rounds: _Count = DEFAULT_ROUNDS
    """Rounds of random-rounds and swiss: each table plays one deal in all its seat orders."""


class GameSettings(CommandSettings):
    """What is played."""

    group: ClassVar[str] = "Game"

    mode: Mode = Mode.FAMILY
    """Rules and special buildings."""
    scoring: Scoring = Scoring.PRODUCT
    """How points are computed from inhabitants and hearts."""


class TimeSettings(CommandSettings):
    """How long bots may take, in seconds."""

    group: ClassVar[str] = "Time"

    decision_seconds: _SomeSeconds = _TIME.decision_seconds
    """Seconds for each decision."""
    bank_seconds: _Seconds = _TIME.bank_seconds
    """Seconds that each seat has for all its decisions of a game; 0: no such limit."""
    increment_seconds: _Seconds = _TIME.increment_seconds
    """Seconds added to a seat's bank before each of its decisions."""
    margin_seconds: _Seconds = _TIME.margin_seconds
    """Seconds of each think time that are not counted."""
    no_clock: _Switch = setting(_TIME.no_clock)
    """Play without clocks, for debugging."""
    connect_seconds: _SomeSeconds = _CONNECT_SECONDS
    """Seconds to wait for the bots to connect."""
    begin_incomplete: _Switch = False
    """Begin without bots that are missing after that time; their games are forfeited until they connect."""


class FailureSettings(CommandSettings):
    """What happens to bots that fail."""

    group: ClassVar[str] = "Time"

    max_strikes: _CountOrNone = _POLICY.max_strikes
    """Late or illegal answers that a seat may give in a game; one more forfeits the seat."""
    grace_seconds: _Seconds = _POLICY.grace_seconds
    """Seconds that a bot may be disconnected before its seats are forfeited."""
    fallback: Fallback = _POLICY.fallback
    """The move that is played for a bot that doesn't choose one in time."""
    disqualify_share: _Share = _POLICY.disqualify_share
    """A bot that forfeits at least this share of its games is disqualified, one that never answers at once; 0
    spares all."""
    disqualify_games: _Count = _POLICY.disqualify_games
    """Games that a bot has finished before it can be disqualified."""


class RunningSettings(CommandSettings):
    """Where and how many games run."""

    group: ClassVar[str] = "Running"

    title: str | None = setting(None, example="Spring cup")
    """What the tournament is called in lists and reports, in one line."""
    concurrency: _Count = DEFAULT_CONCURRENCY
    """Games that run at the same time."""
    processes: _Count = 1
    """Processes among which the reference bots are divided."""
    restarts: _CountOrNone = DEFAULT_RESTARTS
    """How often a bot that the run has started, and that ends during the games, is started again."""
    fail_on_forfeit: _Switch = False
    """Exit with status 1 if a bot has forfeited a game, such as in the tests of a bot."""
    workers: _Workers | None = setting(None, absent="by the cores, if that pays", example=2)
    """Processes that play games beside the run's own server, each with its own processes of bots."""
    ray: _Text | None = setting(None, metavar="ADDRESS", example="auto")
    """Ray cluster on whose nodes the workers are, host:port; auto: the one that this machine belongs to;
    local: a new one of this machine alone, which ends with the run."""
    server: Annotated[_Text, AfterValidator(_address)] | None = setting(
        None,
        absent="HAPPYCITY_SERVER, else one of the run's own",
        metavar="ADDRESS",
        example="grpcs://arena.example:443",
    )
    """Play on a running server, grpc://HOST:PORT or grpcs://HOST:PORT; its token is in HAPPYCITY_TOKEN."""
    store: _Text | None = setting(
        None, absent="a new SQLite file under runs/", metavar="URL", example="sqlite:///games.sqlite"
    )
    """Database URL of the store for the results."""
    web: _Switch = setting(default=True, absent="on, if happycity[web] is installed")
    """Show the tournament in a browser while it runs, and print the link; on a server of the run's own."""


FILE_ONLY = frozenset(
    {
        *FailureSettings.model_fields,
        "bank_seconds",
        "increment_seconds",
        "margin_seconds",
        "begin_incomplete",
        "processes",
        "anchor_elo",
        "salt",
        "beacon",
    }
    - {"grace_seconds"}
)
"""The settings that are in a file only, as few need them."""


class PlaySettings(RunningSettings, FailureSettings, TimeSettings, GameSettings, BasicRunSettings):
    """The settings of every command that plays; the help has the last base first."""

    @property
    def server_to_use(self) -> str | None:
        """The running server to play on: the one that is named, else that of the environment."""
        return self.server or (None if self.store else os.environ.get(SERVER_VARIABLE)) or None

    @model_validator(mode="after")
    def _check_together(self) -> PlaySettings:
        where = "--server" if self.server else SERVER_VARIABLE
        if self.server is not None and self.store is not None:
            raise ValueError("--store: it has no effect with --server: that server has a store of its own")
        if self.server_to_use and self.workers is not None:
            raise ValueError(f"--workers: it has no effect with {where}: that server has its own")
        if self.server_to_use and self.ray is not None:
            raise ValueError(f"--ray: it has no effect with {where}: that server was started without")
        if self.ray is not None and self.workers == 0:
            raise ValueError("--ray: it needs workers on the nodes: give at least --workers 1, or none")
        if self.beacon is not None and (self.seed is None or self.salt is None):
            raise ValueError("beacon: it needs seed and salt, which `tournament commit` commits to before it")
        if self.increment_seconds and not self.bank_seconds:
            raise ValueError("increment_seconds: it has no effect without bank_seconds")
        return self

    def _config(self, bots: Sequence[str], chosen: Format, **more: Any) -> TournamentConfig:
        return TournamentConfig(
            bots=tuple(bots),
            title=self.title or "",
            game=Config(
                players=self.seats or max(2, min(DEFAULT_SEATS, len(bots))),
                mode=self.mode,
                scoring=self.scoring,
            ),
            format=chosen,
            seed=secrets.randbits(53) if self.seed is None else self.seed,
            time=TimeControl(**self._values_of(TimeControl)),
            policy=FailurePolicy(**self._values_of(FailurePolicy)),
            concurrency=self.concurrency,
            begin_incomplete=self.begin_incomplete,
            **more,
        )

    def _values_of(self, model: type[TimeControl | FailurePolicy]) -> dict[str, Any]:
        """Return the settings that are the fields of a dataclass, by their common names."""
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(model)}


_FORMAT_KEYS = ("rounds", "cycles", "seat_orders", "challengers", "until_error")


class ScheduleSettings(CommandSettings):
    """Which bots meet, and how often."""

    group: ClassVar[str] = "Schedule"

    format: Literal["random-rounds", "round-robin", "swiss", "gauntlet"] = "random-rounds"
    """How it is decided which bots meet."""
    until_error: _Number | None = setting(None, absent="play all rounds", example=10.0)
    """End random-rounds when half of each rating's 95% interval is this many Elo at most; --rounds is the
    maximum then, 10000 unless it is given."""
    cycles: _Count = 1
    """How often a round-robin or gauntlet is repeated, with different deals."""
    seat_orders: SeatOrders = SeatOrders.ROTATIONS
    """The orders of seats in which each deal is played."""
    challengers: _Names = setting((), metavar="NAME,...", example=["planner"])
    """In a gauntlet, the bots that meet all others, separated by commas."""


class RatingSettings(CommandSettings):
    """The scale of the ratings."""

    group: ClassVar[str] = "Ratings"

    anchor: _Text | None = setting(None, absent="the mean of the bots", metavar="NAME", example="random")
    """The bot whose final rating is fixed."""
    anchor_elo: _Number = MEAN_ELO
    """The final rating of the anchor, or the mean of all final ratings."""


class RunSettings(RatingSettings, PlaySettings, ScheduleSettings, RoundsSettings):
    """The settings of `tournament run`."""

    bots: tuple[BotEntry, ...] = tuple(BotEntry(name=name, builtin=name) for name in DEFAULT_LINEUP)

    @model_validator(mode="after")
    def _check_format(self) -> RunSettings:
        takes = self._format_keys()
        for key in _FORMAT_KEYS:
            if key in self.model_fields_set and key not in takes:
                flags = [f"--{own.replace('_', '-')}" for own in takes]
                raise ValueError(
                    f"--{key.replace('_', '-')}: it has no effect in {self.format}; "
                    f"it takes {', '.join(flags[:-1])} and {flags[-1]}"
                )
        if self.format == "gauntlet" and not self.challengers:
            raise ValueError("--challengers: a gauntlet needs the bots that meet all others")
        return self

    def config(self) -> TournamentConfig:
        """Return the tournament; refuse times and ratings out of their range."""
        keys = self.model_dump(include=set(self._format_keys()))
        if self.until_error is not None and "rounds" not in self.model_fields_set:
            keys["rounds"] = MAX_ROUNDS_UNTIL_ERROR
        chosen = FORMATS[self.format](**keys)
        names = [bot.name for bot in self.bots]
        return self._config(names, chosen, anchor=self.anchor, anchor_elo=self.anchor_elo)

    def _format_keys(self) -> list[str]:
        return [entry.name for entry in dataclasses.fields(FORMATS[self.format]) if entry.name != "kind"]


class SprtTestSettings(CommandSettings):
    """What is tested."""

    group: ClassVar[str] = "Test"

    candidate: _Text = setting(..., metavar="BOT")
    """The bot that may be stronger: BOT, NAME=BOT or NAME=COMMAND."""
    base: _Text = setting(..., metavar="BOT")
    """The bot that it is compared with: BOT, NAME=BOT or NAME=COMMAND."""
    elo0: _Number = _SPRT.elo0
    """How much stronger the candidate is under H0, in Elo."""
    elo1: _Number = _SPRT.elo1
    """How much stronger the candidate is under H1, in Elo."""
    alpha: _Number = _SPRT.alpha
    """Probability that H1 is accepted although H0 is true."""
    beta: _Number = _SPRT.beta
    """Probability that H0 is accepted although H1 is true."""
    max_blocks: _Count = _SPRT.max_blocks
    """Maximum number of deal blocks."""
    luck_adjusted: bool = False
    """Take the luck of the draws off the scores, by champion's network: fewer blocks decide."""


class SprtSettings(PlaySettings, SprtTestSettings):
    """The settings of `tournament sprt`."""

    seats: _Seats | None = 2
    """Seats at each table, 2 to 5; each bot fills half of them."""
    concurrency: _Count = DEFAULT_SPRT_CONCURRENCY
    """Games that run at the same time."""

    def config(self, candidate: BotEntry, base: BotEntry) -> TournamentConfig:
        """Return the tournament; refuse equal names, and numbers out of their range."""
        if candidate.name == base.name:
            raise ConfigError(
                f"--candidate, --base: both are named {base.name!r}; name one differently, such as "
                f"--base old={base.builtin or 'COMMAND'}"
            )
        numbers = self.model_dump(include={"elo0", "elo1", "alpha", "beta", "max_blocks"})
        evaluator = ""
        if self.luck_adjusted:
            from happycity_evaluation.evaluator import Evaluator  # it imports numpy

            evaluator = Evaluator().digest
        test = SprtTest(candidate=candidate.name, base=base.name, **numbers, luck_evaluator=evaluator)
        return self._config((candidate.name, base.name), test)


FLAGS = {*RunSettings.model_fields, *SprtSettings.model_fields} - FILE_ONLY
"""The keys that have a flag."""


def example() -> str:
    """Return a commented example of `tournament run`'s file: each key with its default."""
    blocks = [
        "# A tournament, for: tournament run --config FILE. Flags win over this file; a key is the flag's\n"
        "# name with underscores. What is commented out shows the default, or an example.\n"
    ]
    blocks += [_explained(key, field) for key, field in RunSettings.model_fields.items() if key != "bots"]
    blocks.append(
        "# The bots, each a table with a name and one of: builtin (a reference bot), command (a program to\n"
        "# start), join = true (a bot that connects by itself), hosted = true (one that the server hosts).\n"
    )
    blocks += [f'[[bots]]\nname = "{name}"\nbuiltin = "{name}"\n' for name in DEFAULT_LINEUP]
    blocks.append('# [[bots]]\n# name = "mine"\n# command = "python mybot.py"\n')
    blocks.append('# [[bots]]\n# name = "theirs"\n# join = true\n')
    return "\n".join(blocks)


def _explained(key: str, field: FieldInfo) -> str:
    text = description(RunSettings, key).replace("--", "")
    value = field.default if detail(field, "example") is None else detail(field, "example")
    absent = f" Default: {detail(field, 'absent')}." if detail(field, "absent") else ""
    options = [str(other.value) for other in type(value)] if isinstance(value, Enum) else []
    options += [str(other) for other in get_args(field.annotation) if isinstance(other, str)]
    choices = f" One of: {', '.join(options)}." if options else ""
    if isinstance(value, Enum):
        value = value.value
    # JSON's strings, numbers, booleans and lists are also TOML's.
    return f"# {text}{choices}{absent}\n# {key} = {json.dumps(value)}\n"
