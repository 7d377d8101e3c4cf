"""What `tournament run` and `tournament sprt` can be told, by flags or in a TOML file: one model for both.

A key of the file is the flag's name with underscores. Help texts, defaults and the example file all come from
the models here.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from happycity import Config, HappyCityError, Mode, Scoring
from happycity.deals import MAX_SEED
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity_tournament.access import Access
from happycity_tournament.config import DEFAULT_CONCURRENCY, DEFAULT_MINIMUM, DEFAULT_ROUNDS
from happycity_tournament.formats import USES, Format
from happycity_tournament.ratings import MEAN_ELO
from happycity_tournament.schedule import Orders
from happycity_tournament.sprt import EloScale, SprtTerms

REFERENCE_BOTS = ("random", "greedy", "planner", "rollout")
"""Those that `happycity bot` plays."""
DEFAULT_SEATS = 4
_TIME, _POLICY, _SPRT = TimeControl(), FailurePolicy(), SprtTerms()
_CONNECT_SECONDS = 30.0
_SHOWN_CHARACTERS = 40


class SettingsError(HappyCityError):
    """What a command was told makes no sense; one line for each problem."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


def _split(value: object) -> object:
    """Take a list by commas, as a flag gives it, apart."""
    if isinstance(value, str):
        return [entry.strip() for entry in value.split(",") if entry.strip()]
    return value


_Text = Annotated[str, Field(strict=True, min_length=1)]
_Flag = Annotated[bool, Field(strict=True)]
_Number = Annotated[float, Field(strict=True)]
_Count = Annotated[int, Field(strict=True, ge=1)]
_CountOrNone = Annotated[int, Field(strict=True, ge=0)]
_Seconds = Annotated[float, Field(strict=True, ge=0)]
_SomeSeconds = Annotated[float, Field(strict=True, gt=0)]
_Share = Annotated[float, Field(strict=True, ge=0, le=1)]
_Seed = Annotated[int, Field(strict=True, ge=0, le=MAX_SEED)]
_Names = Annotated[tuple[_Text, ...], BeforeValidator(_split)]


def _setting(
    default: Any, text: str, *, absent: str | None = None, env: str | None = None, example: object = None
) -> Any:
    """Describe a setting.

    Args:
        default: its value where nobody gives one.
        text: what it is, for the help and the example file.
        absent: in words, what holds if the default is None or depends on others.
        env: environment variable that the flag may come from too.
        example: a value for the example file, where the default can't be written down.
    """
    return Field(
        default,
        description=text,
        json_schema_extra={"absent": absent, "env": env, "example": example},  # type: ignore[dict-item]  # JSON
    )


