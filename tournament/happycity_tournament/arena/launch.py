"""The first processes of a run on a server of its own.

They are started before this process has imported what it needs to talk to them, so that all of them import at
once. Reference bots connect when they are given the server's address. Until then they end with this process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from happycity.runtime.extras import missing_packages
from happycity_tournament.arena.processes import ServerProcess, start_server
from happycity_tournament.arena.run_folder import TOKENS_FILE
from happycity_tournament.arena.tokens import IssuedTokens
from happycity_tournament.bots.lineup import Lineup
from happycity_tournament.bots.processes import ReferenceBots, start_all_reference_bots

if TYPE_CHECKING:  # few runs have one
    from happycity_tournament.bots.cluster import ClusterTask

CORES_OF_A_PLACE = 2
"""Cores that a process that plays games keeps busy together with its bots."""
MOST_WORKERS = 256


@dataclass(frozen=True, slots=True)
class Launch:
    """A run's own server, and reference bots that wait for its address."""

    server: ServerProcess
    tokens: IssuedTokens
    """Admits this session and its bots."""
    organiser: str
    """The session's own token."""
    observer: str
    """The token for the server's pages; "" if it has none."""
    reference_bots: list[ReferenceBots]


def default_workers(lineup: Lineup, games: int, concurrency: int) -> int:
    """Return how many workers a run has by default.

    A place that plays fewer games than it may play at once is not worth its start. Programs of others may not
    expect to be started more than once.
    """
    if len(lineup.reference_bots) < len(lineup.bots):
        return 0
    return max(0, min(_cores() // CORES_OF_A_PLACE, games // concurrency) - 1)


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """The nodes of a Ray cluster that play for a run."""

    address: str
    workers: int
    """Workers on them; 0: as many as the nodes have CPUs for."""
    most_workers: int = MOST_WORKERS
    """More than these have nothing to do."""
    lineup: Lineup
    """The bots that are started for each worker."""

    def task(self, tokens: IssuedTokens, folder: Path) -> ClusterTask:
        """Return what the server gets that uses them."""
        from happycity_tournament.bots.cluster import ClusterTask, LocalBots  # noqa: PLC0415 - few runs do

        return ClusterTask(
            address=self.address,
            workers=self.workers,
            most_workers=self.most_workers,
            bots=LocalBots(lineup=self.lineup, tokens=tokens.of(self.lineup.started)),
            folder=folder.absolute(),
        )


def launch(
    store: str,
    folder: Path,
    lineup: Lineup | None = None,
    *,
    web: bool = False,
    workers: int = 0,
    nodes: Nodes | None = None,
) -> Launch:
    """Start a server on a store with its workers, and the reference bots of a lineup for each of them.

    With `web` the server has pages too, if what they need is installed. `nodes` of a cluster play beside it.
    """
    tokens = IssuedTokens(folder / TOKENS_FILE)
    tokens.path.unlink(missing_ok=True)
    organiser = tokens.organiser()
    web = web and not missing_packages("web")
    observer = tokens.observer() if web else ""
    own = {} if lineup is None else tokens.of(lineup.started)
    server = start_server(
        store,
        tokens=tokens.path,
        folder=folder,
        web=web,
        workers=workers,
        cluster=None if nodes is None else nodes.task(tokens, folder),
    )
    bots = [
        process
        for worker in range(workers + 1)
        if lineup is not None
        for process in start_all_reference_bots(lineup, worker, tokens=own, environment={}, folder=folder)
    ]
    return Launch(server, tokens, organiser, observer, bots)
