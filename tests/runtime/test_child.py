"""Child processes: how they start, end, and what they get from this process."""

import asyncio
import errno
import io
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.waiting import LIMIT

from happycity_runtime.child import (
    TAIL_BYTES,
    Child,
    ChildError,
    child_environment,
    describe_status,
    last_line,
    model_keys,
    split_command,
)

# Starts a child, which ignores SIGTERM if that is wanted, and says its id as soon as it is ready.
PARENT = """
import os, signal, subprocess, sys, time
code = sys.argv[1] + "; print(os.getpid(), flush=True); signal.pause()"
child = subprocess.Popen([sys.executable, "-c", "import os, signal, time; " + code])
if len(sys.argv) > 2:
    sys.exit(int(sys.argv[2]) if child.stdout is None and input() == "" else 1)
child.wait()
"""
MEEK, STUBBORN = "pass", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def start(command: list[str], *, stdin: int = subprocess.DEVNULL, stdout: int = subprocess.DEVNULL) -> Child:
    return Child.start(command, environment=child_environment(), stdin=stdin, stdout=stdout)


@contextmanager
def piped(command: list[str]) -> Iterator[Child]:
    """Start a child whose standard streams are pipes, which are closed in the end."""
    child = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield child
    for pipe in (child.stdin, child.stdout):
        assert pipe is not None
        pipe.close()


async def line_of(child: Child) -> str:
    assert child.stdout is not None
    return (await asyncio.to_thread(child.stdout.readline)).decode().strip()


class Watched:
    def __init__(self, pid: int) -> None:
        self._handle = os.pidfd_open(pid)
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)

    @property
    def runs(self) -> bool:
        return not self._poll.poll(0)

    def wait(self) -> None:
        assert self._poll.poll(LIMIT * 1000)
        os.close(self._handle)


async def test_a_program_is_waited_for() -> None:
    # The exit status is there as soon as the program has ended, and stays.
    child = start(python("raise SystemExit(3)"))
    assert await child.wait(LIMIT) == 3
    assert child.status == 3
    assert await child.wait() == 3

    # Waiting ends after its time; the program doesn't.
    child = start(python("import signal; signal.pause()"))
    assert await child.wait(0.01) is None
    assert child.status is None
    await child.stop(LIMIT)
    assert child.status == -signal.SIGTERM

    # A program that has ended is stopped already.
    child = start(python("pass"))
    for _ in range(2):
        await child.stop(LIMIT)
    assert child.status == 0 or child.status == -signal.SIGTERM


async def test_a_program_is_asked_first_and_then_killed() -> None:
    # Within the grace time it may do what it has to do and choose its status.
    goodbye = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    with piped(python(f"{goodbye}; print(1, flush=True); signal.pause()")) as child:
        await line_of(child)
        await child.stop(LIMIT)
        assert child.status == 7

    # After the grace time nothing is asked any more.
    stubborn = python(f"import signal; {STUBBORN}; print(1, flush=True); signal.pause()")
    with piped(stubborn) as child:
        await line_of(child)
        await child.stop(0.05)
        assert child.status == -signal.SIGKILL

    # A caller that gives up waiting leaves no process behind.
    with piped(stubborn) as child:
        await line_of(child)
        stopping = asyncio.create_task(child.stop(LIMIT))
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        assert child.status == -signal.SIGKILL


@pytest.mark.parametrize(("code", "grace"), [(MEEK, LIMIT), (STUBBORN, 0.5)], ids=["meek", "stubborn"])
async def test_stopping_ends_the_whole_group(code: str, grace: float) -> None:
    with piped(python(PARENT, code)) as child:
        grandchild = Watched(int(await line_of(child)))
        assert grandchild.runs
        await child.stop(grace)
        grandchild.wait()


async def test_what_a_program_leaves_behind_is_killed_without_grace() -> None:
    """A program that has ended by itself has no say in how the rest of its group ends."""
    with piped(python(PARENT, STUBBORN, "5")) as child:
        grandchild = Watched(int(await line_of(child)))
        assert child.stdin is not None
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert await child.wait(LIMIT) == 5
        assert grandchild.runs
        await child.stop(LIMIT)
        grandchild.wait()
        assert child.status == 5


async def test_a_grandchild_has_the_grace_time_too() -> None:
    """A shell that ends at once doesn't take the goodbye from the program that it runs."""
    code = """
import ctypes, os, signal
signal.signal(signal.SIGTERM, lambda *_: None)
signal.signal(signal.SIGUSR1, lambda *_: (os.write(1, b"bye"), os._exit(0)))
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGUSR1)  # at the end of the shell
os.write(1, b"up\\n")
while True:
    signal.pause()
"""
    with piped(["sh", "-c", f'"{sys.executable}" -c "$0" & wait', code]) as child:
        assert await line_of(child) == "up"
        await child.stop(LIMIT)
        assert child.stdout is not None
        assert await asyncio.to_thread(child.stdout.read) == b"bye"


async def test_a_program_that_can_not_be_started() -> None:
    for command, folder, message in [
        (["/no/such/bot"], None, "'/no/such/bot' can't be started: No such file or directory"),
        (["/etc/passwd"], None, "'/etc/passwd' can't be started: Permission denied"),
        ([sys.executable], Path("/no/such/folder"), "in /no/such/folder: No such file or directory"),
        (["\0"], None, "can't be started: embedded null byte"),
    ]:
        with pytest.raises(ChildError) as caught:
            Child.start(command, environment={}, directory=folder)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