class BotEntry(BaseModel):
    """One `[[bots]]` of the file: a reference bot, a command to start, or one that connects by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: _Text
    builtin: _Text | None = None
    command: _Text | None = None
    join: _Flag = False

    @model_validator(mode="after")
    def _check_kind(self) -> BotEntry:
        if (self.builtin is not None) + (self.command is not None) + self.join != 1:
            raise ValueError("give exactly one of builtin, command and join = true")
        return self

    @property
    def words(self) -> str:
        """The entry as `happycity bot` takes it."""
        return self.name if self.builtin == self.name else f"{self.name}={self.builtin}"


class PlaySettings(BaseModel):
    """What every command that plays can be told. Times are seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

    seats: _Count | None = _setting(
        None, "Seats at a table, 2 to 5.", absent="4 if there are enough bots", example=4
    )
    mode: Mode = _setting(Mode.FAMILY, "Rules and specials.")
    scoring: Scoring = _setting(Scoring.PRODUCT, "How points are made.")
    seed: _Seed | None = _setting(None, "Makes deals and bots repeatable.", absent="random", example=1)
    server: _Text | None = _setting(
        None, "Address of a running server, host:port.", absent="one is started", example="127.0.0.1:50051"
    )
    token: str = _setting("", "Organiser's token for that server.", absent="none", env="HAPPYCITY_TOKEN")
    tls: _Flag = _setting(default=False, text="Encrypt; --ca and --cert imply it.", env="HAPPYCITY_TLS")
    ca: Path | None = _setting(
        None, "Authorities to trust, PEM.", absent="gRPC's own", env="HAPPYCITY_CA", example="ca.pem"
    )
    cert: Path | None = _setting(
        None, "Own certificate, PEM, if the server asks for one.", absent="none", env="HAPPYCITY_CERT",
        example="cert.pem",
    )  # fmt: skip
    key: Path | None = _setting(
        None, "The key of the certificate, PEM.", absent="none", env="HAPPYCITY_KEY", example="key.pem"
    )
    store: _Text | None = _setting(
        None, "Database URL for the results.", absent="a new SQLite file under runs/",
        example="sqlite:///games.sqlite",
    )  # fmt: skip
    decision_time: _SomeSeconds = _setting(_TIME.decision_seconds, "Seconds for each decision.")
    connect_time: _SomeSeconds = _setting(_CONNECT_SECONDS, "Seconds to wait for the bots.")
    bank: _Seconds = _setting(
        _TIME.bank_seconds, "Seconds of each seat for all its decisions of a game; 0 is no bank."
    )
    increment: _Seconds = _setting(
        _TIME.increment_seconds, "Seconds added to a seat's bank before each of its decisions."
    )
    margin: _Seconds = _setting(_TIME.margin_seconds, "Seconds of each think time that count for nothing.")
    no_clock: _Flag = _setting(_TIME.no_clock, "No clock runs, for debugging.")
    strikes: _CountOrNone = _setting(
        _POLICY.max_strikes, "Late and illegal answers a seat may give in a game."
    )
    grace: _Seconds = _setting(
        _POLICY.grace_seconds, "Seconds a bot may be disconnected before its seats are forfeited."
    )
    fallback: Fallback = _setting(_POLICY.fallback, "What is played for a bot that doesn't choose.")
    disqualify_share: _Share = _setting(
        _POLICY.disqualify_share, "A bot that forfeits more of its games plays no more; 1 spares all."
    )
    disqualify_games: _Count = _setting(_POLICY.disqualify_games, "Games before a bot can be disqualified.")
    concurrency: _Count = _setting(DEFAULT_CONCURRENCY, "Games at once.")
    processes: _Count = _setting(1, "Processes that share the reference bots.")
    json_file: Path | None = Field(
        default=None,
        alias="json",
        description="File for the result as JSON; - is the standard output.",
        json_schema_extra={"absent": "none", "env": None, "example": "result.json"},
    )

    @model_validator(mode="after")
    def _check_store(self) -> PlaySettings:
        if self.server is not None and self.store is not None:
            raise ValueError(
                "store: a running server keeps the results in its own store; give --store to it instead"
            )
        return self

    def game(self, *, seats: int) -> Config:
        """Return the kind of game.

        Args:
            seats: how many there are at a table if nobody said so.

        Raises:
            ConfigError: it makes no sense.
        """
        return Config(
            players=self.seats if self.seats is not None else seats, mode=self.mode, scoring=self.scoring
        )

    @property
    def time(self) -> TimeControl:
        """How long things may take.

        Raises:
            ConfigError: the times contradict each other.
        """
        return TimeControl(
            connect_seconds=self.connect_time,
            decision_seconds=self.decision_time,
            bank_seconds=self.bank,
            increment_seconds=self.increment,
            margin_seconds=self.margin,
            no_clock=self.no_clock,
        )

    @property
    def policy(self) -> FailurePolicy:
        """What happens to a bot that fails."""
        return FailurePolicy(
            max_strikes=self.strikes,
            grace_seconds=self.grace,
            fallback=self.fallback,
            disqualify_share=self.disqualify_share,
            disqualify_games=self.disqualify_games,
        )

    @property
    def access(self) -> Access:
        """How to be let in by the server that is named; a server of one's own asks for nothing."""
        if self.server is None:
            return Access()
        return Access(token=self.token, tls=self.tls, ca=self.ca, cert=self.cert, key=self.key)


class RunSettings(PlaySettings):
    """What `tournament run` can be told."""

    format: Format = _setting(
        Format.RANDOM_ROUNDS, "How the games are chosen; sprt has a command of its own."
    )
    rounds: _Count = _setting(
        DEFAULT_ROUNDS,
        "Rounds of random-rounds, swiss and adaptive: each table plays one deal in all orders.",
    )
    cycles: _Count = _setting(1, "How often a round-robin or gauntlet is played, on different deals.")
    orders: Orders = _setting(Orders.ROTATIONS, "In which orders of seats each deal is played.")
    challengers: _Names = _setting(
        (), "In a gauntlet: the bots that meet all others, by commas.", absent="none"
    )
    minimum: _Count = _setting(
        DEFAULT_MINIMUM, "In an adaptive tournament: deals that everybody plays before it looks at the order."
    )
    anchor: _Text | None = _setting(
        None, "The bot whose final rating is given.", absent="the mean of the bots", example="random"
    )
    anchor_elo: _Number = _setting(MEAN_ELO, "The final rating of the anchor, or of the mean.")
    bots: tuple[BotEntry, ...] | None = None
    """The flags are `--bots`, `--bot` and `--join`; None is the reference bots."""

    @model_validator(mode="after")
    def _check_format(self) -> RunSettings:
        if self.format is Format.SPRT:
            raise ValueError("format: two bots are tested by another command: tournament sprt")
        used = USES[self.format]
        for key in frozenset().union(*USES.values()) - used - {"sprt"}:
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(
                    f"{key}: the format {self.format.value} doesn't read it, but {', '.join(sorted(used))}"
                )
        return self


