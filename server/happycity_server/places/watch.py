"""What watchers of a match see: each position is encoded once, however many watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

import structlog

from happycity import Game, Incident, Move
from happycity.records.record import Json, loads
from happycity.records.replay import deal_of, incidents_of, metrics_of, results_of
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import incident_message, result_message, void_reason_number
from happycity.wire.messages import event_message, move_message, view_message
from happycity_server.play.match import Match, MatchState, OpenMatch
from happycity_tournament.storage import unpack

_log = structlog.get_logger()


class Play(NamedTuple):
    """What has happened in a match so far."""

    moves: Sequence[tuple[int, Move]]
    """Seat and move of each decision."""
    think_us: Sequence[int]
    """Microseconds that each decision took."""
    metrics: Sequence[Json]
    """Numbers that bots sent, as a record has them, in the order of the decisions."""
    incidents: Sequence[Incident]
    """What went wrong, in the order of the decisions."""

    @classmethod
    def of(cls, match: Match) -> Self:
        """Return what has happened in a match that waits or runs."""
        referee = match.referee
        return cls(referee.moves, referee.think_us, referee.metrics, referee.incidents)

    @classmethod
    def recorded(cls, record: Json) -> Self:
        """Return what happened in a finished match."""
        moves = [(line["seat"], Move.parse(line["move"])) for line in record["moves"]]
        think_us = record["clock"]["think_us"] if "clock" in record else [0] * len(moves)
        metrics_of(record)  # refuses malformed ones
        return cls(moves, think_us, record.get("metrics", ()), incidents_of(record))


class MatchFeed:
    """The steps of a match as encoded responses, and its end."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        """Adds the steps of a match that is not over."""
        self._steps: list[bytes] = []
        self._end: bytes | None = None
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self._steps)

    async def responses(self, *, skip: int) -> AsyncIterator[bytes]:
        """Yield the steps after the first `skip` decisions, those to come too, and the end."""
        async for step in self.steps(skip=skip):
            yield step
        assert self._end is not None
        yield self._end

    async def steps(self, *, skip: int) -> AsyncIterator[bytes]:
        """Yield the steps after the first `skip` decisions, those to come too."""
        position = skip
        while True:
            changed = self._changed
            while position < len(self._steps):
                yield self._steps[position]
                position += 1
            if self._end is not None:
                return
            await changed.wait()

    def add(self, step: bytes) -> None:
        """Add a step."""
        self._steps.append(step)
        self._signal()

    def finish(self, end: pb.MatchEnd) -> None:
        """Add the end."""
        self._end = pb.WatchMatchResponse(end=end).SerializeToString()
        self._signal()

    def _signal(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class PlayedFeed(MatchFeed):
    """The feed of a match that is played here, or was recorded: its game is played once more."""

    def __init__(self, game: Game) -> None:
        """Begin with the position of a game at its first decision."""
        super().__init__()
        self._game = game
        self._metrics = self._incidents = 0  # how many of them are in the steps
        self._add_step(pb.MatchStep())

    def play(self, played: Play) -> None:
        """Catch up with a match, of which the first moves were played here already."""
        before = len(self._steps) - 1
        new = islice(zip(played.moves, played.think_us, strict=True), before, None)
        for number, ((seat, move), think_us) in enumerate(new, start=before + 1):
            coins = self._game.coin_change(move)
            self._game.apply(move)
            step = pb.MatchStep(seat=seat, move=move_message(move, coins), think_us=think_us or None)
            for entry in islice(played.metrics, self._metrics, None):
                if entry["decision"] > number:
                    break
                self._metrics += 1
                step.metrics.update(entry["values"])
            for incident in islice(played.incidents, self._incidents, None):
                if incident.decision_id > number:
                    break
                self._incidents += 1
                step.incidents.append(incident_message(incident))
            self._add_step(step)
        self._signal()

    def _add_step(self, step: pb.MatchStep) -> None:
        """Add a step, to which the position after it is added."""
        step.decisions = len(self._steps)
        step.events.extend(map(event_message, self._game.events))
        step.view.CopyFrom(view_message(self._game.view()))
        self._steps.append(pb.WatchMatchResponse(step=step).SerializeToString())


class LiveFeeds:
    """The feeds of the matches that are watched while they wait or run."""

    def __init__(self) -> None:
        self._feeds: dict[int, MatchFeed] = {}

    def feed_of(self, match: OpenMatch) -> MatchFeed:
        """Return the feed of a match, which all its watchers share."""
        feed = self._feeds.get(match.match_id)
        if feed is None:
            feed = self._feeds[match.match_id] = PlayedFeed(Game(match.spec.deal))
            steps = _follow(match, feed) if isinstance(match, Match) else _follow_worker(match, feed)
            feed.task = asyncio.create_task(self._run(match, feed, steps))
        return feed

    async def _run(self, match: OpenMatch, feed: MatchFeed, steps: Coroutine[Any, Any, None]) -> None:
        """Add the steps of a match to its feed as they are made, then its end."""
        await steps
        await match.closed.wait()  # a watcher who gets the result finds the match in the store
        feed.finish(match_end(match))
        del self._feeds[match.match_id]


async def _follow(match: Match, feed: PlayedFeed) -> None:
    """Add the moves of a match to its feed as they are made."""
    moved = asyncio.Event()
    match.watchers.add(moved.set)
    try:
        while not match.over.done():
            moved.clear()
            feed.play(Play.of(match))
            await moved.wait()
        feed.play(Play.of(match))
    except Exception:  # noqa: BLE001 - where a match fails, its last move may fail here too
        _log.exception("feed_failed", match=match.match_id)
    match.watchers.discard(moved.set)


async def _follow_worker(match: OpenMatch, feed: PlayedFeed) -> None:
    """Add the moves of a match that a worker plays, by its record: all of them at its end."""
    await asyncio.wait((match.over,))
    if match.state is MatchState.FINISHED:
        played = await asyncio.to_thread(lambda: Play.recorded(loads(unpack(match.packed_record))))
        feed.play(played)


def match_end(match: OpenMatch) -> pb.MatchEnd:
    """Write the end of a match that is over."""
    if match.void_reason is not None:
        return pb.MatchEnd(decisions=match.decisions, void_reason=void_reason_number(match.void_reason))
    return pb.MatchEnd(decisions=match.decisions, result=result_message(match.results))


def recorded_feed(record: Json) -> PlayedFeed:
    """Return the feed of a finished match, by its record; it takes some milliseconds.

    Raises:
        RecordError: the record is malformed.
    """
    feed = PlayedFeed(Game(deal_of(record)))
    played = Play.recorded(record)
    feed.play(played)
    feed.finish(pb.MatchEnd(decisions=len(played.moves), result=result_message(results_of(record))))
    return feed
