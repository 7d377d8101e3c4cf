"""The newest results as an Atom feed (RFC 4287): tournaments, deals of the ladder, and single games."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from starlette.requests import Request
from starlette.responses import Response

from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder_pb
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity_tournament.wire import state_of
from happycity_web.render import deal_places, origin_of, render_feed
from happycity_web.watch import Feeds, cached_response

ENTRIES = 50
"""The most entries of the feed, and of each kind that are looked through."""
FEED_CALLS = 4
"""What making the feed costs besides the request, in calls."""


class Entry(NamedTuple):
    """A result in the feed."""

    path: str
    title: str
    text: str
    time: Timestamp


async def results_feed(feeds: Feeds, request: Request) -> Response:
    """Return the feed."""
    feeds.arena.gate.charge(FEED_CALLS)
    entries = [entry async for entry in _results(feeds)]
    entries.sort(key=lambda entry: entry.time.ToNanoseconds(), reverse=True)
    text = await feeds.in_thread(render_feed, entries[:ENTRIES], origin_of(request))
    return cached_response(request, text.encode(), "application/atom+xml", cache="max-age=60")


async def _results(feeds: Feeds) -> AsyncIterator[Entry]:
    arena = feeds.arena
    tournaments = await arena.call(
        arena.tournaments.ListTournaments, tournament_pb.ListTournamentsRequest(page_size=ENTRIES)
    )
    for one in tournaments.tournaments:
        if state_of(one.progress.state).revealed:
            path, time = f"/tournaments/{one.tournament_id}", Timestamp()
            begun = one.start_time if one.HasField("start_time") else one.create_time
            time.FromDatetime(begun.ToDatetime() + timedelta(seconds=one.progress.elapsed.seconds))
            games = f"{one.progress.games_finished} games of {len(one.config.bots)} bots"
            yield Entry(path, one.config.title or f"Tournament {one.tournament_id}", games, time)
    if arena.ladder.keeps_ladder:
        asked = ladder_pb.ListLadderDealsRequest(page_size=ENTRIES)
        for deal in (await arena.call(arena.ladder.ListLadderDeals, asked)).deals:
            if deal.HasField("finish_time"):
                bots = ", ".join(f"{place.place}. {place.version.bot}" for place in deal_places(deal))
                path, title = f"/ladder/deals?deal={deal.deal_id}", f"Deal {deal.deal_id}, {deal.board}"
                yield Entry(path, title, bots, deal.finish_time)
    finished = match_pb.ListMatchesRequest(page_size=ENTRIES, state=match_pb2.MATCH_STATE_FINISHED)
    for match in (await arena.call(arena.matches.ListMatches, finished)).matches:
        if not (match.tournament_id or match.ladder_deal_id or match.practice):
            seats = zip(match.bots, match.result.seats, strict=True)
            points = ", ".join(f"{bot} {seat.points}" for bot, seat in seats)
            yield Entry(f"/matches/{match.match_id}", f"Match {match.match_id}", points, match.finish_time)
