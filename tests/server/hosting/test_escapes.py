"""A bot in the sandbox gets nowhere by any of the ways that work outside of it."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.hosting import probes
from tests.server.hosting.conftest import MEMORY, Cell, why_not
from tests.server.hosting.test_seccomp import ALLOWED, KILLED, judge
from tests.waiting import LIMIT

from happycity_tournament.hosted import launcher
from happycity_tournament.hosted.seccomp import ARCHITECTURES

SECRET = "sesame-open-" + "5" * 8
NEEDS_ROOT = {
    *("raw_packets", "mounting", "mounting_by_trees", "changing_root", "becoming_root", "device_node"),
    *("kernel_log", "kernel_settings", "hostname", "terminal_input", "namespace_of_another", "root_folder"),
    *("system_folder", "device_folder", "real_time", "higher_priority", "performance_events", "bpf_programs"),
}
"""Probes that get nowhere outside either, unless they run as root."""
OFTEN_OFF = {"machine_sockets", "fault_handling", "asynchronous_io", "keyring", "terminal_input"}
"""Probes of what a kernel may be built or set up without."""

COUNTED = {"shared_memory_files", "uncounted_memory_of_zeros", "large_file"}
"""What the cgroup of a container counts: the kernel kills a process that takes more."""


@pytest.fixture(scope="module")
def facts() -> Iterator[dict[str, object]]:
    """What there is to find outside, with somebody who answers."""
    with (
        tempfile.TemporaryDirectory() as name,
        socket.create_server(("127.0.0.1", 0)) as network,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as unix,
        subprocess.Popen(["sleep", "600"], env={"SECRET": SECRET}) as sleeper,
    ):
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "other").write_text(SECRET)
        abstract.bind(f"\0{name}")
        unix.bind(f"{name}/unix")
        for listener in (abstract, unix):
            listener.listen()

        def answer() -> None:
            connected, _ = network.accept()
            connected.sendall(b"hello")
            connected.close()

        threading.Thread(target=answer, daemon=True).start()
        yield {
            "port": network.getsockname()[1],
            "abstract": name,
            "unix": f"{name}/unix",
            "other": f"{name}/other",
            "store": f"{name}/other",
            "own": name,
            "tmp": name,
            "pid": sleeper.pid,
            "secret": SECRET,
            "memory": MEMORY + (50 << 20),
            "mounted": [str(folder / "other")],
        }
        sleeper.kill()


@pytest.fixture(scope="module")
def outside(facts: dict[str, object]) -> dict[str, str]:
    """What each probe reports without a sandbox, with a secret and an open file of its parent."""
    if reason := why_not():
        pytest.skip(reason)
    with Path(str(facts["other"])).open() as inherited:
        tried = subprocess.run(
            [sys.executable, probes.__file__, json.dumps(facts)],
            env={**os.environ, "SECRET": SECRET},
            pass_fds=(inherited.fileno(),),
            stdout=subprocess.PIPE,
            check=True,
        )
    return dict(json.loads(tried.stdout))


@pytest.fixture(scope="module")
def inside(cell: Cell, facts: dict[str, object]) -> dict[str, str]:
    """What each probe reports in the sandbox."""
    # The rest of what is mounted in a container is its own.
    mounted = [launcher.SOCKET, "/bot", "/bot/probes.py", "/usr"] if cell.has_cgroup else []
    own = {**facts, "own": "/bot", "tmp": "/tmp", "mounted": mounted}
    os.environ["SECRET"] = SECRET
    try:
        return dict(json.loads(cell.run("python3", "probes.py", json.dumps(own))))
    finally:
        del os.environ["SECRET"]


@pytest.mark.level(3)
@pytest.mark.parametrize("name", probes.PROBES)
def test_escape_fails(name: str, cell: Cell, outside: dict[str, str], inside: dict[str, str]) -> None:
    """What works outside fails in the sandbox; that it works outside shows that the probe could succeed."""
    if not outside[name].startswith("escaped: "):
        cannot = name in OFTEN_OFF or (os.geteuid() != 0 and name in NEEDS_ROOT)
        assert cannot, f"the probe doesn't work outside: {outside[name]}"
    if not (cell.has_cgroup and name in COUNTED):
        assert inside[name].startswith("failed: "), inside[name]


@pytest.mark.level(3)
def test_socket_can_be_used_and_is_as_it_was(cell: Cell, inside: dict[str, str]) -> None:
    """A bot connects to its socket, which the probes before have not changed."""
    program = f"import socket; socket.socket(socket.AF_UNIX).connect('{launcher.SOCKET}'); print('connected')"
    assert cell.run("python3", "-c", program) == "connected\n"
    assert cell.socket.is_socket()
    assert cell.socket.stat().st_mode & 0o777 == 0o666


@pytest.mark.level(3)
def test_each_system_call_is_answered_as_the_filter_says(cell: Cell) -> None:
    """Those that it refuses fail with its errors or end the process, and no other one does by it.

    A container runtime has a filter of its own, made of the same table.
    """
    if cell.has_cgroup:
        pytest.skip("what the table doesn't know is up to the library of the runtime")
    machine = ARCHITECTURES[platform.machine()]
    for name, answer in json.loads(cell.run("python3", "probes.py", "scan")).items():
        expected = judge(machine, int(name), *(2**64 - 1,) * 6)
        if expected == ALLOWED:
            assert answer != -signal.SIGSYS, name
        else:
            assert answer == (-signal.SIGSYS if expected == KILLED else expected & 0xFFFF), name


MARK = str(100_000_000 + os.getpid())
"""How long processes sleep that a test of this process leaves behind; other tests run at the same time."""


def _marked() -> list[int]:
    """Return the processes of this machine that a test has left behind."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", MARK.encode()]:
            found.append(int(process.name))
    return found


