"""The pages of the ladder: leaderboards, seasons, odd results, deals, bots, and how two versions compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.match import check_bot_spelling
from happycity.wire.messages import config_of
from happycity_server.errors import ApiError, Reason, invalid
from happycity_tournament.ratings.statistics import anytime_margin
from happycity_web.charts import rating_scale
from happycity_web.home import BOTS_SHOWN
from happycity_web.query import ListFilter, Query, bot_name, number, words
from happycity_web.render import Page, words_of_enum
from happycity_web.watch import Feeds

PAGE_LINES = 50
"""Lines of a leaderboard, deals, seasons or challenges of a page."""
ENTRIES_SHOWN = 10
"""Challenges or deals on a page that is about something else."""

KINDS = words_of_enum(pb.DealKind)
"""What deals are played for, by the words that addresses have for it."""


@dataclass(frozen=True, slots=True)
class LeaderboardQuery(ListFilter):
    """Which part of which leaderboard is asked for."""

    board: str = ""
    """"" for the ladder's first one."""
    season: int = number()
    """0 for the present one."""
    ranked: str = words("1")
    """ "1": only bots with a rank."""


@dataclass(frozen=True, slots=True)
class DealQuery(ListFilter):
    """Which deals are listed."""

    bot: str = bot_name()
    version: int = number()
    board: str = ""
    season: int = number()
    kind: str = words(*KINDS)
    challenge: int = number()
    deal: int = number()


@dataclass(frozen=True, slots=True)
class BotQuery(Query):
    """On which board a bot is looked at, and which of its versions are compared."""

    board: str = ""
    """"" for its first one."""
    old: int = number()
    new: int = number()


async def ladder_values(feeds: Feeds) -> dict[str, Any]:
    """Return what all pages of the ladder show, and what their caller may do."""
    arena = feeds.arena
    ladder = await arena.call(arena.ladder.GetLadder)
    return {
        "ladder": ladder,
        "boards": {board.name: config_of(board.game) for board in ladder.boards},
        "may_judge": arena.may_call(arena.ladder.ListFlags),
        "may_challenge": arena.may_call(arena.ladder.ListChallenges),
        "own_bot": arena.own_bot(),
        "kinds": list(KINDS),
        "is_final": False,
    }


async def leaderboard_page(feeds: Feeds, _request: Request, chosen: LeaderboardQuery) -> Page:
    """Show the ratings on one board, and what goes on in the ladder."""
    arena = feeds.arena
    values = await ladder_values(feeds)
    leaderboard = await arena.call(
        arena.ladder.GetLeaderboard,
        board=chosen.board or None,
        season_id=chosen.season or None,
        page_size=PAGE_LINES,
        page_token=chosen.page,
        ranked_only=bool(chosen.ranked),
    )
    bots = await arena.call(arena.bots.ListBots, page_size=BOTS_SHOWN)
    waiting = await _challenges(feeds, state=pb.CHALLENGE_STATE_OPEN)
    is_over = leaderboard.season.HasField("end_time")
    values |= {
        "chosen": chosen,
        "leaderboard": leaderboard,
        "scale": rating_scale(line.rating for line in leaderboard.lines),
        "present": [entry for entry in bots.bots if entry.connected],
        "challenges": waiting,
        "is_over": is_over,
        "is_final": is_over,
    }
    shown = ("ladder", "leaderboard", "present", "challenges")
    return Page("leaderboard.html", values, shown, is_final=is_over)


async def seasons_page(feeds: Feeds, _request: Request, chosen: ListFilter) -> Page:
    """Show the seasons, newest first."""
    return await _listed(feeds, feeds.arena.ladder.ListSeasons, "seasons", chosen)


async def acts_page(feeds: Feeds, _request: Request, chosen: ListFilter) -> Page:
    """Show what organisers did, newest first."""
    return await _listed(feeds, feeds.arena.ladder.ListActs, "acts", chosen)


async def _listed(feeds: Feeds, call: Any, field: str, chosen: ListFilter, **asked: Any) -> Page:
    """Show a page of a list, which is a field of the call's response, by the template of that name."""
    got = await feeds.arena.call(call, page_size=PAGE_LINES, page_token=chosen.page, **asked)
    values = await ladder_values(feeds)
    values |= {field: list(getattr(got, field)), "chosen": chosen, "next_page": got.next_page_token}
    return Page(f"{field}.html", values, (field, "next_page"))


