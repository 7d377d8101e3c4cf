"""What a run gives its server that plays on the nodes of a Ray cluster too."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from happycity_tournament.bots.lineup import Lineup

CPUS_OF_A_WORKER = 2
"""CPUs of a node that a worker gets: one for the process that plays games, and one for its bots."""


class LocalBots(BaseModel):
    """The bots that are started wherever games are played."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    lineup: Lineup
    tokens: dict[str, str] = Field(default={}, repr=False)
    """What they show, by their names."""


class ClusterTask(BaseModel):
    """The cluster that a run plays on; one line of JSON on the standard input of its server."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    address: str
    """As Ray takes it: host:port, or `auto`."""
    workers: int = 0
    """Workers to start; 0: one for every `CPUS_OF_A_WORKER` CPUs of each node."""
    most_workers: int
    """More than these have nothing to do; only where the cluster decides how many there are."""
    bots: LocalBots
    folder: Path
    """Where the output of bots goes when they end."""
