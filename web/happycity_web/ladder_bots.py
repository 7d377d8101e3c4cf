"""The pages of a bot of the ladder: its versions, their ratings over time, and how two of them compare."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.match import check_bot_name
from happycity_server.errors import ApiError, Reason
from happycity_tournament.ratings.statistics import student_margin
from happycity_web.charts import rating_scale
from happycity_web.ladder import CHALLENGES_SHOWN, ladder_values
from happycity_web.live import Feeds
from happycity_web.pages import Page
from happycity_web.queries import LARGEST, number_of

DEALS_SHOWN = 10
"""Deals on the page of a bot."""


async def ladder_bot_page(feeds: Feeds, request: Request) -> Page:
    """Show a bot of the ladder."""
    arena, bot = feeds.arena, await _bot(feeds, request)
    deals = await arena.call(
        arena.ladder.ListLadderDeals, pb.ListLadderDealsRequest(bot=bot.bot, page_size=DEALS_SHOWN)
    )
    challenges = await arena.call(
        arena.ladder.ListChallenges, pb.ListChallengesRequest(bot=bot.bot, page_size=CHALLENGES_SHOWN)
    )
    values = await ladder_values(feeds)
    newest = _newest_ratings(bot)
    values |= {
        "bot": bot,
        "versions": {version.version_id: version for version in bot.versions},
        "ratings": {entry.version_id: entry.rating for entry in bot.ratings if entry.board == bot.board},
        "newest": {board: newest[board] for board in (*values["boards"], *newest) if board in newest},
        "scale": rating_scale(entry.rating for entry in newest.values()),
        "deals": list(deals.deals),
        "challenges": list(challenges.challenges),
    }
    messages = {"bot": bot, "deals": values["deals"], "challenges": values["challenges"]}
    return Page("ladder_bot.html", values, messages)


async def comparison_page(feeds: Feeds, request: Request) -> Page:
    """Show how two versions of a bot compare; it stays as it is, as this takes many deals to find out."""
    arena, bot = feeds.arena, await _bot(feeds, request)
    old, new = _compared(request.query_params, bot)
    comparison = await arena.call(
        arena.ladder.CompareVersions,
        pb.CompareVersionsRequest(old_version_id=old.version_id, new_version_id=new.version_id),
    )
    error = comparison.standard_error if comparison.HasField("standard_error") else None
    values = await ladder_values(feeds)
    values |= {
        "bot": bot,
        "compared": {version.version_id: version for version in (old, new)},
        "comparison": comparison,
        "margin_of_comparison": student_margin(comparison.deals, error),
        "scale": rating_scale(entry.rating for entry in comparison.ratings),
        "is_final": True,
    }
    return Page("comparison.html", values, {"comparison": comparison}, is_final=True)


async def _bot(feeds: Feeds, request: Request) -> pb.LadderBot:
    arena, name = feeds.arena, check_bot_name(request.path_params["bot"])
    board = request.query_params.get("board") or None
    return await arena.call(arena.ladder.GetLadderBot, pb.GetLadderBotRequest(bot=name, board=board))


def _newest_ratings(bot: pb.LadderBot) -> dict[str, pb.VersionRating]:
    """Return by board the rating of the newest version that has one."""
    ratings: dict[str, pb.VersionRating] = {}
    for entry in sorted(bot.ratings, key=lambda entry: entry.version_id):
        ratings[entry.board] = entry
    return ratings


def _compared(query: Mapping[str, str], bot: pb.LadderBot) -> tuple[pb.BotVersion, pb.BotVersion]:
    """Return the two versions that an address names, the older one first.

    Raises:
        ApiError: it names one twice, or one that the bot doesn't have.
    """
    versions = {version.version_id: version for version in bot.versions}
    ids = []
    for name in ("old", "new"):
        version_id = number_of(query, name, 1, LARGEST, default=0)
        if version_id not in versions:
            text = f"{name}: {bot.bot!r} has no version {version_id or 'without a number'}"
            raise ApiError(Reason.INVALID_FIELD, text)
        ids.append(version_id)
    if ids[0] == ids[1]:
        raise ApiError(Reason.INVALID_FIELD, "new: choose another version than the older one")
    return versions[min(ids)], versions[max(ids)]
