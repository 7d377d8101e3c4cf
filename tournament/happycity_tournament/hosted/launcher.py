"""Runs one hosted bot in its sandbox with a clean environment and bounded output, measured and limited.

It is started as a program of its own, so that nothing of it costs the server's event loop, and needs nothing
but Python's own library: python -I launcher.py RESULTS MEMORY FILTER COMMAND...

`usage.json` and `log.txt` are stored in the folder RESULTS, MEMORY is the most bytes that the bot may use,
FILTER the file of the seccomp filter, "" for a container runtime, and {socket} in the command stands for the
arena's socket, which HAPPYCITY_SERVER names. A runtime writes the id of its container to RESULTS/container.

Where this process may make a cgroup, the kernel bounds all memory of the sandbox in one, its own for it too.
Elsewhere memory is measured, and so is most of what the kernel has for the bot.

The process that is started only waits for a second one, in a session of its own, which does all this. So the
bot is ended even if the server kills the first one, or is killed itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

POLL_SECONDS = 0.25
"""How often usage is measured, and how soon a bot that exceeds a limit, or lost its server, is ended."""
END_SECONDS = 5.0
"""How long a container runtime has to remove a container whose processes were killed."""
STORE_SECONDS = 2.0
"""How often usage and the end of the output are stored."""
OUTPUT_PER_SECOND = 8 * 1024
"""Bytes of output that are read; what a pipe holds is read at the end."""
PIPE_BYTES = 64 * 1024
KEPT_OUTPUT = 16 * 1024
"""Bytes of the end of the output that are stored for the author."""
MOST_FILES = 4096
"""Files in the bot's /tmp; each takes memory of the kernel that the size of /tmp doesn't count."""
FILTER_FD = 9
"""The file descriptor at which bubblewrap reads the seccomp filter."""
ATTEMPTS = 20
"""How often at once the bot's processes are measured, until these are the same before and after it."""
MOST_UNSETTLED = 20
"""How often in a row all attempts may fail: memory that is passed on as fast would never be seen."""
MAPPING_BYTES = 512
LOCK_BYTES = 256
"""At most what the kernel has for a mapping of memory, and for a lock of a file."""
CONTAINER = "container"
"""The file with the id of a container."""
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl: a descendant whose parent ends becomes a child of the caller."""
_TICKS = os.sysconf("SC_CLK_TCK")
_Processes = Mapping[int, Mapping[str, Sequence[str]]]
"""The words of /proc/PID/status by their names, by process."""
SOCKET = "/run/arena"
"""Where the arena's socket is in a sandbox."""
OF_RUNTIME = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST")
"""Variables of the server that a container runtime needs; none of them is the bot's."""
_PASSED = ("HAPPYCITY_NAME", "HAPPYCITY_TOKEN", *OF_RUNTIME)


def pass_on(output: IO[bytes], most: int) -> bytes:
    """Pass on what a bot has printed, up to a number of bytes, and return it; the bot waits with the rest."""
    data = output.read(most) or b""  # None if there is nothing at present
    with suppress(BrokenPipeError):  # the server is gone
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    return data


def tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found, waiting = [], [pid]
    while waiting:
        found.append(one := waiting.pop())
        for thread in threads(one):
            with suppress(OSError):  # it has ended
                waiting += map(int, Path(thread, "children").read_text().split())
    return found


