"""Whole programs as tests start them, and the tournaments that they play."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import pytest
import structlog
from tests.waiting import PATIENT

from happycity.records.record import Json
from happycity_entry import cli
from happycity_tournament.cli import app
from happycity_tournament.client.connection import Connection, call_server
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.games import Position
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.storage.store import Store

if TYPE_CHECKING:  # subscripted in annotations only
    Program: TypeAlias = "subprocess.Popen[str]"
else:
    Program = subprocess.Popen
Start = Callable[..., Program]
Records = dict[Position, Any]

STORE = "sqlite:///games.sqlite"
ALL_GAMES = 10_000


@dataclass(frozen=True)
class Done:
    status: int
    output: str
    errors: str

    @property
    def error(self) -> str:
        """The only line of a command that was refused; lines of progress don't count."""
        assert (self.status, self.output) == (2, ""), self
        (line,) = [line for line in self.errors.splitlines() if line.startswith("error: ")]
        return line.removeprefix("error: ")


def tournament(*arguments: object) -> Done:
    return _call("tournament", app.main, arguments)


def happycity(*arguments: object) -> Done:
    return _call("happycity", cli.main, arguments)


def _call(name: str, main: Callable[[], object], arguments: tuple[object, ...]) -> Done:
    with (
        redirect_stdout(StringIO()) as output,
        redirect_stderr(StringIO()) as errors,
        pytest.MonkeyPatch.context() as patch,
        own_environment(),
    ):
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.setattr(sys.modules["__main__"], "__package__", "")  # or help would name `python -m pytest`
        logging = structlog.get_config()
        with pytest.raises(SystemExit) as ended:
            main()
        structlog.configure(**logging)  # `happycity serve` sets its own, as for a process
    assert "Traceback" not in errors.getvalue(), errors.getvalue()
    return Done(int(ended.value.code or 0), output.getvalue(), errors.getvalue())


@contextmanager
def own_environment() -> Iterator[None]:
    """Undo at the end what a command adds to the environment, such as what its folder's file has."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def played(*arguments: object) -> Json:
    done = tournament(*arguments, "--json")
    assert done.status == 0, done
    result: Json = json.loads(done.output)
    return result


def settings_file(**settings: object) -> tuple[str, str]:
    """Write a file with settings that are no flags; return the arguments that name it."""
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    Path("settings.toml").write_text("".join(lines))
    return "--config", "settings.toml"


def standings_of(result: Json) -> list[Json]:
    """Return the standings of a result without where the bots log: that is in the folder of each run."""
    return [{**line, "log": None} for line in result["standings"]]


def command_of(bot: str, *, name: str = "") -> str:
    """Return a program of the folder `bots` as `--bot` takes it."""
    return f"{name or bot}={sys.executable} {Path(__file__).parent}/bots/{bot}.py"


def gated_run(games: int, *, at_once: int, store: str = "") -> tuple[str, ...]:
    """Return the arguments of a run in whose games `random` meets a gated bot, which may wait for long."""
    return (
        "run", "--bots", "random", "--bot", command_of("gated"), "--seats", "2", "--rounds", str(games // 2),
        "--seed", "11", "--concurrency", str(at_once), *PATIENT, "--no-web",
        *(("--store", store) if store else ()),
    )  # fmt: skip


@dataclass(frozen=True)
class Undisturbed:
    """The end of a gated run that nothing has disturbed."""

    records: Records
    result: Json


class Gate:
    """The named pipe from which the gated bots of a folder take the permits for their games."""

    def __init__(self, folder: Path) -> None:
        os.mkfifo(folder / "gate")
        self._pipe = os.open(folder / "gate", os.O_RDWR | os.O_NONBLOCK)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._pipe)

    def let_through(self, games: int) -> None:
        os.write(self._pipe, b"." * games)

    def close(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._pipe, ALL_GAMES)


def wait_for_line(program: Program, text: str) -> str:
    assert program.stderr is not None
    lines = []
    for line in program.stderr:
        if text in line:
            return line
        lines.append(line)
    raise AssertionError(lines)


def processes() -> dict[int, str]:
    """Return the command lines of the processes that run in this folder by their ids, but for this one."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if int(process.name) != os.getpid() and (process / "cwd").readlink() == Path.cwd():
                found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ")
    return found


def kill_processes() -> None:
    """Kill what a killed run has left in this folder: its bots would look for its server for a minute."""
    for process in processes():
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(process, signal.SIGKILL)


def server_of(run: Program) -> int:
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    (server,) = (
        child for child in children if "\0happycity_server\0" in Path(f"/proc/{child}/cmdline").read_text()
    )
    return int(server)


def serve(
    start: Start, *options: str, url: str = STORE, listen: str = "unix:arena.sock", **to: Any
) -> Program:
    return serve_where(start, *options, url=url, listen=listen, **to)[0]


def serve_where(
    start: Start, *options: str, url: str = STORE, listen: str = "127.0.0.1:0", **to: Any
) -> tuple[Program, Json]:
    """Start a server and wait until it listens; return it with its line that says where."""
    server = start("happycity", "serve", "--listen", listen, "--store", url, "--grace", "0", *options, **to)
    assert server.stdout is not None
    return server, json.loads(server.stdout.readline())


ARENA = RemoteServer(address="unix:arena.sock")
"""The server that `serve` starts."""


def own_server(folder: Path) -> RemoteServer:
    server = RemoteServer.of_run(folder)
    assert server is not None
    return server


def own_folder(where: Path | None = None) -> Path:
    (folder,) = (where or Path()).glob("runs/*")
    return folder


def follow(server: RemoteServer, tournament_id: int = 1, *, until_games: int | None = None) -> Snapshot:
    """Watch a tournament until it has this number of games, or to its end; return how it stands then."""

    async def watch(connection: Connection) -> Snapshot:
        async with aclosing(connection.watch(tournament_id)) as snapshots:
            async for snapshot in snapshots:
                if until_games is not None and snapshot.games >= until_games:
                    break
        return snapshot

    return call_server(server, watch)


def wait_for_waiting_games(server: RemoteServer, bot: str, games: int) -> None:
    """Wait until this number of games of the first tournament on a server waits for a bot."""

    async def watch(connection: Connection) -> None:
        async with aclosing(connection.watch(1)) as snapshots:
            async for snapshot in snapshots:
                if sum(one.games_waiting for one in snapshot.activity if one.bot == bot) == games:
                    break

    call_server(server, watch)


def records(url: str = STORE, tournament_id: int = 1) -> Records:
    """Return all records of a tournament by their place in the schedule, without the times in them."""
    found: Records = {}
    with Store.existing(url) as store:
        for game in store.games(ALL_GAMES, tournament_id=tournament_id):
            record = json.loads(store.record(game.match_id) or "")
            assert game.position is not None
            assert game.position not in found  # no game is there twice
            found[game.position] = {key: value for key, value in record.items() if key != "clock"}
    return found
