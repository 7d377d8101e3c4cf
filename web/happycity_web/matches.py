"""The page of a match: its table at one position, its moves, and what the viewer's script needs."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire import config_of
from happycity_server.errors import ApiError, Reason
from happycity_viewer.page import game_values
from happycity_viewer.plies import game_json
from happycity_web.live import Feeds
from happycity_web.pages import Page


async def match_page(feeds: Feeds, request: Request) -> Page:
    """Show a match at the position that the request names, else at its last one."""
    match_id = request.path_params["match_id"]
    arena = feeds.arena
    got = await arena.call(arena.matches.GetMatch, match_pb.GetMatchRequest(match_id=match_id))
    plies = await feeds.of_match(match_id)
    if got.match.state == match_pb2.MATCH_STATE_FINISHED:
        await plies.finished()
    else:
        await plies.reach(got.match.decisions + 1)
    config = config_of(got.match.config)
    game = game_json(
        config,
        got.match.bots,
        plies.plies,
        plies.end,
        match_id=match_id,
        tournament_id=got.match.tournament_id or None,
    )
    last = len(plies.plies) - 1
    ply = _number(request, "ply", 0, last, default=last)
    seat = _number(request, "seat", 1, config.players, default=1)
    values = {**game_values(game, ply=ply, seat=seat), "practice": got.match.practice}
    return Page("match.html", values, game)


def _number(request: Request, name: str, lowest: int, highest: int, *, default: int) -> int:
    """Return a number of the query.

    Raises:
        ApiError: it is not a number, or not in its range.
    """
    text: Any = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not lowest <= int(text) <= highest:
        raise ApiError(
            Reason.INVALID_FIELD, f"{name}: {text!r:.40} is not a number from {lowest} to {highest}"
        )
    return int(text)