def _eventually(done: object, *, seconds: float = LIMIT) -> bool:
    deadline = time.monotonic() + seconds
    while not done():  # type: ignore[operator]
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)  # nothing reports the end of a process that isn't a child
    return True


BOMBS = {
    # by name: a program, and what its author reads
    "page tables": (
        """
import mmap, time
kept = []
for _ in range(200):
    place = mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE, mmap.PROT_READ)
    for start in range(0, 1 << 30, 2 << 20):  # each page that is read has a table of 4 kB
        place[start]
    kept.append(place)
time.sleep(600)
""",
        "MB of memory",
    ),
    "sockets": (
        """
import os, socket, time
kept = []
for _ in range(9):
    os.fork()
while True:
    for _ in range(100):
        pair = socket.socketpair()
        pair[0].setblocking(False)
        kept.append(pair)
        try:
            while True:
                pair[0].send(bytes(100_000))
        except BlockingIOError:
            pass
    time.sleep(600)
""",
        "MB of memory",
    ),
    "mappings": (
        """
import mmap, os, time
for _ in range(6):
    os.fork()
kept = []
try:
    while True:
        kept.append(mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ))
        kept.append(mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_WRITE))
except OSError:
    time.sleep(600)
""",
        "MB of memory",
    ),
    "memory whose first thread has ended": (
        """
import ctypes, os, threading, time
for _ in range(3):
    os.fork()
def hold():
    kept = bytearray(b"x") * (60 << 20)
    time.sleep(600)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if __import__("platform").machine() == "x86_64" else 93, 0)
""",
        "MB of memory",
    ),
    "memory that is passed on": (
        """
import mmap, os
for _ in range(2):
    os.fork()
kept = mmap.mmap(-1, 100 << 20, mmap.MAP_PRIVATE)
kept.madvise(14)  # huge pages, whose tables are soon copied
kept.write(b"x" * (100 << 20))
while True:
    if os.fork():
        os._exit(0)
""",
        "memory",
    ),
    "memory of many processes": (
        """
import os, time
for _ in range(8):
    if not os.fork():
        taken = bytearray(b"x") * (60 << 20)
        time.sleep(600)
time.sleep(600)
""",
        "MB of memory",
    ),
    "many files": (
        """
import itertools
for number in itertools.count():
    open(f"/tmp/{number}", "x").close()
""",
        "files in /tmp",
    ),
}
FORKS = """
import os, time
while True:
    try:
        os.fork() or time.sleep(0.01)
    except OSError:
        print("full", flush=True)
        os.execlp("sleep", "sleep", "MARK")
""".replace("MARK", MARK)
DAEMON = """
import os, time
if not os.fork():
    os.setsid()
    if not os.fork():
        os.execlp("sleep", "sleep", "MARK")
time.sleep({seconds})
""".replace("MARK", MARK)
BUSY = """
import os, time
os.fork(), os.fork()
end = time.monotonic() + 2
while time.monotonic() < end:
    pass
"""
_UNSURE = {"memory whose first thread has ended"}
"""Bombs of which processes end by themselves now and then, before they hold too much; why isn't known."""


