"""What viewers get while something runs: each position and page is made once, however many look."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

import structlog

from happycity.records.record import Json
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import incident_of, result_of, void_reason_of
from happycity.wire.messages import event_of, move_of, view_of
from happycity_server.frontends import Arena, MatchFeed
from happycity_viewer.languages import Language
from happycity_viewer.plies import Answer, encode, end_json, ply_json
from happycity_web.events import EventFeeds
from happycity_web.notes import GameNotes
from happycity_web.pace import Pace
from happycity_web.page_feed import MakePage, PageFeed
from happycity_web.reader import Reader
from happycity_web.standings import StandingsFeeds

MATCH_SECONDS = 0.1
"""Time between two messages to a viewer of a match, at least; positions of that time go together."""

_log = structlog.get_logger()


class MatchPlies:
    """The positions of a match as JSON, with words in a language, and its end."""

    def __init__(self, feed: MatchFeed, bots: Sequence[str], language: Language, pace: Pace) -> None:
        self.bots = bots
        """By seat."""
        self.plies: list[Json] = []
        self.texts: list[str] = []
        """The same, encoded."""
        self.end: Json | None = None
        self.shown = asyncio.Event()
        """Set, and then replaced, when viewers are to get what has changed."""
        self.changed = asyncio.Event()
        """Set at the next change, and then replaced."""
        self._language = language
        self._pace = pace
        self._showing: asyncio.TimerHandle | None = None
        self._shown_at = -math.inf
        self._messages: dict[int, str] = {}
        """By first position: the messages to viewers of the present positions."""
        self._task = asyncio.create_task(self._read(feed))

    def message(self, first: int) -> str:
        """Return the message with all positions from `first` on, which is made once for all viewers."""
        if first not in self._messages:
            self._messages[first] = f'{{"plies":[{",".join(self.texts[first:])}]}}'
        return self._messages[first]

    async def reach(self, plies: int) -> None:
        """Wait until there are so many positions, or the match has ended."""
        while len(self.plies) < plies and self.end is None:
            await self.changed.wait()

    async def finished(self) -> None:
        """Wait for the end."""
        while self.end is None:
            await self.changed.wait()

    async def _read(self, feed: MatchFeed) -> None:
        try:
            async for response in feed.responses(skip=0):
                self._add(pb.WatchMatchResponse.FromString(response))
                await asyncio.sleep(0)  # between positions, other things go on
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            _log.exception("plies_failed")
            self.end = {"void": "unknown"}
        self._signal()

    def _add(self, response: pb.WatchMatchResponse) -> None:
        if response.HasField("end"):
            self.end = _end(response.end)
        else:
            ply = _ply(response.step, self.bots, self._language)
            self.plies.append(ply)
            self.texts.append(encode(ply))
            self._messages.clear()
        self._signal()

    def _signal(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()
        if self._showing is None:
            loop = asyncio.get_running_loop()
            due = self._shown_at + self._pace.interval(MATCH_SECONDS)
            self._showing = loop.call_at(max(due, loop.time()), self._show)

    def _show(self) -> None:
        self._showing = None
        self._shown_at = asyncio.get_running_loop().time()
        self.shown.set()
        self.shown = asyncio.Event()


def _ply(step: pb.MatchStep, bots: Sequence[str], language: Language) -> Json:
    """Return a position of a game between `bots` as the viewer takes it."""
    answer = None
    if step.HasField("move"):
        is_timed = step.HasField("think_us")
        answer = Answer(
            seat=step.seat,
            move=move_of(step.move),
            answered=is_timed,
            think_us=step.think_us if is_timed else None,
            metrics=dict(step.metrics),
        )
    return ply_json(
        step.decisions,
        view_of(step.view),
        list(map(event_of, step.events)),
        bots,
        answer=answer,
        incidents=list(map(incident_of, step.incidents)),
        texts=language.texts,
    )


def _end(end: pb.MatchEnd) -> Json:
    """Return how a game ended as the viewer takes it."""
    if end.WhichOneof("end") == "void_reason":
        return end_json((), void_reason_of(end.void_reason))
    return end_json(result_of(end.result))


class Feeds:
    """What viewers share."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.pace = Pace()
        self.events = EventFeeds(arena)
        self.standings = StandingsFeeds(arena)
        self.notes = GameNotes(arena)
        self._matches: WeakKeyDictionary[MatchFeed, dict[Language, MatchPlies]] = WeakKeyDictionary()
        self._pages: dict[str, PageFeed] = {}

    async def of_match(self, match_id: int, language: Language) -> MatchPlies:
        """Return the positions of a match with words in a language; they grow while it runs.

        Raises:
            ApiError: there is no such match, or the caller may not see it yet.
        """
        feed = await self.arena.match_feed(match_id)
        in_languages = self._matches.setdefault(feed, {})
        if language not in in_languages:
            arena = self.arena
            match = await arena.call(arena.matches.GetMatch, pb.GetMatchRequest(match_id=match_id))
            # Another viewer may have come meanwhile.
            if language not in in_languages:
                in_languages[language] = MatchPlies(feed, list(match.bots), language, self.pace)
        return in_languages[language]

    @asynccontextmanager
    async def of_page(self, key: str, make: MakePage, reader: Reader) -> AsyncIterator[PageFeed]:
        """Give a page that is kept current while the context lasts, shared by all with the same key."""
        feed = self._pages.get(key)
        if feed is None:
            feed = self._pages[key] = PageFeed(make, reader, self.pace)
        feed.viewers += 1
        try:
            yield feed
        finally:
            feed.viewers -= 1
            if not feed.viewers:
                feed.task.cancel()
                del self._pages[key]
