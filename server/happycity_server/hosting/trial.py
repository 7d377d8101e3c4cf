"""The trial of a submitted bot: the conformance suite and a practice game, inside its sandbox."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from happycity import Config, FailurePolicy, HappyCityError, TimeControl
from happycity.match import one_line
from happycity.runtime.child import Child, child_environment
from happycity.runtime.tokens import Role
from happycity_server.access.gate import Authenticator, house_callers
from happycity_server.access.roles import Principal
from happycity_server.config import ServerSettings
from happycity_server.people.practice import practice_match
from happycity_server.play.clock import FairClock, UnixClock
from happycity_server.play.lobby import SWEEP_SECONDS, Lobby
from happycity_server.process.listening import BotServer, bind
from happycity_server.process.programs import (
    Program,
    Programs,
    bot_programs,
    guard,
    new_secrets,
    private_address,
)
from happycity_tournament.lineup import Lineup

STEPS = (
    *("hello", "name", "token", "first-decision", "whole-game", "many-games", "table-sizes", "expert"),
    *("several-seats", "large-numbers", "one-message", "repeated-messages", "notices", "unknown-fields"),
    *("game-over", "voided", "unknown-values", "ping", "reconnect", "resent-decision", "resumed-games"),
)
"""The steps of `happycity check` that need no other network than the arena's socket."""
LONGEST_CHECK_SECONDS = 300.0
CONNECT_SECONDS = 60.0
LONGEST_GAME_SECONDS = 600.0
_PLAYERS = 4

Launch = Callable[[Path], Sequence[str]]
"""Returns the command that runs the bot in its sandbox, with an arena's socket."""


class TrialError(HappyCityError):
    """A bot failed its trial; the lines say why."""

    def __init__(self, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


def open_socket(address: str) -> Path:
    """Return the file of a socket that listens at `unix:PATH`, which any user may now connect to.

    A sandbox may run its bot as another user. None but its folder's owner gets to the file otherwise.
    """
    path = Path(address.removeprefix("unix:"))
    path.chmod(0o666)
    return path


async def check(launch: Launch) -> str:
    """Put a bot to the conformance suite; return its summary.

    Raises:
        TrialError: a step failed.
    """
    with private_address() as address:
        bot = shlex.join(launch(Path(address.removeprefix("unix:"))))
        steps = [word for step in STEPS for word in ("--only", step)]
        child = Child.start(
            (sys.executable, "-m", "happycity", "check", "--json", *steps, "--listen", address, "--bot", bot),
            environment=child_environment(PYTHONUNBUFFERED="1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        guarding = guard(child)
        try:
            assert child.stdout is not None
            assert child.stderr is not None
            reading = (asyncio.to_thread(pipe.read) for pipe in (child.stdout, child.stderr))
            printed, said = await asyncio.wait_for(asyncio.gather(*reading), LONGEST_CHECK_SECONDS)
            await child.wait()
        except TimeoutError:
            raise TrialError(f"conformance: it took more than {LONGEST_CHECK_SECONDS:g} s") from None
        finally:
            await child.stop(5.0)
            if guarding is not None and guarding.stdin is not None:
                guarding.stdin.write(b"\n")
                guarding.stdin.close()
    try:
        report = json.loads(printed)
    except ValueError:
        raise TrialError(f"conformance: {one_line(said.decode(errors='replace'))[-200:]}") from None
    failed = [step for step in report["steps"] if step["status"] == "failed"]
    if failed:
        lines = (f"{step['name']}: {step['demanded']}; seen: {step['seen']}" for step in failed)
        raise TrialError(f"conformance: {len(failed)} of {len(report['steps'])} steps failed", *lines)
    return f"conformance: all {len(report['steps'])} steps passed"


async def play(settings: ServerSettings, name: str, launch: Launch) -> str:
    """Let a bot play a game against reference bots in an arena of its own; return how it went.

    Raises:
        TrialError: it doesn't connect, or forfeits.
    """
    opponent = "random" if name != "random" else "opponent"
    secrets = new_secrets([name, opponent])
    callers = house_callers({opponent: secrets[opponent]})
    callers[secrets[name]] = Principal(f"hosted {name}", frozenset({Role.BOT}), hosted_bot=name)
    lobby = Lobby(
        FairClock(time.monotonic, tick_seconds=SWEEP_SECONDS),
        UnixClock(time.time, time.monotonic),
        limits=settings.session_limits,
    )
    authenticator = Authenticator(None, now=lambda: datetime.now(UTC), own=callers, is_open=False)
    server = BotServer(settings, lobby, authenticator, clock=time.monotonic)
    programs = Programs()
    async with AsyncExitStack() as stack:
        address = bind(server.grpc, stack.enter_context(private_address()), None)
        await server.start()
        stack.push_async_callback(server.stop)
        stack.push_async_callback(lobby.close, 0.0)
        stack.push_async_callback(programs.stop)
        for program in bot_programs({opponent: "random"}, Lineup(), secrets, address):
            programs.keep(program)
        programs.keep(bot_program(name, secrets[name], launch(open_socket(address)), restarts=0))
        if missing := await lobby.wait_for((name, opponent), CONNECT_SECONDS):
            raise TrialError(f"practice game: {missing[0]} did not connect within {CONNECT_SECONDS:g} s")
        bots = (name, *(opponent,) * (_PLAYERS - 1))
        config, time_control = Config(players=_PLAYERS), TimeControl()
        spec = practice_match(config, bots, seed=1, time=time_control, policy=FailurePolicy())
        match = lobby.create(spec)
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_GAME_SECONDS), lobby.played(match):
                pass
        if not match.results:
            raise TrialError(f"practice game: it was not over within {LONGEST_GAME_SECONDS:g} s")
        own = match.results[0]
        if own.forfeited:
            raise TrialError(f"practice game: it forfeited: {own.reason or own.ending.value}")
        return f"practice game: place {own.place} of {_PLAYERS} against {opponent}, {own.points} points"


def bot_program(name: str, secret: str, command: Sequence[str], *, restarts: int | None = None) -> Program:
    """Return the program of a hosted bot, whose sandbox has the address."""
    environment = {"HAPPYCITY_NAME": name, "HAPPYCITY_TOKEN": secret}
    return Program(kind="bot", name=name, command=command, environment=environment, restarts=restarts)
