"""`happycity play --watch`: one game between bots on one deal, as a run that other commands take."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.commands.programs import happycity, own_folder, tournament
from tests.terminal.terminal import Terminal

from happycity import ConfigError
from happycity_terminal.watched_game import table_of
from happycity_tournament.lineup import bot_entries

BOT = Path(__file__).parent / "bots" / "first_move.py"
MINE = f"mine={sys.executable} {BOT}"


def deal_of(run: Path) -> Any:
    tournament("export", run, "--format", "records", "--game", "1", "--out", "game.jsonl")
    return json.loads(Path("game.jsonl").read_text())["deal"]


@pytest.mark.level(2)
def test_the_same_seed_deals_the_same_game_again() -> None:
    """Deterministic bots play it alike, and the two runs can be compared."""
    results = []
    for _ in range(2):
        done = happycity("play", "--watch", "--against", "greedy,planner", "--seed", "7", "--json")
        assert done.status == 0, done
        results.append(json.loads(done.output))
    first, second = (Path(result.pop("run")) for result in results)
    assert results[0] == results[1]
    assert deal_of(first) == deal_of(second)
    compared = json.loads(tournament("compare", first, second, "--json").output)
    assert (compared["pairs"], {bot["change"] for bot in compared["bots"]}) == (1, {"same"})


@pytest.mark.level(2)
def test_a_bot_is_asked_again_about_its_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash is in the result with its place; the run finds game, program and the decision of the crash."""
    monkeypatch.setenv("FAULT", "crash")
    done = happycity("play", "--watch", "--against", "greedy", "--bot", MINE, "--seed", "7")
    folder = own_folder()
    assert done.status == 0, done
    assert "mine crashed in 1 of 1 game: IndexError: tuple index out of range (first_move.py:" in done.output
    assert f"ask mine again with: happycity ask {folder} --bot mine\n" in done.output
    assert f"look at it with: happycity show {folder}\n" in done.output
    moves = [line for line in done.output.splitlines() if " round " in line]
    assert [int(line.split()[0]) for line in moves] == list(range(1, len(moves) + 1))
    (game,) = json.loads(tournament("games", "--forfeits", "--bot", "mine", "--json").output)
    monkeypatch.delenv("FAULT")
    asked = happycity("ask", game["game"], "--json")
    (decision,) = json.loads(asked.output)["decisions"]
    assert (asked.status, decision["outcome"], decision["failure"]) == (0, "no recorded answer", None)


@pytest.mark.level(2)
def test_moves_are_printed_as_they_are_made() -> None:
    os.mkfifo("gate")
    arguments = ("play", "--watch", "--against", "greedy", "--bot", MINE, "--seed", "7", "--no-clock")
    with subprocess.Popen(
        [sys.executable, "-m", "happycity", *arguments],
        env={**os.environ, "FAULT": "wait"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        try:
            assert program.stdout is not None
            assert any("mine chose" in line for line in program.stdout)
            assert program.poll() is None
            Path("gate").write_text("go")
            assert "look at it with: happycity show runs/" in program.stdout.read()
            assert program.wait() == 0
        finally:
            program.kill()


def test_who_sits_at_the_table() -> None:
    # They sit there under names of their own.
    for bots, seats, names in [
        ("greedy", None, ("greedy", "mine")),
        ("greedy", 4, ("greedy", "mine", "greedy-2", "greedy-3")),
        ("greedy,greedy-2=random", 5, ("greedy", "greedy-2", "mine", "greedy-3", "greedy-2-2")),
    ]:
        lineup = table_of(bot_entries(bots, [MINE], ()), seats)
        assert lineup.names == names

    # Before anything is started.
    for bots, commands, seats, expected in [
        ("greedy", [], None, "--against, --bot: a table takes 2 to 5 bots, not 1"),
        ("random,greedy,planner", [], 2, "--seats: 3 bots don't fit at a table of 2"),
        ("", [MINE], 3, "--seats: there is no reference bot to fill the table of 3; add --against"),
        ("greedy", ["mine=nosuch"], None, "bot mine: 'nosuch' can't be started: there is no such program"),
        ("greedy", ["greedy=cat"], None, "bots: 'greedy' is named more than once"),
    ]:
        with pytest.raises(ConfigError) as caught:
            table_of(bot_entries(bots, commands, ()), seats)
        assert str(caught.value) == expected


@pytest.mark.level(2)
def test_a_watched_game_can_be_stepped_through_afterwards() -> None:
    """The viewer opens when the game is over; q leaves it."""
    with Terminal("play", "--watch", "--against", "random,greedy", "--seed", "7") as terminal:
        terminal.wait_for("decision 1 of ")
        terminal.send("q")
        assert terminal.wait() == 0
        assert b"look at it with: happycity show runs/" in terminal.raw
