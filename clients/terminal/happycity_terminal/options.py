"""The options of commands that are declared once, for the command line and for what answers it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, NonNegativeInt

from happycity_runtime.settings import CommandSettings, setting

GAMES_JUDGED = 2000
"""Games of a run that `happycity analyse` judges unless a limit is given."""


class AnalyseOptions(CommandSettings):
    """What `happycity analyse` is asked about a bot's decisions."""

    bot: str | None = setting(None, metavar="NAME", absent="the run's only program")
    """The bot, or the seat's number, whose decisions are judged."""
    every_seat: bool = False
    """Analyse all seats of the game, instead of --bot."""
    budget: Annotated[int, Field(ge=0, le=1_000_000)] | None = setting(
        None, absent="16 for a game, 0 for all games"
    )
    """Playouts for each purchase and special; 0: judge by the network alone."""
    limit: NonNegativeInt = GAMES_JUDGED
    """The most games that are judged, in their order; 0: all of them."""
