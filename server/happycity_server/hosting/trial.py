"""The trial of a submitted bot: the conformance suite and a practice game, inside its sandbox."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from tempfile import TemporaryFile

from happycity import Config, HappyCityError, TimeControl
from happycity_runtime.child import Child, child_environment, last_line
from happycity_server.config import ServerSettings
from happycity_server.people.practice import practice_match
from happycity_server.process.private_arena import private_arena
from happycity_server.process.programs import (
    STOP_SECONDS,
    bot_program,
    bot_programs,
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


class TrialError(HappyCityError):
    """A bot failed its trial; the lines say why."""

    def __init__(self, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


async def run_trial(settings: ServerSettings, name: str, command: Sequence[str]) -> tuple[str, str]:
    """Try a bot, which a command runs in its sandbox; return how it went, in lines for people.

    TrialError if the bot failed; HappyCityError if the conformance suite itself did.
    """
    return await check_conformance(command), await play_practice_game(settings, name, command)


async def check_conformance(command: Sequence[str]) -> str:
    """Put a bot to the conformance suite; return its summary."""
    steps = [word for step in STEPS for word in ("--only", step)]
    with private_address() as address, TemporaryFile() as printed, TemporaryFile() as said:
        own = ("--json", *steps, "--listen", address, "--bot", shlex.join(command))
        words = (sys.executable, "-m", "happycity", "check", *own)
        child = Child.start(words, environment=child_environment(), stdout=printed, stderr=said)
        child.yield_to_games()
        try:
            if await child.wait(LONGEST_CHECK_SECONDS) is None:
                raise TrialError(f"conformance: it took more than {LONGEST_CHECK_SECONDS:g} s")
        finally:
            await child.stop(STOP_SECONDS)
        printed.seek(0)
        try:
            report = json.load(printed)["steps"]
        except ValueError:
            raise HappyCityError(f"conformance: {last_line(said)}") from None
    if failed := [step for step in report if step["status"] == "failed"]:
        lines = (f"{step['name']}: {step['demanded']}; seen: {step['seen']}" for step in failed)
        raise TrialError(f"conformance: {len(failed)} of {len(report)} steps failed", *lines)
    return f"conformance: all {len(report)} steps passed"


async def play_practice_game(settings: ServerSettings, name: str, command: Sequence[str]) -> str:
    """Let a bot play a game against reference bots in an arena of its own; return how it went."""
    opponent = "random" if name != "random" else "opponent"
    secrets = new_secrets([name, opponent])
    async with private_arena(settings, secrets) as arena:
        for program in bot_programs({opponent: "random"}, Lineup(), secrets, arena.address):
            arena.programs.supervise(program)
        program = bot_program(name, command, secrets[name], restarts=0)
        arena.programs.supervise(replace(program, arena=arena.server.arena_of_one))
        if missing := await arena.lobby.wait_for((name, opponent), CONNECT_SECONDS):
            raise TrialError(f"practice game: {missing[0]} did not connect within {CONNECT_SECONDS:g} s")
        bots = (name, *(opponent,) * (_PLAYERS - 1))
        spec = practice_match(Config(players=_PLAYERS), bots, seed=1, time=TimeControl())
        match = arena.lobby.create(spec)
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_GAME_SECONDS), arena.lobby.played(match):
                pass
    if not match.results:
        raise TrialError(f"practice game: it was not over within {LONGEST_GAME_SECONDS:g} s")
    own = match.results[0]
    if own.forfeited:
        raise TrialError(f"practice game: it forfeited: {own.reason or own.ending.value}")
    return f"practice game: place {own.place} of {_PLAYERS} against {opponent}, {own.points} points"