class SprtSettings(PlaySettings):
    """What `tournament sprt` can be told."""

    seats: _Count = _setting(2, "Seats at a table, 2 to 5; at more than two both bots have several.")
    candidate: _Text = _setting(..., "The bot that may be stronger: BOT, NAME=BOT or NAME=COMMAND.")
    base: _Text = _setting(..., "The bot that it is compared with, likewise.")
    elo0: _Number = _setting(_SPRT.elo0, "How much stronger the candidate is under H0, in Elo.")
    elo1: _Number = _setting(_SPRT.elo1, "How much stronger the candidate is under H1, in Elo.")
    alpha: _Number = _setting(_SPRT.alpha, "How likely H1 may be accepted though H0 is true.")
    beta: _Number = _setting(_SPRT.beta, "How likely H0 may be accepted though H1 is true.")
    max_blocks: _Count = _setting(_SPRT.max_blocks, "Deal blocks at most.")
    scale: EloScale = _setting(_SPRT.scale, "What elo0 and elo1 are measured in.")

    @property
    def terms(self) -> SprtTerms:
        """What is tested."""
        return SprtTerms(
            elo0=self.elo0,
            elo1=self.elo1,
            alpha=self.alpha,
            beta=self.beta,
            max_blocks=self.max_blocks,
            scale=self.scale,
        )


_Settings = TypeVar("_Settings", bound=PlaySettings)


def fields_of(model: type[PlaySettings]) -> dict[str, FieldInfo]:
    """Return a command's settings by key, those that only it has first; without the bots, a table."""
    common = PlaySettings.model_fields
    own = [name for name in model.model_fields if name not in common and name != "bots"]
    fields = {name: model.model_fields[name] for name in (*own, *common)}
    return {field.alias or name: field for name, field in fields.items()}


def details(field: FieldInfo) -> Mapping[str, Any]:
    """Return what `absent`, `env` and `example` of a setting are."""
    assert isinstance(field.json_schema_extra, dict)
    return field.json_schema_extra


def load_settings(model: type[_Settings], flags: Mapping[str, object], file: Path | None = None) -> _Settings:
    """Make settings of flags, the TOML file and defaults; the former win.

    Args:
        model: the command's.
        flags: what was given, by key; `bots` as the table has them.
        file: the TOML file.

    Raises:
        SettingsError: an unknown key, or a value that makes no sense.
    """
    in_file = _read_toml(file) if file is not None else {}
    places = {key: f"{file}: {key}" for key in in_file}
    places |= {key: f"--{key.replace('_', '-')}" for key in flags}
    try:
        return model.model_validate({**in_file, **flags})
    except ValidationError as error:
        raise SettingsError(_problem(model, detail, places) for detail in error.errors()) from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError([f"{path} can't be read: {error.strerror}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path} is no TOML: {error}"]) from None


def _problem(model: type[PlaySettings], detail: Any, places: Mapping[str, str]) -> str:
    """Say in one line where something is wrong, what it is, and what would be right."""
    location = [part for part in detail["loc"] if isinstance(part, str | int)]
    if not location:
        return str(detail["ctx"]["error"])
    top = str(location[0])
    inner = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in location[1:])
    place = places.get(top, f"--{top.replace('_', '-')}") + inner
    if detail["type"] == "extra_forbidden":
        known = _keys(model) if len(location) == 1 else list(BotEntry.model_fields)
        near = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.0)[0]
        return f"{place}: there is no such key; the nearest is {near}"
    if detail["type"] == "missing":
        return f"{place}: it is missing"
    if detail["type"] == "value_error":
        return f"{place}: {detail['ctx']['error']}"
    message = str(detail["msg"]).replace("Input should be", "it should be")
    return f"{place}: {message}, not {_shown(detail['input'])}" if top != "token" else f"{place}: {message}"


def _keys(model: type[PlaySettings]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _shown(value: object) -> str:
    text = str(value.value) if isinstance(value, Enum) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def example() -> str:
    """Return a commented example of `tournament run`'s file: each key with its default."""
    blocks = [
        "# A tournament, for: tournament run FILE. Flags win over this file; a key is the flag's name with\n"
        "# underscores. What is commented out shows the default, or an example where there is none.\n"
    ]
    blocks += [_explained(key, field) for key, field in fields_of(RunSettings).items()]
    blocks.append(
        "# The bots, each a table with a name and one of: builtin (a reference bot), command (a bot in any\n"
        "# language that is started), join = true (a bot that connects by itself).\n"
    )
    blocks += [f'[[bots]]\nname = "{name}"\nbuiltin = "{name}"\n' for name in REFERENCE_BOTS]
    blocks.append('# [[bots]]\n# name = "mine"\n# command = "python mybot.py"\n')
    blocks.append('# [[bots]]\n# name = "theirs"\n# join = true\n')
    return "\n".join(blocks)


def _explained(key: str, field: FieldInfo) -> str:
    told = details(field)
    value = told["example"] if told["example"] is not None else field.default
    absent = f" Default: {told['absent']}." if told["absent"] else ""
    text = str(field.description).replace("--", "")
    return f"# {text}{_choices(field)}{absent}\n# {key} = {_toml(value)}\n"


def _choices(field: FieldInfo) -> str:
    if not isinstance(field.default, Enum):
        return ""
    values = [str(value.value) for value in type(field.default)]
    return f" One of: {', '.join(values)}."


def _toml(value: object) -> str:
    """Return a value as TOML; JSON's strings, numbers, booleans and lists are also TOML's."""
    if isinstance(value, Enum):
        value = value.value
    return json.dumps(list(value) if isinstance(value, tuple) else value)
