"""The command `tournament run` as a whole: real processes, real sockets, real files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.commands.programs import ALL_GAMES, BOTS, GATED, Start, let_through

from happycity.records import Json, loads, replay, without_measurements
from happycity_tournament.results import Position
from happycity_tournament.store import Store

DEADLINE = 120.0


def tournament(*arguments: str, cwd: Path, stdin: Any = None) -> subprocess.CompletedProcess[str]:
    """Run `tournament run` in a folder of its own."""
    return subprocess.run(
        [sys.executable, "-m", "happycity_tournament", "run", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def the_error(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line that a refused command prints."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    return errors[0]


def result(cwd: Path) -> Json:
    loaded: Json = json.loads((cwd / "result.json").read_text())
    return loaded


def store_of(cwd: Path) -> Store:
    (path,) = cwd.glob("runs/*/games.sqlite")
    return Store(f"sqlite:///{path}")


def records(cwd: Path) -> dict[Position, Json]:
    """Return the records of a run by their place in the schedule, without think times."""
    with store_of(cwd) as store:
        games = store.games(1000, tournament_id=1)
        found: dict[Position, Json] = {}
        for game in games:
            record = store.record(game.id)
            assert record is not None
            found[game.result.fixture.position] = without_measurements(loads(record))
        return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Play one small tournament that several tests look at."""
    folder = tmp_path_factory.mktemp("played")
    done = tournament(
        "--rounds", "5", "--seed", "3", "--bots", "random,random2=random,greedy", "--seats", "3",
        "--json", "result.json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, done


def test_run_prints_standings_and_rates(played: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """The end of a run is a table of all bots, and what was played in what time."""
    _, done = played
    for name in ("random", "random2", "greedy"):
        assert name in done.stdout
    assert "15 of 15 games" in done.stdout
    assert "decisions/s" in done.stdout


def test_run_writes_its_result_as_json(played: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """The JSON file has the documented keys, and its numbers agree with the store."""
    folder, _ = played
    told = result(folder)
    assert set(told) == {
        "tournament", "state", "created", "config", "games", "games_total", "decisions", "seconds",
        "games_voided", "games_quarantined", "disqualified", "missing_bots", "remarks", "standings", "final",
    }  # fmt: skip
    assert (told["games_voided"], told["disqualified"], told["remarks"]) == (0, [], [])
    assert told["games"] == 15
    assert told["config"]["seed"] == 3
    for line in told["standings"]:
        assert set(line) == {
            "rank", "bot", "elo", "elo_low", "elo_high", "games", "points_mean", "firsts", "forfeits",
            "forfeits_by_reason", "games_quarantined",
        }  # fmt: skip
        assert line["games"] == 15
        assert (line["forfeits"], line["forfeits_by_reason"]) == (0, {})
    assert set(told["final"]) == {
        "model", "anchor", "anchor_elo", "ratings", "seat_effects", "ties", "duplicate_gains",
    }  # fmt: skip
    for line in told["final"]["ratings"]:
        assert set(line) == {
            "rank", "bot", "elo", "elo_low", "elo_high", "los_next", "games", "deals", "pool",
        }  # fmt: skip
    with store_of(folder) as store:
        results = store.results(told["tournament"])
    assert len(results) == 15
    assert sum(game.decisions for game in results) == told["decisions"]


def test_every_record_of_a_run_replays(played: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """What the store keeps are games by the rules, and rotations of a deal share it."""
    folder, _ = played
    told = records(folder)
    for record in told.values():
        replay(record)
    for (number, table, _), record in told.items():
        assert record["deal"]["decks"] == told[number, table, 0]["deal"]["decks"]


def test_same_seed_gives_the_same_records_whatever_the_concurrency(
    played: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """A run repeated with one game at a time and other processes is the same but for think times."""
    folder, _ = played
    done = tournament(
        "--rounds", "5", "--seed", "3", "--bots", "random,random2=random,greedy", "--seats", "3",
        "--concurrency", "1", "--processes", "1", "--json", "result.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert records(tmp_path) == records(folder)
    assert result(tmp_path)["standings"] == result(folder)["standings"]


def test_a_bot_that_is_killed_ends_nothing_but_its_own_games(start: Start, tmp_path: Path) -> None:
    """A bot that dies in the middle forfeits; the others finish all their games, which are all stored."""
    let_through(tmp_path, 20)
    run = start(
        "happycity_tournament", "run", "--rounds", "12", "--bots", "random", "--bot", GATED,
        "--bot", f"mortal={sys.executable} {BOTS / 'mortal.py'}", "--concurrency", "4", "--seed", "1",
        "--decision-time", "120", "--connect-time", "120", "--grace", "0.2", "--json", "result.json",
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stderr is not None
    assert any("bot mortal ended with status -9" in line for line in run.stderr)
    let_through(tmp_path, ALL_GAMES)
    _, errors = run.communicate(timeout=DEADLINE)
    assert run.returncode == 0, errors
    told = result(tmp_path)
    assert told["games"] == 36
    forfeits = {line["bot"]: line["forfeits"] for line in told["standings"]}
    assert 0 < forfeits.pop("mortal") <= 36
    assert forfeits == {"random": 0, "gated": 0}
    with store_of(tmp_path) as store:
        endings = {ending for game in store.results(1) for ending in game.endings}
    assert endings <= {"finished", "forfeit:disconnected", "forfeit:absent"}


def test_a_bot_in_any_process_plays(tmp_path: Path) -> None:
    """`--bot NAME=COMMAND` starts a program that finds the server in its environment."""
    bot = f"mine={sys.executable} {BOTS / 'last_move.py'}"
    done = tournament("--rounds", "2", "--bots", "random", "--bot", bot, "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {line["bot"]: line["forfeits"] for line in told["standings"]} == {"mine": 0, "random": 0}


def test_a_bot_that_fails_too_often_is_disqualified(tmp_path: Path) -> None:
    """By the terms given, a bot that never answers is out after a few games; table and JSON say why."""
    done = tournament(
        "--rounds", "20", "--bots", "random", "--bot", f"mute={sys.executable} {BOTS / 'silent.py'}",
        "--decision-time", "3", "--margin", "0", "--strikes", "0", "--concurrency", "1",
        "--disqualify-share", "0.5", "--disqualify-games", "2", "--json", "result.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = result(tmp_path)
    assert (told["games"], told["disqualified"]) == (40, ["mute"])
    mute = next(line for line in told["standings"] if line["bot"] == "mute")
    assert (mute["forfeits_by_reason"], mute["games_quarantined"]) == ({"timeout": 2}, 38)
    assert told["games_quarantined"] == 38
    assert "forfeits of mute: 2 timeout\n" in done.stdout
    assert "mute is disqualified for too many forfeits" in done.stdout
    assert "38 with a disqualified bot count apart" in done.stdout
    assert told["config"]["policy"]["max_strikes"] == 0


def test_a_run_on_a_server_with_tokens(tmp_path: Path) -> None:
    """An organiser's token creates the tournament; bots that it starts don't inherit it."""
    happycity = [sys.executable, "-m", "happycity"]

    def token(role: str, name: str) -> str:
        command = [*happycity, "token", "create", "--role", role, "--name", name, "--tokens", "tokens.json"]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return made.stdout.strip()

    organiser, greedy = token("organiser", "me"), token("bot", "greedy")
    programs = [
        subprocess.Popen(
            [*happycity, "serve", "--listen", "127.0.0.1:0", "--tokens", "tokens.json"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
    ]  # fmt: skip
    try:
        assert programs[0].stdout is not None
        assert programs[0].stderr is not None
        server = json.loads(programs[0].stdout.readline())["listening"]
        run = ("--server", server, "--rounds", "1", "--bots", "", "--join", "greedy")
        assert "refused" in the_error(tournament(*run, "--join", "random", cwd=tmp_path))
        programs.append(
            subprocess.Popen(
                [*happycity, "bot", "greedy", "--server", server, "--token", greedy],
                cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
            )
        )  # fmt: skip
        assert any('"bot_connected"' in line for line in programs[0].stderr)
        bot = f"mine={sys.executable} {BOTS / 'last_move.py'}"
        mine = ("--bot", bot, "--token", organiser, "--connect-time", "120")
        assert "bot mine ended with status 2" in the_error(tournament(*run, *mine, cwd=tmp_path))
        absent = ("--join", "absent", "--token", organiser, "--connect-time", "1")
        done = tournament(*run, *absent, "--json", "-", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)["standings"]
        assert {line["bot"]: line["forfeits"] for line in told} == {"greedy": 0, "absent": 2}
    finally:
        for program in programs:
            program.kill()
            program.communicate()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--bots", "random,nobody"), "unknown bot 'nobody'"),
        (("--bots", "random,greedy", "--seats", "4"), "2 can't fill a table of 4 seats"),
        (("--bots", "random"), "1 can't fill a table"),
        (("--bots", "random,random"), "named more than once"),
        (("--bots", "random,greedy", "--rounds", "0"), "rounds"),
        (("--bots", "random,greedy", "--server", "127.0.0.1:9"), "no server answers at 127.0.0.1:9"),
        (("--bots", "random", "--bot", "sad=false"), "bot sad ended with status 1"),
        (("--bots", "random", "--bot", "none=/no/such/program"), "can't be started"),
        (("--bots", "random", "--bot", "nameless"), "is not NAME=COMMAND"),
        (("--bots", "random,greedy", "--store", "nosuch://x"), "nosuch"),
        (("--bots", "random,greedy", "--json", "no/such/folder/x.json"), "there is no folder no/such/folder"),
        (("--bots", "random,gre edy=greedy"), "gre edy"),
        (("--bots", "random,greedy", "--increment", "1"), "an increment needs a bank"),
    ],
)
def test_bad_input_costs_one_line_and_status_2(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    """What is wrong, where, and no traceback."""
    assert told in the_error(tournament(*arguments, cwd=tmp_path))


def test_ctrl_c_stops_in_good_order_and_keeps_the_games(tmp_path: Path) -> None:
    """The first SIGINT finishes the running games, prints the standings, and everything is stored."""
    running = subprocess.Popen(
        [
            sys.executable, "-m", "happycity_tournament", "run", "--rounds", "100000",
            "--bots", "random,greedy", "--json", "result.json",
        ],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stderr is not None
    try:
        for line in running.stderr:  # the first line of progress that tells of finished games
            if " games/s" in line and not line.startswith("0 of"):
                break
        os.kill(running.pid, signal.SIGINT)
        out, _ = running.communicate(timeout=DEADLINE)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "of 200000 games" in out
    told = result(tmp_path)
    with store_of(tmp_path) as store:
        assert store.progress(1).games == told["games"] > 0


def test_second_ctrl_c_breaks_off_without_a_traceback(tmp_path: Path) -> None:
    """Where a running game doesn't end by itself, a second SIGINT ends the command in one line."""
    running = subprocess.Popen(
        [
            sys.executable, "-m", "happycity_tournament", "run", "--bots", "random",
            "--bot", f"mute={sys.executable} {BOTS / 'silent.py'}", "--decision-time", "600",
        ],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stderr is not None
    try:
        for line in running.stderr:
            if " games/s" in line:
                break
        os.kill(running.pid, signal.SIGINT)
        for line in running.stderr:
            if line.startswith("stopping"):
                break
        os.kill(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=DEADLINE)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith(
        "broken off; the games that were finished are in sqlite:///runs/"
    )
