"""What a worker gets when it is started."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from happycity_server.config import ServerSettings


class WorkerTask(BaseModel):
    """How a worker is run; one line of JSON on its standard input."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    number: int
    """From 1."""
    settings: ServerSettings
    """Those of the server, with the address that the worker listens on."""
    house: dict[str, str] = Field(default={}, repr=False)
    """What the server's own bots show, by their names."""
    secret: str = Field(repr=False)
    """What the server shows to the worker."""
