"""The command `happycity bot`: reference bots, which connect as any other bot does."""

from __future__ import annotations

from typing import Annotated

import typer

from happycity.match import REFERENCE_BOTS
from happycity_runtime.commands import SERVER_HELP
from happycity_runtime.transport import TOKENS_VARIABLE


def bot(
    names: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]BOT", help=f"Which bots to play, of: {', '.join(REFERENCE_BOTS)}."),
    ],
    *,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=f"{SERVER_HELP} - reads it from a line of the standard input.",
            envvar="HAPPYCITY_SERVER",
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help=f"Token for the server; {TOKENS_VARIABLE} has several, NAME=TOKEN,...",
            envvar="HAPPYCITY_TOKEN",
        ),
    ] = None,
    games: Annotated[int, typer.Option(min=0, help="Games at once for each bot; 0: any number.")] = 0,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="N|MSms",
            help="What search and champion may spend on a decision: 200 is playouts, 50ms is time.",
        ),
    ] = None,
    mistakes: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Share of decisions that careless takes at random: any strength below planner."
        ),
    ] = None,
) -> None:
    """Play with reference bots until the server shuts down.

    Stop with Ctrl-C.
    """
    # Imported here, or every other command would wait for gRPC.
    from happycity_bots.playing import play_bots  # noqa: PLC0415

    play_bots(names, server=server, token=token, games=games, budget=budget, mistakes=mistakes)
