"""What a server gets that plays on the nodes of a Ray cluster too."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from happycity import ConfigError
from happycity.runtime.extras import missing_packages
from happycity_tournament.bots.lineup import Lineup


class LocalBots(BaseModel):
    """The bots that are started wherever games are played."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    lineup: Lineup
    tokens: dict[str, str] = Field(default={}, repr=False)
    """What they show, by their names."""


class ClusterTask(BaseModel):
    """A cluster with workers; the `ServerTask` of a run's server has it as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    address: str
    """As Ray takes it: host:port, `auto` or `local`."""
    workers: int = 0
    """Workers to start; 0: as many as the nodes have CPUs for."""
    most_workers: int
    """More than these have nothing to do; only where the cluster decides how many there are."""
    bots: LocalBots | None = None
    """What is started for each worker; None: bots connect from elsewhere."""
    folder: Path | None = None
    """Where the output of Ray goes, and that of bots when they end; None: that of Ray goes where the server's
    own goes, and there are no bots."""

    @property
    def cpus_of_a_worker(self) -> int:
        """CPUs of a node that a worker gets: one for the process that plays games, and one for its bots."""
        return 1 if self.bots is None else 2


def check_ray() -> None:
    """Refuse to use a cluster without Ray."""
    if missing := missing_packages("ray"):
        raise ConfigError(
            f"--ray: {' and '.join(missing)} is not installed; install it by: pip install 'happycity[ray]'"
        )
