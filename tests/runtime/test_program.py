"""Programs: their event loop and signals, what they import, variables in files, and errors in one line."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop
from tests.programs import run
from tests.waiting import LIMIT

from happycity import ConfigError
from happycity_runtime import event_loop
from happycity_runtime.environment import read_variables_from_files


@pytest.mark.level(2)
def test_bad_input_costs_one_line() -> None:
    """A name that is wrong ends the program with status 2 and says what is wrong."""
    done = run("ann=gredy", module="happycity_bots")
    assert done.returncode == 2
    assert done.stderr == "error: 'gredy' is not a reference bot; did you mean greedy?\n"


def test_variables_may_lie_in_files(tmp_path: Path) -> None:
    """The file's text replaces the variable that names it, without the line break at its end; others stay."""
    secret = tmp_path / "token"
    secret.write_text("hc_secret\n")
    environ = {
        "HAPPYCITY_TOKEN": "hc_other",
        "HAPPYCITY_TOKEN_FILE": str(secret),
        "HAPPYCITY_SERVE_STORE_FILE": "",
        "OTHER_FILE": "x",
    }
    read_variables_from_files(environ)
    assert environ == {"HAPPYCITY_TOKEN": "hc_secret", "OTHER_FILE": "x"}


def test_files_of_variables_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    """One line names the variable and says what is wrong, without the secret."""
    for content, problem in [
        (None, "can't be read: No such file or directory"),
        (b"hc_secret\xff\n", "is not text in UTF-8"),
        (b"hc_\0secret\n", "is not text in UTF-8"),
    ]:
        secret = tmp_path / "file"
        if content is not None:
            secret.write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            read_variables_from_files({"HAPPYCITY_TOKEN_FILE": str(secret)})
        assert str(caught.value) == f"HAPPYCITY_TOKEN_FILE: {secret} {problem}"


SLOW = ("jinja2", "numpy", "pydantic", "rich", "sqlalchemy", "starlette", "typer", "uvicorn")
"""Packages that take long to import."""


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("program", "needed"),
    [
        ("import happycity_bots.playing", set()),
        ("import happycity_client", set()),
        pytest.param(
            "from happycity_server.process.logs import configure; "
            "from happycity_server.config import LogFormat; configure(LogFormat.JSON); "
            "import happycity_server.app, happycity_server.__main__",
            {"pydantic", "sqlalchemy"},
            marks=pytest.mark.level(2),
        ),
        pytest.param(
            "from happycity_server.process.logs import configure; "
            "from happycity_server.config import LogFormat; configure(LogFormat.JSON); "
            "import happycity_server.workers.worker",
            {"pydantic"},
            marks=pytest.mark.level(2),
        ),
        pytest.param(
            "import happycity_tournament.cli.app, happycity_tournament.cli.run",
            {"pydantic", "typer"},
            marks=pytest.mark.level(2),
        ),
        (
            "import happycity_tournament.proof.tournament_proof, happycity_tournament.standings.rated_games",
            {"pydantic"},
        ),
    ],
    ids=["reference bots", "SDK", "server", "worker", "run", "verify"],
)
def test_a_program_imports_what_it_needs(program: str, needed: set[str]) -> None:
    """Each of these packages is a tenth of a start, which all of a run's processes have to make."""
    print_imported = f"import sys; {program}; print(*({set(SLOW)} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", print_imported], stdout=subprocess.PIPE, text=True, check=True
    )
    assert set(done.stdout.split()) == needed


def test_a_program_runs_on_uvloop_where_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    assert isinstance(event_loop.run(loop()), uvloop.Loop)
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert not isinstance(event_loop.run(loop()), uvloop.Loop)


@pytest.mark.parametrize("number", event_loop.STOP_SIGNALS)
async def test_a_stop_signal_calls_the_handler_each_time(number: signal.Signals) -> None:
    """After the context the signals have their usual effects."""
    stopped: asyncio.Queue[None] = asyncio.Queue()
    with event_loop.on_stop_signal(lambda: stopped.put_nowait(None)):
        for _ in range(2):
            os.kill(os.getpid(), number)
            async with asyncio.timeout(LIMIT):
                await stopped.get()
    assert [signal.getsignal(stop) for stop in event_loop.STOP_SIGNALS] == [
        signal.default_int_handler,
        signal.SIG_DFL,
    ]


@pytest.mark.level(2)
def test_a_background_job_hears_ctrl_c_too() -> None:
    """A shell starts background jobs so that they ignore SIGINT; the handler is called all the same."""
    code = """
import asyncio, os, signal
from happycity_runtime import event_loop
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
async def main():
    stopped = asyncio.Event()
    with event_loop.on_stop_signal(stopped.set):
        os.kill(os.getpid(), signal.SIGINT)
        await stopped.wait()
event_loop.run(main())
"""
    program = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" & wait $!', sys.executable, code], timeout=LIMIT, check=False
    )
    assert program.returncode == 0


@pytest.mark.level(2)
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closed_standard_streams_are_opened(closed: int, tmp_path: Path) -> None:
    """A program that starts without one of them runs all the same, and no other file takes its number."""
    program = (
        "import os, sys\n"
        "from happycity_runtime import event_loop\n"
        "async def main():\n"
        f"    assert os.path.samestat(os.fstat({closed}), os.stat(os.devnull))\n"
        "    print('out'); print('error', file=sys.stderr); assert sys.stdin.read() == ''\n"
        "event_loop.run(main())\n"
        f"open({str(tmp_path / 'done')!r}, 'w').close()\n"
    )
    command = f'exec "$0" -c "$1" {closed}>&-'
    subprocess.run(
        ["sh", "-c", command, sys.executable, program], stdin=subprocess.DEVNULL, check=True, timeout=LIMIT
    )
    assert (tmp_path / "done").exists()


@pytest.mark.level(2)
def test_signals_cut_no_output_short() -> None:
    """A pipe takes 64 KB at once, and Python without buffers would drop the rest after a signal."""
    text = "from happycity_runtime.program import *; open_standard_streams(); print('x' * 200_000)"
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen((sys.executable, "-c", text), stdout=subprocess.PIPE, env=environ) as program:
        assert program.stdout is not None
        first = program.stdout.read(1)  # now it writes the rest, for which the pipe has no room
        program.send_signal(signal.SIGSTOP)
        os.waitpid(program.pid, os.WUNTRACED)
        program.send_signal(signal.SIGCONT)
        assert len(first + program.stdout.read()) == 200_001
