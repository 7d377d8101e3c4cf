"""What watchers of a match see: each position is encoded once, however many watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import structlog

from happycity import Game, Move
from happycity.records import Json, deal_of, results_of
from happycity.v1 import match_service_pb2 as pb
from happycity.wire import event_message, move_message, result_message, view_message, void_reason_number
from happycity_server.play.match import Match

_log = structlog.get_logger()


class MatchFeed:
    """The steps of a match as encoded responses, and its end."""

    def __init__(self, game: Game) -> None:
        """Begin with the position of a game at its first decision."""
        self.task: asyncio.Task[None] | None = None
        """Adds the steps of a match that is not over."""
        self._game = game
        self._steps: list[bytes] = []
        self._end: bytes | None = None
        self._changed = asyncio.Event()
        self._add_step(None, seat=0)

    async def responses(self, *, skip: int) -> AsyncIterator[bytes]:
        """Yield the steps after the first `skip` decisions, those to come too, and the end."""
        position = skip
        while True:
            changed = self._changed
            while position < len(self._steps):
                yield self._steps[position]
                position += 1
            if self._end is not None:
                yield self._end
                return
            await changed.wait()

    def play(self, moves: Sequence[tuple[int, Move]], think_us: Sequence[int]) -> None:
        """Catch up with the moves of the match, of which the first ones were played here already."""
        played = len(self._steps) - 1
        for (seat, move), think in zip(moves[played:], think_us[played:], strict=True):
            coins = self._game.coin_change(move)
            self._game.apply(move)
            self._add_step(move, seat=seat, coins=coins, think_us=think)
        self._signal()

    def finish(self, end: pb.MatchEnd) -> None:
        """Add the end."""
        self._end = pb.WatchMatchResponse(end=end).SerializeToString()
        self._signal()

    def _add_step(self, move: Move | None, *, seat: int, coins: int = 0, think_us: int = 0) -> None:
        step = pb.MatchStep(
            decisions=len(self._steps),
            seat=seat,
            move=None if move is None else move_message(move, coins),
            events=map(event_message, self._game.events),
            view=view_message(self._game.view()),
            think_us=think_us or None,
        )
        self._steps.append(pb.WatchMatchResponse(step=step).SerializeToString())

    def _signal(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class LiveFeeds:
    """The feeds of the matches that are watched while they wait or run."""

    def __init__(self) -> None:
        self._feeds: dict[int, MatchFeed] = {}

    async def responses(self, match: Match, *, skip: int, end_only: bool) -> AsyncIterator[bytes]:
        """Yield what a watcher of a match gets: the end only, or also the steps after `skip` decisions."""
        if not end_only:
            async for response in self.feed_of(match).responses(skip=skip):
                yield response
            return
        await match.closed.wait()  # nobody looks at the steps, so they are not computed
        yield pb.WatchMatchResponse(end=match_end(match)).SerializeToString()

    def feed_of(self, match: Match) -> MatchFeed:
        """Return the feed of a match, which all its watchers share."""
        feed = self._feeds.get(match.match_id)
        if feed is not None:
            return feed
        feed = self._feeds[match.match_id] = MatchFeed(Game(match.spec.deal))
        feed.task = asyncio.create_task(self._follow(match, feed))
        return feed

    async def _follow(self, match: Match, feed: MatchFeed) -> None:
        """Add the moves of a match to its feed as they are made, then its end."""
        moved = asyncio.Event()
        match.watchers.add(moved.set)
        try:
            while not match.over.done():
                moved.clear()
                feed.play(match.referee.moves, match.referee.think_us)
                await moved.wait()
            feed.play(match.referee.moves, match.referee.think_us)
        except Exception:  # noqa: BLE001 - where a match fails, its last move may fail here too
            _log.exception("feed_failed", match=match.match_id)
        match.watchers.discard(moved.set)
        await match.closed.wait()  # a watcher who gets the result finds the match in the store
        feed.finish(match_end(match))
        del self._feeds[match.match_id]


def match_end(match: Match) -> pb.MatchEnd:
    """Write the end of a match that is over."""
    decisions = len(match.referee.moves)
    if match.void_reason is not None:
        return pb.MatchEnd(decisions=decisions, void_reason=void_reason_number(match.void_reason))
    return pb.MatchEnd(decisions=decisions, result=result_message(match.results))


def recorded_feed(record: Json) -> MatchFeed:
    """Return the feed of a finished match, by its record; it takes some milliseconds.

    Raises:
        RecordError: the record is malformed.
    """
    feed = MatchFeed(Game(deal_of(record)))
    moves = [(line["seat"], Move.parse(line["move"])) for line in record["moves"]]
    think_us = record["clock"]["think_us"] if "clock" in record else [0] * len(moves)
    feed.play(moves, think_us)
    feed.finish(pb.MatchEnd(decisions=len(moves), result=result_message(results_of(record))))
    return feed
