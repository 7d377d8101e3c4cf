"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from happycity.errors import ConfigError

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
GAMES = "Games: a tournament's address, a store, or a file or folder of records."
"""What the help says of an address of games."""
Source = Annotated[str | None, typer.Argument(metavar="ADDRESS", help=f"{GAMES}  [default: the latest run]")]
TakeOffLuck = Annotated[
    bool,
    typer.Option(
        "--luck-adjusted",
        help="Take the luck of the draws off the scores, by champion's network: smaller errors, same mean.",
    ),
]
LuckGames = Annotated[
    int,
    typer.Option(
        min=0,
        max=1000,
        help="With --luck-adjusted: the number of games by which each card is valued; the native engine "
        "plays them a round on. 0: the network values the card at once.",
    ),
]


def games_for_luck(luck_games: int, *, adjusted: bool) -> int | None:
    """Return how many games value a card; None if the luck stays in the scores.

    Raises:
        ConfigError: `--luck-games` was given without `--luck-adjusted`.
    """
    if luck_games and not adjusted:
        raise ConfigError("--luck-games: it goes with --luck-adjusted")
    return luck_games if adjusted else None
