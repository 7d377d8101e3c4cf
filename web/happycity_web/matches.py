"""The page of a match: its table at one position, its moves, and what the viewer's script needs."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from happycity import CARDS, DWELLINGS, Card, CardKind, Config, Mode
from happycity.records import Json
from happycity.rules import DECKS
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire import config_of
from happycity_server.errors import ApiError, Reason
from happycity_web.live import Feeds, MatchPlies
from happycity_web.pages import Page

FORMAT = "happycity-plies/1"


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
    data = _data(got.match, config, plies)
    last = len(data["plies"]) - 1
    ply = _number(request, "ply", 0, last, default=last)
    seat = _number(request, "seat", 1, config.players, default=1)
    values = {
        "match": got.match,
        "game": config,
        "data": data,
        "ply": data["plies"][ply],
        "last": last,
        "follows": "ply" not in request.query_params,
        "seat": seat,
        "seats": [(seat - 1 + offset) % config.players for offset in range(config.players)],
        "decks": DECKS,
        "dwellings": DWELLINGS,
        "faces": _faces(config.mode),
        "running": data["end"] is None,
    }
    return Page("match.html", values, data)


def _data(match: match_pb.Match, config: Config, plies: MatchPlies) -> Json:
    """Return all that the viewer shows; it needs nothing else."""
    shown: list[Json] = list(plies.plies)
    if plies.end is not None and "results" in plies.end:
        # Only the result knows what specials have copied at the end (article 6.3).
        final = {name: [seat[name] for seat in plies.end["results"]] for name in _FINAL}
        shown[-1] = {**shown[-1], **final}
    return {
        "format": FORMAT,
        "match": match.match_id,
        "tournament": match.tournament_id or None,
        "mode": config.mode.value,
        "scoring": config.scoring.value,
        "bots": list(match.bots),
        "plies": shown,
        "end": plies.end,
    }


_FINAL = ("points", "coins", "inhabitants", "hearts")


def _faces(mode: Mode) -> list[Card]:
    """Return the cards that a game of a mode can show."""
    return [
        card
        for card in CARDS
        if card.special_set in (None, mode)
        and (card.kind is not CardKind.MARKET or (card.colour is None) == (mode is Mode.FAMILY))
    ]


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
