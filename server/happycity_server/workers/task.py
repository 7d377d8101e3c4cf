"""What a worker gets when it is started."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from happycity_server.config import ServerSettings
from happycity_tournament.bots.cluster import LocalBots

FILES = ("tokens", "tls_cert", "tls_key", "client_ca")
"""Settings that name files which a worker reads; a node gets their contents."""
HOST_OF_THE_NODE = "@host-of-the-node@"
"""Stands for the address of a node in its task, as only the node knows it."""


class WorkerTask(BaseModel):
    """How a worker is run; one line of JSON on its standard input."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    number: int
    """From 1."""
    settings: ServerSettings
    """Those of the server, with the address that the worker listens on."""
    house: dict[str, str] = Field(default={}, repr=False)
    """What the server's own bots show, by their names."""
    house_listen: str = ""
    """Where the worker listens for them alone, a socket in the file system; "" if the server has none, or if
    the worker runs them itself."""
    secret: str = Field(repr=False)
    """What the server shows to the worker."""
    control_host: str = "127.0.0.1"
    """The host by which the server reaches the worker."""


class NodeTask(BaseModel):
    """A worker and its bots on a node of a cluster; one line of JSON on the standard input of its program.

    Each further line has the `files` that have changed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    worker: WorkerTask
    files: dict[str, str] = Field(repr=False)
    """The contents of the server's `FILES`, as far as it has them."""
    bots: LocalBots | None = None
    """What is started beside the worker, as are the server's own bots."""


class Report(BaseModel):
    """What happened on a node; one line of JSON. Only the fields of one event are set."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    node: str = ""
    """The address of the node that was chosen."""
    listening: str = ""
    """Where the worker listens for its bots; it is ready."""
    control: str = ""
    """Where the server reaches it."""
    failed: str = ""
    """Why the worker, or one of its bots, can't be started."""
    refused: bool = False
    """Whether that is because its settings can't be used."""
    bot_ended: str = ""
    """How a bot's process ended."""
    log: str = ""
    """The name of the file with the output of a bot."""
    output: str = ""
    """The end of that output."""
    ended: str = ""
    """How the worker ended."""


class DriverTask(BaseModel):
    """The first line for the driver of a cluster."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    """The cluster, as Ray takes it."""
    cpus: int
    """CPUs that each worker gets."""


class DriverRequest(BaseModel):
    """A further line for the driver: start, stop or kill a worker, or renew its files."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    worker: int
    start: str | None = Field(default=None, repr=False)
    """The task of a worker that is to start, as JSON; None: it is to end."""
    files: dict[str, str] | None = Field(default=None, repr=False)
    """What its node is to have in place of the files of its task; None: it is not about files."""
    kill: bool = False
    """Whether it is to end at once."""


class DriverReport(BaseModel):
    """A line of the driver. Only the fields of one event are set, besides the worker's number."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    failed: str = ""
    """Why the cluster can't be used."""
    nodes: tuple[float, ...] = ()
    """The CPUs of each node, once the driver is connected."""
    worker: int = 0
    report: Report | None = None
    """What happened on its node."""
    lost: str = ""
    """Why there is nothing more of it."""
