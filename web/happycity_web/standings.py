"""The standings of tournaments for pages, which don't wait for those that take long to load."""

from __future__ import annotations

import asyncio
from time import monotonic

from happycity_server.frontends import Arena
from happycity_tournament.running.figures import Figures
from happycity_tournament.running.standings import Standings

LOAD_SECONDS = 0.3
"""How long a page waits for standings; loading those of 100,000 games takes several seconds."""
FIGURES_SECONDS = 10.0
"""How long the figures of a running tournament are shown before they are computed again."""
_KEPT_FIGURES = 16


class StandingsFeeds:
    """Loads the standings of each tournament once for all who ask."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._loading: dict[int, asyncio.Task[Standings]] = {}
        self._figures: dict[int, tuple[float, int, Figures]] = {}
        """By tournament: when they were computed, after how many games, and what they are."""
        self._computing = asyncio.Lock()

    async def of_tournament(self, tournament_id: int, *, patient: bool = False) -> Standings | None:
        """Return the standings; None if they take longer to load, unless a caller is patient.

        Raises:
            ApiError: there is no such tournament, or it can't be read.
        """
        task = self._loading.get(tournament_id)
        if task is None:
            task = self._loading[tournament_id] = asyncio.create_task(self._arena.standings(tournament_id))
            task.add_done_callback(lambda done: self._forget(tournament_id, done))
        done, _ = await asyncio.wait((task,), timeout=None if patient else LOAD_SECONDS)
        return task.result() if done else None

    async def figures(self, tournament_id: int, standings: Standings) -> Figures:
        """Return the figures of standings, which may be some seconds old."""
        async with self._computing:  # once for all who ask, and no more than one at a time
            made_at, games, figures = self._figures.get(tournament_id, (0.0, -1, None))
            if figures is None or (games != standings.games and monotonic() - made_at > FIGURES_SECONDS):
                games = standings.games
                figures = await asyncio.to_thread(standings.figures_later())
                self._figures.pop(tournament_id, None)
                self._figures[tournament_id] = monotonic(), games, figures
                while len(self._figures) > _KEPT_FIGURES:
                    del self._figures[next(iter(self._figures))]
            return figures

    def _forget(self, tournament_id: int, done: asyncio.Task[Standings]) -> None:
        del self._loading[tournament_id]
        if not done.cancelled():
            done.exception()  # those who wait for it get it; if nobody does, nobody needs it
