"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from happycity import ConfigError
from happycity.match import one_line

GAMES_LISTED = 20
"""Games that a list has unless a limit is given."""
BASICS = "Basics"
"""The group of options that nearly every run needs."""

Address = Annotated[
    str | None,
    typer.Argument(
        metavar="ADDRESS",
        help="The tournament: runs/FOLDER, games.sqlite#3, grpc://HOST:PORT#3 or grpcs://HOST:PORT#3; "
        "without a number the latest one there.  [default: the latest run]",
    ),
]
_GAMES = "Games: a tournament's address, a store, or a file or folder of records."
Source = Annotated[str | None, typer.Argument(metavar="ADDRESS", help=f"{_GAMES}  [default: the latest run]")]
Sources = Annotated[
    list[str] | None,
    typer.Argument(metavar="ADDRESS", help=f"{_GAMES} Several are read together.  [default: the latest run]"),
]
Before = Annotated[
    str | None,
    typer.Argument(
        metavar="BEFORE",
        help=f"{_GAMES} Those before a change.  [default: the last run but one]",
    ),
]
After = Annotated[
    str | None,
    typer.Argument(metavar="AFTER", help="Games after it, named in the same ways.  [default: the last run]"),
]
Renamed = Annotated[
    list[str] | None,
    typer.Option(
        "--rename",
        metavar="OLD=NEW",
        help="Rate the bot OLD under the name NEW, together with a bot of that name; may be repeated.",
    ),
]
TakeOffLuck = Annotated[
    bool,
    typer.Option(
        "--luck-adjusted",
        help="Take the luck of the draws off the scores, by champion's network: smaller errors, same mean.",
    ),
]
ShowLuck = Annotated[
    bool, typer.Option("--luck", help="Show how many places each seat won by the luck of its draws.")
]
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
BOTS_HELP = (
    "Reference bots to start, separated by commas; NAME=BOT starts BOT under another name, hosted:NAME is a "
    "bot that was submitted to the server."
)
BotCommands = Annotated[
    list[str] | None,
    typer.Option(
        "--bot",
        metavar="NAME=COMMAND",
        help="A bot of your own to start, in any language; may be repeated.",
        rich_help_panel=BASICS,
    ),
]
Joining = Annotated[
    list[str] | None,
    typer.Option(
        "--join",
        metavar="NAME",
        help="A bot that connects by itself; may be repeated.",
        rich_help_panel=BASICS,
    ),
]


def renamed_of(texts: list[str] | None) -> dict[str, str]:
    """Read `--rename OLD=NEW`, or raise a ConfigError."""
    renamed: dict[str, str] = {}
    for text in texts or ():
        old, _, new = text.partition("=")
        if not old or not new:
            raise ConfigError(f"--rename: {one_line(text)!r} is not OLD=NEW")
        if old in renamed:
            raise ConfigError(f"--rename: {old!r} has two new names")
        renamed[old] = new
    return renamed
