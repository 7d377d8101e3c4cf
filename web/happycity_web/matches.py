"""The page of a match: its table at one position, its moves, and what the viewer's script needs."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.messages import config_of
from happycity_tournament.storage.sources import named_record
from happycity_viewer.page import game_values
from happycity_viewer.plies import game_json
from happycity_web.live import Feeds
from happycity_web.pages import Page
from happycity_web.queries import number_of
from happycity_web.reader import language_of


async def match_page(feeds: Feeds, request: Request) -> Page:
    """Show a match at the position that the request names, else at its last one."""
    values = await match_values(feeds, request.path_params["match_id"], request)
    return Page("match.html", values, values["game"])


async def match_values(feeds: Feeds, match_id: int, request: Request, *, seat: int = 1) -> dict[str, Any]:
    """Return what the templates show of a match at the position that a request names, else at its last one.

    `seat` comes first, if the request names none.
    """
    arena, query = feeds.arena, request.query_params
    match = await arena.call(arena.matches.GetMatch, match_pb.GetMatchRequest(match_id=match_id))
    plies = await feeds.of_match(match_id, language_of(request))
    if match.state == match_pb2.MATCH_STATE_FINISHED:
        await plies.finished()
    else:
        await plies.reach(match.decisions + 1)
    config = config_of(match.config)
    game = game_json(
        config,
        match.bots,
        plies.plies,
        plies.end,
        match_id=match_id,
        tournament_id=match.tournament_id if match.HasField("tournament_id") else None,
    )
    last = len(plies.plies) - 1
    ply = number_of(query, "ply", 0, last, default=last)
    seat = number_of(query, "seat", 1, config.players, default=seat)
    record_link = "" if plies.end is None or "void" in plies.end else f"/matches/{match_id}/record.json"
    back = f"/tournaments/{match.tournament_id}" if match.tournament_id else ""
    return {
        **game_values(game, ply=ply, seat=seat, record_link=record_link, back=back),
        "practice": match.practice,
        "ladder_deal": match.ladder_deal_id,
        "embed": query.get("embed") == "1",
    }


async def match_record(feeds: Feeds, request: Request) -> Response:
    """Return a finished match's record, with its bots, as a file."""
    match_id, arena = request.path_params["match_id"], feeds.arena
    asked = match_pb.GetMatchRecordRequest(match_id=match_id)
    got = await arena.call(arena.matches.GetMatchRecord, asked)
    match = await arena.call(arena.matches.GetMatch, match_pb.GetMatchRequest(match_id=match_id))
    record = named_record(list(match.bots), got.json)
    name = f'attachment; filename="game-{match_id:07}.json"'
    return Response(f"{record}\n", media_type="application/json", headers={"content-disposition": name})
