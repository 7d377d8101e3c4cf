"""Deals that a stop of the server has broken off: they go on when their bots are back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import structlog

from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.ladder.entries import Deal, Version
from happycity_tournament.storage import AsyncStore, StoreError
from happycity_tournament.storage.ladder import LadderStore

_log = structlog.get_logger()


class ReturningDeals:
    """The open deals of the store that are not being played."""

    def __init__(self, config: LadderConfig, store: AsyncStore, clock: Callable[[], float]) -> None:
        self.stale = False
        """Whether deals have been broken off meanwhile."""
        self.deadline: float | None = None
        """Until when they wait for their bots, Unix time; None without any."""
        self._config = config
        self._store = store
        self._ladder = LadderStore(store.store)
        self._clock = clock
        self._open: dict[int, tuple[Deal, frozenset[int]]] = {}
        self._versions: dict[int, Version] = {}

    def __contains__(self, deal_id: object) -> bool:
        """Return whether a deal waits for its bots."""
        return deal_id in self._open

    async def load(self, *, playing: Iterable[int] = ()) -> None:
        """Read the open deals, but for those that are being played.

        Raises:
            StoreError: the store can't be read.
        """
        # A deal that ends or is broken off while the store is read is not taken for one that waits.
        playing, self.stale = set(playing), False
        try:
            found = await self._store.read(self._ladder.open_deals)
            waiting = {deal_id: entry for deal_id, entry in found.items() if deal_id not in playing}
            ids = {version for deal, _ in waiting.values() for version in deal.versions}
            self._versions = await self._store.read(self._ladder.versions, ids)
        except StoreError:
            self.stale = True
            raise
        self._open = waiting
        self.deadline = self._clock() + self._config.return_seconds if self._open else None
        if self._open:
            _log.info("ladder_deals_return", deals=len(self._open), seconds=self._config.return_seconds)

    async def take(
        self, present: Mapping[str, Version], playing: Iterable[int]
    ) -> list[tuple[Deal, tuple[str, ...], frozenset[int]]]:
        """Return the deals whose bots are all there, with these and the rotations that were played.

        Those whose bots come as another version, or not in time, and those whose board is gone are dropped.

        Raises:
            StoreError: the store can't be read, or written to.
        """
        if self.stale:
            await self.load(playing=playing)
        ready, lost = [], []
        late = self.deadline is not None and self._clock() >= self.deadline
        for deal, played in self._open.values():
            bots = tuple(self._versions[version].bot for version in deal.versions)
            there = [present[bot].id if bot in present else None for bot in bots]
            if not self._config.has_board(deal.board):
                lost.append(deal.id)
            elif there == list(deal.versions):
                ready.append((deal, bots, played))
            elif late or any(map(_differ, there, deal.versions)):
                lost.append(deal.id)
        for deal_id in lost:
            reason = "its bots have not come back, or its board is gone"
            _log.warning("ladder_deal_dropped", deal=deal_id, reason=reason)
            await self._store.write(self._ladder.drop_deal, deal_id, self._clock())
            del self._open[deal_id]
        for deal, _, _ in ready:
            del self._open[deal.id]
        if not self._open:
            self.deadline = None
        return ready


def _differ(there: int | None, version: int) -> bool:
    return there is not None and there != version
