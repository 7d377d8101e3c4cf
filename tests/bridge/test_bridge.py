"""The command `happycity bridge` as a whole: the example bots, and programs that fail, on a real server."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from happycity_tournament.store import Store

ROOT = Path(__file__).resolve().parents[2]
PLAYER = shlex.join([sys.executable, str(Path(__file__).parent / "programs" / "player.py")])
BRIDGE = shlex.join([sys.executable, "-m", "happycity", "bridge"])
DEADLINE = 300.0
PATIENT = ("--connect-time", "60", "--decision-time", "60")
"""Options of a tournament in which no bot is late for being on a busy machine."""


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of ours to its end."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip


def played(cwd: Path, bots: dict[str, str], *options: str) -> dict[str, Any]:
    """Play a tournament of `random` and these bots; return the lines of the standings by name."""
    given = [argument for name, command in bots.items() for argument in ("--bot", f"{name}={command}")]
    options = (*PATIENT, "--json", "result.json", *options)
    done = run("happycity_tournament", "run", "--bots", "random", *given, *options, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return {line["bot"]: line for line in json.loads((cwd / "result.json").read_text())["standings"]}


def forfeits(standings: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {name: line["forfeits_by_reason"] for name, line in standings.items()}


def log_of(bot: str, cwd: Path) -> str:
    (path,) = cwd.glob(f"runs/*/bot-{bot}.log")
    return path.read_text()


def needs(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture(params=["bash", "awk", "c"])
def example(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the command of an example bot, built if need be."""
    if request.param == "bash":
        needs("bash", "jq")
        return f"bash {ROOT}/clients/bash/greedy-ish.sh"
    if request.param == "awk":
        needs("awk")
        # mawk reads nothing before its buffer is full, unless it is told that somebody waits.
        awk = "mawk -W interactive" if shutil.which("mawk") else "awk"
        return f"{awk} -f {ROOT}/clients/bash/last.awk"
    needs("make", "cc")
    for name in ("bot.c", "Makefile"):
        shutil.copy(ROOT / "clients" / "c" / name, tmp_path)
    subprocess.run(["make", "--quiet", "-C", tmp_path, "CC=cc"], check=True, timeout=DEADLINE)
    return str(tmp_path / "bot")


@pytest.mark.parametrize(("shared", "mode"), [("", "family"), ("--shared ", "expert")], ids=["own", "shared"])
def test_an_example_bot_plays_whole_games(example: str, shared: str, mode: str, tmp_path: Path) -> None:
    """It finishes each of its games, with a process of its own for each, or with one for all."""
    standings = played(
        tmp_path, {"mine": f"{BRIDGE} {shared}-- {example}"}, "--rounds", "4", "--seed", "1", "--mode", mode
    )
    assert forfeits(standings) == {"mine": {}, "random": {}}
    assert standings["mine"]["games"] == 8
    assert "ERROR" not in log_of("mine", tmp_path)


def test_an_example_bot_passes_every_step(example: str, tmp_path: Path) -> None:
    """No step of the conformance kit fails or is skipped."""
    bot = f"{BRIDGE} -- {example}"
    done = run("happycity", "check", "--bot", bot, "--token", "secret", "--timeout", "60", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^passed: \d+ ok$", done.stdout, flags=re.MULTILINE), done.stdout


def test_the_bash_bot_beats_chance(tmp_path: Path) -> None:
    """Its rule of thumb is worth something: with this seed it makes more than twice the points."""
    needs("bash", "jq")
    standings = played(
        tmp_path,
        {"mine": f"{BRIDGE} -- bash {ROOT}/clients/bash/greedy-ish.sh"},
        "--rounds", "10", "--seed", "1",
    )  # fmt: skip
    assert standings["mine"]["points_mean"] > 2 * standings["random"]["points_mean"]


def test_the_bash_bot_says_that_it_needs_jq(tmp_path: Path) -> None:
    """Without jq it ends with one line that tells where to get it."""
    done = subprocess.run(
        [shutil.which("bash") or "bash", f"{ROOT}/clients/bash/greedy-ish.sh"],
        env={"PATH": str(tmp_path)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs jq" in done.stderr


def test_failing_programs_resign_and_the_others_finish(tmp_path: Path) -> None:
    """Each bot's log has the reason in a line, without a traceback; all games are played to their ends."""
    modes = ("crash", "garbage", "illegal", "endless")
    standings = played(
        tmp_path, {mode: f"{BRIDGE} -- {PLAYER} {mode}" for mode in modes}, "--rounds", "1", "--seats", "5"
    )
    assert forfeits(standings) == {"random": {}, **{mode: {"resigned": 5} for mode in modes}}
    resigned = r"^ERROR {0}: game \d+ is resigned: the bot failed: the program "
    for mode, reason in {
        "crash": r"ended with status 3; it said last: out of ideas$",
        "garbage": r"wrote '{\"move\":', which is not JSON$",
        "illegal": r"wrote 'build castle', which is not a legal move; legal: [a-z].* \(or 0 to \d+\)$",
        "endless": r"wrote more than 65,536 bytes without a new line$",
    }.items():
        log = log_of(mode, tmp_path)
        assert len(re.findall(resigned.format(mode) + reason, log, flags=re.MULTILINE)) == 5, log
        assert "Traceback" not in log
    assert re.search(r"^INFO crash: game \d+: out of ideas$", log_of("crash", tmp_path), flags=re.MULTILINE)
    (server,) = tmp_path.glob("runs/*/server.log")
    assert "out of ideas" in server.read_text()


def test_a_mistake_in_one_game_of_a_shared_program_leaves_the_others(tmp_path: Path) -> None:
    """Only the game of the mistake is resigned; the same process finishes the rest."""
    standings = played(
        tmp_path, {"mine": f"{BRIDGE} --shared -- {PLAYER} illegal_in_game_1"}, "--rounds", "4"
    )
    assert forfeits(standings) == {"mine": {"resigned": 1}, "random": {}}
    with Store(f"sqlite:///{next(tmp_path.glob('runs/*/games.sqlite'))}") as store:
        endings = [ending for game in store.games(100) for ending in game.endings]
    assert sorted(set(endings)) == ["finished", "forfeit:resigned"]


def test_a_silent_program_times_out(tmp_path: Path) -> None:
    """The server's clock is the only one; nothing of the program is left afterwards."""
    standings = played(
        tmp_path,
        {"mute": f"{BRIDGE} -- {PLAYER} silent"},
        "--rounds", "2", "--decision-time", "1", "--margin", "0", "--strikes", "0",
    )  # fmt: skip
    assert forfeits(standings)["mute"] == {"timeout": 4}
    assert "ERROR" not in log_of("mute", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--", "/no/such/program"), "command: there is no program '/no/such/program'"),
        (("--server", "127.0.0.1:9", "--", "cat"), "no connection to 127.0.0.1:9"),
        (("--ca", "no.pem", "--", "cat"), "ca: 'no.pem' can't be read"),
        (("--server", "arena.example.org:1", "--token", "x", "--", "cat"), "would travel unencrypted"),
    ],
)
def test_bad_input_costs_one_line_and_status_2(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    """What is wrong is said before anything is played."""
    done = run("happycity", "bridge", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert told in line
