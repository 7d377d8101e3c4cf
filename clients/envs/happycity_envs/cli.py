"""`python -m happycity_envs BOT`: searches and policies of OpenSpiel connect as any other bot does."""

from __future__ import annotations

import sys
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from happycity import BotInfo, ConfigError
from happycity.errors import suggestion
from happycity_runtime.commands import Server, Token
from happycity_runtime.installation import install_command

if TYPE_CHECKING:  # the help of all commands does without OpenSpiel and gRPC
    from happycity_envs.openspiel_bot import MakeBot

BUILTIN = ("mcts", "random")


class Playouts(Enum):
    """How a search plays a game to its end."""

    QUICK = "quick"
    RANDOM = "random"


def openspiel_bot(
    bot: Annotated[
        str,
        typer.Argument(
            metavar="BOT",
            help="mcts, random, or MODULE:FUNCTION that makes a bot or policy of OpenSpiel"
            " from a game, a seat and a seed.",
        ),
    ],
    *,
    simulations: Annotated[int, typer.Option(min=1, help="mcts: simulations for each decision.")] = 200,
    playouts: Annotated[
        Playouts, typer.Option(help="mcts: how a game is played to its end.")
    ] = Playouts.QUICK,
    name: Annotated[str | None, typer.Option(help="Name of the bot.", show_default="openspiel-BOT")] = None,
    server: Server = None,
    token: Token = None,
    games: Annotated[int, typer.Option(min=0, help="Games at once; 0: any number.")] = 1,
) -> None:
    """Play with a bot or policy of OpenSpiel.

    It plays the game that happycity_envs.openspiel registers. Stop with Ctrl-C.
    """
    make = _maker(bot, simulations=simulations, playouts=playouts)
    from happycity_client import run  # noqa: PLC0415
    from happycity_envs.openspiel_bot import openspiel_bot as factory  # noqa: PLC0415

    start = factory(make)
    start.__name__ = f"openspiel-{bot.rpartition(':')[2]}"  # the bot's name, if it gets no other one
    search = f"{simulations} simulations a decision, {playouts.value} playouts"
    run(
        start,
        name=name,
        server=server,
        token=token,
        games=games,
        info=BotInfo(description=f"OpenSpiel, {bot}: {search}" if bot == "mcts" else f"OpenSpiel, {bot}"),
    )


def _maker(bot: str, *, simulations: int, playouts: Playouts) -> MakeBot:
    """Return what makes the bots.

    Raises:
        ConfigError: there is no such bot, or OpenSpiel isn't installed.
    """
    try:
        from happycity_envs.openspiel_bot import mcts_bot, random_bot  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{error.name} is not installed; install it by: {install_command('openspiel')}"
        ) from None
    if bot == "mcts":
        return mcts_bot(simulations=simulations, evaluator=playouts.value)
    if bot == "random":
        return random_bot
    if ":" not in bot:
        near = suggestion(bot[:80], BUILTIN)
        raise ConfigError(f"BOT: {bot[:80]!r} is neither a bot nor MODULE:FUNCTION; {near}")
    return _imported(bot)


def _imported(bot: str) -> MakeBot:
    module, _, function = bot.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
    try:
        make: MakeBot = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"BOT: {bot[:80]!r} can't be imported: {error}") from None
    return make
