"""The page of all games, and lists of games on other pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request

from happycity import CARDS_BY_ID, Ending, Mode
from happycity.rules.deals import MAX_PLAYERS, MIN_PLAYERS
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.enums import enum_number
from happycity_server.errors import ApiError, invalid
from happycity_web.background import MOST_OPEN
from happycity_web.cache import Kind
from happycity_web.purchases import Purchase
from happycity_web.query import ListFilter, bot_name, words
from happycity_web.render import Page, colour_name, mode_of
from happycity_web.watch import Feeds, within_page_time

GAMES_A_PAGE = 20
"""Games of a page, or somewhat more where not all that were looked through belong to it."""
GAMES_SEARCHED = 1000
"""Games that one page of a list looks through, where few of them belong to it."""
RECORD_CALLS = 0.1
"""What reading a record costs that is not kept, in calls."""
_SEARCHED_AT_ONCE = 100
_STATISTICS = Kind[Mapping[Any, Any]]("statistics of games", kept=64, most_open=MOST_OPEN)
"""By matches, and perhaps a bot: what follows from what was bought in them."""
_T = TypeVar("_T")

ONLY = ("all", "lost", "forfeited")
ENDINGS = {ending.word: ending for ending in Ending if ending not in (Ending.OTHER, Ending.FINISHED)}
MODES = [mode.value for mode in Mode]
SIZES = [str(size) for size in range(MIN_PLAYERS, MAX_PLAYERS + 1)]


@dataclass(frozen=True, slots=True)
class GameQuery(ListFilter):
    """Which games are listed."""

    bot: str = bot_name()
    only: str = words(*ONLY, default="all")
    """Those that the bot has lost, or forfeited; without a bot, those in which a seat was forfeited."""
    ending: str = words(*ENDINGS)
    """Those in which a seat ended so: one of the bot, if there is one."""
    seats: str = words(*SIZES)
    """Those with this number of seats."""
    mode: str = words(*MODES)
    """Those of this mode."""

    def request(self, tournament_id: int | None) -> match_pb.ListMatchesRequest:
        """Return what asks for the games, or for more than these."""
        finished = self.only != "all" or None
        searches = finished or self.seats or self.mode
        return match_pb.ListMatchesRequest(
            tournament_id=tournament_id,
            bot=self.bot,
            ending=enum_number(match_pb2.Ending, ENDINGS[self.ending]) if self.ending else None,
            state=match_pb2.MATCH_STATE_FINISHED if finished else None,
            page_size=_SEARCHED_AT_ONCE if searches else GAMES_A_PAGE,
            page_token=self.page,
        )

    def admits(self, game: match_pb.Match) -> bool:
        """Return whether a game that was asked for belongs to the list."""
        if self.seats not in ("", str(len(game.bots))) or self.mode not in ("", mode_of(game.config)):
            return False
        own = [
            seat
            for name, seat in zip(game.bots, game.outcome.result.seats, strict=False)
            if self.bot in ("", name)
        ]
        if self.only == "lost":
            return all(seat.place > 1 for seat in own)
        if self.only == "forfeited":
            return any(seat.ending != match_pb2.ENDING_FINISHED for seat in own)
        return True


@dataclass(frozen=True, slots=True)
class GameList:
    """A page of games."""

    chosen: GameQuery
    games: list[match_pb.Match]
    older: str
    """The query of the next page; "" on the last one."""


async def list_games(feeds: Feeds, chosen: GameQuery, *, tournament_id: int | None = None) -> GameList:
    """Return a page of games, newest first; it may hold few of them where many had to be looked through.

    Raises:
        ApiError: lost games of no bot are asked for, or the caller has asked for too much.
    """
    if chosen.only == "lost" and not chosen.bot:
        raise invalid("only", "lost games are those of a bot; choose one too")
    arena = feeds.arena

    async def ask(token: str) -> tuple[Iterable[match_pb.Match], str]:
        page = await arena.call(arena.matches.ListMatches, replace(chosen, page=token).request(tournament_id))
        return filter(chosen.admits, page.matches), page.next_page_token

    pages = GAMES_SEARCHED // chosen.request(tournament_id).page_size
    games, token = await search(feeds, ask, chosen.page, most=GAMES_A_PAGE, pages=pages)
    return GameList(chosen, games, chosen.query(page=token) if token else "")


async def search(
    feeds: Feeds,
    ask: Callable[[str], Awaitable[tuple[Iterable[_T], str]]],
    token: str,
    *,
    most: int,
    pages: int,
    calls: float = 1,
) -> tuple[list[_T], str]:
    """Return the entries of some pages of a list until there are `most`, and the token of the next page.

    `ask` returns those of a page that are wanted, by the page's token; "" is that of the first page, and what
    follows the last one. Each page but the first counts as `calls`.
    """
    found = list[_T]()
    for number in range(pages):
        feeds.arena.charge(calls * min(number, 1))
        entries, token = await ask(token)
        found += entries
        if not token or len(found) >= most:
            break
    return found, token


async def games_page(feeds: Feeds, request: Request, query: GameQuery) -> Page:
    """Show games of all tournaments and none, newest first, each with its cities as small squares."""
    found = await list_games(feeds, query)
    shown = [
        match
        for match in found.games
        if match.outcome.HasField("result") and match.watchable and not match.practice
    ]
    bought: Mapping[int, Sequence[Purchase]] = {}
    with suppress(ApiError):  # many ask for such values: the list does without
        bought = await within_page_time(request, statistics(feeds, [match.match_id for match in shown])) or {}
    cities = {
        match.match_id: [
            [colour_name(CARDS_BY_ID[card]) for own, card, _ in bought[match.match_id] if own == seat]
            for seat in range(len(match.bots))
        ]
        for match in shown
        if match.match_id in bought
    }
    values = {**choices(), "found": found, "games": found.games, "cities": cities}
    return Page("games_page.html", values, ("games",))


async def statistics(
    feeds: Feeds,
    matches: Sequence[int],
    *key: Hashable,
    make: Callable[[Mapping[int, Sequence[Purchase]]], Mapping[Any, Any]] = dict,
) -> Mapping[Any, Any]:
    """Return what `make` makes of what was bought in finished games that the caller may look at.

    With the matches, `key` tells it apart. Records that have to be read cost calls.

    Raises:
        ApiError: the caller has asked for too much, or many others do.
    """

    async def made() -> Mapping[Any, Any]:
        return await asyncio.to_thread(make, await feeds.purchases.of(matches, partial(record_of, feeds)))

    calls = RECORD_CALLS * len(feeds.purchases.missing(matches))
    return await feeds.cache.get(_STATISTICS, (*key, *matches), made, calls=calls)


async def record_of(feeds: Feeds, match_id: int) -> str:
    """Return the record of a finished game; ApiError as long as its deal is in play."""
    return (await feeds.arena.call(feeds.arena.matches.GetMatchRecord, match_id=match_id)).json


def choices() -> dict[str, Any]:
    """Return what the form that chooses games offers."""
    return {"onlys": ONLY, "endings": list(ENDINGS), "sizes": SIZES, "modes": MODES}
