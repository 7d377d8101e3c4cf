"""The first processes of a run on a server of its own.

They are started before this process has imported what it needs to talk to them, so that all of them import at
once. Reference bots connect when they are given the server's address. Until then they end with this process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from happycity.runtime.program import missing_packages
from happycity_tournament.arena.processes import ServerProcess, start_server
from happycity_tournament.arena.run_folder import TOKENS_FILE, OwnServer
from happycity_tournament.arena.tokens import IssuedTokens
from happycity_tournament.bots.lineup import Lineup
from happycity_tournament.bots.processes import ReferenceBots, start_all_reference_bots

CORES_OF_A_PLACE = 2
"""Cores that a process that plays games keeps busy together with its bots."""


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


def launch(
    venue: OwnServer, folder: Path, lineup: Lineup, *, web: bool = False, with_bots: bool = True
) -> Launch:
    """Start the server of a venue, and the reference bots of a lineup for it, unless not `with_bots`.

    The bots of the lineup also play at its workers, which start them by themselves. With `web` the server has
    pages too, if what they need is installed.
    """
    tokens = IssuedTokens(folder / TOKENS_FILE)
    tokens.path.unlink(missing_ok=True)
    organiser = tokens.organiser()
    web = web and not missing_packages("web")
    observer = tokens.observer() if web else ""
    own = tokens.of(lineup.started) if with_bots else {}
    server = start_server(venue, lineup, tokens=tokens.path, folder=folder, web=web)
    bots = start_all_reference_bots(lineup, tokens=own, environment={}, folder=folder) if with_bots else []
    return Launch(server, tokens, organiser, observer, bots)
