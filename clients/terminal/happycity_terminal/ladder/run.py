"""What the commands of `happycity ladder` do."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.records.record import Json
from happycity_ladder.entries import ActKind
from happycity_terminal.ladder import tables
from happycity_terminal.ladder.calls import leaderboard, pages
from happycity_terminal.ladder.content import (
    act_json,
    bot_json,
    challenge_json,
    comparison_json,
    deal_json,
    flag_json,
    ladder_json,
    line_json,
    season_json,
)
from happycity_tournament.cli.console import show as show_lines
from happycity_tournament.cli.json import write_json
from happycity_tournament.client.connection import call_server
from happycity_tournament.client.run_folder import RemoteServer


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
        board_json = {"board": lines.board, "of_season": season_json(lines.season)}
        write_json({**ladder_json(ladder), **board_json, "lines": list(map(line_json, lines.lines))})
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
    request = pb.GetLadderBotRequest(bot=name, board=board or None)
    bot = call_server(
        RemoteServer.at(server), lambda connection: connection.call(connection.ladder.GetLadderBot, request)
    )
    if as_json:
        write_json(bot_json(bot))
        return
    console = Console()
    show_lines(console, *tables.bot_lines(bot))
    console.print(tables.versions_table(bot))


def list_deals(
    server: str | None,
    *,
    bot: str,
    version: int | None,
    board: str,
    season: int | None,
    kind: str | None,
    challenge: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """List deals."""
    request = pb.ListLadderDealsRequest(
        bot=bot or None,
        version_id=version,
        board=board or None,
        season_id=season,
        kind=None if kind is None else pb.DealKind.Value(f"DEAL_KIND_{kind.upper()}"),
        challenge_id=challenge,
    )
    found = call_server(
        RemoteServer.at(server),
        lambda connection: pages(connection, connection.ladder.ListLadderDeals, request, "deals", limit),
    )
    _print_list(found, deal_json, tables.deals_table, as_json=as_json, nothing="no deals")


def list_seasons(server: str | None, *, limit: int, as_json: bool) -> None:
    """List seasons."""
    request = pb.ListSeasonsRequest()
    found = call_server(
        RemoteServer.at(server),
        lambda connection: pages(connection, connection.ladder.ListSeasons, request, "seasons", limit),
    )
    _print_list(found, season_json, tables.seasons_table, as_json=as_json, nothing="no seasons")


def close_season(server: str | None, season: int, *, as_json: bool) -> None:
    """End a season."""
    request = pb.CloseSeasonRequest(season_id=season)
    response = call_server(
        RemoteServer.at(server), lambda connection: connection.call(connection.ladder.CloseSeason, request)
    )
    if as_json:
        write_json(season_json(response))
    else:
        show_lines(Console(), tables.season_line(response))


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
    _print_challenge(_called(server, "CreateChallenge", request), server, as_json=as_json)


def list_challenges(server: str | None, *, bot: str, state: str | None, limit: int, as_json: bool) -> None:
    """List challenges."""
    request = pb.ListChallengesRequest(
        bot=bot or None,
        state=None if state is None else pb.ChallengeState.Value(f"CHALLENGE_STATE_{state.upper()}"),
    )
    found = call_server(
        RemoteServer.at(server),
        lambda connection: pages(connection, connection.ladder.ListChallenges, request, "challenges", limit),
    )
    _print_list(found, challenge_json, tables.challenges_table, as_json=as_json, nothing="no challenges")


def answer_challenge(server: str | None, answer: str, number: int, name: str, *, as_json: bool) -> None:
    """Accept, decline or withdraw a challenge for a bot."""
    requests = {
        "accept": pb.AcceptChallengeRequest,
        "decline": pb.DeclineChallengeRequest,
        "withdraw": pb.WithdrawChallengeRequest,
    }
    request = requests[answer](challenge_id=number, bot=name)
    _print_challenge(_called(server, f"{answer.capitalize()}Challenge", request), server, as_json=as_json)


def _called(server: str | None, method: str, request: object) -> Any:
    return call_server(
        RemoteServer.at(server), lambda opened: opened.call(getattr(opened.ladder, method), request)
    )


def compare(server: str | None, old: int, new: int, *, as_json: bool) -> None:
    """Compare two versions of a bot."""
    request = pb.CompareVersionsRequest(old_version_id=old, new_version_id=new)
    response = call_server(
        RemoteServer.at(server),
        lambda connection: connection.call(connection.ladder.CompareVersions, request),
    )
    if as_json:
        write_json(comparison_json(response))
    else:
        show_lines(Console(), *tables.comparison_lines(response, old, new))


def list_flags(server: str | None, *, season: int | None, as_json: bool) -> None:
    """List odd results."""
    request = pb.ListFlagsRequest(season_id=season)
    response = call_server(
        RemoteServer.at(server), lambda connection: connection.call(connection.ladder.ListFlags, request)
    )
    _print_list(response.flags, flag_json, tables.flags_table, as_json=as_json, nothing="nothing is odd")


def list_acts(server: str | None, *, bot: str, limit: int, as_json: bool) -> None:
    """List what organisers did."""
    request = pb.ListActsRequest(bot=bot or None)
    found = call_server(
        RemoteServer.at(server),
        lambda connection: pages(connection, connection.ladder.ListActs, request, "acts", limit),
    )
    _print_list(found, act_json, tables.acts_table, as_json=as_json, nothing="no acts")


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
    done = _called(server, "CreateAct", request)
    _print_list([done], act_json, tables.acts_table, as_json=as_json, nothing="")


def _print_challenge(challenge: pb.Challenge, server: str | None, *, as_json: bool) -> None:
    if as_json:
        write_json(challenge_json(challenge))
    else:
        show_lines(Console(), *tables.challenge_lines(challenge, RemoteServer.at(server).address))


def _print_list(
    entries: Sequence[Any],
    entry_json: Callable[[Any], Json],
    table: Callable[[Sequence[Any]], Table],
    *,
    as_json: bool,
    nothing: str,
) -> None:
    """Print a list as JSON or as a table."""
    if as_json:
        write_json(list(map(entry_json, entries)))
    elif entries:
        Console().print(table(entries))
    else:
        show_lines(Console(), nothing)