async def test_a_child_has_its_environment_folder_and_session(tmp_path: Path) -> None:
    # Just the variables that it is given, in just that folder.
    code = "import os; print(os.getcwd(), os.environ['BOT'], 'HOME' in os.environ, flush=True)"
    child = Child.start(python(code), environment={"BOT": "anna"}, stdout=subprocess.PIPE, directory=tmp_path)
    assert await line_of(child) == f"{tmp_path} anna False"
    await child.stop(LIMIT)
    assert child.stdout is not None
    child.stdout.close()

    # A child is in a session of its own, which no Ctrl-C at this process's terminal reaches.
    with piped(python("import os; print(os.getsid(0), os.getpgrp(), flush=True)")) as child:
        assert (await line_of(child)).split() == [str(child.pid)] * 2
        await child.stop(LIMIT)


SECRETS = {
    *(
        f"HAPPYCITY_{name}"
        for name in ("TOKEN", "KEY", "CERT", "CA", "LLM_KEY", "SERVE_STORE", "SERVE_TOKENS")
    ),
    *("PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY", "OPENAI_API_KEY"),
}


def test_a_childs_environment_has_no_secrets_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    # How this process reaches servers and databases, and serves, is not inherited; all else is.
    for name in (*SECRETS, "HAPPYCITY_NAME", "HAPPYCITY_SERVER", "PGHOST", "MY_HAPPYCITY_TOKEN"):
        monkeypatch.setenv(name, "mine")
    environment = child_environment()
    assert not SECRETS & environment.keys()
    assert environment == {name: value for name, value in os.environ.items() if name not in SECRETS}

    # A token of its own, for example, in the place of this process's.
    monkeypatch.setenv("HAPPYCITY_TOKEN", "mine")
    monkeypatch.setenv("HAPPYCITY_NAME", "mine")
    environment = child_environment(HAPPYCITY_TOKEN="its", HAPPYCITY_NAME="its")
    assert (environment["HAPPYCITY_TOKEN"], environment["HAPPYCITY_NAME"]) == ("its", "its")
    assert os.environ["HAPPYCITY_TOKEN"] == "mine"


def test_keys_of_language_models_are_for_the_bot_that_asks_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for command, gets_keys in [
        ("happycity llm --model m", True),
        ("/opt/bin/happycity llm", True),
        ("python -m happycity llm", True),
        ("python mybot.py happycity llm", True),
        ("happycity bot greedy", False),
        ("python mybot.py", False),
    ]:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
        monkeypatch.delenv("HAPPYCITY_LLM_KEY", raising=False)
        assert model_keys(split_command(command)) == ({"OPENAI_API_KEY": "sk-1"} if gets_keys else {})


def test_commands_and_statuses_in_words() -> None:
    # As a shell does, without being one.
    assert split_command("python 'my bot.py' --n=$HOME") == ["python", "my bot.py", "--n=$HOME"]
    for command, message in (("'x", "can't read the command"), ("  ", "the command is empty")):
        with pytest.raises(ChildError, match=message):
            split_command(command)

    # People read the signal's name, if it has one.
    for status, words in [
        (0, "status 0"),
        (1, "status 1"),
        (-9, "signal SIGKILL"),
        (-15, "signal SIGTERM"),
        (-45, "signal 45"),
    ]:
        assert describe_status(status) == words


async def test_the_last_line_for_people() -> None:
    # Blank lines and log lines don't count; it can be printed, and only the end of a file is read.
    for output, line in [
        (b"", ""),
        (b"\n \n", ""),
        (b"one\ntwo\n", "two"),
        (b"one\n\n  two  \r\n\n", "two"),
        (b"broken\nINFO mine: stopped\n2026-11-22T15:23:03Z INFO mine: connected to 127.0.0.1:5\n", "broken"),
        (b'error: no such file\n{"event": "stopped"}\n', "error: no such file"),
        (b"grpc error:\n\tdetails = 'no'\n\tdebug_error_string = 'UNKNOWN:no'\n>\n", "details = 'no'"),
        (b"\x1b[31mbroken\x1b[0m \xff\n", "[31mbroken [0m \ufffd"),
        (b"x" * TAIL_BYTES + b"\nlast\n", "last"),
        (b"first\n" + b"\n" * TAIL_BYTES, ""),
        (b"y" * 1000, "y" * 200),
    ]:
        assert last_line(io.BytesIO(output)) == line

    # Output that goes to a file can be read while the program still has it open.
    with tempfile.TemporaryFile() as file:
        child = Child.start(python("print('a\\nb')"), environment=child_environment(), stdout=file)
        assert await child.wait(LIMIT) == 0
        assert last_line(file) == "b"


@pytest.mark.parametrize("number", [errno.ESRCH, errno.ENOENT, errno.EACCES, errno.EMFILE])
async def test_end_is_noticed_when_other_processes_cannot_be_looked_at(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others end while this process looks for what a program has left behind; the program's end is known.

    Linux answers with ESRCH for a process that ends during the call itself, by `stat` as by `open`.
    """

    def fail(path: Path, *_: object, **__: object) -> bytes:
        raise OSError(number, os.strerror(number), str(path))

    child = start(["sh", "-c", "read line"], stdin=subprocess.PIPE)
    stat = Path.stat
    monkeypatch.setattr(Path, "read_bytes", fail)
    monkeypatch.setattr(
        Path, "stat", lambda path, **kind: (fail if "environ" in str(path) else stat)(path, **kind)
    )
    assert child.stdin is not None
    child.stdin.close()
    assert await child.wait(LIMIT) == 1
    await asyncio.wait_for(child.stop(0), LIMIT)
