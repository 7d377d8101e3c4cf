"""The ladder's pages of everybody: leaderboards, seasons, and odd results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from starlette.requests import Request

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.v1 import bot_service_pb2 as bot_pb
from happycity.wire.messages import config_of
from happycity_web.charts import rating_scale
from happycity_web.live import Feeds
from happycity_web.pages import BOTS_SHOWN, Page
from happycity_web.queries import LARGEST, number_of, query_text, word_of

PAGE_LINES = 50
"""Lines of a leaderboard, deals, seasons or challenges of a page."""
CHALLENGES_SHOWN = 10
"""Challenges on a page that is about something else."""


@dataclass(frozen=True, slots=True)
class LeaderboardQuery:
    """Which part of which leaderboard an address asks for."""

    board: str = ""
    """"" for the ladder's first one."""
    season: int = 0
    """0 for the present one."""
    ranked: str = ""
    """ "1": only bots with a rank."""
    page: str = ""
    """Where the page begins; "" for the first one."""

    @classmethod
    def of(cls, request: Request) -> Self:
        """Return what an address asks for.

        Raises:
            ApiError: a value of it is none.
        """
        query = request.query_params
        return cls(
            board=query.get("board", ""),
            season=number_of(query, "season", 1, LARGEST, default=0),
            ranked=word_of("ranked", query.get("ranked", ""), ("", "1")),
            page=query.get("page", ""),
        )

    def query(self, **changes: Any) -> str:
        """Return the query of the address of this leaderboard, with some fields changed."""
        return query_text(self, **changes)


async def ladder_values(feeds: Feeds) -> dict[str, Any]:
    """Return what all pages of the ladder show, and what their caller may do."""
    arena = feeds.arena
    ladder = await arena.call(arena.ladder.GetLadder, pb.GetLadderRequest())
    return {
        "ladder": ladder,
        "boards": {board.name: config_of(board.game) for board in ladder.boards},
        "may_judge": arena.may_call(arena.ladder.ListFlags),
        "own_bot": arena.own_bot(),
        "is_final": False,
    }


async def leaderboard_page(feeds: Feeds, request: Request) -> Page:
    """Show the ratings on one board, and what goes on in the ladder."""
    arena, chosen = feeds.arena, LeaderboardQuery.of(request)
    values = await ladder_values(feeds)
    leaderboard = await arena.call(
        arena.ladder.GetLeaderboard,
        pb.GetLeaderboardRequest(
            board=chosen.board or None,
            season_id=chosen.season or None,
            page_size=PAGE_LINES,
            page_token=chosen.page,
            ranked_only=bool(chosen.ranked),
        ),
    )
    bots = await arena.call(arena.bots.ListBots, bot_pb.ListBotsRequest(page_size=BOTS_SHOWN))
    waiting = await arena.call(
        arena.ladder.ListChallenges,
        pb.ListChallengesRequest(page_size=CHALLENGES_SHOWN, state=pb.CHALLENGE_STATE_OPEN),
    )
    is_over = leaderboard.season.HasField("end_time")
    values |= {
        "chosen": chosen,
        "leaderboard": leaderboard,
        "scale": rating_scale(line.rating for line in leaderboard.lines),
        "present": [entry for entry in bots.bots if entry.connected],
        "challenges": list(waiting.challenges),
        "is_over": is_over,
        "is_final": is_over,
    }
    messages = {
        "ladder": values["ladder"],
        "season": leaderboard.season,
        "board": leaderboard.board,
        "lines": list(leaderboard.lines),
        "next_page": leaderboard.next_page_token,
        "connected": values["present"],
        "open_challenges": values["challenges"],
    }
    return Page("leaderboard.html", values, messages, is_final=is_over)


async def seasons_page(feeds: Feeds, request: Request) -> Page:
    """Show the seasons, newest first."""
    arena, page = feeds.arena, request.query_params.get("page", "")
    got = await arena.call(
        arena.ladder.ListSeasons, pb.ListSeasonsRequest(page_size=PAGE_LINES, page_token=page)
    )
    values = await ladder_values(feeds)
    values |= {"seasons": list(got.seasons), "page": page, "next_page": got.next_page_token}
    messages = {"seasons": values["seasons"], "next_page": got.next_page_token}
    return Page("seasons.html", values, messages)


async def flags_page(feeds: Feeds, request: Request) -> Page:
    """Show odd results to those who judge them."""
    arena, season = feeds.arena, number_of(request.query_params, "season", 1, LARGEST, default=0)
    got = await arena.call(arena.ladder.ListFlags, pb.ListFlagsRequest(season_id=season or None))
    values = await ladder_values(feeds)
    values |= {"flags": list(got.flags), "season": season or values["ladder"].season.season_id}
    return Page("flags.html", values, {"season_id": values["season"], "flags": values["flags"]})
