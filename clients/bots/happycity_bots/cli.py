"""The command `happycity bot`: reference bots that dial in like anybody's."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from typing import Annotated

import typer

from happycity import ConfigError
from happycity.errors import suggestion
from happycity.runtime.transport import TOKENS_VARIABLE, parse_tokens

NAMES = ("random", "greedy", "planner", "rollout")


def bot(
    names: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]BOT...", help=f"Which bots to play, of: {', '.join(NAMES)}."),
    ],
    *,
    server: Annotated[str | None, typer.Option(help="Address of the server, host:port.")] = None,
    token: Annotated[
        str | None,
        typer.Option(help=f"Token for the server; {TOKENS_VARIABLE} has several, NAME=TOKEN,..."),
    ] = None,
    games: Annotated[int, typer.Option(min=0, help="Games at once for each bot; 0: any number.")] = 0,
    tls: Annotated[bool, typer.Option("--tls", help="Encrypt; --ca and --cert imply it.")] = False,
    ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificates to trust, in PEM; a public CA if absent.")
    ] = None,
    cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="The bots' own certificate, in PEM.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="FILE", help="The certificate's key, in PEM.")] = None,
) -> None:
    """Play with reference bots until the server shuts down.

    Stop with Ctrl-C.
    """
    # Imported here, or every other command would wait for gRPC.
    from happycity_bots.catalogue import BOTS  # noqa: PLC0415
    from happycity_client import Settings, play, run_until_stopped  # noqa: PLC0415

    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.INFO)
    tokens = parse_tokens(os.environ.get(TOKENS_VARIABLE, ""))
    settings = partial(
        Settings.from_env, server=server, games=games, tls=tls or None, ca=ca, cert=cert, key=key
    )
    players = [
        (BOTS[builtin], settings(default_name=name, name=name, token=token or tokens.get(name)))
        for name, builtin in map(_named, names)
    ]

    async def play_all() -> None:
        await asyncio.gather(*(play(factory, settings) for factory, settings in players))

    run_until_stopped(play_all())


def _named(entry: str) -> tuple[str, str]:
    """Split `NAME=BOT`; a bot without another name has its own."""
    name, _, builtin = entry.rpartition("=")
    if builtin not in NAMES:
        raise ConfigError(f"{builtin!r} is not a reference bot; {suggestion(builtin, NAMES)}")
    return name or builtin, builtin
