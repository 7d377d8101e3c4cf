"""The bots of a run: reference bots and commands that it starts, and bots that connect by themselves."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from happycity.errors import ConfigError, FieldError
from happycity.match import REFERENCE_BOTS, check_bot_spelling, check_reference_bot
from happycity_tournament.config import check_bots
from happycity_tournament.plain_json import adapter

DEFAULT_RESTARTS = 3
"""How often a run starts a bot again that ends."""
_HOSTED = "hosted:"
LOCAL_RAY = "local"
"""The Ray cluster of this machine alone that is started for a server and ends with it."""


class BotEntry(BaseModel):
    """One bot: a reference bot, a command to start, one that connects by itself, or one that is hosted."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    name: str = Field(min_length=1)
    builtin: str | None = Field(default=None, min_length=1)
    """The reference bot that plays under the name."""
    command: str | None = Field(default=None, min_length=1)
    """The program that plays under the name."""
    join: bool = Field(default=False, strict=True)
    """Whether the bot connects by itself."""
    hosted: bool = Field(default=False, strict=True)
    """Whether the server plays the bot, as its author has submitted it."""

    @model_validator(mode="after")
    def _check(self) -> BotEntry:
        if (self.builtin is not None) + (self.command is not None) + self.join + self.hosted != 1:
            raise ValueError("give exactly one of builtin, command, join = true and hosted = true")
        try:
            check_bot_spelling(self.name)
            if self.builtin is not None:
                check_reference_bot(self.builtin)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return self


def bot_entries(
    bots: str, commands: Iterable[str], joining: Iterable[str], *, flag: str = "--bots"
) -> tuple[BotEntry, ...]:
    """Return the bots of a flag such as `--bots`, of `--bot` and of `--join`, or raise a ConfigError."""
    entries = []
    for text in filter(None, map(str.strip, bots.split(","))):
        if flag == "--bots" and text.startswith(_HOSTED):
            entries.append(_entry(flag, name=text.removeprefix(_HOSTED), hosted=True))
            continue
        name, separator, builtin = text.partition("=")
        entries.append(_entry(flag, name=name, builtin=builtin if separator else name))
    for text in commands:
        name, separator, command = text.partition("=")
        if not separator:
            raise ConfigError(f"--bot: {text!r} is not NAME=COMMAND")
        entries.append(_entry("--bot", name=name, command=command))
    return (*entries, *(_entry("--join", name=name, join=True) for name in joining))


def bot_entry(flag: str, text: str) -> BotEntry:
    """Return the bot of a flag that takes `BOT`, `NAME=BOT` or `NAME=COMMAND`, or raise a ConfigError."""
    name, separator, program = text.partition("=")
    if separator and program not in REFERENCE_BOTS:
        return _entry(flag, name=name, command=program)
    return _entry(flag, name=name, builtin=program or name)


def _entry(flag: str, **fields: object) -> BotEntry:
    try:
        return BotEntry.model_validate(fields)
    except ValidationError as error:
        problem = error.errors()[0]
        text = problem["ctx"]["error"] if problem["type"] == "value_error" else "a name or a command is empty"
        raise FieldError(flag, f"{text}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """The bots of a run."""

    bots: tuple[BotEntry, ...] = ()
    processes: int = 1
    """The number of processes among which the reference bots are divided."""
    restarts: int = DEFAULT_RESTARTS
    """How often a process of bots that ends is started again."""
    directory: Path = field(default_factory=Path.cwd)
    """Where commands are started."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all bots."""
        return tuple(bot.name for bot in self.bots)

    @property
    def commands(self) -> Iterator[tuple[str, str]]:
        """Names and commands of the bots that are programs to start."""
        return ((bot.name, bot.command) for bot in self.bots if bot.command is not None)

    @property
    def reference_bots(self) -> tuple[tuple[str, str], ...]:
        """Names under which reference bots play, with the reference bots."""
        return tuple((bot.name, bot.builtin) for bot in self.bots if bot.builtin is not None)

    @property
    def sharing(self) -> tuple[str, ...]:
        """The names of the reference bots if there are more of them than processes for them, else none."""
        names = tuple(name for name, _ in self.reference_bots)
        return names if len(names) > self.processes else ()

    @property
    def joining(self) -> tuple[str, ...]:
        """The names of the bots that connect by themselves."""
        return tuple(bot.name for bot in self.bots if bot.join)

    @property
    def hosted(self) -> tuple[str, ...]:
        """The names of the bots that the server plays, as their authors have submitted them."""
        return tuple(bot.name for bot in self.bots if bot.hosted)

    @property
    def started(self) -> tuple[str, ...]:
        """The names of the bots that the run starts."""
        return tuple(bot.name for bot in self.bots if not (bot.join or bot.hosted))

    def json(self) -> str:
        """Return the lineup as JSON, which `of` reads."""
        return adapter(Lineup).dump_json(self).decode()

    @classmethod
    def of(cls, text: str) -> Self:
        """Read what `json` wrote."""
        return adapter(cls).validate_json(text)

    def check(self) -> None:
        """Refuse a lineup that can't be started: with a name twice, or a program that isn't there."""
        from happycity_runtime.child import missing_program, split_command  # noqa: PLC0415 - settings do without

        check_bots(self.names)
        for name, command in self.commands:
            program = split_command(command)[0]
            path = program if "/" not in program else self.directory / program
            if shutil.which(path) is None:
                if Path(path).is_dir():
                    reason = "it is a folder"
                elif "/" in program and Path(path).exists():
                    reason = f"it may not be executed; allow it by: chmod +x {shlex.quote(program)}"
                else:
                    reason = missing_program(program, self.directory)
                raise ConfigError(f"bot {name}: {program!r} can't be started: {reason}")
