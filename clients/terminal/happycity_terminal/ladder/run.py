"""How the commands of `happycity ladder` ask a server, and what of its answers they print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.wire.json import message_json
from happycity_terminal.ladder import tables
from happycity_tournament.cli.json import write_json
from happycity_tournament.cli.tables import print_lines, table_of
from happycity_tournament.client.connection import PAGE_SIZE, Connection, call_server
from happycity_tournament.client.run_folder import RemoteServer


def show_list(method: str, server: str | None, *, as_json: bool, limit: int = 0, **fields: object) -> None:
    """Print the first entries of a list, 0: all, as JSON or as a table; see `show` for the fields."""
    field, columns, nothing = tables.LISTS[method]
    found: list[Any] = call_server(
        RemoteServer.at(server), lambda opened: _entries(opened, method, fields, field, limit)
    )[0]
    if as_json:
        write_json(found)
    elif found:
        Console().print(table_of(found, columns))
    else:
        print_lines(Console(), nothing)


async def _entries(
    connection: Connection, method: str, fields: Mapping[str, object], field: str, limit: int
) -> tuple[list[Any], Any]:
    """Return the first entries of a list, which are a field of its pages, and the last page that was read."""
    request, entries, page = _request(method, fields), list[Any](), None
    request.page_size = min(limit or PAGE_SIZE, PAGE_SIZE)
    async for page in connection.pages(getattr(connection.ladder, method), request):
        entries += getattr(page, field)
        if limit and len(entries) >= limit:
            break
    return entries[: limit or None], page


def show(method: str, server: str | None, *, as_json: bool, **fields: object) -> None:
    """Print what a call returns as JSON or in lines; fields that are "" or None are left out."""
    request, at = _request(method, fields), RemoteServer.at(server)
    message: Any = call_server(at, lambda opened: opened.call(getattr(opened.ladder, method), request))
    if as_json:
        write_json(message)
        return
    lines, table = list[str](), None
    match message:
        case pb.LadderBot():
            lines, table = list(tables.bot_lines(message)), tables.versions_table(message)
        case pb.Act():
            table = table_of([message], tables.LISTS["ListActs"][1])
        case pb.Season():
            lines = [tables.season_line(message)]
        case pb.VersionComparison():
            lines = list(tables.comparison_lines(message, request.old_version_id, request.new_version_id))
        case _:
            lines = list(tables.challenge_lines(message, at.address))
    print_lines(Console(), *lines)
    if table is not None:
        Console().print(table)


def show_leaderboard(server: str | None, *, limit: int, as_json: bool, **fields: object) -> None:
    """Show the ladder and a leaderboard; see `show` for the fields."""

    async def ask(opened: Connection) -> tuple[pb.Ladder, list[Any], Any]:
        ladder = await opened.call(opened.ladder.GetLadder, pb.GetLadderRequest())
        return ladder, *await _entries(opened, "GetLeaderboard", fields, "lines", limit)

    ladder, lines, page = call_server(RemoteServer.at(server), ask)
    if as_json:
        shown = {**message_json(page), "lines": lines}
        write_json({"ladder": ladder, "leaderboard": shown})
        return
    console = Console()
    board_line = f"{page.board}, {tables.season_line(page.season)}"
    print_lines(console, *tables.ladder_lines(ladder), "", board_line)
    if page.owners:
        print_lines(console, 'owners, each by its best bot; "at least" holds for all its bots at once', "")
        console.print(tables.owners_table(page.owners))
    if lines:
        print_lines(console, "", "bots, each by its newest version, by the lower end of the interval", "")
        console.print(tables.leaderboard_table(lines))
    else:
        print_lines(console, "no bot has played on this board")


def _request(method: str, fields: Mapping[str, object]) -> Any:
    given = {name: value for name, value in fields.items() if value not in ("", None)}
    return getattr(pb, f"{method}Request")(**given)
