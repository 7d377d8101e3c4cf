"""Programs that a server or a worker keeps running on its machine: bots, and the workers of a server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import structlog

from happycity.match import one_line
from happycity_runtime.child import Child, ChildError, child_environment, describe_status, split_command
from happycity_runtime.event_loop import end_tasks
from happycity_runtime.output import LogAllowance
from happycity_runtime.pauses import doubling
from happycity_runtime.tokens import PREFIX, new_secret
from happycity_runtime.transport import TOKENS_VARIABLE, Access, format_tokens
from happycity_server.config import LogFormat, ServerSettings
from happycity_server.errors import ListenError
from happycity_server.play.counters import Counters
from happycity_tournament.lineup import Lineup

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
"""What ran for longer than this starts again after the first pause; else each pause doubles."""
STOP_SECONDS = 10.0
"""How long a program may take to end that was asked to."""
_LINE_BYTES = 2000

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that is kept running."""

    kind: str
    """`bot`, `worker` or `ray`: what the log calls it."""
    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    """Variables that are added to those of this process."""
    arena: Callable[[], AbstractAsyncContextManager[str]] | None = None
    """Opens an address for it alone while it runs, in place of one in the environment."""
    directory: Path | None = None
    restarts: int | None = None
    """How often it is started again when it ends; None: whenever it does."""


def bot_programs(
    house: Mapping[str, str], lineup: Lineup, secrets: Mapping[str, str], address: str
) -> Iterator[Program]:
    """Yield the programs of bots that are to connect to an address, with what proves their names.

    A bot of the house has a process of its own and is started again whenever it ends. The reference bots of a
    run share processes as its lineup says, which also says how often those that end are started again.
    """
    for name, builtin in house.items():
        yield _reference_bots([(name, builtin)], secrets, address)
    for number in range(lineup.processes):
        if share := lineup.reference_bots[number :: lineup.processes]:
            yield _reference_bots(share, secrets, address, restarts=lineup.restarts)
    for name, command in lineup.commands:
        program = bot_program(name, split_command(command), secrets[name], address, restarts=lineup.restarts)
        yield replace(program, directory=lineup.directory)


def bot_program(
    name: str, command: Sequence[str], secret: str, address: str = "", *, restarts: int | None = None
) -> Program:
    """Return the program of a bot that a command runs."""
    own = {"HAPPYCITY_NAME": name, "HAPPYCITY_TOKEN": secret, "HAPPYCITY_SERVER": address}
    return Program(kind="bot", name=name, command=command, environment=own, restarts=restarts)


def _reference_bots(
    bots: Sequence[tuple[str, str]], secrets: Mapping[str, str], address: str, *, restarts: int | None = None
) -> Program:
    tokens = format_tokens({name: secrets[name] for name, _ in bots})
    return Program(
        kind="bot",
        name=",".join(name for name, _ in bots),
        command=(sys.executable, "-m", "happycity", "bot", *map("=".join, bots)),
        environment={"HAPPYCITY_SERVER": address, TOKENS_VARIABLE: tokens},
        restarts=restarts,
    )


def worker_programs(settings: ServerSettings, token: str, server: str) -> Iterator[Program]:
    """Yield the programs of the workers that a server starts, which join it at its address `server`."""
    own = {"HAPPYCITY_SERVER": server, "HAPPYCITY_TOKEN": token, **Access.from_env().environment}
    if settings.ray is not None:
        ray = (settings.ray, str(settings.workers))
        command = (sys.executable, "-m", "happycity_server.workers.ray_launcher", *ray)
        name = f"Ray cluster {settings.ray}"  # no bot has such a name
        yield Program(kind="ray", name=name, command=command, environment=own)
        return
    for number in range(1, settings.workers + 1):
        yield worker_program(f"worker {number}", own, settings.log)


def worker_program(name: str, environment: Mapping[str, str], log: LogFormat) -> Program:
    """Return the program of a worker that ends with this process."""
    flags = ("--name", name, "--stop-with-stdin", "--log", log.value)
    command = (sys.executable, "-m", "happycity", "worker", *flags)
    return Program(kind="worker", name=name, command=command, environment=environment)


def new_secrets(names: Sequence[str]) -> dict[str, str]:
    """Return a new bearer token for each name, which only this process knows and those that it starts."""
    return {name: new_secret(PREFIX)[0] for name in names}


@contextmanager
def private_address() -> Iterator[str]:
    """Yield an address for programs of this process alone, where no certificate is asked for.

    It is a socket in a folder that only the user of this process can enter, or a port of loopback where there
    are no such sockets.
    """
    if sys.platform == "win32":
        yield "127.0.0.1:0"
        return
    with TemporaryDirectory(prefix="happycity-") as folder:
        yield f"unix:{folder}/own"


