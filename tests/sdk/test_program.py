"""The bot as a program: what is said before it connects, and what it does with a bare installation."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import LIMIT
from tools import ROOT

from happycity_check.runner import check, steps_named
from happycity_check.step import Status
from happycity_check.trial_bot import Options
from happycity_client import Bot, Decision, run

SCENARIO = Path(__file__).parents[2] / "clients/python/examples/scenario.py"
BARE = """
import runpy, sys

class Refusing:
    allowed = {
        *sys.stdlib_module_names,
        *("grpc", "google", "google.protobuf", "google.rpc", "google._upb", "typing_extensions"),
        *("happycity", "happycity_client", "happycity_entry", "happycity_runtime", "happycity__mypyc"),
    }

    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        if ".".join(parts[: 2 if parts[0] == "google" else 1]) not in self.allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
"""
"""Begins a program that can import only what a bare installation has, also where more is optional."""


def choose(self: Bot, decision: Decision) -> int:
    return 0


def bot(name: str, *bases: type, **methods: object) -> Any:
    return type(name, bases, methods)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (bot("Mine", Bot, chose=choose), "Mine has no choose but chose: did you mean choose?"),
        (bot("Mine", choose=choose), "Mine is not derived from Bot: write class Mine(Bot)"),
        (
            bot("Mine", Bot, choose=choose)(),
            "a bot is made for each game: write run(Mine), without parentheses after Mine",
        ),
    ],
)
def test_what_is_not_a_bot_is_explained(wrong: Any, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(wrong, server="grpc://arena.invalid:1")
    assert (caught.value.code, capsys.readouterr().err) == (2, f"error: {line}\n")


def test_a_socket_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The line has the address as it would be dialled."""
    with pytest.raises(SystemExit, match="2"):
        run(bot("Mine", Bot, choose=choose), server="unix:/no/socket")
    assert capsys.readouterr().err.startswith("error: nothing listens on unix:/no/socket; ")


@pytest.mark.level(2)
async def test_a_bot_plays_with_grpc_and_protobuf_alone(tmp_path: Path) -> None:
    """Neither playing nor a crash nor a lost connection needs anything else."""
    program = tmp_path / "bare.py"
    program.write_text(f"{BARE}runpy.run_path({str(SCENARIO)!r}, run_name='__main__')", encoding="utf-8")
    options = Options(command=f"{sys.executable} {program}", timeout=LIMIT, sdk=True)
    steps = steps_named(("whole-game", "crash", "reconnect", "clean-exit"), sdk=True)
    findings, _ = await check(options, steps)
    assert [finding.step.name for finding in findings if finding.status is not Status.OK] == []


def test_the_commands_say_how_to_install_them() -> None:
    """They need more than a bare installation: one line and status 2, rather than a traceback."""
    code = f"{BARE}sys.argv = ['happycity', '--version']; runpy.run_module('happycity', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"pip install '{ROOT}[arena]'" in done.stderr
