"""What a run tells its server, which is a process that waits for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self

LOCAL_RAY = "local"
"""The Ray cluster of this machine alone that is started for a server and ends with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTask:
    """What a run's server is for: one line of JSON on its standard input."""

    environment: Mapping[str, str]
    """Its settings, and what it needs to reach its database."""
    log: str
    """The file that its output goes to."""
    lineup: str
    """The run's `Lineup` in JSON, whose bots the workers start."""

    def line(self) -> bytes:
        """Return the line; `from_line` reads it."""
        return f"{json.dumps(asdict(self))}\n".encode()

    @classmethod
    def from_line(cls, line: str) -> Self:
        """Return the task of a line."""
        return cls(**json.loads(line))
