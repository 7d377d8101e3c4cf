"""The command `happycity bot`: reference bots that dial in like anybody's."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from typing import Annotated

import typer

from happycity.match import REFERENCE_BOTS, check_reference_bot
from happycity.runtime.transport import TOKENS_VARIABLE, parse_tokens


def bot(
    names: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]BOT", help=f"Which bots to play, of: {', '.join(REFERENCE_BOTS)}."),
    ],
    *,
    server: Annotated[
        str | None,
        typer.Option(help="Address of the server, host:port; - reads it from a line of the standard input."),
    ] = None,
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
    from happycity_bots.catalogue import BOTS, info_of  # noqa: PLC0415
    from happycity_client import Settings, log_to_stderr, play, run_until_stopped  # noqa: PLC0415

    log_to_stderr()
    if server == "-":
        server = sys.stdin.readline().strip()
        if not server:
            return  # what started the bots has ended before there was a server
    tokens = parse_tokens(os.environ.get(TOKENS_VARIABLE, ""))
    settings = partial(
        Settings.from_env, server=server, games=games, tls=tls or None, ca=ca, cert=cert, key=key
    )
    players = [
        (
            BOTS[builtin],
            settings(
                default_name=name, name=name, token=token or tokens.get(name), info=info_of(BOTS[builtin])
            ),
        )
        for name, builtin in map(_named, names)
    ]

    async def play_all() -> None:
        await asyncio.gather(*(play(factory, settings) for factory, settings in players))

    run_until_stopped(play_all())


def _named(entry: str) -> tuple[str, str]:
    """Split `NAME=BOT`; a bot without another name has its own."""
    name, _, builtin = entry.rpartition("=")
    return name or builtin, check_reference_bot(builtin)
