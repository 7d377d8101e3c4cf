"""The page of a match: its table at one position, its moves, and what the viewer's script needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from happycity import Move
from happycity.records.record import Json
from happycity.text.reasons import reasons
from happycity.text.words import move_in_words
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity_server.access.roles import principal
from happycity_server.errors import ApiError, Reason
from happycity_server.places.watch import WatchedMatch
from happycity_tournament.recorded_games import named_record
from happycity_tournament.visibility import Viewer
from happycity_viewer.languages import Language, language
from happycity_viewer.plies import encode, game_json, position_json
from happycity_viewer.templates import game_values
from happycity_web.background import ANALYSES, analysis_of
from happycity_web.cache import Kind
from happycity_web.choices import control_of, gains_of
from happycity_web.games import record_of
from happycity_web.picture import game_picture
from happycity_web.query import Query, number, number_of
from happycity_web.render import Page, language_of
from happycity_web.tournaments import tournament_of
from happycity_web.watch import (
    Feeds,
    Ply,
    end_of,
    pack,
    packed_response,
    plies_in,
    plies_of,
    within_page_time,
)

PAGE_CALLS = 4
"""What rendering the page of a game costs besides the request, in calls."""
PICTURE_CALLS = 20
"""What drawing the picture of a game costs besides, in calls."""
_PICTURES = Kind[bytes]("pictures", kept=64)
"""Of finished matches, by id; each takes some 150 kB."""

_TO_OTHER_SITES = {"cross-origin-resource-policy": "cross-origin"}
ANALYSIS_CALLS = 20
"""What an analysis costs that is not kept from the last time, in calls."""


@dataclass(frozen=True, slots=True)
class MatchQuery(Query):
    """Which position of a match is shown, and how."""

    ply: int | None = number(None, lowest=0)
    """None: the last one."""
    seat: int | None = number(None, lowest=0)
    """Which seat comes first; None: the first, or the own one."""
    embed: str = ""
    """ "1": without what is around the game."""
    wait: str = ""
    """ "1": the answer comes when the analysis is done, and not before."""


async def match_page(feeds: Feeds, request: Request, query: MatchQuery) -> Page:
    """Show a match at the position that an address names, else at its last one."""
    feeds.arena.charge(PAGE_CALLS)
    match_id = request.path_params["match_id"]
    values = await match_values(feeds, match_id, query, language_of(request))
    key = ("match", match_id) if values["game"]["end"] is not None else None
    return Page("match.html", values, ("game",), key=key)


async def match_values(
    feeds: Feeds, match_id: int, query: MatchQuery, own: Language, *, seat: int = 1
) -> dict[str, Any]:
    """Return what the templates show of a match, with words in a language; `seat` is first by default."""
    match, shown = await shown_match(feeds, match_id)
    plies = await plies_of(feeds, shown, own)
    game = _game(shown, plies)
    last, players = len(plies) - 1, len(match.bots)
    if query.ply is not None:
        number_of("ply", str(query.ply), 0, last)
    if query.seat is not None:
        seat = number_of("seat", str(query.seat), 1, players)
    has_record = shown.is_over and shown.playback.void_reason is None
    return {
        **await feeds.in_thread(
            game_values,
            game,
            ply=last if query.ply is None else query.ply,
            seat=seat,
            record_link=f"/matches/{match_id}/record.json" if has_record else "",
            tournament=None
            if not match.tournament_id
            else (await tournament_of(feeds, match.tournament_id)).config.title,
        ),
        "practice": match.practice,
        "can_be_embedded": bool(feeds.arena.gate.authenticator.public),
        "ladder_deal": match.ladder_deal_id,
        "embed": query.embed == "1",
    }


async def analysis_page(feeds: Feeds, request: Request, query: MatchQuery) -> Page:
    """Show what the moves of a finished match cost, with the costliest ones of a seat as questions."""
    match_id = request.path_params["match_id"]
    record = await record_of(feeds, match_id)
    match, shown = await shown_match(feeds, match_id)
    make = partial(analysis_of, named_record(list(match.bots), record))
    made = feeds.cache.get(ANALYSES, match_id, make, calls=ANALYSIS_CALLS)
    analysis = await within_page_time(request, made)
    seat = number_of("seat", str(query.seat or 1), 1, len(match.bots))
    if analysis is None:
        return Page("analysis_follows.html", {"match": match_id})
    texts = language_of(request).texts

    def words(move: str, coins: int) -> str:
        return move_in_words(Move.parse(move), coins, match.bots, texts=texts)

    questions = []
    for costly in analysis["seats"][seat - 1]["costliest"]:
        step = shown.playback.steps[costly["decision"] - 1]
        tries = [
            {
                "words": words(move.text, coins),
                "loss": costly["losses"][move.text],
                "on": control_of(move),
                "is_chosen": move == step.move,
                "coins": coins,
                "gains": gains_of(step.view, move),
            }
            for move, coins in step.options
        ]
        line = [words(entry["move"], entry["coins"]) for entry in costly["line"]]
        assert step.move is not None, "decisions of finished games have a move"
        best = Move.parse(costly["line"][0]["move"])
        why = reasons(step.view, dict(step.options), best, step.move, texts)
        questions.append({**costly, "tries": tries, "line": line, "why": why})
    values = {
        "match": match_id,
        "analysis": analysis,
        "bots": list(match.bots),
        "seat": seat,
        "questions": questions,
    }
    return Page("analysis.html", values, ("match", "bots", "analysis"), key=("analysis", match_id))


async def match_json(feeds: Feeds, request: Request) -> Response:
    """Return a match as the viewer takes it; of a finished one this is made once."""
    _, match = await shown_match(feeds, request.path_params["match_id"])
    if match.is_over:
        content = await feeds.in_thread(match.whole, _packed_game)
    else:
        feeds.arena.charge(PAGE_CALLS)
        content = await feeds.in_thread(_packed_game, match)
    return packed_response(request, content, "application/json")


async def match_picture(feeds: Feeds, request: Request) -> Response:
    """Return the picture of a finished match, which changes no more."""
    match_id = request.path_params["match_id"]
    _, match = await shown_match(feeds, match_id)
    if not match.playback.results:
        raise ApiError(
            Reason.MATCH_RUNNING, f"match {match_id} is not finished; only finished matches have a picture"
        )

    def picture() -> bytes:
        last = position_json(match.playback, len(match.playback.steps) - 1)
        return game_picture(game_json(match.playback, [last], end=end_of(match)))

    draw = partial(feeds.in_thread, picture)
    content = await feeds.cache.get(_PICTURES, match_id, draw, calls=PICTURE_CALLS)
    needs_no_token = principal().viewer is Viewer.PUBLIC
    kept_by = "public" if needs_no_token else "private"  # by proxies too
    headers = {"cache-control": f"{kept_by}, max-age=31536000, immutable"}
    return Response(content, media_type="image/png", headers=headers | _TO_OTHER_SITES)


async def shown_match(feeds: Feeds, match_id: int) -> tuple[match_pb.Match, WatchedMatch]:
    """Return a match, and its positions up to the present one."""
    match, watched = await feeds.arena.matches.watch(principal(), match_id)
    if watched.value.at_worker and not watched.value.is_over:
        text = f"match {match_id} is played by a worker, so it can be looked at when it is over"
        raise ApiError(Reason.MATCH_RUNNING, text)
    is_finished = match.state == match_pb2.MATCH_STATE_FINISHED
    async for shown in watched.values():
        if shown.is_over or (not is_finished and shown.playback.decisions >= match.decisions):
            break
    return match, watched.value


def _game(match: WatchedMatch, plies: Sequence[Ply]) -> Json:
    """Return all of a game so far, with its positions in some language."""
    shown = [ply.json for ply in plies]
    return game_json(match.playback, shown, end=end_of(match), tournament_id=match.tournament_id)


def _packed_game(match: WatchedMatch) -> bytes:
    """Return all of a game so far, in English."""
    game = _game(match, match.positions(plies_in(language("en"))))
    return pack(lambda: encode(game))


async def match_record(feeds: Feeds, request: Request) -> Response:
    """Return a finished match's record, with its bots, as a file."""
    match_id, arena = request.path_params["match_id"], feeds.arena
    got = await record_of(feeds, match_id)
    match = await arena.call(arena.matches.GetMatch, match_id=match_id)
    record = named_record(list(match.bots), got)
    name = f'attachment; filename="game-{match_id:07}.json"'
    return Response(f"{record}\n", media_type="application/json", headers={"content-disposition": name})
