"""The process of a bot that is started here, and what it writes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from happycity_runtime.child import POLL_SECONDS, Child, child_environment, describe_status, last_line

_numbers = itertools.count(1)


class TrialProcess:
    """A bot that runs. Its output goes to files, so that it never waits for a reader.

    ChildError if it can't be started.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], folder: Path) -> None:
        number = next(_numbers)
        self._files = folder / f"{number}.out", folder / f"{number}.err"
        environment = child_environment(**variables)
        environment.pop("GRPC_VERBOSITY", None)  # what a bot logs is its own business
        output, errors = self._files
        self.child = Child.start(command, environment=environment, stdout=output, stderr=errors)

    @property
    def output(self) -> str:
        """What it has written to its standard output."""
        return self._files[0].read_text(encoding="utf-8", errors="replace")

    @property
    def errors(self) -> str:
        """What it has written to its standard error."""
        return self._files[1].read_text(encoding="utf-8", errors="replace")

    async def has_written(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until `done` says that it has written what is waited for; return whether it has in time."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not done():
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(POLL_SECONDS)  # no event tells that a file grows
        return True

    def exit_report(self) -> str:
        """Return how the process ended and its last line, if it did end; else ""."""
        if self.child.status is None:
            return ""
        ended = f"; its process ended with {describe_status(self.child.status)}"
        for path in reversed(self._files):
            with path.open("rb") as file:
                if line := last_line(file):
                    return f"{ended}; its last line: {line}"
        return ended
