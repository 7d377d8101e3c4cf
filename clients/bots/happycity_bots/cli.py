"""The command `happycity bot`: reference bots that dial in like anybody's."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Annotated

import typer

from happycity import ConfigError
from happycity_bots.catalogue import BOTS
from happycity_client import BotFactory, Settings, play_games, run_until_stopped

DEFAULT_GAMES = 0
"""Any number: these bots take a millisecond for a move at most."""


def bot(
    names: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]BOT...", help=f"Which bots to play, of: {', '.join(BOTS)}."),
    ],
    *,
    server: Annotated[str | None, typer.Option(help="Address of the server, host:port.")] = None,
    token: Annotated[str | None, typer.Option(help="Token for the server.")] = None,
    games: Annotated[
        int | None, typer.Option(min=0, help="Games at once for each bot; 0: any number.")
    ] = None,
    tls: Annotated[bool, typer.Option("--tls", help="Encrypt; --ca and --cert imply it.")] = False,
    ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificates to trust, in PEM; a public CA if absent.")
    ] = None,
    cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="The bots' own certificate, in PEM.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="FILE", help="The certificate's key, in PEM.")] = None,
) -> None:
    """Play with reference bots until the server parts. Stop with Ctrl-C."""
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.INFO)
    games = DEFAULT_GAMES if games is None else games
    settings = partial(
        Settings.gather, server=server, token=token, games=games, tls=tls or None, ca=ca, cert=cert, key=key
    )
    players = [(factory, settings(default_name=name, name=name)) for name, factory in map(_named, names)]

    async def play() -> None:
        await asyncio.gather(*(play_games(factory, settings) for factory, settings in players))

    run_until_stopped(play())


def _named(entry: str) -> tuple[str, BotFactory]:
    """Split `NAME=BOT`; a bot without another name has its own."""
    name, _, builtin = entry.rpartition("=")
    if builtin not in BOTS:
        raise ConfigError(f"unknown bot {builtin!r}; there are: {', '.join(BOTS)}")
    return name or builtin, BOTS[builtin]
