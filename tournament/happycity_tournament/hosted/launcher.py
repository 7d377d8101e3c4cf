"""Runs one hosted bot in its sandbox with a clean environment and bounded output, measured and limited.

It is started as a program of its own, so that nothing of it costs the server's event loop, and needs nothing
but Python's own library: python -I launcher.py RESULTS MEMORY FILTER COMMAND...

`usage.json` and `log.txt` are stored in the folder RESULTS, MEMORY is the most bytes that the bot may use,
FILTER the file of the seccomp filter, "" for none, and {socket} in the command stands for the arena's socket,
which HAPPYCITY_SERVER names.

The process that is started only waits for a second one, in a session of its own, which does all this. So the
bot is ended even if the server kills the first one, or is killed itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
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
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl: a descendant whose parent ends becomes a child of the caller."""
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
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
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                waiting += map(int, Path(f"/proc/{one}/task/{thread}/children").read_text().split())
        except OSError:  # it has ended
            continue
    return found


def stat(pid: int) -> list[str]:
    """Return the fields of a process's /proc/PID/stat from the third on; OSError if it has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def ancestors() -> tuple[int, int]:
    """Return the parent of this process, and its parent."""
    parent = os.getppid()
    return parent, int(stat(parent)[1])


def number_inside(pid: int) -> int:
    """Return a process's id in the sandbox's PID namespace, whose first process has 1; 0 if it is outside."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    numbers = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return int(numbers[-1]) if len(numbers) > 1 else 0


def end(bot: subprocess.Popen[bytes]) -> int:
    """End a bot with all its processes, also those of a container; return its status."""
    deadline = time.monotonic() + END_SECONDS
    bot.terminate()
    while bot.poll() is None and time.monotonic() < deadline:
        for pid in tree(os.getpid()):
            if number_inside(pid) == 1:  # with it the kernel kills all of its namespace
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            bot.wait(POLL_SECONDS)
    bot.kill()
    return bot.wait()


def measure(pids: list[int]) -> tuple[float, int]:
    """Return CPU seconds of processes, with those of their children that ended, and their memory in bytes."""
    seconds, memory = 0.0, 0
    for pid in pids:
        try:
            fields = stat(pid)
        except OSError:  # it has ended; its parent has its time
            continue
        seconds += sum(map(int, fields[11:15])) / _TICKS
        memory += int(fields[21]) * _PAGE
    return seconds, memory


def shared_fairly(pids: list[int], resident: int) -> int:
    """Return the memory of processes, pages that several share counted once; `resident` if it is unknown."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (ProcessLookupError, FileNotFoundError):  # it has ended
            continue
        except OSError:
            return resident
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def files_in_tmp(pids: list[int]) -> int:
    """Return how many files the /tmp of a bot's processes has; 0 as long as there is none."""
    try:
        room = os.statvfs(f"/proc/{pids[0]}/root/tmp")
    except (IndexError, OSError):
        return 0
    # Before the sandbox has its own /tmp, or without one, this is a file system of the machine.
    return room.f_files - room.f_ffree if room.f_blocks * room.f_frsize <= 1 << 30 else 0


def replace(path: Path, content: bytes) -> None:
    """Write a file in one step."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    partial.replace(path)


def run(owners: tuple[int, int], folder: Path, allowed: int, filter_file: str, command: Sequence[str]) -> int:
    """Run the bot to its end with `allowed` bytes of memory; return the exit status.

    It is ended when the parent of this process, or its parent, is no longer the one of `owners`.
    """
    os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    socket = Path(os.environ["HAPPYCITY_SERVER"].removeprefix("unix:"))
    if socket.is_socket():
        socket.chmod(0o666)  # the bot may run as another user; its folder keeps all others away
    folder.mkdir(exist_ok=True)
    usage_file = folder / "usage.json"
    used = json.loads(usage_file.read_text()) if usage_file.exists() else {}
    before = float(used.get("cpu_seconds", 0.0))
    own = {name: os.environ[name] for name in _PASSED if name in os.environ}
    if filter_file:
        os.dup2(os.open(filter_file, os.O_RDONLY), FILTER_FD)
    bot = subprocess.Popen(  # noqa: S603 - the sandbox of just this program
        [word.replace("{socket}", str(socket)) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        cwd=folder,  # podman's conmon leaves a file where memory was used up
        env={**own, "HAPPYCITY_SERVER": f"unix:{SOCKET}", "LANG": "C.UTF-8"},
        pass_fds=(FILTER_FD,) if filter_file else (),
    )
    assert bot.stdout is not None
    os.set_blocking(bot.stdout.fileno(), False)
    output, peak, seconds, problem = b"", int(used.get("peak_memory_bytes", 0)), 0.0, ""

    def store() -> None:
        usage = {"cpu_seconds": round(before + seconds, 2), "peak_memory_bytes": peak}
        replace(usage_file, json.dumps(usage).encode())
        replace(folder / "log.txt", output[-KEPT_OUTPUT:] + problem.encode())

    stored = time.monotonic()
    try:
        while bot.poll() is None and not problem:
            printed = pass_on(bot.stdout, int(OUTPUT_PER_SECOND * POLL_SECONDS))
            output = (output + printed)[-KEPT_OUTPUT:]
            pids = [*filter(number_inside, tree(os.getpid()))]
            measured, memory = measure(pids)
            if memory > allowed:  # which takes long to see exactly
                memory = shared_fairly(pids, memory)
            seconds, peak = max(seconds, measured), max(peak, memory)
            if memory > allowed:
                problem = f"ended: it used {memory >> 20} MB of memory, and {allowed >> 20} MB are allowed\n"
            elif files_in_tmp(pids) > MOST_FILES:
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
        output += pass_on(bot.stdout, PIPE_BYTES)
        store()
    sys.stdout.write(problem)
    return 1 if problem else status if status >= 0 else 128 - status


if __name__ == "__main__":
    first_and_server = os.getpid(), os.getppid()
    if second := os.fork():
        signal.signal(signal.SIGTERM, lambda *_: os.kill(second, signal.SIGTERM))
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]))
    sys.exit(run(first_and_server, Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]))
