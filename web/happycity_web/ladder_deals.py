"""Lists of the ladder's deals: which ones an address asks for, and the page that shows them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from starlette.requests import Request

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity_web.ladder import PAGE_LINES, ladder_values
from happycity_web.live import Feeds
from happycity_web.pages import Page
from happycity_web.queries import LARGEST, bot_of, number_of, query_text, word_of

KINDS = {
    "rated": pb.DEAL_KIND_RATED,
    "challenge": pb.DEAL_KIND_CHALLENGE,
    "comparison": pb.DEAL_KIND_COMPARISON,
}
"""What deals are played for, by the words that addresses have for it."""


@dataclass(frozen=True, slots=True)
class DealFilter:
    """Which deals are listed. Each field but the default leaves others out."""

    bot: str = ""
    version: int = 0
    board: str = ""
    season: int = 0
    kind: str = ""
    challenge: int = 0
    deal: int = 0
    before: str = ""
    """Where the page begins; "" for the first one."""

    @classmethod
    def of(cls, request: Request) -> Self:
        """Return what an address asks for.

        Raises:
            ApiError: a value can't be one of its field.
            ConfigError: no bot can have the name.
        """
        query = request.query_params
        kind = query.get("kind", "")
        return cls(
            bot=bot_of(query),
            version=number_of(query, "version", 1, LARGEST, default=0),
            board=query.get("board", ""),
            season=number_of(query, "season", 1, LARGEST, default=0),
            kind=word_of("kind", kind, KINDS) if kind else "",
            challenge=number_of(query, "challenge", 1, LARGEST, default=0),
            deal=number_of(query, "deal", 1, LARGEST, default=0),
            before=query.get("before", ""),
        )

    def query(self, **changes: Any) -> str:
        """Return the query of the address of these deals, with some fields changed."""
        return query_text(self, **changes)

    @property
    def is_empty(self) -> bool:
        """Whether it leaves no deal out."""
        return replace(self, before="") == DealFilter()

    def request(self) -> pb.ListLadderDealsRequest:
        """Return what asks for a page of the deals."""
        return pb.ListLadderDealsRequest(
            page_size=PAGE_LINES,
            page_token=self.before,
            bot=self.bot,
            version_id=self.version or None,
            board=self.board,
            season_id=self.season or None,
            kind=KINDS[self.kind] if self.kind else None,
            challenge_id=self.challenge or None,
            deal_id=self.deal or None,
        )


async def ladder_deals_page(feeds: Feeds, request: Request) -> Page:
    """Show deals, newest first, each with its games."""
    arena, chosen = feeds.arena, DealFilter.of(request)
    got = await arena.call(arena.ladder.ListLadderDeals, chosen.request())
    values = await ladder_values(feeds)
    values |= {
        "chosen": chosen,
        "kinds": list(KINDS),
        "deals": list(got.deals),
        "next_page": got.next_page_token,
    }
    return Page("deals.html", values, {"deals": values["deals"], "next_page": got.next_page_token})
