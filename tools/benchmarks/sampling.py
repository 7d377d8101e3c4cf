"""Samples what a program does by its CPU time, from inside; it imports nothing of the program's packages."""

from __future__ import annotations

import json
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FrameType

SAMPLE_SECONDS = 0.005
"""CPU time of a process from one sample to the next."""
SAMPLES_A_REPORT = 40

IMPORTS = "imports"
OTHERS = "others"
OTHER_THREADS = "other threads: gRPC, store"

COMPONENTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "server": {
        IMPORTS: ("<frozen importlib",),
        "rules": ("happycity/rules/",),
        "referee, record": ("play/referee.py", "play/clock.py", "happycity/records/", "happycity/match.py"),
        "decisions and events on the wire": ("happycity/wire/",),
        "matches, sessions, outboxes": ("happycity_server/play/",),
        "streams: gRPC's reads and writes": ("happycity_server/api/play.py", "/grpc/"),
        "schedule, standings, ratings, rows": ("happycity_tournament/", "/sqlalchemy/"),
        "event loop, other services, feeds": ("happycity_server/",),
    },
    "bots": {
        IMPORTS: ("<frozen importlib",),
        "the bots' own choices": ("happycity_bots/", "happycity_evaluation/", "happycity/rules/"),
        "decisions on the wire": ("happycity/wire/",),
        "streams: gRPC's reads and writes": ("happycity_client/session.py", "/grpc/"),
        "event loop, the rest of the SDK": ("happycity_client/",),
    },
}
"""Components of each kind of process, by parts of the paths of their modules; the first that fits counts."""


def kind_of(command: Sequence[str]) -> str | None:
    """Return what a command of a run is: "server", "bots", or None for the run itself."""
    if "bot" in command or "happycity_bots" in command:
        return "bots"
    servers = ("serve", "happycity_server", "worker")
    return "server" if any(word in command for word in servers) else None


class Sampler:
    """Samples the process that it runs in, and writes a report again and again: programs end abruptly."""

    def __init__(self, kind: str, report: Path) -> None:
        self._components = COMPONENTS[kind]
        self._kind = kind
        self._report = report
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._used = 0.0
        self._samples = 0

    def start(self) -> None:
        """Sample from now on."""
        self._used = time.thread_time()
        self._seconds[IMPORTS] = self._used
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

    def _sample(self, number: int, frame: FrameType | None) -> None:
        used = time.thread_time()
        self._seconds[self._component(frame)] += used - self._used
        self._used = used
        self._samples += 1
        if self._samples % SAMPLES_A_REPORT == 0:
            self._seconds[OTHER_THREADS] = time.process_time() - used
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            self._report.write_text(
                json.dumps({"kind": self._kind, "peak_mb": peak, "seconds": self._seconds})
            )

    def _component(self, frame: FrameType | None) -> str:
        """Return the component of the innermost frame that has one; imports take all that they run."""
        innermost = ""
        while frame is not None:
            component = self._component_of(frame.f_code.co_filename)
            if component == IMPORTS:
                return IMPORTS
            innermost = innermost or component
            frame = frame.f_back
        return innermost or OTHERS

    @cache  # noqa: B019 - there is one for the whole process
    def _component_of(self, file: str) -> str:
        for component, parts in self._components.items():
            if any(part in file for part in parts):
                return component
        return ""


def sample_this_process(folder: str) -> None:
    """Sample the process if it is a server or plays bots; called before its program is imported."""
    kind = kind_of(sys.orig_argv)
    if kind is not None:
        Sampler(kind, Path(tempfile.mkstemp(dir=folder, suffix=".json")[1])).start()