@dataclass(eq=False, repr=False)
class Programs:
    """Keeps programs running until it is stopped; none outlives this process, however that ends."""

    counters: Counters = field(default_factory=Counters)
    """They count how often each program of bots was started again."""
    on_bot_left: Callable[[str, str], None] = lambda name, reason: None
    """Gets each bot whose program is not started again, and how that has ended."""
    on_worker_end: Callable[[str, str], None] = lambda name, ended: None
    """Gets the name of what ends by itself but no bot, and how."""
    _supervisors: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _children: dict[str, Child] = field(default_factory=dict, init=False)

    def supervise(self, program: Program) -> None:
        """Run a program, and run it again when it ends, as often as it may be."""
        self._supervisors[program.name] = asyncio.create_task(self._supervise(program))

    def kill(self, name: str) -> None:
        """End the program of a name at once, if it runs here; it is run again."""
        if name in self._children:
            self._children[name].kill()

    async def end(self, name: str) -> None:
        """End the program of a name, if there is one, and don't run it again."""
        if (supervisor := self._supervisors.pop(name, None)) is not None:
            await end_tasks(supervisor)

    async def stop(self) -> None:
        """End the programs."""
        await end_tasks(*self._supervisors.values())

    async def _supervise(self, program: Program) -> None:
        def note(ended: str, pause: float | None) -> None:
            again = {} if pause is None else {"again_in": pause}
            _log.warning(f"{program.kind}_ended", **{program.kind: program.name}, ended=ended, **again)
            if program.kind != "bot":
                self.on_worker_end(program.name, ended)
            elif pause is not None:
                self.counters.restarts[program.name] += 1
            else:
                for name in program.name.split(","):
                    self.on_bot_left(name, f"its program ended with {ended}")

        await keep_running(lambda: self._run(program), note, restarts=program.restarts)

    async def _run(self, program: Program) -> str:
        """Run a program to its end; return how it ended."""
        address = nullcontext(program.environment.get("HAPPYCITY_SERVER", ""))
        try:
            async with address if program.arena is None else program.arena() as server:
                return await self._run_at(server, program)
        except (ChildError, ListenError, OSError) as error:
            return str(error)

    async def _run_at(self, server: str, program: Program) -> str:
        is_bot = program.kind == "bot"
        child = Child.start(
            program.command,
            environment=child_environment(**{**program.environment, "HAPPYCITY_SERVER": server}),
            # Workers end with their standard input, and log by themselves.
            stdin=subprocess.DEVNULL if is_bot else subprocess.PIPE,
            stdout=subprocess.PIPE if is_bot else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if is_bot else None,
            directory=program.directory,
        )
        self._children[program.name] = child
        _log.info(f"{program.kind}_started", **{program.kind: program.name}, pid=child.pid)
        reader = threading.Thread(target=_log_output, args=(program.name, child.stdout), daemon=True)
        try:
            if is_bot:
                child.yield_to_games()
                reader.start()
            await child.wait()
        finally:
            if child.stdin is not None:
                child.stdin.close()
            await child.stop(STOP_SECONDS)
            del self._children[program.name]
        if is_bot:
            await asyncio.to_thread(reader.join, STOP_SECONDS)  # output ends with the last of the processes
        assert child.status is not None
        return describe_status(child.status)


async def keep_running(
    run: Callable[[], Awaitable[str]],
    note: Callable[[str, float | None], None],
    *,
    restarts: int | None = None,
) -> None:
    """Run something again and again, or a number of times after the first.

    `note` gets how it ended and the pause until it begins again, None after the last time.
    """
    clock = asyncio.get_running_loop().time
    pauses = doubling(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
    while True:
        started = clock()
        ended = await run()
        if clock() - started > LONGEST_PAUSE_SECONDS:
            pauses = doubling(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        if restarts == 0:
            note(ended, None)
            return
        restarts = None if restarts is None else restarts - 1
        note(ended, pause := next(pauses))
        await asyncio.sleep(pause)


def _log_output(name: str, output: IO[bytes]) -> None:
    """Write what a bot prints to the log of this process, in a thread of its own."""
    allowance = LogAllowance()
    with output:
        while line := output.readline(_LINE_BYTES):
            if text := one_line(line.decode(errors="replace")):
                for said in allowance.passed(text):
                    _log.info("bot_says", bot=name, text=said)
    for said in allowance.rest():
        _log.info("bot_says", bot=name, text=said)
