"""The first page: the best game that is being played, who leads, the newest cup, and what goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from statistics import fmean

from starlette.requests import Request

from happycity import HappyCityError
from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder_pb
from happycity.records.record import Json
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.messages import config_of
from happycity_server.access.roles import principal
from happycity_viewer.languages import Language
from happycity_viewer.plies import game_json, position_json, words_json
from happycity_web.matches import shown_match
from happycity_web.query import Query
from happycity_web.render import Page, language_of
from happycity_web.tournaments import newest_tournaments, podiums
from happycity_web.watch import Feeds, end_of

BOTS_SHOWN = 200
TOURNAMENTS_SHOWN = 3
MATCHES_COMPARED = 50
"""Running games among which the best one is looked for, the newest ones."""
FINISHED_SHOWN = 5
LEADERS = 5
"""Bots of the ladder that are named."""
RATED_BOTS = 200
"""Bots of the ladder whose ratings are known when games are compared."""
_TRIED = 3  # games that are asked for until one may be watched


async def home_page(feeds: Feeds, request: Request, _query: Query) -> Page:
    """Show the best game, who leads the ladder, the newest cup, who is connected, and what is played."""
    arena = feeds.arena
    tournaments = await newest_tournaments(feeds, page_size=TOURNAMENTS_SHOWN)
    cup = await newest_tournaments(feeds, page_size=1, state=tournament_pb.TOURNAMENT_STATE_FINISHED)
    first = await podiums(feeds, request, [*tournaments, *cup])
    games = arena.matches.ListMatches
    running = await arena.call(games, page_size=MATCHES_COMPARED, state=match_pb2.MATCH_STATE_RUNNING)
    finished = await arena.call(games, page_size=FINISHED_SHOWN, state=match_pb2.MATCH_STATE_FINISHED)
    bots = await arena.call(arena.bots.ListBots, page_size=BOTS_SHOWN)
    ladder, lines, board = None, list[ladder_pb.LeaderboardLine](), ""
    if arena.ladder.keeps_ladder:
        ladder = await arena.call(arena.ladder.GetLadder)
        leaderboard = await arena.call(arena.ladder.GetLeaderboard, page_size=RATED_BOTS)
        lines, board = list(leaderboard.lines), leaderboard.board
    ratings = {line.bot: line.rating.elo for one in cup for line in first.get(one.tournament_id, ())}
    ratings |= {line.version.bot: line.rating.elo for line in lines}
    compared = *by_strength(running.matches, ratings), *finished.matches
    values = {
        "bots": list(bots.bots),
        "more_bots": bool(bots.next_page_token),
        "running": list(running.matches),
        "more_running": bool(running.next_page_token),
        "finished": list(finished.matches),
        "tournaments": tournaments,
        "podiums": first,
        "cup": cup[0] if cup else None,
        "ladder": ladder,
        "leaders": lines[:LEADERS],
        "board": board,
        "boards": {} if ladder is None else {one.name: config_of(one.game) for one in ladder.boards},
        "best": await best_game(feeds, (one for one in compared if one.watchable), language_of(request)),
        "open_tables": arena.tables.open_tables() if principal().may_play else [],
    }
    names = ("best", "leaders", "cup", "bots", "running", "finished", "tournaments", "podiums", "ladder")
    return Page("home.html", values, names)


def by_strength(running: Sequence[match_pb.Match], ratings: Mapping[str, float]) -> list[match_pb.Match]:
    """Return the games with the highest mean rating first, and of equal ones those that began first.

    A bot without a rating counts as 0.
    """
    mean = {one.match_id: fmean(ratings.get(bot, 0.0) for bot in one.bots) for one in running}
    return sorted(running, key=lambda match: (-mean[match.match_id], match.match_id))[:_TRIED]


async def best_game(feeds: Feeds, games: Iterable[match_pb.Match], own: Language) -> Json | None:
    """Return the present position of the first game that the caller may watch, as the viewer takes it."""
    for match in games:
        # A bot may not watch running games, and nobody those of workers; a record may be damaged.
        with suppress(HappyCityError):
            _, shown = await shown_match(feeds, match.match_id)
            last = len(shown.playback.steps) - 1
            if last >= 0:
                ply = position_json(shown.playback, last) | words_json(shown.playback, last, texts=own.texts)
                return game_json(shown.playback, [ply], end=end_of(shown))
    return None
