"""Matches that a server plays: how a caller waits for the end of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import duration_message

WAIT_SECONDS = 30.0
"""How long one call waits, which is the longest that a server allows."""


async def match_at_end(
    get_match: Callable[[pb.GetMatchRequest], Awaitable[pb.Match]], match_id: int
) -> pb.Match:
    """Wait until a match is over, and return it; `get_match` calls `GetMatch`, and its errors are raised."""
    request = pb.GetMatchRequest(match_id=match_id, wait=duration_message(WAIT_SECONDS))
    while True:
        match = await get_match(request)
        if match.HasField("outcome"):
            return match
