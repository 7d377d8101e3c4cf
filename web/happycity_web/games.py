"""Lists of games: which ones an address asks for, and a page of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from starlette.requests import Request

from happycity import Ending
from happycity.match import check_bot_name
from happycity.rules.deals import MAX_PLAYERS, MIN_PLAYERS
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.match import ending_number
from happycity_server.errors import ApiError, Reason
from happycity_web.live import Feeds
from happycity_web.queries import query_text, word_of

GAMES_A_PAGE = 50
"""Games of a page, or somewhat more where not all that were looked through belong to it."""
GAMES_SEARCHED = 1000
"""Games that one page of a list looks through, where few of them belong to it."""
_SEARCHED_AT_ONCE = 100

ONLY = ("all", "lost", "forfeited")
ENDINGS = {ending.word: ending for ending in Ending if ending not in (Ending.OTHER, Ending.FINISHED)}


@dataclass(frozen=True, slots=True)
class GameFilter:
    """Which games are listed. Each field but the default leaves others out."""

    bot: str = ""
    only: str = "all"
    """Those that the bot has lost, or forfeited; without a bot, those that anybody has forfeited."""
    ending: str = ""
    """Those in which a seat ended so: one of the bot, if there is one."""
    seats: int = 0
    """Those with so many seats; 0 for any."""
    before: str = ""
    """Where the page begins; "" for the first one."""

    @classmethod
    def of(cls, request: Request, *, bot: str = "") -> Self:
        """Return what an address asks for.

        Raises:
            ApiError: a value of it is none.
            ConfigError: the bot's name is none.
        """
        query = request.query_params
        name = bot or query.get("bot", "")
        only = word_of("only", query.get("only") or "all", ONLY)
        if only == "lost" and not name:
            raise ApiError(Reason.INVALID_FIELD, "only: lost games are those of a bot; choose one too")
        ending, seats = query.get("ending", ""), query.get("seats", "")
        sizes = [str(size) for size in range(MIN_PLAYERS, MAX_PLAYERS + 1)]
        return cls(
            bot=check_bot_name(name) if name else "",
            only=only,
            ending=word_of("ending", ending, ENDINGS) if ending else "",
            seats=int(word_of("seats", seats, sizes)) if seats else 0,
            before=query.get("before", ""),
        )

    def query(self, **changes: Any) -> str:
        """Return the query of the address of these games, with some fields changed; defaults are left out."""
        return query_text(self, **changes)

    @property
    def is_empty(self) -> bool:
        """Whether it leaves no game out."""
        return replace(self, before="") == GameFilter()

    def request(self, tournament_id: int | None) -> match_pb.ListMatchesRequest:
        """Return what asks for the games, or for more than these."""
        finished = self.only != "all" or None
        return match_pb.ListMatchesRequest(
            tournament_id=tournament_id,
            bot=self.bot,
            ending=ending_number(ENDINGS[self.ending]) if self.ending else None,
            state=match_pb2.MATCH_STATE_FINISHED if finished else None,
            page_size=GAMES_A_PAGE if self.only == "all" and not self.seats else _SEARCHED_AT_ONCE,
            page_token=self.before,
        )

    def admits(self, game: match_pb.Match) -> bool:
        """Return whether a game that was asked for belongs to the list."""
        if self.seats and len(game.bots) != self.seats:
            return False
        own = [
            seat for name, seat in zip(game.bots, game.result.seats, strict=False) if self.bot in ("", name)
        ]
        if self.only == "lost":
            return all(seat.place > 1 for seat in own)
        if self.only == "forfeited":
            return any(seat.ending != match_pb2.ENDING_FINISHED for seat in own)
        return True


@dataclass(frozen=True, slots=True)
class GameList:
    """A page of games."""

    chosen: GameFilter
    games: list[match_pb.Match]
    older: str
    """The query of the next page; "" on the last one."""


async def list_games(feeds: Feeds, chosen: GameFilter, *, tournament_id: int | None = None) -> GameList:
    """Return a page of games, newest first; it may hold few of them where many had to be looked through."""
    games: list[match_pb.Match] = []
    arena, token, searched = feeds.arena, chosen.before, 0
    while searched < GAMES_SEARCHED and len(games) < GAMES_A_PAGE:
        request = replace(chosen, before=token).request(tournament_id)
        page = await arena.call(arena.matches.ListMatches, request)
        searched += len(page.matches)
        token = page.next_page_token
        games += filter(chosen.admits, page.matches)
        if not token:
            break
    return GameList(chosen, games, chosen.query(before=token) if token else "")
