"""The command `happycity bridge` as a whole: the example bots, and programs that fail, on a real server."""

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

from happycity.records.record import Json, loads
from happycity.records.replay import replay
from happycity_tournament.games import FinishedGame
from happycity_tournament.storage.store import Store

ROOT = Path(__file__).resolve().parents[2]
PLAYER = shlex.join([sys.executable, str(Path(__file__).parent / "programs" / "player.py")])
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


def games(cwd: Path) -> list[tuple[FinishedGame, Json]]:
    with Store.existing(f"sqlite:///{cwd}/games.sqlite") as store:
        return [(game, loads(text or "")) for game, text in store.all_games(with_records=True)]


def log_of(bot: str, cwd: Path) -> str:
    (path,) = cwd.glob(f"runs/*/bot-{bot}.log")
    return path.read_text()


def needs(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture(params=["awk", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("bash", "c"))])
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


@pytest.mark.thorough
@pytest.mark.parametrize(("shared", "mode"), [("", "family"), ("--shared ", "expert")], ids=["own", "shared"])
def test_an_example_bot_plays_whole_games(example: str, shared: str, mode: str, tmp_path: Path) -> None:
    """It finishes each of its games, with a process of its own for each, or with one for all."""
    standings = played(
        tmp_path, {"mine": f"{BRIDGE} {shared}-- {example}"}, "--rounds", "4", "--seed", "1", "--mode", mode
    )
    assert forfeits(standings) == {"mine": {}, "random": {}}
    assert standings["mine"]["games"] == 8
    assert "ERROR" not in log_of("mine", tmp_path)


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_failing_programs_lose_their_games_and_the_others_finish(tmp_path: Path) -> None:
    modes = ("crash", "garbage", "illegal", "endless")
    standings = played(
        tmp_path, {mode: f"{BRIDGE} -- {PLAYER} {mode}" for mode in modes}, "--rounds", "1", "--seats", "5"
    )
    assert forfeits(standings) == {"random": {}, **{mode: {"crashed": 5} for mode in modes}}
    for mode, problem in {
        "crash": r"ended with status 3; its last line: out of ideas",
        "garbage": r"wrote '{\"move\":', which is not JSON",
        "illegal": r"wrote 'build castle', which is not a legal move",
        "endless": r"wrote more than 65,536 bytes without a new line",
    }.items():
        for count in standings[mode]["forfeit_counts"]:
            assert re.match(rf"\w+Error: the program {problem}", count["reason"])
            assert ".py:" not in count["reason"]
        log = log_of(mode, tmp_path)
        place = rf"^\S+Z ERROR {mode}: match \d+, round \d+, decision \d+: "
        crashed = rf"{place}the bot crashed, the game is given up: \w+Error: the program {problem}"
        assert len(re.findall(crashed, log, flags=re.MULTILINE)) == 5, log
        assert "Traceback" not in log
    legal = r"^\S+Z INFO illegal: match \d+, seat \d: legal: [a-z].* \(or 0 to \d\)$"
    assert len(re.findall(legal, log_of("illegal", tmp_path), flags=re.MULTILINE)) == 5
    assert re.search(
        r"^\S+Z INFO crash: match \d+, seat \d: out of ideas$", log_of("crash", tmp_path), flags=re.MULTILINE
    )
    (server,) = tmp_path.glob("runs/*/server.log")
    assert "out of ideas" in server.read_text()


@pytest.mark.thorough
def test_metrics_are_in_the_records(tmp_path: Path) -> None:
    """Each of the program's decisions has its entry in the record of its game, and no other bot's has one."""
    played(tmp_path, {"mine": f"{BRIDGE} -- {PLAYER} noting"}, "--rounds", "1")
    both = games(tmp_path)
    assert len(both) == 2
    for game, record in both:
        replay(record)
        mine = game.bots.index("mine")
        decisions = [number for number, move in enumerate(record["moves"], 1) if move["seat"] == mine]
        assert record["metrics"] == [
            {"decision": number, "values": {"asked": count, "value": -0.5}}
            for count, number in enumerate(decisions, 1)
        ]


def test_bad_input_costs_one_line_and_status_2() -> None:
    for arguments, expected in [
        (("--", "/no/such/program"), "command: there is no program '/no/such/program'"),
        (("--server", "127.0.0.1:9", "--", "cat"), "nothing listens on 127.0.0.1:9"),
        (("--server", "http://arena:1", "--", "cat"), "'http://arena:1' is not an address"),
    ]:
        assert expected in happycity("bridge", *arguments).error
