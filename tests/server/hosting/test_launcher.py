"""The launcher's own rules, with its own processes and with a runtime that is a script."""

from __future__ import annotations

import fcntl
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.server.hosting.conftest import ROOT
from tests.waiting import LIMIT

from happycity import ConfigError
from happycity_tournament.hosted import launcher, sandbox
from happycity_tournament.hosted.sandbox import MEMORY_BYTES, Sandbox

RUNTIME = """#!/bin/sh
# A container runtime: its arguments are kept in a file beside it.
echo "$@" >> "{folder}/calls"
case "$1" in run) echo {container} > "{folder}/run/container"; echo created; {then} ;; esac
"""


def runtime(folder: Path, then: str) -> tuple[str, ...]:
    """Return the command of a launcher whose runtime makes a container and then does something."""
    program = folder / "runtime"
    program.write_text(RUNTIME.format(folder=folder, container="0123", then=then))
    program.chmod(0o755)
    own = (sys.executable, "-I", launcher.__file__, str(folder / "run"), str(1 << 30), "")
    return *own, str(program), "run", "{socket}"


def start(command: tuple[str, ...]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HAPPYCITY_SERVER": "unix:/nowhere"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, start_new_session=True)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


@pytest.mark.level(2)
@pytest.mark.parametrize("ended", ["by itself", "terminated"])
def test_container_is_removed_at_the_end(tmp_path: Path, ended: str) -> None:
    """Its runtime may have been ended between making a container and starting it, which then never ends."""
    with start(runtime(tmp_path, "exit 3" if ended == "by itself" else "exec sleep 600")) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"created\n"
        if ended == "terminated":
            process.terminate()
        process.communicate(timeout=LIMIT)
    assert process.returncode == (3 if ended == "by itself" else 128 + signal.SIGTERM)
    assert calls(tmp_path) == ["run /nowhere", "rm --force 0123"]
    assert not (tmp_path / "run/container").exists()


@pytest.mark.level(2)
def test_container_of_a_killed_launcher_is_removed_at_the_next_start(tmp_path: Path) -> None:
    with start(runtime(tmp_path, "exec sleep 600")) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"created\n"
        killed = launcher.tree(process.pid)
        for pid in killed:
            os.kill(pid, signal.SIGSTOP)  # or it would see its child end, and remove the container
        for pid in reversed(killed):
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT)
    assert calls(tmp_path) == ["run /nowhere"]
    with start(runtime(tmp_path, "exit")) as process:
        process.communicate(timeout=LIMIT)
    assert calls(tmp_path)[1:] == ["rm --force 0123", "run /nowhere", "rm --force 0123"]


def test_documented_command_names_the_file_of_the_container() -> None:
    """And mounts nothing that a bot could change."""
    page = (ROOT / "docs/hosted-bots.md").read_text()
    assert "--cidfile {cidfile}" in page
    mounts = [line.split()[0] for line in page.split("--volume ")[1:]]
    assert all(mount.rstrip("`").endswith(":ro") for mount in mounts), mounts


def test_bubblewrap_mounts_nothing_of_the_machine_to_write_to() -> None:
    words = {*sandbox._bubblewrap(MEMORY_BYTES)}
    assert "--ro-bind" in words
    assert not words & {"--bind", "--bind-try", "--dev-bind", "--dev-bind-try", "--bind-fd", "--overlay"}


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("sh -c 'echo it is broken; exit 125' {socket} {folder} {command}", "it is broken"),
        ("sh -c 'exit 126' {socket} {folder} {command}", "status 126"),
        ("sh -c 'exit 127' {socket} {folder} {command}", "status 127"),
        ("sh -c 'kill $$' {socket} {folder} {command}", "status 143"),
        ("env /nowhere/podman {socket} {folder} {command}", "No such file or directory"),
        ("sh -c 'echo unknown flag >&2; exit 125' {socket} {image}", "unknown flag"),
        ("sh -c 'exit 127' {socket} {image}", "status 127"),
    ],
)
def test_command_of_a_runtime_that_runs_nothing(tmp_path: Path, template: str, says: str) -> None:
    """It is the server's fault, and is said when that starts."""
    with pytest.raises(ConfigError, match=f"sandbox: .* doesn't run true on this machine: .*{says}"):
        Sandbox(template, tmp_path, memory=MEMORY_BYTES)


@pytest.mark.level(2)
@pytest.mark.parametrize(
    "template",
    [
        "sh -c 'shift; shift; exec \"$@\"' {socket} {folder} x {command}",
        "sh -c 'echo Error: no such image: $1 >&2; exit 125' {socket} {image}",
    ],
)
def test_command_of_a_runtime_that_works(tmp_path: Path, template: str) -> None:
    """It runs `true`; one for images of participants at least looks for the one that is named."""
    Sandbox(template, tmp_path, memory=MEMORY_BYTES)