def threads(pid: int) -> list[str]:
    """Return the folders of a process's threads; none if it has ended."""
    with suppress(OSError):
        return [f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")]
    return []


def stat(pid: int) -> list[str]:
    """Return the fields of a process's /proc/PID/stat from the third on; OSError if it has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def ancestors() -> tuple[int, int]:
    """Return the parent of this process, and its parent."""
    parent = os.getppid()
    return parent, int(stat(parent)[1])


def inside(pids: Sequence[int]) -> _Processes:
    """Return those of some processes that are in a PID namespace of their own, the sandbox's."""
    found = {}
    for pid in pids:
        words: dict[str, list[str]] = {}
        for thread in threads(pid):
            with suppress(OSError):  # it has ended
                lines = Path(thread, "status").read_text().splitlines()
                words = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
            if "VmRSS" in words:  # else this thread has ended, and others have the memory
                break
        if len(words.get("NSpid", ())) > 1:
            found[pid] = words
    return found


def end(bot: subprocess.Popen[bytes]) -> int:
    """End a bot with all its processes, also those of a container; return its status."""
    deadline = time.monotonic() + END_SECONDS
    bot.terminate()
    while bot.poll() is None and time.monotonic() < deadline:
        for pid, words in inside(tree(os.getpid())).items():
            if words["NSpid"][-1] == "1":  # with it the kernel kills all of its namespace
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            bot.wait(POLL_SECONDS)
    bot.kill()
    return bot.wait()


def remove_container(runtime: str, file: Path) -> None:
    """Remove the container whose id a file has: its runtime may have been killed before it could.

    Another launcher of the bot, whose server is gone, may do so at the same time.
    """
    with suppress(FileNotFoundError):
        remove = (runtime, "rm", "--force", file.read_text().strip())
        subprocess.run(remove, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - its own
        file.unlink()


def cpu_seconds(found: _Processes) -> float:
    """Return the CPU time of processes, with that of their children that ended."""
    seconds = 0.0
    for pid in found:
        with suppress(OSError):  # it has ended; its parent has its time
            seconds += sum(map(int, stat(pid)[11:15])) / _TICKS
    return seconds


def bytes_of(found: _Processes, *names: str) -> int:
    """Return how much of some kinds of memory processes have."""
    return sum(int(words[name][0]) * 1024 for words in found.values() for name in names if name in words)


def shared_fairly(found: _Processes, resident: int) -> int:
    """Return the memory of processes, pages that several share counted once; `resident` if it is unknown."""
    total = 0
    for pid in found:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (ProcessLookupError, FileNotFoundError):  # it has ended
            continue
        except OSError:
            return resident
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss:", "SwapPss:")))
    return total


def held_by_kernel(found: _Processes) -> int:
    """Return at most what the kernel has for processes in page tables, mappings, sockets and locks of files.

    A socket holds what was sent by it, up to twice its buffer, and one of datagrams also 11 that came.
    """
    total, pids = bytes_of(found, "VmPTE", "HugetlbPages"), [*map(str, found)]
    for pid in pids:
        with suppress(OSError):
            total += Path(f"/proc/{pid}/maps").read_bytes().count(b"\n") * MAPPING_BYTES
    with suppress(IndexError, OSError), socket.socket(socket.AF_UNIX) as own:
        buffer = own.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        for line in Path(f"/proc/{pids[0]}/net/unix").read_text().splitlines()[1:]:  # of the sandbox alone
            total += (13 if line.split()[4] == "0002" else 2) * buffer
    locks = Path("/proc/locks").read_text().splitlines()
    return total + sum(not {*line.split()[4:6]}.isdisjoint(pids) for line in locks) * LOCK_BYTES


def measure(allowed: int, *, with_kernel: bool) -> tuple[_Processes, int, bool]:
    """Return the bot's processes, their memory in bytes, and whether none came or went meanwhile."""
    memory = 0
    for _ in range(ATTEMPTS):
        pids = tree(os.getpid())
        found = inside(pids)
        resident, kernel = bytes_of(found, "VmRSS", "VmSwap"), held_by_kernel(found) if with_kernel else 0
        if resident + kernel > allowed:  # which takes long to see exactly
            resident = shared_fairly(found, resident)
        memory = max(memory, resident + kernel)
        if memory > allowed or tree(os.getpid()) == pids:
            return found, memory, True
    return found, memory, False


def bounded(allowed: int) -> Path | None:
    """Return the folder of a new cgroup with a limit of memory in bytes; None where there can be none.

    In version 2 it is next to this process's own, as one with processes has none below it with limits.
    """
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, own = line.split(":", 2)
        if "memory" in controllers.split(","):
            parent, limits = Path(f"/sys/fs/cgroup/memory{own}"), {"memory.limit_in_bytes": allowed}
            limits["memory.memsw.limit_in_bytes"] = allowed
        elif number == "0":
            parent = Path(f"/sys/fs/cgroup{own}").parent
            limits = {"memory.max": allowed, "memory.swap.max": 0, "memory.oom.group": 1}
        else:
            continue
        group = parent / f"happycity-{os.getpid()}"
        with suppress(OSError):
            for left in parent.glob("happycity-*"):
                if not Path("/proc", left.name.rpartition("-")[2]).exists():  # its launcher was killed
                    left.rmdir()
            if os.access(parent / "cgroup.procs", os.W_OK):
                with suppress(OSError):  # version 2, unless it is so already or `parent` has processes
                    (parent / "cgroup.subtree_control").write_text("+memory")
                group.mkdir()
                for name, value in limits.items():
                    (group / name).write_text(str(value))
                return group
        with suppress(OSError):
            group.rmdir()
    return None


def has_killed(group: Path | None) -> bool:
    """Return whether the kernel has killed a process of a cgroup because its memory was used up."""
    for name in ("memory.events", "memory.oom_control"):
        with suppress(OSError):
            return group is not None and "oom_kill 0" not in (group / name).read_text()
    return False


def remove(group: Path) -> None:
    """Remove a cgroup, as soon as all have ended that came to this process from bubblewrap."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    with suppress(OSError):
        group.rmdir()


def files_in_tmp(found: _Processes) -> int:
    """Return how many files the /tmp of a bot's processes has; 0 as long as there is none."""
    try:
        room = os.statvfs(f"/proc/{next(iter(found))}/root/tmp")
    except (StopIteration, OSError):
        return 0
    # Before the sandbox has its own /tmp, or without one, this is a file system of the machine.
    return room.f_files - room.f_ffree if room.f_blocks * room.f_frsize <= 1 << 30 else 0


def replace(path: Path, content: bytes) -> None:
    """Write a file in one step."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    partial.replace(path)


def start(
    command: Sequence[str], folder: Path, filter_file: str, group: Path | None
) -> subprocess.Popen[bytes]:
    """Start the bot in a cgroup, if there is one, after what is left of a container of it."""
    remove_container(command[0], folder / CONTAINER)
    arena = Path(os.environ["HAPPYCITY_SERVER"].removeprefix("unix:"))
    if arena.is_socket():
        arena.chmod(0o666)  # the bot may run as another user; its folder keeps all others away
    own = {name: os.environ[name] for name in _PASSED if name in os.environ}
    if filter_file:
        os.dup2(os.open(filter_file, os.O_RDONLY), FILTER_FD)

    def enter() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text("0")

    bot = subprocess.Popen(  # noqa: S603 - the sandbox of just this program
        [word.replace("{socket}", str(arena)) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        cwd=folder,  # podman's conmon leaves a file where memory was used up
        env={**own, "HAPPYCITY_SERVER": f"unix:{SOCKET}", "LANG": "C.UTF-8"},
        pass_fds=(FILTER_FD,) if filter_file else (),
        preexec_fn=enter,  # noqa: PLW1509 - there is one thread
    )
    assert bot.stdout is not None
    os.set_blocking(bot.stdout.fileno(), False)
    return bot


def run(owners: tuple[int, int], folder: Path, allowed: int, filter_file: str, command: Sequence[str]) -> int:
    """Run the bot to its end with `allowed` bytes of memory; return the exit status.

    It is ended when the parent of this process, or its parent, is no longer the one of `owners`.
    """
    os.setsid()
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(128 + number))
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    folder.mkdir(exist_ok=True)
    usage_file = folder / "usage.json"
    used = json.loads(usage_file.read_text()) if usage_file.exists() else {}
    before = float(used.get("cpu_seconds", 0.0))
    group = bounded(allowed) if filter_file else None  # a container has one of its runtime
    bot = start(command, folder, filter_file, group)
    assert bot.stdout is not None
    output, peak, seconds, problem = b"", int(used.get("peak_memory_bytes", 0)), 0.0, ""
    too_much = f"ended: it used more than {allowed >> 20} MB of memory\n"

    def store() -> None:
        usage = {"cpu_seconds": round(before + seconds, 2), "peak_memory_bytes": peak}
        replace(usage_file, json.dumps(usage).encode())
        replace(folder / "log.txt", output[-KEPT_OUTPUT:] + problem.encode())

    stored, unsettled = time.monotonic(), 0
    try:
        while bot.poll() is None and not problem and not stopped:
            printed = pass_on(bot.stdout, int(OUTPUT_PER_SECOND * POLL_SECONDS))
            output = (output + printed)[-KEPT_OUTPUT:]
            found, memory, is_settled = measure(allowed, with_kernel=bool(filter_file) and group is None)
            seconds, peak = max(seconds, cpu_seconds(found)), max(peak, memory)
            unsettled = 0 if is_settled else unsettled + 1
            if memory > allowed or has_killed(group):
                problem = too_much
            elif unsettled > MOST_UNSETTLED:
                problem = "ended: its processes start and end faster than their memory can be measured\n"
            elif files_in_tmp(found) > MOST_FILES:
                problem = f"ended: it has more than {MOST_FILES} files in /tmp\n"
            elif ancestors() != owners:
                problem = "ended: its server is gone\n"
            elif time.monotonic() - stored > STORE_SECONDS:
                store()
                stored = time.monotonic()
            with suppress(subprocess.TimeoutExpired):
                bot.wait(POLL_SECONDS)
    finally:
        status = end(bot)
        if group is not None:
            problem = too_much if has_killed(group) else problem
            remove(group)
        remove_container(command[0], folder / CONTAINER)
        output += pass_on(bot.stdout, PIPE_BYTES)
        store()
    sys.stdout.write(problem)
    return 1 if problem else stopped[0] if stopped else status if status >= 0 else 128 - status


if __name__ == "__main__":
    first_and_server = os.getpid(), os.getppid()
    if second := os.fork():
        signal.signal(signal.SIGTERM, lambda *_: os.kill(second, signal.SIGTERM))
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]))
    sys.exit(run(first_and_server, Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]))
