"""What programs may do to the machine: to its processors, its disk, and after their end."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.waiting import LIMIT

from happycity_runtime import output
from happycity_runtime.child import BOT_NICENESS, Child, ChildError, child_environment, last_line
from happycity_runtime.output import LogAllowance

SIZES = (100, 40)
"""Bytes of the first and the last part that are kept in these tests."""


def read(path: Path) -> bytes:
    return path.read_bytes()


@pytest.mark.parametrize(("own", "wanted"), [(0, BOT_NICENESS), (5, 5), (6, 6), (19, 19)])
async def test_a_bot_is_never_less_nice_than_who_starts_it(
    monkeypatch: pytest.MonkeyPatch, own: int, wanted: int
) -> None:
    """Only root may lower the number, and a run with `nice -n 6` belongs to an ordinary user."""

    def setpriority(which: int, who: int, priority: int) -> None:
        if priority < own:
            raise PermissionError(13, "Permission denied")
        asked.append(priority)

    asked: list[int] = []
    monkeypatch.setattr(os, "getpriority", lambda which, who: own)
    monkeypatch.setattr(os, "setpriority", setpriority)
    child = Child.start([sys.executable, "-c", "input()"], environment={}, stdin=subprocess.PIPE)
    child.yield_to_games()
    assert asked == [wanted]
    await child.stop(LIMIT)
    assert child.stdin is not None
    child.stdin.close()


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
async def test_a_priority_that_can_not_be_set_stops_no_run(
    monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """The program has ended already, or runs as another user by now."""

    def setpriority(*_: int) -> None:
        raise error

    monkeypatch.setattr(os, "setpriority", setpriority)
    child = Child.start([sys.executable, "-c", "pass"], environment={})
    child.yield_to_games()
    await child.stop(LIMIT)


@pytest.mark.parametrize("printed", [0, 1, 99, 100, 139, 140, 141, 179, 180, 181, 1_000, 70_000, 500_000])
@pytest.mark.parametrize("before", [b"", b"of a program before\n" * 20])
async def test_a_file_keeps_the_first_and_the_last_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: int, before: bytes
) -> None:
    """It says how much was left out between; what was in it stays."""
    monkeypatch.setattr(output, "FIRST_BYTES", SIZES[0])
    monkeypatch.setattr(output, "LAST_BYTES", SIZES[1])
    log = tmp_path / "bot.log"
    log.write_bytes(before)
    numbers = r"b''.join(b'%07d\n' % n for n in range(int(sys.argv[1]) // 8 + 1))[:int(sys.argv[1])]"
    text = b"".join(b"%07d\n" % number for number in range(printed // 8 + 1))[:printed]
    command = [sys.executable, "-c", f"import sys; sys.stdout.buffer.write({numbers})", str(printed)]
    child = Child.start(command, environment={}, stdout=log, stderr=log)
    assert await child.wait(LIMIT) == 0
    kept = read(log).removeprefix(before)
    assert len(kept) <= SIZES[0] + 2 * SIZES[1] + 65_536 * (printed > 65_536) + 50
    if b"left out" not in kept:
        assert kept == text
    else:
        first, middle, last = kept[: SIZES[0]], *kept[SIZES[0] + 1 :].split(b"\n", 1)
        assert (first, last) == (text[: SIZES[0]], text[-len(last) :])
        assert len(last) >= SIZES[1]
        left_out = int(middle.removeprefix(b"... ").removesuffix(b" bytes left out ...").replace(b",", b""))
        assert left_out >= printed - SIZES[0] - len(last)
    await child.stop(LIMIT)


async def test_both_streams_have_files_of_their_own(tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    code = "import sys; print('result'); sys.exit('error: broken')"
    child = Child.start([sys.executable, "-c", code], environment={}, stdout=out, stderr=err)
    assert await child.wait(LIMIT) == 1
    assert (read(out), read(err)) == (b"result\n", b"error: broken\n")
    with err.open("rb") as errors:
        assert last_line(errors) == "error: broken"
    await child.stop(LIMIT)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
async def test_a_program_does_not_wait_for_a_file_that_can_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk ends no bot."""
    code = "import sys; sys.stdout.write('x' * 1_000_000)"
    link = tmp_path / "bot.log"
    link.symlink_to("/dev/full")
    child = Child.start([sys.executable, "-c", code], environment={}, stdout=link)
    assert await child.wait(LIMIT) == 0
    await child.stop(LIMIT)


