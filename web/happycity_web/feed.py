"""The newest results as an Atom feed (RFC 4287): tournaments and deals of the ladder that are over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request

from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity_tournament.wire import state_of
from happycity_web.query import Query
from happycity_web.render import Page
from happycity_web.tournaments import newest_tournaments
from happycity_web.watch import Feeds

ENTRIES = 50
"""The most entries of the feed, and of each kind that are looked through."""
FEED_CALLS = 4
"""What making the feed costs besides the request, in calls."""


async def results_feed(feeds: Feeds, _request: Request, _query: Query) -> Page:
    """Return the feed, newest results first."""
    arena = feeds.arena
    arena.charge(FEED_CALLS)
    listed = await newest_tournaments(feeds, page_size=ENTRIES)
    results: list[tuple[datetime, Any]] = [
        (_end_of(one), one) for one in listed if state_of(one.progress).ended
    ]
    if arena.ladder.keeps_ladder:
        deals = (await arena.call(arena.ladder.ListLadderDeals, page_size=ENTRIES)).deals
        results += [
            (deal.finish_time.ToDatetime(UTC), deal) for deal in deals if deal.HasField("finish_time")
        ]
    results.sort(key=lambda result: result[0], reverse=True)
    return Page("feed.atom", {"results": results[:ENTRIES]}, ())


def _end_of(tournament: tournament_pb.Tournament) -> datetime:
    """Return when a tournament ended; pauses, while its server was stopped, are not counted."""
    begun = tournament.start_time if tournament.HasField("start_time") else tournament.create_time
    return begun.ToDatetime(UTC) + timedelta(seconds=tournament.progress.elapsed.seconds)