def below(root: Path) -> Callable[..., Path]:
    """Return what makes paths below another root."""
    return lambda *parts: Path(root, *(part.lstrip("/") for part in parts))


@pytest.mark.parametrize(
    ("own", "place", "written"),
    [
        ("0::/unit/server", "unit", {"memory.max": "5", "memory.swap.max": "0", "memory.oom.group": "1"}),
        ("9:pids:/\n4:memory:/unit\n0::/", "memory/unit", {"memory.limit_in_bytes": "5"}),
        ("0::/", "", None),  # it would be above the root of what this process sees
        ("9:pids:/unit", "unit", None),
        ("0::/absent/server", "unit", None),
    ],
    ids=["version 2", "version 1", "root", "no memory controller", "another root"],
)
def test_cgroup_is_made_where_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, place: str, written: dict[str, str] | None
) -> None:
    """Beside the own cgroup, or below it in version 1; those of launchers that were killed are removed."""
    monkeypatch.setattr(
        launcher, "Path", lambda *parts: Path(tmp_path, *(part.lstrip("/") for part in parts))
    )
    parent = tmp_path / "sys/fs/cgroup" / place
    for folder in (
        tmp_path / "proc/self",
        tmp_path / "proc/7",
        parent / "happycity-7",
        parent / "happycity-8",
    ):
        folder.mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(own)
    (parent / "cgroup.procs").touch()
    group = launcher.bounded(5)
    if written is None:
        assert group is None
        return
    assert group == parent / f"happycity-{os.getpid()}"
    assert written.items() <= {file.name: file.read_text() for file in group.iterdir()}.items()
    assert (parent / "cgroup.subtree_control").read_text() == "+memory"
    assert sorted(file.name for file in parent.glob("happycity-*")) == sorted(("happycity-7", group.name))


def test_cgroup_whose_limits_cannot_be_written_is_left_to_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: str) -> int:
        raise PermissionError

    monkeypatch.setattr(
        launcher, "Path", lambda *parts: Path(tmp_path, *(part.lstrip("/") for part in parts))
    )
    (tmp_path / "sys/fs/cgroup/unit").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/unit/cgroup.procs").touch()
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/unit/server")
    monkeypatch.setattr(Path, "write_text", refuse)
    assert launcher.bounded(5) is None
    assert [file.name for file in (tmp_path / "sys/fs/cgroup/unit").iterdir()] == ["cgroup.procs"]


@pytest.fixture
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that stands for the kernel's list of this machine's Unix sockets, which others have too."""
    file = tmp_path / "unix"
    file.write_text("Num       RefCount Protocol Flags    Type St Inode Path\n")
    monkeypatch.setattr(
        launcher, "Path", lambda *parts: file if parts[-1].endswith("/net/unix") else Path(*parts)
    )
    return file


def own_memory() -> int:
    """Return what the kernel is counted to hold for this process."""
    words = Path("/proc/self/status").read_text().splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in words)}
    return launcher.held_by_kernel({os.getpid(): status})


def test_sockets_are_counted(sockets: Path) -> None:
    """Two buffers for each, and as much as it may have received for one of datagrams."""
    with socket.socket(socket.AF_UNIX) as one:
        buffer = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    before = own_memory()
    line = "0000000000000000: 00000002 00000000 00010000 {} 01 12345 /run/arena\n"
    with sockets.open("a") as file:
        file.writelines(line.format(kind) for kind in ("0001", "0005", "0002"))
    # Other threads of this process may map some pages meanwhile.
    assert own_memory() - before == pytest.approx((2 + 2 + 13) * buffer, abs=buffer / 2)


@pytest.mark.usefixtures("sockets")
def test_mappings_tables_and_locks_are_counted() -> None:
    with ExitStack() as stack:
        before = own_memory()
        large = stack.enter_context(mmap.mmap(-1, 256 << 20, mmap.MAP_PRIVATE, mmap.PROT_READ))
        for place in range(0, 256 << 20, 2 << 20):
            large[place]
        assert own_memory() - before >= 120 * 4096
        before = own_memory()
        file = stack.enter_context(tempfile.TemporaryFile())
        for place in range(0, 4000, 2):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
        assert own_memory() - before >= 1900 * launcher.LOCK_BYTES
        before = own_memory()
        for _ in range(1000):
            stack.enter_context(mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ))
            stack.enter_context(mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_WRITE))
        assert own_memory() - before >= 1900 * launcher.MAPPING_BYTES


def test_two_launchers_may_remove_a_container(tmp_path: Path) -> None:
    """The one whose server is gone ends while the next one starts."""
    file, runtime = tmp_path / "container", tmp_path / "podman"
    file.write_text("1234\n")
    runtime.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\nrm {file}\n')
    runtime.chmod(0o755)
    for _ in range(2):
        launcher.remove_container(str(runtime), file)
    assert (tmp_path / "calls").read_text() == "rm --force 1234\n"
