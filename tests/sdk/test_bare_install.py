"""Rules engine and SDK need nothing but gRPC and protobuf; the commands say what else they need."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import grpc

from happycity.runtime.child import child_environment
from happycity.wire import StatusDetails
from happycity_check.conversation import play_out

from .conftest import Script, match

BARE = """
import sys

class Refusing:
    \"\"\"Refuses what a bare installation hasn't got, also where it is optional.\"\"\"

    allowed = {
        *sys.stdlib_module_names,
        *("grpc", "google", "google.protobuf", "google._upb", "typing_extensions"),
        *("happycity", "happycity_client", "happycity__mypyc"),
    }

    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        if ".".join(parts[: 2 if parts[0] == "google" else 1]) not in self.allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
"""
BOT = """
import happycity, happycity_client
import happycity.catalogue, happycity.match, happycity.playout, happycity.records, happycity.wire

class Careful(happycity_client.Bot):
    def choose(self, decision):
        assert decision.view and decision.events and decision.coins(decision.moves[0]) is not None
        decision.note(moves=len(decision.moves))
        return decision.moves[-1]

    def game_over(self, over):
        assert over.seats[0].ending is happycity.Ending.FINISHED

game = happycity.Game.deal(happycity.Config(), seed=1)
while game.legal_moves:
    game.apply(happycity.playout.quick_move(game))
happycity_client.run(Careful)
"""
COMMAND = """
import runpy
sys.argv = ["happycity", "--version"]
runpy.run_module("happycity", run_name="__main__")
"""


async def start_bare(folder: Path, code: str, **variables: str) -> asyncio.subprocess.Process:
    """Start a program that can import nothing but what a bare installation has."""
    program = folder / "program.py"
    program.write_text(BARE + code, encoding="utf-8")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        program,
        env=child_environment(**variables),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_a_bot_plays_with_grpc_and_protobuf_alone(script: Script, tmp_path: Path) -> None:
    """Neither playing nor the end of the session needs anything else."""
    bot = await start_bare(tmp_path, BOT, HAPPYCITY_SERVER=script.server.address)
    await play_out(await script.welcome(), [match(1), match(2, seed=2)])
    script.stream.end(grpc.StatusCode.ABORTED, "replaced", details=StatusDetails(reason="REPLACED"))
    _, errors = await bot.communicate()
    lines = errors.decode().splitlines()
    assert re.match(r"\S+Z INFO Careful: connected to ", lines[0])
    assert lines[1:] == [f"error: {script.server.address} ended the session of 'Careful': replaced"]
    assert bot.returncode == 2


async def test_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    """One line and status 2, rather than a traceback."""
    command = await start_bare(tmp_path, COMMAND)
    output, errors = await command.communicate()
    assert (command.returncode, output) == (2, b"")
    (line,) = errors.decode().splitlines()
    assert line.startswith("error: ")
    assert "pip install 'happycity[arena]'" in line
