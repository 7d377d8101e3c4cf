"""The commands about a server's bots: who is connected, and practice against them."""

# ruff: noqa: PLC0415 - the help of a command must not wait for what only the command needs

from __future__ import annotations

import sys
from typing import Annotated

import typer

from happycity import ConfigError, Mode
from happycity.runtime.settings import flags_of
from happycity.runtime.transport import DEFAULT_ADDRESS
from happycity_tournament.arena.run_folder import RemoteServer
from happycity_tournament.cli.options import AsJson, connection_of
from happycity_tournament.cli.settings import ConnectionSettings


@flags_of(ConnectionSettings)
def bots(*, as_json: AsJson = False, **flags: object) -> None:
    """List the bots that are connected to a server.

    The list has since when they are, in how many games, and who made them. Without --server, the address is
    that of HAPPYCITY_SERVER or the default one.
    """
    from happycity_terminal.bots import list_bots

    list_bots(server_named(connection_of(flags)), as_json=as_json)


@flags_of(ConnectionSettings)
def practice(
    *,
    bot: Annotated[
        str | None,
        typer.Option(metavar="NAME=COMMAND", help="Your bot: a program to start, in any language."),
    ] = None,
    join: Annotated[
        str | None, typer.Option(metavar="NAME", help="Your bot, if it connects by itself.")
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="BOT,...", help="The other seats: bots of the house, or your bot's own name, up to four."
        ),
    ],
    games: Annotated[int, typer.Option(min=1, max=10_000, help="How many games to play.")] = 10,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**32 - 1, help="Number of the first deal; counts up.  [default: random]"),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="Rules and specials.")] = Mode.FAMILY,
    decision_time: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=600, help="Seconds for each decision.  [default: the server's]", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    **flags: object,
) -> None:
    """Let a bot play unrated games against a server's own bots.

    It may also play against itself. Each deal is played in every rotation of the seats. `happycity bots`
    lists the bots of the house. The token is the bot's. Without --server, the address is that of
    HAPPYCITY_SERVER or the default one. Ctrl-C stops it.
    """
    from happycity_terminal.practice import PracticePlan, practise
    from happycity_tournament.bots.lineup import Lineup, bot_entries

    if (bot is None) == (join is None):
        raise ConfigError(
            "--bot, --join: give one of them: a program to start, or a bot that connects by itself"
        )
    lineup = Lineup(bots=bot_entries("", [bot] if bot else [], [join] if join else []))
    lineup.check()
    opponents = tuple(filter(None, map(str.strip, against.split(","))))
    if not 1 <= len(opponents) <= 4:
        raise ConfigError(f"--against: {len(opponents)} bots; name 1 to 4, separated by commas")
    server = server_named(connection_of(flags))
    plan = PracticePlan(
        server=server.address,
        access=server.access,
        lineup=lineup,
        against=opponents,
        games=games,
        seed=seed,
        mode=mode,
        decision_seconds=decision_time,
    )
    sys.exit(practise(plan, as_json=as_json))


def server_named(connection: ConnectionSettings) -> RemoteServer:
    """Return the server that a command is about."""
    address = connection.server or DEFAULT_ADDRESS
    return RemoteServer(address=address, access=connection.access)
