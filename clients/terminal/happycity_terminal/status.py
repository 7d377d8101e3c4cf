"""What `happycity status` does: say whether a server serves, and list its bots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import grpc
import typer
from grpc_health.v1 import health_pb2, health_pb2_grpc

from happycity import HappyCityError
from happycity.match import one_line
from happycity.v1.bot_service_pb2 import ConnectedBot
from happycity.v1.server_service_pb2 import Server
from happycity.wire.match import bot_info_of
from happycity_runtime import event_loop
from happycity_runtime.transport import Access, Target
from happycity_runtime.unreachable import failure

if TYPE_CHECKING:
    from rich.table import Table

_HEALTH_SECONDS = 10.0  # a server on a busy machine may well take one or two
SERVING = "serving"
_ANSWERS = [name.lower() for name in health_pb2.HealthCheckResponse.ServingStatus.keys()]  # noqa: SIM118 - it is no dict
NOT_SERVING = 1
"""The exit status if the server doesn't serve."""


def show_status(address: str, *, health: bool, service: str, server_name: str, as_json: bool) -> None:
    """Print whether a server serves, and its bots unless only its health is asked for; exit with 1 if not.

    Without an answer it is a HappyCityError, as in other commands; a probe of the health prints that too.
    """
    try:
        answer = event_loop.run(_health(address, service, server_name))
    except HappyCityError as error:
        if not (health or service):
            raise
        answer = f"no answer: {error}"
    if not as_json:
        typer.echo(f"{address}: {answer}", err=answer not in _ANSWERS)
    about, bots = None, list[ConnectedBot]()
    if answer == SERVING and not (health or service):
        about, bots = _asked(address)
    if as_json:
        from happycity_tournament.cli.json import write_json

        write_json({"server": address, "health": answer, "about": about, "bots": bots})
    elif about is not None:
        typer.echo(f"happycity {about.version}, protocol version {about.protocol_version}")
        if bots:
            from rich.console import Console

            Console().print(_table(bots))
        else:
            typer.echo("no bot is connected")
    if answer != SERVING:
        raise typer.Exit(NOT_SERVING)


def _asked(address: str) -> tuple[Server, list[ConnectedBot]]:
    """Return what a server is, and its bots."""
    from happycity_tournament.client.connection import Connection, call_server
    from happycity_tournament.client.run_folder import RemoteServer

    async def both(connection: Connection) -> tuple[Server, list[ConnectedBot]]:
        return await connection.server(), await connection.bots()

    return call_server(RemoteServer.at(address, setting="ADDRESS"), both)


async def _health(address: str, service: str, name: str) -> str:
    access = Access.from_env()
    async with access.channel(address, name=name) as channel:
        request = health_pb2.HealthCheckRequest(service=service)
        try:
            stub = health_pb2_grpc.HealthStub(channel)
            response = await stub.Check(request, timeout=_HEALTH_SECONDS, metadata=access.metadata)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                return "no such service"
            raise HappyCityError(failure(Target.parse(address), error, ca=access.ca)) from None
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(response.status)).lower()


def _table(listed: Sequence[ConnectedBot]) -> Table:
    from rich.text import Text

    from happycity_tournament.cli.tables import UNKNOWN, empty_table, moment_text
    from happycity_tournament.games import BotProfile

    owned = ("owner",) if any(bot.HasField("owner") for bot in listed) else ()
    table = empty_table("bot", *owned, "state", "since (UTC)", "games", "strikes", "about")
    for bot in listed:
        state = ("house" if bot.house else "connected") if bot.connected else "away"
        since = moment_text(bot.since, "%m-%d %H:%M:%S")
        cells = (
            bot.name,
            *(bot.owner or UNKNOWN for _ in owned),
            state,
            since,
            str(bot.games),
            str(bot.strikes),
        )
        said = BotProfile(bot_info_of(bot.info), one_line(bot.software))
        # One line a bot: what has no room is in the JSON.
        shown = "; ".join(filter(None, (said.about, said.software)))
        about = Text(shown, no_wrap=True, overflow="ellipsis")
        table.add_row(*map(Text, cells), about)
    return table
