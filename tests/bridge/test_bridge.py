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
from tests.waiting import LIMIT, PATIENT

ROOT = Path(__file__).resolve().parents[2]
BRIDGE = shlex.join([sys.executable, "-m", "happycity", "bridge"])


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


AWK = f"{'mawk -W interactive' if shutil.which('mawk') else 'awk'} -f {ROOT}/clients/examples/bash/last.awk"
"""Without this option mawk reads nothing before its buffer is full."""
BASH = f"bash {ROOT}/clients/examples/bash/greedy-ish.sh"
TOOLS = {"awk": ["awk"], "bash": ["bash", "jq"], "c": ["make", "cc"]}
"""What each example bot needs."""


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the commands of the example bots; without the tools of one, its tests are skipped."""
    missing = [tool for tools in TOOLS.values() for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("c")
    for name in ("bot.c", "Makefile"):
        shutil.copy(ROOT / "clients" / "examples" / "c" / name, folder)
    subprocess.run(["make", "--quiet", "-C", folder, "CC=cc"], check=True)
    return {"awk": AWK, "bash": BASH, "c": str(folder / "bot")}


@pytest.mark.level(2)
@pytest.mark.parametrize(("shared", "mode"), [("", "family"), ("--shared ", "expert")], ids=["own", "shared"])
def test_example_bots_play_whole_games(
    examples: dict[str, str], shared: str, mode: str, tmp_path: Path
) -> None:
    """Each finishes all of its games, with a process of its own for each, or with one for all."""
    bots = {name: f"{BRIDGE} {shared}-- {command}" for name, command in examples.items()}
    standings = played(tmp_path, bots, "--seats", "4", "--rounds", "1", "--seed", "1", "--mode", mode)
    assert forfeits(standings) == {name: {} for name in (*bots, "random")}
    assert {line["games"] for line in standings.values()} == {4}
    for name in bots:
        assert "ERROR" not in log_of(name, tmp_path)


@pytest.mark.level(3)
def test_an_example_bot_passes_every_step(tmp_path: Path) -> None:
    if shutil.which("awk") is None:
        pytest.skip("not installed: awk")
    bot = f"{BRIDGE} -- {AWK}"  # one for all, as they speak with the same bridge
    done = run("check", "--bot", bot, "--token", "secret", "--timeout", f"{LIMIT:g}", cwd=tmp_path)
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
        (("--", "/no/such/program"), "command: '/no/such/program': there is no such program"),
        (("--server", "127.0.0.1:9", "--", "cat"), "nothing listens on 127.0.0.1:9"),
        (("--server", "http://arena:1", "--", "cat"), "'http://arena:1' is not an address"),
    ]:
        assert expected in happycity("bridge", *arguments).error
