"""What the commands ask of a server's ladder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity_tournament.client.connection import PAGE_SIZE, Connection


async def pages(
    connection: Connection, method: Callable[..., Awaitable[Any]], request: Any, field: str, limit: int
) -> list[Any]:
    """Return the first entries of a list, at most `limit`, 0: all; `field` has those of a page.

    The request's page size and token are set here.
    """
    entries: list[Any] = []
    request.page_size = min(limit or PAGE_SIZE, PAGE_SIZE)
    async for page in connection.pages(method, request):
        entries += getattr(page, field)
        if limit and len(entries) >= limit:
            break
    return entries[: limit or None]


async def leaderboard(
    connection: Connection, *, board: str, season: int | None, ranked_only: bool, limit: int
) -> tuple[pb.Ladder, pb.GetLeaderboardResponse]:
    """Return the ladder, and a leaderboard of at most `limit` lines, 0: all."""
    ladder = await connection.call(connection.ladder.GetLadder, pb.GetLadderRequest())
    request = pb.GetLeaderboardRequest(
        board=board, season_id=season, ranked_only=ranked_only, page_size=min(limit or PAGE_SIZE, PAGE_SIZE)
    )
    whole = await connection.call(connection.ladder.GetLeaderboard, request)
    request.page_token = whole.next_page_token
    while request.page_token and (not limit or len(whole.lines) < limit):
        page = await connection.call(connection.ladder.GetLeaderboard, request)
        whole.lines.extend(page.lines)
        request.page_token = page.next_page_token
    if limit:
        del whole.lines[limit:]
    return ladder, whole
