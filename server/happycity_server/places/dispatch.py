"""Decides at which place each game of a tournament or of the ladder is played."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from happycity_server.places.protocol import Place
from happycity_tournament.games import Fixture
from happycity_tournament.play.terms import Terms


@dataclass(slots=True, eq=False)
class _Deal:
    """The games of one deal, which are all played at one place."""

    key: tuple[int, int, int]
    """Tournament, or 0 for the ladder, round and table."""
    bots: frozenset[str]
    limit: int
    """Games of the tournament that a place plays at once."""
    number: int
    place: Place | None = None
    waiting: list[asyncio.Future[Place | None]] = field(default_factory=list)
    """Of games that wait for a place; they get None if they are dropped."""


class Dispatcher:
    """Divides games among places: whole deals, each to the least busy place that has all its bots.

    A deal waits while all such places are full. If no place has all its bots, the server itself plays it,
    where bots that are away are waited for as long as their grace time.
    """

    def __init__(self, places: Callable[[], Sequence[Place]]) -> None:
        """Divide games among `places`, the first of which is the server itself; others come and go."""
        self._places = places
        self._games: Counter[Place] = Counter()
        """Games by place; of places that play none, nothing is kept."""
        self._games_of: Counter[tuple[Place, int]] = Counter()
        """Games by place and tournament."""
        self._last: dict[int, _Deal] = {}  # by tournament that is played
        self._queues: dict[frozenset[Place], deque[_Deal]] = {}
        """The deals that wait, oldest first, by the places that may play them."""
        self._numbers = itertools.count()

    @asynccontextmanager
    async def placed(self, fixture: Fixture, terms: Terms) -> AsyncIterator[Place | None]:
        """Yield where a game is played, once there is room; None if it was dropped meanwhile.

        The game counts there while the context lasts.
        """
        deal = self._deal_of(fixture, terms)
        place = deal.place
        if place is not None:
            self._count(place, terms.tournament_id, 1)
        else:
            granted: asyncio.Future[Place | None] = asyncio.get_running_loop().create_future()
            deal.waiting.append(granted)
            try:
                place = await granted
            except asyncio.CancelledError:
                if granted.done() and not granted.cancelled():  # it was granted just before
                    self._release(granted.result(), terms.tournament_id)
                raise
        try:
            yield place
        finally:
            self._release(place, terms.tournament_id)

    def drop(self, tournament_id: int) -> None:
        """Let the games of a tournament that wait for a place go without one, and forget the tournament."""
        for queue in self._queues.values():
            for deal in queue:
                if deal.key[0] == tournament_id:
                    self._grant(deal, None)
        self.reconsider()
        self._last.pop(tournament_id, None)

    def reconsider(self) -> None:
        """Look for places again, as bots or workers have come or gone."""
        if not self._queues:
            return
        deals = sorted(itertools.chain(*self._queues.values()), key=lambda deal: deal.number)
        self._queues.clear()
        for deal in deals:
            if any(not granted.done() for granted in deal.waiting):
                self._place_or_queue(deal)

    def _release(self, place: Place | None, tournament_id: int) -> None:
        """Note that a game is over, and begin another deal there."""
        if place is None:
            return
        self._count(place, tournament_id, -1)
        if self._queues:
            self._fill(place)

    def _count(self, place: Place, tournament_id: int, change: int) -> None:
        self._games[place] += change
        if not self._games[place]:
            del self._games[place]
        self._games_of[place, tournament_id] += change
        if not self._games_of[place, tournament_id]:
            del self._games_of[place, tournament_id]

    def _deal_of(self, fixture: Fixture, terms: Terms) -> _Deal:
        """Return the deal of a game: the last one, if it is another order of the same seats."""
        key = (terms.tournament_id, fixture.round, fixture.table)
        deal = self._last.get(terms.tournament_id)
        if deal is not None and deal.key == key and (deal.place is None or deal.place in self._places()):
            return deal
        bots = frozenset(fixture.bots).difference(terms.disqualified)
        deal = self._last[terms.tournament_id] = _Deal(key, bots, terms.concurrency, next(self._numbers))
        self._place_or_queue(deal)
        return deal

    def _place_or_queue(self, deal: _Deal) -> None:
        places = self._places()
        fit = [place for place in places if all(map(place.is_connected, deal.bots))] or [places[0]]
        with_room = [place for place in fit if self._has_room(place, deal)]
        if with_room:
            self._grant(deal, min(with_room, key=lambda place: self._games[place]))
        else:
            self._queues.setdefault(frozenset(fit), deque()).append(deal)

    def _has_room(self, place: Place, deal: _Deal) -> bool:
        return self._games_of[place, deal.key[0]] < deal.limit

    def _fill(self, place: Place) -> None:
        """Begin the oldest deals that wait for a place, as far as it has room."""
        while True:
            fits = [fit for fit in self._queues if place in fit]
            oldest = min(fits, key=lambda fit: self._queues[fit][0].number, default=None)
            if oldest is None or not self._has_room(place, self._queues[oldest][0]):
                return
            deal = self._queues[oldest].popleft()
            if not self._queues[oldest]:
                del self._queues[oldest]
            self._grant(deal, place)

    def _grant(self, deal: _Deal, place: Place | None) -> None:
        """Let the games of a deal begin, or drop them."""
        deal.place = place
        for granted in deal.waiting:
            if not granted.done():
                if place is not None:
                    self._count(place, deal.key[0], 1)
                granted.set_result(place)
        deal.waiting.clear()
