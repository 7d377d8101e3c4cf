"""Decides at which place each game of a tournament is played."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from happycity_server.places.place import Place
from happycity_tournament.games import Fixture
from happycity_tournament.running.terms import Terms


@dataclass(slots=True, eq=False)
class _Deal:
    """The games of one deal, which are all played at one place."""

    key: tuple[int, int, int]
    """Tournament, or 0 for the ladder, round and table."""
    bots: frozenset[str]
    limit: int
    """Games of the tournament that a place plays at once."""
    grace_seconds: float
    """How long bots that are at no common place are waited for."""
    number: int
    place: Place | None = None
    since: float = 0.0
    waiting: list[asyncio.Future[Place | None]] = field(default_factory=list)
    """Of games that wait for a place; they get None if they are dropped."""


_RETRY_SECONDS = 0.1  # a timer that comes a little early may not be followed by another at once


class Dispatcher:
    """Divides games among places: whole deals, each to the least busy place that has all its bots.

    A deal waits while all such places are full. Where a bot has no place in common with the others, they are
    waited for as long as the tournament's grace time; then the place with most of them plays it.
    """

    def __init__(self, places: Iterable[Place], clock: Callable[[], float]) -> None:
        self._places = tuple(places)
        self._clock = clock
        self._open: dict[Place, Counter[int]] = {place: Counter() for place in self._places}
        """Games by place and tournament."""
        self._last: dict[int, _Deal] = {}  # by tournament
        self._queues: dict[frozenset[Place], deque[_Deal]] = {}
        """The deals that wait, oldest first, by the places that may play them."""
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None  # until the next deal has waited long enough

    async def place_for(self, fixture: Fixture, terms: Terms) -> Place | None:
        """Return where a game is to be played, once there is room; None if it was dropped meanwhile.

        The caller must `release` the place.
        """
        deal = self._deal_of(fixture, terms)
        if deal.place is not None:
            self._open[deal.place][deal.key[0]] += 1
            return deal.place
        granted: asyncio.Future[Place | None] = asyncio.get_running_loop().create_future()
        deal.waiting.append(granted)
        return await granted

    def release(self, place: Place, tournament_id: int) -> None:
        """Note that a game is over, and begin another deal there."""
        open_games = self._open[place]
        open_games[tournament_id] -= 1
        if not open_games[tournament_id]:
            del open_games[tournament_id]
        if self._queues:
            self._fill(place)

    def drop(self, tournament_id: int) -> None:
        """Let the games of a tournament that wait for a place go without one."""
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

    def _deal_of(self, fixture: Fixture, terms: Terms) -> _Deal:
        """Return the deal of a game: the last one, if it is another order of the same seats."""
        key = (terms.tournament_id, fixture.round, fixture.table)
        deal = self._last.get(terms.tournament_id)
        if deal is not None and deal.key == key and (deal.place is None or deal.place.ready):
            return deal
        deal = self._last[terms.tournament_id] = _Deal(
            key,
            frozenset(fixture.bots).difference(terms.disqualified),
            terms.concurrency,
            terms.policy.grace_seconds,
            next(self._numbers),
            since=self._clock(),
        )
        self._place_or_queue(deal)
        return deal

    def _place_or_queue(self, deal: _Deal) -> None:
        fit = self._places_for(deal)
        with_room = [place for place in fit if self._has_room(place, deal)]
        if with_room:
            self._grant(deal, min(with_room, key=lambda place: self._open[place].total()))
            return
        if not fit:
            left = deal.since + deal.grace_seconds - self._clock()
            self._reconsider_in(max(left, _RETRY_SECONDS))
        self._queues.setdefault(fit, deque()).append(deal)

    def _reconsider_in(self, seconds: float) -> None:
        """Look for places again after so many seconds, or before; one timer serves all deals."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            if self._timer.when() <= loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.reconsider()

    def _places_for(self, deal: _Deal) -> frozenset[Place]:
        """Return the places that may play a deal; none if its bots are to be waited for."""
        ready = frozenset(place for place in self._places if place.ready)
        connected = {bot: frozenset(place for place in ready if place.is_connected(bot)) for bot in deal.bots}
        known = {bot: frozenset(place for place in ready if place.knows(bot)) for bot in deal.bots}
        # A bot that is nowhere is no reason against any place: it forfeits everywhere alike.
        fit = ready.intersection(*(connected[bot] or known[bot] or ready for bot in deal.bots))
        fit = fit or ready.intersection(*(known[bot] or ready for bot in deal.bots))
        if fit or self._clock() < deal.since + deal.grace_seconds:
            return fit
        return frozenset({max(ready, key=lambda place: sum(place in where for where in connected.values()))})

    def _has_room(self, place: Place, deal: _Deal) -> bool:
        return self._open[place][deal.key[0]] < deal.limit

    def _fill(self, place: Place) -> None:
        """Begin the oldest deals that wait for a place, as far as it has room."""
        while True:
            queues = [queue for fit, queue in self._queues.items() if place in fit]
            first = min((queue[0] for queue in queues), key=lambda deal: deal.number, default=None)
            if first is None or not self._has_room(place, first):
                return
            for fit, queue in list(self._queues.items()):
                if queue[0] is first:
                    queue.popleft()
                    if not queue:
                        del self._queues[fit]
            self._grant(first, place)

    def _grant(self, deal: _Deal, place: Place | None) -> None:
        """Let the games of a deal begin, or drop them."""
        deal.place = place
        for granted in deal.waiting:
            if not granted.done():
                if place is not None:
                    self._open[place][deal.key[0]] += 1
                granted.set_result(place)
        deal.waiting.clear()
