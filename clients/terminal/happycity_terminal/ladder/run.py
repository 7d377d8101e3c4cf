"""How the commands of `happycity ladder` ask a server, and what of its answers they print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.wire.json import message_json
from happycity_terminal.ladder import tables
from happycity_terminal.ladder.calls import leaderboard, pages
from happycity_tournament.cli.console import show as show_lines
from happycity_tournament.cli.json import write_json
from happycity_tournament.client.connection import call_server
from happycity_tournament.client.run_folder import RemoteServer

_LISTS: Mapping[str, tuple[str, Callable[[Sequence[Any]], Table], str]] = {
    "ListLadderDeals": ("deals", tables.deals_table, "no deals"),
    "ListSeasons": ("seasons", tables.seasons_table, "no seasons"),
    "ListChallenges": ("challenges", tables.challenges_table, "no challenges"),
    "ListActs": ("acts", tables.acts_table, "no acts"),
    "ListFlags": ("flags", tables.flags_table, "nothing is odd"),
}
"""By method: the field of its response that has the entries, their table, and what to say without any."""


def show_list(method: str, server: str | None, *, as_json: bool, limit: int = 0, **fields: object) -> None:
    """Print a list as JSON or as a table; fields of the request that are "" or None are left out."""
    field, table, nothing = _LISTS[method]
    request = _request(method, fields)

    async def listed(connection: Any) -> list[Any]:
        call = getattr(connection.ladder, method)
        if "page_size" not in request.DESCRIPTOR.fields_by_name:
            return list(getattr(await connection.call(call, request), field))
        return await pages(connection, call, request, field, limit)

    found = call_server(RemoteServer.at(server), listed)
    if as_json:
        write_json(list(map(message_json, found)))
    elif found:
        Console().print(table(found))
    else:
        show_lines(Console(), nothing)


def show(method: str, server: str | None, *, as_json: bool, **fields: object) -> None:
    """Print what a call returns as JSON or in lines; fields that are "" or None are left out."""
    request, at = _request(method, fields), RemoteServer.at(server)
    message: Any = call_server(at, lambda opened: opened.call(getattr(opened.ladder, method), request))
    if as_json:
        write_json(message_json(message))
        return
    match message:
        case pb.LadderBot():
            show_lines(Console(), *tables.bot_lines(message))
            Console().print(tables.versions_table(message))
        case pb.Act():
            Console().print(tables.acts_table([message]))
        case _:
            show_lines(Console(), *_lines(message, request, at.address))


def show_leaderboard(
    server: str | None, *, board: str, season: int | None, ranked_only: bool, limit: int, as_json: bool
) -> None:
    """Show the ladder and the leaderboard of a board."""
    ladder, lines = call_server(
        RemoteServer.at(server),
        lambda connection: leaderboard(
            connection, board=board, season=season, ranked_only=ranked_only, limit=limit
        ),
    )
    if as_json:
        write_json({"ladder": message_json(ladder), "leaderboard": message_json(lines)})
        return
    console = Console()
    board_line = f"{lines.board}, {tables.season_line(lines.season)}; ranked by the lower end of the interval"
    show_lines(console, *tables.ladder_lines(ladder), "", board_line)
    if lines.lines:
        console.print(tables.leaderboard_table(lines.lines))
    else:
        show_lines(console, "no bot has played on this board")


def _request(method: str, fields: Mapping[str, object]) -> Any:
    given = {name: value for name, value in fields.items() if value not in ("", None)}
    return getattr(pb, f"{method}Request")(**given)


def _lines(message: Any, request: Any, address: str) -> Iterable[str]:
    match message:
        case pb.Season():
            return [tables.season_line(message)]
        case pb.VersionComparison():
            return tables.comparison_lines(message, request.old_version_id, request.new_version_id)
        case _:
            return tables.challenge_lines(message, address)
