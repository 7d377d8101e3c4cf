"""Challenges of the ladder: their list, and the forms with which authors ask for deals and answer."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity_server.errors import ApiError, Reason
from happycity_web.answers import Fields
from happycity_web.ladder import KINDS, PAGE_LINES, ladder_values
from happycity_web.query import LARGEST, ListFilter, bot_name, number_of, word_of, words
from happycity_web.render import Page, words_of_enum
from happycity_web.watch import Feeds

STATES = words_of_enum(pb.ChallengeState)
"""Where challenges stand, by the words that addresses have for it."""
_LONGEST_REQUEST_ID = 64


@dataclass(frozen=True, slots=True)
class ChallengeQuery(ListFilter):
    """Which challenges are listed."""

    bot: str = bot_name()
    state: str = words(*STATES)


async def challenges_page(feeds: Feeds, request: Request, chosen: ChallengeQuery) -> Page:
    """Show challenges, newest first, and the forms for them to a bot's author."""
    return await _page(feeds, chosen, request.query_params, "")


async def _page(feeds: Feeds, chosen: ChallengeQuery, fields: Fields, problem: str) -> Page:
    """Return the page of challenges, whose form is filled with fields."""
    arena = feeds.arena
    got = await arena.call(
        arena.ladder.ListChallenges,
        page_size=PAGE_LINES,
        page_token=chosen.page,
        bot=chosen.bot or None,
        state=STATES[chosen.state] if chosen.state else None,
    )
    values = await ladder_values(feeds)
    values |= {
        "chosen": chosen,
        "states": list(STATES),
        "challenges": list(got.challenges),
        "next_page": got.next_page_token,
        "fields": fields,
        "problem": problem,
        "versions": await _versions(feeds, values["own_bot"]),
        "request_id": fields.get("request_id") or secrets.token_hex(16),
    }
    return Page("challenges.html", values, ("challenges", "next_page"))


async def _versions(feeds: Feeds, bot: str) -> list[pb.BotVersion]:
    """Return the versions of the caller's bot; none if it has not played yet, or is ""."""
    if not bot:
        return []
    arena = feeds.arena
    try:
        got = await arena.call(arena.ladder.GetLadderBot, bot=bot)
    except ApiError as error:
        if error.reason is not Reason.NOT_IN_LADDER:
            raise
        return []
    return list(got.versions)


async def own_challenges(feeds: Feeds, _request: Request, fields: Fields, problem: str) -> Page:
    """Return the page with the challenges of the author's bot."""
    return await _page(feeds, ChallengeQuery(bot=_author(feeds)), fields, problem)


async def create(feeds: Feeds, _request: Request, fields: Fields) -> Response:
    """Ask for deals for the bot whose token the browser has, then show its challenges."""
    bot = _author(feeds)
    await feeds.arena.call(feeds.arena.ladder.CreateChallenge, creation(bot, fields))
    return _to_challenges_of(bot)


async def answer(feeds: Feeds, request: Request, fields: Fields) -> Response:
    """Accept, decline or withdraw a challenge for the bot whose token the browser has."""
    arena, bot = feeds.arena, _author(feeds)
    answer = word_of("answer", fields.get("answer", ""), ("accept", "decline", "withdraw"))
    method = getattr(arena.ladder, f"{answer.capitalize()}Challenge")
    await arena.call(method, challenge_id=request.path_params["challenge_id"], bot=bot)
    return _to_challenges_of(bot)


def _author(feeds: Feeds) -> str:
    """Return the author's bot, whose token the browser must have."""
    bot = feeds.arena.own_bot()
    if not bot:
        raise ApiError(Reason.WRONG_ROLE, "a challenge in the browser needs the token of a bot")
    return bot


def _to_challenges_of(bot: str) -> Response:
    return RedirectResponse(f"/ladder/challenges{ChallengeQuery(bot=bot).query()}", 303)


def creation(bot: str, fields: Fields) -> pb.CreateChallengeRequest:
    """Return what a form asks for, if it offers all that; the ladder judges whether it may be."""
    return pb.CreateChallengeRequest(
        bot=bot,
        board=fields.get("board") or None,
        kind=KINDS[word_of("kind", fields.get("kind", ""), KINDS)],
        opponents=fields.get("opponents", "").replace(",", " ").split(),
        deals=_number(fields, "deals"),
        old_version_id=_number(fields, "old_version") or None,
        request_id=fields.get("request_id", "")[:_LONGEST_REQUEST_ID] or None,
    )


def _number(fields: Fields, name: str) -> int:
    """Return the number in a field, 0 if it is left empty."""
    text = fields.get(name)
    return number_of(name, text, 1, LARGEST) if text else 0
