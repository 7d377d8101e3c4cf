"""A whole league of agents as it is run: killed in the middle, continued, and recomputed elsewhere."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.llm.endpoints import Handler, completion, endpoint
from tests.llm.test_llm import llama
from tests.programs import run
from tests.server.hosting.conftest import why_not
from tests.waiting import LIMIT

from happycity_league.proof import verify
from happycity_tournament.proof.publication import VerificationError

AGENTS, ROOT = Path(__file__).parent / "agents", Path(__file__).parents[2]
needs_sandbox = pytest.mark.skipif(bool(why_not()), reason=why_not() or "bubblewrap is there")


def make_league(folder: Path, *more: str, anchor: str, cycles: int, deals: int, care: int) -> Path:
    """Write the file of a league of a climber, an agent that fails, and `more`, at tables of two.

    `care` is the constant of the climber's first project.
    """
    python, start = sys.executable, AGENTS / "climber"
    rogue = folder / "rogue"
    shutil.copytree(start, folder / "climber")
    shutil.copytree(start, rogue)
    bot = folder / "climber/bot.py"
    bot.write_text(bot.read_text().replace("CARE = 0", f"CARE = {care}"))
    shutil.copyfile(AGENTS / "rogue.py", rogue / "edit.py")
    shutil.copyfile(start / "bot.py", rogue / "first.py")
    file = folder / "spring.toml"
    own = [
        agent("climber", "climber", f"{python} edit.py"),
        agent("rogue", "rogue", f"{python} edit.py", "seconds = 10", "disk_mb = 16"),
    ]
    head = f"cycles = {cycles}\ndeals = {deals}\nseats = 2\nanchors = ['{anchor}']\nshare_games = true\n"
    settings = f"share_code = true\ndecision_seconds = {LIMIT}\nseed = 1\nsalt = '{'s' * 16}'\n"
    file.write_text("".join([head, settings, *own, *more]))
    return file


def agent(name: str, project: Path | str, command: str, *settings: str, network: bool = False) -> str:
    """Return the lines of an agent in the file of a league."""
    lines = [f"name = '{name}'", f"project = '{project}'", f"command = {json.dumps(command)}", *settings]
    return "\n".join(["[[agents]]", *lines, f"network = {json.dumps(network)}", ""])


def killed_at(line: str, *arguments: object) -> None:
    """Run a command of the league until it prints a line, and kill it then."""
    command = [sys.executable, "-m", "happycity", "league", *map(str, arguments)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        for printed in program.stderr:
            if printed.startswith(line):
                program.send_signal(signal.SIGKILL)
                return
    raise AssertionError(f"it ended without {line!r}")


def league(*arguments: object) -> str:
    """Run a command of the league to its end, and return what it prints."""
    ended = run("league", *arguments, timeout=10 * LIMIT)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def stored_games(folder: Path) -> set[tuple[int, str]]:
    with closing(sqlite3.connect(folder / "games.sqlite")) as store:
        return set(store.execute("SELECT id, bots FROM games"))


def edits(shown: dict[str, Any], agent: str) -> list[dict[str, Any]]:
    return [row for row in shown["cycles"] if row["agent"] == agent]


def outcomes(shown: dict[str, Any], agent: str) -> list[str]:
    return [row["outcome"] for row in edits(shown, agent)]


@needs_sandbox
@pytest.mark.level(3)
def test_a_league_is_played_killed_and_recomputed(tmp_path: Path) -> None:
    """Each phase is done once: what was stored before a kill, in an edit and in games, stays as it is."""
    file, folder = make_league(tmp_path, anchor="greedy", cycles=2, deals=6, care=2), tmp_path / "spring"
    killed_at("cycle 1: open tables", "run", file)
    before = stored_games(folder)
    killed_at("cycle 2: rogue edits", "resume", folder)
    league("resume", folder)
    assert before
    assert before <= stored_games(folder)
    shown = json.loads(league("show", folder, "--json"))
    assert shown["is_over"]
    assert outcomes(shown, "climber") == ["accepted", "accepted", "unchanged"]
    assert outcomes(shown, "rogue") == ["accepted", "rejected", "failed"]
    rogue = edits(shown, "rogue")
    assert "NameError: name 'broken' is not defined" in rogue[1]["reason"]
    assert rogue[2]["reason"] == "it took more than 10 s"
    assert {row["version"] for row in rogue} == {"rogue@0"}
    climber = edits(shown, "climber")[1]
    assert climber["usage"] == {"tokens": 100.0, "money": 0.25}
    assert climber["gain"] > 0
    assert shown["agents"][0]["agent"] == "climber"
    assert league("show", folder, "--csv").count("\n") == 1 + 2 * 3
    league("report", folder, "--out", tmp_path / "spring.html")
    assert "climber is first" in (tmp_path / "spring.html").read_text()

    shared = [folder / f"agents/climber/feedback/{name}" for name in ("others.jsonl", "rogue.tar")]
    assert all(path.stat().st_size for path in shared)
    shutil.rmtree(folder / "agents")
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(folder, copy)
    assert "all of it is true" in league("verify", copy, "--noted", shown["commitment"])
    for change in (_other_result, _other_version, _other_file, _lost_game):
        shutil.rmtree(copy)
        shutil.copytree(folder, copy)
        change(copy)
        with pytest.raises(VerificationError):
            verify(copy, processes=1)


def _other_result(folder: Path) -> None:
    path = folder / "results.json"
    path.write_text(path.read_text().replace('"failures":2', '"failures":1'))


def _other_version(folder: Path) -> None:
    path = folder / "league.json"
    path.write_text(path.read_text().replace("climber-1", "climber-0"))


def _other_file(folder: Path) -> None:
    path = next((folder / "bots/bot.climber-1").glob("*/files/bot.py"))
    path.write_text(path.read_text() + "\n")


def _lost_game(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "games.sqlite")) as store:
        (last,) = store.execute("SELECT max(id) FROM games").fetchone()
        store.execute("DELETE FROM records WHERE game_id = ?", (last,))
        store.execute("DELETE FROM times WHERE game_id = ?", (last,))
        store.execute("DELETE FROM games WHERE id = ?", (last,))
        store.commit()


@needs_sandbox
@pytest.mark.nightly
@pytest.mark.timeout(0)  # of which each command has its own limit
@pytest.mark.parametrize("deals", [20, 200])
def test_a_climber_climbs_and_an_idle_agent_does_not(deals: int, tmp_path: Path) -> None:
    """Six agents and five cycles, with a kill in the middle, recomputed elsewhere.

    In 200 deals a cycle, the gains of the climber are above 0, and those of the idle one contain it. One
    agent asks a model whose answers are good, one a real llama.cpp with random weights, and one builds Go.
    """
    start, model = AGENTS / "climber", (sys.executable, ROOT / "league/examples/llm_agent.py", "tiny", "16")
    good = (start / "bot.py").read_text().replace("CARE = 0", "CARE = 4")
    cache = subprocess.run(
        ["go", "env", "GOCACHE"], capture_output=True, text=True, check=True
    ).stdout.strip()
    offline = ("env", f"GOCACHE={cache}", "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-mod=mod -buildvcs=false")
    new_bot = run("new-bot", "--language", "go", tmp_path / "built")
    assert new_bot.returncode == 0, new_bot.stderr

    def answer(handler: Handler, _: dict[str, Any]) -> None:
        handler.send(200, completion(f"FILE bot.py\n```python\n{good}```\n"))

    with endpoint(answer) as stub, llama(tmp_path) as real:
        asked = [("model", stub), ("tiny", real)]
        file = make_league(
            tmp_path,
            agent("idle", start, "sh -c 'echo \\# $HAPPYCITY_CYCLE >> bot.py'"),
            *(
                agent(
                    name, start, shlex.join(["env", f"OPENAI_BASE_URL={url}", *map(str, model)]), network=True
                )
                for name, url in asked
            ),
            agent(
                "built",
                "built",
                shlex.join([*offline, *["go", "build", "-o", "bot", "."]]),
                f"writable = ['{cache}']",
            ),
            anchor="random",
            cycles=5,
            deals=deals,
            care=-3,
        )
        folder = tmp_path / "spring"
        killed_at("cycle 3: rogue edits", "run", file)
        before = stored_games(folder)
        league("resume", folder)
    assert before < stored_games(folder)
    shown = json.loads(league("show", folder, "--json"))
    league("report", folder, "--out", tmp_path / "spring.html")
    assert {name: outcomes(shown, name) for name in ("built", "model", "tiny", "rogue")} == {
        "built": ["rejected", "accepted", *["unchanged"] * 4],
        "model": ["accepted", "accepted", *["unchanged"] * 4],
        "tiny": ["accepted", *["failed"] * 5],
        "rogue": ["accepted", "rejected", "failed", "failed", "failed", "rejected"],
    }
    copy = tmp_path / "elsewhere/copy"
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    assert "all of it is true" in league("verify", copy)
    if deals < 200:  # too few for what follows
        return
    climber, idle, asking = (
        [(row["gain"], row["gain_margin"]) for row in edits(shown, name) if row["gain"] is not None]
        for name in ("climber", "idle", "model")
    )
    assert len(climber) == 4
    assert all(gain > margin for gain, margin in [*climber[:3], *asking]), climber
    assert len(idle) == 5
    assert all(abs(gain) <= margin for gain, margin in idle), idle
    agents = {row["agent"]: row for row in shown["agents"]}
    assert agents["climber"]["trend"] > agents["climber"]["trend_margin"]
    assert abs(agents["idle"]["trend"]) <= agents["idle"]["trend_margin"]


@needs_sandbox
@pytest.mark.level(3)
def test_a_person_edits_when_asked(tmp_path: Path) -> None:
    """The league stops for the edit, and `resume` takes what is in the folder then."""
    shutil.copytree(AGENTS / "climber", tmp_path / "first")
    (tmp_path / "first/bot.toml").write_text('name = "x"\ncommand = "python no.py"\nfiles = ["no.py"]\n')
    file, folder = tmp_path / "one.toml", tmp_path / "one"
    file.write_text("cycles = 1\ndeals = 2\n[[agents]]\nname = 'ann'\nproject = 'first'\nwait = true\n")
    ended = run("league", "run", file)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert f"ann: waiting; edit {folder}/agents/ann" in ended.stderr
    own = folder / "agents/ann"
    assert (
        "bot.toml: files: there is no no.py; build the bot first" in (own / "feedback/edit.json").read_text()
    )
    assert "# The rules" in (own / "BRIEF.md").read_text()
    (own / "no.py").symlink_to(file)
    league("resume", folder)
    (_, edit) = edits(json.loads(league("show", folder, "--json")), "ann")
    assert edit["outcome"] == "rejected"
    link = "no.py: it is not a file, or behind a link, and can't be submitted"
    assert edit["reason"] == f"it can't be submitted: {link}"
    assert "all of it is true" in league("verify", folder)