@pytest.mark.parametrize(
    "bomb", [pytest.param(name, marks=pytest.mark.nightly) if name in _UNSURE else name for name in BOMBS]
)
def test_bomb_is_ended(cell: Cell, bomb: str) -> None:
    """A bot that uses up what no limit of the kernel bounds is ended, and its author reads why."""
    program, said = BOMBS[bomb]
    if cell.has_cgroup and "memory" in said:
        pytest.skip("the kernel kills one process after the other")
    assert said in cell.run("python3", "-c", program)
    assert said in (cell.folder / "run" / "log.txt").read_text()


def test_fork_bomb_ends_with_its_sandbox(cell: Cell) -> None:
    """A fork bomb reaches its limit of processes, and the end of the sandbox is the end of them all."""
    process = cell.start("python3", "-c", FORKS)
    assert process.stdout is not None
    assert process.stdout.readline() == b"full\n"
    assert _eventually(lambda: len(launcher.tree(process.pid)) > 20)
    assert len(launcher.tree(process.pid)) < 200
    process.terminate()
    process.communicate(timeout=LIMIT)
    assert _eventually(lambda: not _marked())


def test_endless_output_is_bounded(cell: Cell) -> None:
    """A bot that prints without an end waits for its own output; only the end of it is kept."""
    process = cell.start("sh", "-c", "yes & yes")
    assert process.stdout is not None
    began, printed = time.monotonic(), 0
    while printed < 4 * launcher.OUTPUT_PER_SECOND:
        output = os.read(process.stdout.fileno(), 4096)
        assert output, "it has ended"
        printed += len(output)
    assert time.monotonic() - began > 3
    process.kill()
    process.communicate()
    assert (cell.folder / "run" / "log.txt").stat().st_size <= launcher.KEPT_OUTPUT + 100


@pytest.mark.parametrize("end", ["by itself", "terminated", "launcher killed"])
def test_nothing_outlives_the_bot(cell: Cell, end: str) -> None:
    """A process that the bot has left behind, in a session of its own, ends with the sandbox."""
    process = cell.start("python3", "-c", DAEMON.format(seconds=2 if end == "by itself" else 600))
    assert _eventually(_marked)
    if end == "terminated":
        process.terminate()
    elif end == "launcher killed":
        process.send_signal(signal.SIGKILL)
    process.communicate(timeout=LIMIT)
    assert _eventually(lambda: not _marked())


def test_container_that_never_started_is_removed(cell: Cell) -> None:
    """The next start of a bot removes what is left of its last one, and leaves nothing itself."""
    if not cell.has_cgroup:
        pytest.skip("bubblewrap has no containers")
    left = cell.container_that_never_started()
    listed = ("podman", "ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Status}}")
    assert f"{left} Initialized" in subprocess.check_output(listed, text=True)
    assert cell.run("sh", "-c", "echo it runs") == "it runs\n"
    assert left not in subprocess.check_output(listed, text=True)
    assert not (cell.folder / "run/container").exists()


def test_no_cgroup_outlives_the_bot(cell: Cell) -> None:
    process = cell.start("python3", "-c", DAEMON.format(seconds=600))
    assert _eventually(_marked)
    own = launcher.tree(process.pid)[1]
    groups = [*Path("/sys/fs/cgroup").rglob(f"happycity-{own}")]
    process.terminate()
    process.communicate(timeout=LIMIT)
    if not groups:
        pytest.skip("this machine lets the launcher make no cgroup")
    assert not any(group.exists() for group in groups)


def test_nothing_outlives_the_server(cell: Cell) -> None:
    """The launcher ends the bot when the process that has started it is gone, even by SIGKILL."""
    process = cell.start("python3", "-c", DAEMON.format(seconds=600))
    assert _eventually(_marked)
    process.kill()
    process.communicate()
    server = f"import subprocess,time\nsubprocess.Popen({process.args!r})\ntime.sleep(600)"
    environment = {**os.environ, "HAPPYCITY_SERVER": f"unix:{cell.socket}"}
    with subprocess.Popen([sys.executable, "-c", server], env=environment) as parent:
        assert _eventually(_marked)
        parent.kill()
    assert _eventually(lambda: not _marked())


def test_cpu_is_measured_and_bounded_to_one_core(cell: Cell) -> None:
    """A bot of four busy processes has one core; its CPU time is measured, with that of its children."""
    before = _cpu_seconds(cell)
    cell.run("python3", "-c", BUSY)
    assert 0 < _cpu_seconds(cell) - before < 4


def _cpu_seconds(cell: Cell) -> float:
    file = cell.folder / "run" / "usage.json"
    return float(json.loads(file.read_text())["cpu_seconds"]) if file.exists() else 0.0
