"""What `happycity bots` shows: who is connected to a server."""

from __future__ import annotations

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from happycity.match import one_line
from happycity.records.record import Json
from happycity.v1.bot_service_pb2 import ConnectedBot
from happycity.wire.match import bot_info_of, seconds_of
from happycity_tournament.arena.connection import call_server
from happycity_tournament.arena.run_folder import RemoteServer
from happycity_tournament.cli.json import write_json
from happycity_tournament.games import BotProfile


def list_bots(server: RemoteServer, *, as_json: bool) -> None:
    """Print the bots that are connected to a server."""
    listed = call_server(server, lambda connection: connection.bots())
    if as_json:
        write_json([_bot_json(bot) for bot in listed])
    elif listed:
        Console().print(_table(listed))
    else:
        typer.echo(f"no bot is connected to {server.address}")


def _bot_json(bot: ConnectedBot) -> Json:
    info = bot_info_of(bot.info)
    return {
        "bot": bot.name,
        "house": bot.house,
        "connected": bot.connected,
        "since": bot.since.ToJsonString(),
        "games": bot.games,
        "max_games": bot.max_games if bot.HasField("max_games") else None,
        "answers": bot.answers,
        "strikes": bot.strikes,
        "decisions_waiting": bot.decisions_waiting,
        "waiting_seconds": seconds_of(bot.waiting_for) if bot.HasField("waiting_for") else None,
        "round_trip_seconds": seconds_of(bot.round_trip) if bot.HasField("round_trip") else None,
        "software": bot.software,
        "author": info.author,
        "version": info.version,
        "language": info.language,
        "description": info.description,
    }


def _table(listed: list[ConnectedBot]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("bot", "state", "since (UTC)", "games", "strikes", "about"):
        numbers = heading in ("games", "strikes")
        table.add_column(heading, justify="right" if numbers else "left", overflow="fold")
    for bot in listed:
        state = ("house" if bot.house else "connected") if bot.connected else "away"
        since = bot.since.ToDatetime().strftime("%m-%d %H:%M:%S")
        cells = (bot.name, state, since, str(bot.games), str(bot.strikes), _about(bot))
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _about(bot: ConnectedBot) -> str:
    """Return in one line who made a bot, and what it is."""
    said = BotProfile(bot_info_of(bot.info), one_line(bot.software))
    return "; ".join(filter(None, (said.about, said.software)))
