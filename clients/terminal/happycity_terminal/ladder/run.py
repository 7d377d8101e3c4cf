"""What the commands of `happycity ladder` do."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.wire.json import message_json
from happycity_ladder.entries import ActKind
from happycity_terminal.ladder import tables
from happycity_terminal.ladder.calls import leaderboard, pages
from happycity_tournament.cli.console import show as show_lines
from happycity_tournament.cli.json import write_json
from happycity_tournament.client.connection import call_server
from happycity_tournament.client.run_folder import RemoteServer


class _List(NamedTuple):
    """A list of the ladder, and how it is shown."""

    method: str
    request: Callable[..., Any]
    table: Callable[[Sequence[Any]], Table]
    nothing: str


_LISTS: Mapping[str, _List] = {
    "deals": _List("ListLadderDeals", pb.ListLadderDealsRequest, tables.deals_table, "no deals"),
    "seasons": _List("ListSeasons", pb.ListSeasonsRequest, tables.seasons_table, "no seasons"),
    "challenges": _List("ListChallenges", pb.ListChallengesRequest, tables.challenges_table, "no challenges"),
    "acts": _List("ListActs", pb.ListActsRequest, tables.acts_table, "no acts"),
}
"""By the field of the response that has the entries."""


def show_list(field: str, server: str | None, *, limit: int, as_json: bool, **filters: object) -> None:
    """List what passes the filters, which are fields of the request; those that are "" or None are absent."""
    shown = _LISTS[field]
    request = shown.request(**{name: value for name, value in filters.items() if value})
    found = call_server(
        RemoteServer.at(server),
        lambda opened: pages(opened, getattr(opened.ladder, shown.method), request, field, limit),
    )
    _print_list(found, shown.table, as_json=as_json, nothing=shown.nothing)


def show(
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


def show_bot(server: str | None, name: str, *, board: str, as_json: bool) -> None:
    """Show a bot."""
    bot = _call(server, "GetLadderBot", pb.GetLadderBotRequest(bot=name, board=board or None))
    if as_json:
        write_json(message_json(bot))
        return
    console = Console()
    show_lines(console, *tables.bot_lines(bot))
    console.print(tables.versions_table(bot))


def close_season(server: str | None, season: int, *, as_json: bool) -> None:
    """End a season."""
    begun = _call(server, "CloseSeason", pb.CloseSeasonRequest(season_id=season))
    _print(begun, [tables.season_line(begun)], as_json=as_json)


def create_challenge(
    server: str | None,
    name: str,
    *,
    board: str,
    opponents: Sequence[str],
    old_version: int | None,
    deals: int,
    as_json: bool,
) -> None:
    """Ask for deals."""
    kind = pb.DEAL_KIND_CHALLENGE if opponents else pb.DEAL_KIND_RATED
    if old_version is not None:
        kind = pb.DEAL_KIND_COMPARISON
    request = pb.CreateChallengeRequest(
        bot=name,
        board=board or None,
        kind=kind,
        opponents=opponents,
        deals=min(deals, 2**32 - 1),
        old_version_id=old_version,
        request_id=secrets.token_urlsafe(16),
    )
    _change_challenge(server, "CreateChallenge", request, as_json=as_json)


def answer_challenge(server: str | None, answer: str, number: int, name: str, *, as_json: bool) -> None:
    """Accept, decline or withdraw a challenge for a bot."""
    method = f"{answer.capitalize()}Challenge"
    request = getattr(pb, f"{method}Request")(challenge_id=number, bot=name)
    _change_challenge(server, method, request, as_json=as_json)


def compare(server: str | None, old: int, new: int, *, as_json: bool) -> None:
    """Compare two versions of a bot."""
    request = pb.CompareVersionsRequest(old_version_id=old, new_version_id=new)
    compared = _call(server, "CompareVersions", request)
    _print(compared, tables.comparison_lines(compared, old, new), as_json=as_json)


def list_flags(server: str | None, *, season: int | None, as_json: bool) -> None:
    """List odd results."""
    flags = _call(server, "ListFlags", pb.ListFlagsRequest(season_id=season)).flags
    _print_list(flags, tables.flags_table, as_json=as_json, nothing="nothing is odd")


def act(
    server: str | None, kind: ActKind, subject: str, *, new_owner: str, reason: str, as_json: bool
) -> None:
    """Do something to a bot or a participant; numbers as the subject are deals."""
    request = pb.CreateActRequest(kind=pb.ActKind.Value(f"ACT_KIND_{kind.name}"), text=reason)
    request.new_owner = new_owner
    if kind in (ActKind.RENAME, ActKind.DELETE):
        request.owner = subject
    elif subject.replace(",", "").isdecimal():
        request.deal_ids.extend(int(number) for number in subject.split(",") if number)
    else:
        request.bot = subject
    _print_list([_call(server, "CreateAct", request)], tables.acts_table, as_json=as_json, nothing="")


def _call(server: str | None, method: str, request: object) -> Any:
    return call_server(
        RemoteServer.at(server), lambda opened: opened.call(getattr(opened.ladder, method), request)
    )


def _change_challenge(server: str | None, method: str, request: object, *, as_json: bool) -> None:
    challenge, address = _call(server, method, request), RemoteServer.at(server).address
    _print(challenge, tables.challenge_lines(challenge, address), as_json=as_json)


def _print(message: Any, lines: Iterable[str], *, as_json: bool) -> None:
    if as_json:
        write_json(message_json(message))
    else:
        show_lines(Console(), *lines)


def _print_list(
    entries: Sequence[Any], table: Callable[[Sequence[Any]], Table], *, as_json: bool, nothing: str
) -> None:
    """Print a list as JSON or as a table."""
    if as_json:
        write_json(list(map(message_json, entries)))
    elif entries:
        Console().print(table(entries))
    else:
        show_lines(Console(), nothing)