def test_lines_are_logged_at_a_rate() -> None:
    """A flood is cut; who speaks rarely is always heard; at the end comes the last line."""
    now = [0.0]
    allowance = LogAllowance(lambda: now[0])
    line = "x" * 1024
    said = [passed for _ in range(1_000) for passed in allowance.passed(line)]
    assert said == [line] * (output.LOGGED_BYTES // 1024)
    left_out = 1024 * (1_000 - len(said))
    now[0] += 3_600
    assert allowance.passed("hello") == [f"... {left_out:,} characters left out ...", "hello"]
    assert allowance.rest() == []
    for number in range(output.LOGGED_BYTES // 8):
        allowance.passed(f"line {number}")
    assert allowance.rest()[1] == f"line {output.LOGGED_BYTES // 8 - 1}"
    for _ in range(1_000):
        now[0] += 60
        assert allowance.passed("a line in a minute") == ["a line in a minute"]


DAEMON = """
import os, sys, time
ready, done = os.pipe()
for _ in range(int(sys.argv[1])):
    if os.fork():
        os.read(ready, 1)
        time.sleep(1000) if sys.argv[2] == "stays" else sys.exit(3)
    os.setsid()
print(os.getpid(), flush=True)
os.close(1)
os.write(done, b"12")
time.sleep(1000)
"""
"""Prints the id of a process that has left its session by some forks."""


class Gone:
    """Tells when a process ends."""

    def __init__(self, pid: int) -> None:
        self._handle = os.pidfd_open(pid)

    def wait(self) -> bool:
        ended, _, _ = select.select([self._handle], [], [], LIMIT)
        os.close(self._handle)
        return bool(ended)


@pytest.mark.parametrize("forks", [1, 2])
@pytest.mark.parametrize("parent", ["stays", "ends"])
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="daemons are found by /proc")
async def test_a_daemon_ends_with_who_started_it(forks: int, parent: str) -> None:
    command = [sys.executable, "-c", DAEMON, str(forks), parent]
    child = Child.start(command, environment=child_environment(), stdout=subprocess.PIPE)
    assert child.stdout is not None
    daemon = Gone(int(await asyncio.to_thread(child.stdout.readline)))
    if parent == "ends":
        assert await child.wait(LIMIT) == 3
    await child.stop(LIMIT)
    assert daemon.wait()
    child.stdout.close()


KILLED = r"""
import asyncio, os, subprocess, sys
from happycity_runtime.child import Child

async def main():
    code = "import os, time; os.fork() or os.setsid(); os.write(1, b'%d\\n' % os.getpid()); time.sleep(1000)"
    child = Child.start([sys.executable, "-c", code], environment={}, stdout=None)
    await child.wait()

asyncio.run(main())
"""


@pytest.mark.level(1)
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="daemons are found by /proc")
def test_all_ends_with_a_process_that_is_killed() -> None:
    """The program and its daemon, though this process gets no notice of its end."""
    starter = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE)
    assert starter.stdout is not None
    started = [Gone(int(starter.stdout.readline())) for _ in range(2)]
    starter.kill()
    assert all(each.wait() for each in started)
    assert starter.wait() == -signal.SIGKILL
    starter.stdout.close()


AT_ONCE = r"""
import signal
from happycity_runtime.child import Child
Child.start(["/bin/sh", "-c", "echo $$; kill -KILL $PPID; exec sleep 1000"], environment={}, stdout=None)
signal.pause()  # it ends by the program, not before that has run
"""


@pytest.mark.level(1)
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="programs are found by /proc")
def test_a_program_ends_with_a_process_that_is_killed_while_it_starts_it() -> None:
    starter = subprocess.Popen([sys.executable, "-c", AT_ONCE], stdout=subprocess.PIPE)
    assert starter.stdout is not None
    with suppress(ProcessLookupError):  # it is gone by now
        assert Gone(int(starter.stdout.readline())).wait()
    assert starter.wait() == -signal.SIGKILL
    starter.stdout.close()


def test_why_a_program_can_not_be_started(tmp_path: Path) -> None:
    for name, content, mode, reason in [
        ("plain.py", "print()", 0o644, "Permission denied"),
        ("folder", None, 0o755, "Permission denied"),
        ("windows.py", "#!/nowhere/python\r\nprint()\r\n", 0o755, "names an interpreter that isn't there"),
        ("gone.py", "#!/nowhere/python\n", 0o755, "names an interpreter that isn't there"),
        ("-dash", "#!/nowhere/python\n", 0o755, "names an interpreter that isn't there"),
    ]:
        path = tmp_path / name
        if content is None:
            path.mkdir()
        else:
            path.write_text(content)
            path.chmod(mode)
        with pytest.raises(ChildError, match=reason):
            Child.start([f"./{name}"], environment={}, directory=tmp_path)
    for name, start in {"plain.py": "python plain.py", "-dash": r"\./-dash"}.items():
        with pytest.raises(ChildError, match=f"no such program; the file .* by: {start}$"):
            Child.start([name], environment={}, directory=tmp_path)
