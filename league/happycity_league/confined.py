"""Commands that edit projects, and git in them: kept from other files by bubblewrap, and within limits.

They see the machine read-only, nothing of the league but their own project, and processes of their own.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from happycity_league.config import AgentConfig
from happycity_runtime.child import Child, ChildError, child_environment, describe_status
from happycity_tournament.hosted.launcher import bytes_of, cpu_seconds, inside, shared_fairly, tree
from happycity_tournament.hosted.sandbox import BWRAP

POLL_SECONDS = 0.25
"""How often usage is measured: for as long a limit can be exceeded."""
END_SECONDS = 2.0
TMP_BYTES = 512 * 1024 * 1024
MOST_FILES = 100_000
PROCESSES = 4096


@dataclass(frozen=True, slots=True)
class Confinement:
    """Where commands run, and what they may reach."""

    league: Path
    """The folder of the league, of which they see nothing but what follows."""
    folder: Path
    """Their own, where they are started."""
    history: Path
    """The project's history, which they may read."""
    limits: AgentConfig
    writes_history: bool = False
    """Whether the command is the league's own: it writes the history, without a network."""

    def words(self, command: Sequence[str]) -> list[str]:
        """Return what runs a command."""
        limits, git = self.limits, "--bind" if self.writes_history else "--ro-bind"
        network = () if limits.network and not self.writes_history else ("--unshare-net",)
        writable = [str(Path(path).expanduser()) for path in limits.writable if not self.writes_history]
        bounds = f"--fsize={limits.disk_mb << 20}", f"--data={limits.memory_mb << 20}"
        return [
            *(BWRAP, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session"),
            *("--cap-drop", "ALL", *network, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            # Who is root may write these without any capability.
            *("--ro-bind", "/proc/sys", "/proc/sys", "--ro-bind-try", *("/proc/sysrq-trigger",) * 2),
            # Sockets of services such as a container runtime are in /run, what names are resolved by too.
            *("--tmpfs", "/run", "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"),
            *("--size", str(TMP_BYTES), "--perms", "1777", "--tmpfs", "/tmp"),  # noqa: S108 - its own
            *("--tmpfs", str(self.league)),
            *(word for path in writable for word in ("--bind", path, path)),
            *("--bind", str(self.folder), str(self.folder), git, str(self.history), str(self.history)),
            *("--remount-ro", str(self.league), "--chdir", str(self.folder)),
            *("--", "prlimit", *bounds, "--core=0", f"--nproc={PROCESSES}", "--", *command),
        ]

    async def run(
        self, command: Sequence[str], log: Path, variables: Mapping[str, str]
    ) -> tuple[str, float, float]:
        """Run a command to its end, or until it exceeds a limit; nothing that it has started runs on.

        Returns:
            Why it failed, "" if it didn't; how long it took; and its CPU seconds.
        """
        began, problem, cpu, limits = time.monotonic(), "", 0.0, self.limits
        environment = child_environment(**variables)
        try:
            child = Child.start(self.words(command), environment=environment, stdout=log, stderr=log)
        except ChildError as error:
            return str(error), 0.0, 0.0
        try:
            while not problem and await child.wait(POLL_SECONDS) is None:
                seconds, memory = await asyncio.to_thread(_usage, child.pid, limits.memory_mb << 20)
                cpu = max(cpu, seconds)
                if memory > limits.memory_mb << 20:
                    problem = f"it used more than {limits.memory_mb} MB of memory"
                elif cpu > limits.cpu_seconds:
                    problem = f"it used more than {limits.cpu_seconds:g} s of CPU time"
                elif time.monotonic() - began > limits.seconds:
                    problem = f"it took more than {limits.seconds:g} s"
                else:
                    problem = await asyncio.to_thread(_too_large, self.folder, limits.disk_mb)
        finally:
            await child.stop(0.0 if problem else END_SECONDS)
        problem = problem or await asyncio.to_thread(_too_large, self.folder, limits.disk_mb)
        if not problem and child.status:
            problem = f"it ended with {describe_status(child.status)}"
        return problem, round(time.monotonic() - began, 2), round(max(cpu, child.cpu_seconds or 0.0), 2)


def _usage(pid: int, allowed: int) -> tuple[float, int]:
    """Return the CPU seconds and the memory of what is in the namespace below a process."""
    found = inside(tree(pid))
    memory = bytes_of(found, "VmRSS", "VmSwap")
    return cpu_seconds(found), shared_fairly(found, memory) if memory > allowed else memory


def _too_large(folder: Path, allowed_mb: int) -> str:
    """Return what is too large of a folder; "" if nothing is."""
    size = files = 0
    for place, _, names in os.walk(folder):
        for name in names:
            files += 1
            try:
                size += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:  # it is gone by now
                continue
            if size > allowed_mb << 20:
                return f"its folder has more than {allowed_mb} MB"
            if files > MOST_FILES:
                return f"its folder has more than {MOST_FILES:,} files"
    return ""
