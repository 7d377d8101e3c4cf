"""The command `happycity bridge` as a whole: the example bots on a real server."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.commands.programs import happycity
from tests.programs import run

ROOT = Path(__file__).resolve().parents[2]
BRIDGE = shlex.join([sys.executable, "-m", "happycity", "bridge"])
PATIENT = ("--connect-seconds", "60", "--decision-seconds", "60")
"""Options of a tournament in which no bot is late for being on a busy machine."""


def played(cwd: Path, bots: dict[str, str], *options: str) -> dict[str, Any]:
    """Play a tournament of `random` and these bots; return the lines of the standings by name.

    Its games are in the store games.sqlite.
    """
    commands = [argument for name, command in bots.items() for argument in ("--bot", f"{name}={command}")]
    options = (*PATIENT, "--json", "--store", "sqlite:///games.sqlite", *options)
    done = run("run", "--bots", "random", *commands, *options, module="happycity_tournament", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return {line["bot"]: line for line in json.loads(done.stdout)["standings"]}


def forfeits(standings: dict[str, Any]) -> dict[str, Counter[str]]:
    return {
        name: sum((Counter({count["ending"]: count["games"]}) for count in line["forfeit_counts"]), Counter())
        for name, line in standings.items()
    }


def log_of(bot: str, cwd: Path) -> str:
    (path,) = cwd.glob(f"runs/*/bot-{bot}.log")
    return path.read_text()


def needs(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture(params=["awk", *(pytest.param(name, marks=pytest.mark.level(2)) for name in ("bash", "c"))])
def example(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "bash":
        needs("bash", "jq")
        return f"bash {ROOT}/clients/examples/bash/greedy-ish.sh"
    if request.param == "awk":
        needs("awk")
        # mawk reads nothing before its buffer is full, unless it is to be interactive.
        awk = "mawk -W interactive" if shutil.which("mawk") else "awk"
        return f"{awk} -f {ROOT}/clients/examples/bash/last.awk"
    needs("make", "cc")
    for name in ("bot.c", "Makefile"):
        shutil.copy(ROOT / "clients" / "examples" / "c" / name, tmp_path)
    subprocess.run(["make", "--quiet", "-C", tmp_path, "CC=cc"], check=True)
    return str(tmp_path / "bot")


@pytest.mark.level(2)
@pytest.mark.parametrize(("shared", "mode"), [("", "family"), ("--shared ", "expert")], ids=["own", "shared"])
def test_an_example_bot_plays_whole_games(example: str, shared: str, mode: str, tmp_path: Path) -> None:
    """It finishes each of its games, with a process of its own for each, or with one for all."""
    standings = played(
        tmp_path, {"mine": f"{BRIDGE} {shared}-- {example}"}, "--rounds", "4", "--seed", "1", "--mode", mode
    )
    assert forfeits(standings) == {"mine": {}, "random": {}}
    assert standings["mine"]["games"] == 8
    assert "ERROR" not in log_of("mine", tmp_path)


@pytest.mark.level(3)
@pytest.mark.parametrize("example", ["awk"], indirect=True)  # as all speak with the same bridge
def test_an_example_bot_passes_every_step(example: str, tmp_path: Path) -> None:
    bot = f"{BRIDGE} -- {example}"
    done = run("check", "--bot", bot, "--token", "secret", "--timeout", "60", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^passed: \d+ ok$", done.stdout, flags=re.MULTILINE), done.stdout


def test_the_bash_bot_says_that_it_needs_jq(tmp_path: Path) -> None:
    done = subprocess.run(
        [shutil.which("bash") or "bash", f"{ROOT}/clients/examples/bash/greedy-ish.sh"],
        env={"PATH": str(tmp_path)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs jq" in done.stderr


def test_bad_input_costs_one_line_and_status_2() -> None:
    for arguments, expected in [
        (("--", "/no/such/program"), "command: there is no program '/no/such/program'"),
        (("--server", "127.0.0.1:9", "--", "cat"), "nothing listens on 127.0.0.1:9"),
        (("--server", "http://arena:1", "--", "cat"), "'http://arena:1' is not an address"),
    ]:
        assert expected in happycity("bridge", *arguments).error