async def flags_page(feeds: Feeds, _request: Request, chosen: LeaderboardQuery) -> Page:
    """Show odd results to those who judge them."""
    arena, season = feeds.arena, chosen.season
    flags = await arena.list_all(arena.ladder.ListFlags, "flags", season_id=season or None)
    values = await ladder_values(feeds)
    values |= {"flags": flags, "season": season or values["ladder"].season.season_id}
    return Page("flags.html", values, ("season", "flags"))


async def ladder_deals_page(feeds: Feeds, _request: Request, chosen: DealQuery) -> Page:
    """Show deals, newest first, each with its games."""
    return await _listed(
        feeds,
        feeds.arena.ladder.ListLadderDeals,
        "deals",
        chosen,
        bot=chosen.bot,
        version_id=chosen.version or None,
        board=chosen.board,
        season_id=chosen.season or None,
        kind=KINDS[chosen.kind] if chosen.kind else None,
        challenge_id=chosen.challenge or None,
        deal_id=chosen.deal or None,
    )


async def ladder_bot_page(feeds: Feeds, request: Request, query: BotQuery) -> Page:
    """Show a bot of the ladder."""
    arena, bot = feeds.arena, await _bot(feeds, request, query)
    deals = await arena.call(arena.ladder.ListLadderDeals, bot=bot.bot, page_size=ENTRIES_SHOWN)
    challenges = await _challenges(feeds, bot=bot.bot)
    values = await ladder_values(feeds)
    # By board, the rating of the newest version that has one.
    newest = {entry.board: entry for entry in sorted(bot.ratings, key=lambda entry: entry.version_id)}
    values |= {
        "bot": bot,
        "versions": {version.version_id: version for version in bot.versions},
        "ratings": {entry.version_id: entry.rating for entry in bot.ratings if entry.board == bot.board},
        "newest": {board: newest[board] for board in (*values["boards"], *newest) if board in newest},
        "scale": rating_scale(entry.rating for entry in newest.values()),
        "deals": list(deals.deals),
        "challenges": challenges,
    }
    return Page("ladder_bot.html", values, ("bot", "deals", "challenges"))


async def comparison_page(feeds: Feeds, request: Request, query: BotQuery) -> Page:
    """Show how two versions of a bot compare; it stays as it is, as this takes many deals to find out."""
    arena, bot = feeds.arena, await _bot(feeds, request, query)
    old, new = sorted((query.old, query.new))
    versions = {version.version_id: version for version in bot.versions}
    if not {old, new} <= versions.keys():
        raise ApiError(Reason.NOT_IN_LADDER, f"old, new: {bot.bot!r} has no versions {old} and {new}")
    if old == new:
        raise invalid("new", "choose another version than the older one")
    comparison = await arena.call(arena.ladder.CompareVersions, old_version_id=old, new_version_id=new)
    error = comparison.standard_error if comparison.HasField("standard_error") else None
    values = await ladder_values(feeds)
    values |= {
        "bot": bot,
        "compared": versions,
        "old": versions[old],
        "new": versions[new],
        "comparison": comparison,
        "margin_of_comparison": anytime_margin(comparison.deals, error),
        "scale": rating_scale(entry.rating for entry in comparison.ratings),
        "is_final": True,
    }
    return Page("comparison.html", values, ("comparison",), is_final=True)


async def _challenges(feeds: Feeds, **chosen: Any) -> list[pb.Challenge]:
    """Return the newest challenges, of which the public sees none."""
    arena = feeds.arena
    if not arena.may_call(arena.ladder.ListChallenges):
        return []
    listed = await arena.call(arena.ladder.ListChallenges, page_size=ENTRIES_SHOWN, **chosen)
    return list(listed.challenges)


async def _bot(feeds: Feeds, request: Request, query: BotQuery) -> pb.LadderBot:
    arena, name = feeds.arena, check_bot_spelling(request.path_params["bot"])
    return await arena.call(arena.ladder.GetLadderBot, bot=name, board=query.board or None)
