"""The ladder's ratings while it is played: they follow the finished deals, in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import structlog

from happycity_ladder.beliefs import Beliefs
from happycity_ladder.entries import ModerationAction, RatedDeal, Rating, RatingPoint, Version
from happycity_ladder.rater import Rater
from happycity_server.ladder.served_book import ServedBook

DEALS_AT_ONCE = 500
"""Deals that are read and rated at once."""
SAVE_DEALS = 2000
"""After this number of deals the ratings are stored, so that a restart needn't rate all deals again."""
POINT_SECONDS = 2.0
"""Seconds between two points of a version's history at least, the last one excepted."""
POINT_SHARE = 0.02
"""The same as a share of the version's age: points get rarer, so that a year has some 700."""

_log = structlog.get_logger()
_T = TypeVar("_T")


class LadderRatings:
    """What is known of all versions, by board.

    LadderRatings follow from the finished deals in their order alone. So a version is entered on a board just
    before the first deal that it has finished there, not when it connects. Coroutines raise StoreError if
    the store can't be read, or written to.
    """

    def __init__(self, book: ServedBook) -> None:
        self._book = book
        self._rater = Rater(book.config)
        self._finished = 0  # the number of the last deal that was read
        self._saved = 0  # the same, when the ratings were stored
        self._history = _History()
        self.behind = True
        """Whether deals are missing that were finished before the start."""
        self._catching_up = asyncio.Lock()
        self._closing = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ladder-ratings")

    async def load(self) -> None:
        """Read the stored ratings; `catch_up` rates the deals since."""
        starts = [await self._load(board.name, board.players) for board in self._book.config.boards]
        self._finished = self._saved = min(starts)

    async def _load(self, board: str, players: int) -> int:
        """Read the ratings of a board; return the number of the last deal that they know."""
        stored = await self._book.read(self._book.beliefs, board)
        if stored is None:
            has_deals = await self._book.read(self._book.deals, 1, board=board)
            return 0 if has_deals else await self._book.read(self._book.last_finished)
        finished, state = stored
        try:
            beliefs = await self._in_thread(Beliefs.load, players, self._book.config, state)
        except ValueError as error:
            _log.warning("ladder_ratings_made_again", board=board, problem=str(error))
            return 0
        entered = beliefs.ratings(self._book.clock())
        self._rater.take(board, beliefs, await self._book.read(self._book.versions, entered))
        return finished

    async def catch_up(self) -> None:
        """Rate the deals that were finished meanwhile."""
        async with self._catching_up:
            while deals := await self._book.read(self._next_deals):
                # After the deals, so that a season that ended before one of them is among these.
                seasons = await self._book.read(self._book.closed_seasons)
                ids = {version for _, deal in deals for version in deal.versions}
                versions = await self._book.read(self._book.versions, ids)
                rated = [(board, deal) for board, deal in deals if versions.keys() >= set(deal.versions)]
                latest = await self._in_thread(self._rater.add, rated, versions, seasons)
                self._finished = deals[-1][1].finished
                points = list(latest.values())
                replaced = self._history.add(points, versions)
                await self._book.write(self._book.save_ratings, points, replaced=replaced)
                if self._finished - self._saved >= SAVE_DEALS:
                    await self._save()
                if len(deals) < DEALS_AT_ONCE or self._closing:
                    break
                _log.info("ladder_rating", deals=self._finished)
            self.behind = self.behind and self._closing

    async def void(self, action: ModerationAction, deal_ids: Collection[int]) -> ModerationAction:
        """Void deals, and let `catch_up` rate the others of their boards from the first one on."""
        async with self._catching_up:
            stored, boards = await self._book.write(self._book.void, action, deal_ids)
            players = {board.name: board.players for board in self._book.config.boards}
            for board in boards & players.keys():
                self._rater.take(board, Beliefs(players[board], self._book.config), {})
                self._finished, self.behind = 0, True
            self._history = _History()
            return stored

    def forget_names(self, bots: Collection[str]) -> None:
        """Let a bot that takes one of these names begin as a new one."""
        for entered in self._rater.entered.values():
            for bot in bots:
                entered.pop(bot, None)

    def begin_close(self) -> None:
        """Let `catch_up` leave most of the deals to the next start."""
        self._closing = True

    async def save(self) -> None:
        """Store the ratings for the next start."""
        async with self._catching_up:
            if self._finished > self._saved:
                await self._save()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    async def of(
        self, board: str, at: float | None = None, *, versions: Collection[int] | None = None
    ) -> dict[int, Rating]:
        """Return what is known, by default now, of all or some versions that have played on a board."""
        at = self._book.clock() if at is None else at
        return await self._in_thread(self._rater.beliefs[board].ratings, at, versions)

    async def using(self, function: Callable[[Mapping[str, Beliefs]], _T]) -> _T:
        """Return what a function makes of the beliefs by board; it runs in the thread of the ratings."""
        return await self._in_thread(function, self._rater.beliefs)

    async def _in_thread(self, function: Callable[..., _T], *args: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *args)

    def _next_deals(self) -> list[tuple[str, RatedDeal]]:
        with closing(self._book.rated_deals(self._finished)) as deals:
            return list(islice(deals, DEALS_AT_ONCE))

    async def _save(self) -> None:
        for board, beliefs in self._rater.beliefs.items():
            state = await self._in_thread(beliefs.dump)
            await self._book.write(self._book.keep_beliefs, board, self._finished, state)
        self._saved = self._finished


@dataclass(slots=True)
class _Line:
    """The history of a version on a board, as far as it is needed to go on with it."""

    first_at: float
    """When the version came."""
    fixed_at: float
    """When the last point was that stays."""
    last: RatingPoint

    def is_due(self, at: float) -> bool:
        """Return whether a point that is added at this time, or later, stays."""
        return at - self.fixed_at >= max(POINT_SECONDS, POINT_SHARE * (at - self.first_at))


class _History:
    """Thins out the histories of versions: the last point of each moves on until the next one is due.

    Then a version goes on as one without a history, so those that stopped playing take no memory.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int], _Line] = {}

    def add(self, points: Sequence[RatingPoint], versions: Mapping[int, Version]) -> list[RatingPoint]:
        """Add the latest points of some versions; return those that are to go in their place."""
        replaced = []
        for point in points:
            key = point.board, point.version_id
            line = self._lines.get(key)
            if line is None or line.is_due(point.at):
                self._lines[key] = _Line(versions[point.version_id].first_at, point.at, point)
            else:
                replaced.append(line.last)
                line.last = point
        now = max((point.at for point in points), default=0.0)
        self._lines = {key: line for key, line in self._lines.items() if not line.is_due(now)}
        return replaced
