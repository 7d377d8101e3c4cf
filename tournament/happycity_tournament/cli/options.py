"""Arguments and options that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from happycity import ConfigError
from happycity.match import one_line
from happycity.runtime.settings import Settings, SettingsError, load
from happycity.runtime.transport import SERVER_VARIABLE, Target
from happycity_tournament.cli.settings import ConnectionSettings, PlaySettings

_Settings = TypeVar("_Settings", bound=Settings)
_Play = TypeVar("_Play", bound=PlaySettings)

Which = Annotated[
    str | None,
    typer.Argument(
        metavar="WHICH",
        help="A run's folder, a store with one tournament, or, with --server or --store, a tournament's id.  "
        "[default: the latest run]",
    ),
]
StoreOption = Annotated[
    str | None, typer.Option("--store", help="URL or SQLite file of a store, to read instead of a server.")
]
RunStore = Annotated[
    str | None,
    typer.Option(
        "--store", help="URL or SQLite file of a store; for a run, its own store's URL with the password."
    ),
]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="File to write the result to, as JSON; - is the standard output."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SOURCE_HELP = (
    "A run's folder, a store's URL or SQLite file, a record file, a folder of record files, or, with "
    "--server or --store, a tournament's id."
)
Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE", help=f"{SOURCE_HELP} Several are read together.  [default: the latest run]"
    ),
]
OneSource = Annotated[
    str | None, typer.Argument(metavar="SOURCE", help=f"{SOURCE_HELP}  [default: the latest run]")
]
Tournament = Annotated[int | None, typer.Option(metavar="ID", help="Read only the games of this tournament.")]
Renamed = Annotated[
    list[str] | None,
    typer.Option(
        "--rename",
        metavar="OLD=NEW",
        help="Rate the bot OLD under the name NEW, together with a bot of that name; may be repeated.",
    ),
]
BySource = Annotated[
    list[str] | None,
    typer.Option(
        "--by-source",
        metavar="BOT",
        help="Rate this bot apart in each source, as BOT@SOURCE; may be repeated.",
    ),
]
BOTS_GROUP = "Bots"
GAMES_LISTED = 20
"""Games that a list has unless a limit is given."""
GamesOfBot = Annotated[str | None, typer.Option("--bot", metavar="NAME", help="Only games of this bot.")]
LostGames = Annotated[
    bool, typer.Option("--lost", help="Only games that the bot of --bot didn't win: its place is not 1.")
]
ForfeitedGames = Annotated[
    bool, typer.Option("--forfeits", help="Only games that the bot of --bot, or any bot, forfeited.")
]
WorstGames = Annotated[
    int | None,
    typer.Option(
        "--worst",
        min=1,
        metavar="N",
        help="Only the N worst games of the bot of --bot: by place, then by points behind the best.",
    ),
]
GamesLimit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=0,
        metavar="N",
        help=f"The most games, without --worst the newest; 0: all.  [default: {GAMES_LISTED}]",
    ),
]
BOTS_HELP = "Reference bots to start, separated by commas; NAME=BOT starts BOT under another name."
Bots = Annotated[str | None, typer.Option(metavar="BOT,...", help=BOTS_HELP, rich_help_panel=BOTS_GROUP)]
Commands = Annotated[
    list[str] | None,
    typer.Option(
        "--bot",
        metavar="NAME=COMMAND",
        help="A bot of your own to start, in any language; may be repeated.",
        rich_help_panel=BOTS_GROUP,
    ),
]
Joining = Annotated[
    list[str] | None,
    typer.Option(
        "--join",
        metavar="NAME",
        help="A bot that connects by itself; may be repeated.",
        rich_help_panel=BOTS_GROUP,
    ),
]


def load_flags(model: type[_Settings], flags: Mapping[str, object], *, file: Path | None = None) -> _Settings:
    """Return the settings of a command's flags and file, or exit with a line for each of their problems."""
    try:
        return load(model, flags, file=file)
    except SettingsError as error:
        for problem in error.problems:
            typer.echo(f"error: {problem}", err=True)
        sys.exit(2)


def connection_of(
    flags: Mapping[str, object], store: str | None = None, *named: str | None
) -> ConnectionSettings:
    """Return the connection settings of a command's flags and the environment; see `reached`."""
    return load_flags(ConnectionSettings, reached(flags, store, *named))


def reached(
    flags: Mapping[str, object], store: str | None = None, *named: str | None
) -> Mapping[str, object]:
    """Return the flags of a command with the server of the environment, if none is given.

    What else the command line names wins over it: a `store`, or a run or file that exists.
    """
    given = (flags.get("server"), flags.get("store"), store)
    if any(place is not None for place in given) or any(map(_is_place, filter(None, named))):
        return flags
    server = os.environ.get(SERVER_VARIABLE) or None
    if server is not None:
        Target.parse(server)  # so that an error names the variable
    return {**flags, "server": server}


def load_play(model: type[_Play], flags: Mapping[str, object], *, file: Path | None = None) -> _Play:
    """Return the settings of a tournament to play, on the server of the environment if no place is given.

    A server or a store in the file is one, too.
    """
    settings = load_flags(model, flags, file=file)
    if settings.server is None and settings.store is None:
        return load_flags(model, reached(flags), file=file)
    return settings


def _is_place(text: str) -> bool:
    """Return whether a text is the URL of a store, or a run or file that exists."""
    try:
        return "://" in text or Path(text).exists()
    except OSError:  # it is too long for a path
        return False


def renamed_of(texts: Sequence[str] | None) -> dict[str, str]:
    """Return the new names of `--rename` by the old ones; ConfigError if a text is not OLD=NEW."""
    renamed = {}
    for text in texts or ():
        old, separator, new = text.partition("=")
        if not (separator and old and new and new.isprintable()):
            raise ConfigError(f"--rename: {one_line(text)!r} is not OLD=NEW")
        if old in renamed:
            raise ConfigError(f"--rename: {old!r} has two new names")
        renamed[old] = new
    return renamed


def check_output(flag: str, path: Path | None) -> None:
    """Refuse a file that can't be written, before anything is played or read; None and `-` are no files."""
    if path is None or str(path) == "-":
        return
    is_new = not path.exists()
    if not (is_new or path.is_file() or path.is_dir()):
        return  # opening a device or a pipe may block, or have effects
    try:
        path.open("a").close()
    except OSError as error:
        raise ConfigError(f"{flag}: {path} can't be written: {error.strerror}") from None
    if is_new:
        path.unlink()


def write_example(file: Path, text: str) -> None:
    """Write a file that doesn't exist yet.

    Raises:
        ConfigError: it does.
    """
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise ConfigError(f"{file} is there already; remove it, or name another file") from None
