"""`happycity practice` and `happycity status` as an author uses them: on a server of others, with a house."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from tests.server.harness import met
from tests.server.server_process import server_process

ROOT = Path(__file__).parents[2]
BOT = f"mine={sys.executable} {ROOT}/tests/commands/bots/first_move.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server whose house is `greedy` and `easy`."""
    with server_process(
        tmp_path_factory.mktemp("server"), "--open", "--house", "greedy,easy=random"
    ) as process:
        asyncio.run(house_connects(process.address))
        yield process.address


async def house_connects(address: str) -> None:
    """Wait for the bots of the house, which a busy machine starts late."""
    async with grpc.aio.insecure_channel(address) as channel:
        await met(channel, "greedy", "easy")


def happycity(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "happycity", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"COLUMNS": "80"},
    )


def test_bot_practises_against_the_house(server: str, tmp_path: Path) -> None:
    """A program is started, plays each deal in every rotation of the seats, and its results are shown."""
    ran = happycity(
        tmp_path,
        *("practice", "--server", server, "--bot", BOT, "--against", "greedy,easy"),
        *("--games", "4", "--seed", "7"),
    )
    assert ran.returncode == 0, ran.stderr
    head, *games, last, worst = ran.stdout.splitlines()
    assert head.split() == ["game", "deal", "seat", "place", "points", "others"]
    assert sorted(line.split()[1:3] for line in games) == [["7", "1"], ["7", "2"], ["7", "3"], ["8", "1"]]
    assert last.startswith("4 of 4 games of mine: mean place ")
    assert "; greedy " in last
    shown = happycity(tmp_path, *worst.partition("happycity ")[2].split())
    assert shown.returncode == 0, shown.stderr
    assert "mine" in shown.stdout
    assert "Ctrl-C stops it" in ran.stderr
    assert (next((tmp_path / "runs").iterdir()) / "bot-mine.log").exists()


@pytest.mark.thorough
def test_results_as_json(server: str, tmp_path: Path) -> None:
    """The JSON has each game with its id, seats and results, and the means."""
    ran = happycity(
        tmp_path,
        *("practice", "--server", server, "--bot", BOT, "--against", "mine", "--games", "2"),
        *("--mode", "expert", "--json"),
    )
    result = json.loads(ran.stdout)
    assert (result["bot"], result["against"], result["mode"]) == ("mine", ["mine"], "expert")
    assert [game["bots"] for game in result["games"]] == [["mine", "mine"]] * 2
    assert {ending for game in result["games"] for ending in game["endings"]} == {"finished"}
    assert len({game["match"] for game in result["games"]}) == 2
    assert result["mean_place"] == pytest.approx(
        sum(game["places"][game["seat"]] for game in result["games"]) / 2
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--bot", BOT, "--against", "gredy"), "'gredy' is no bot of the house at {}; did you mean greedy?"),
        (("--bot", BOT, "--against", "zzz"), "'zzz' is no bot of the house at {}; there are: easy, greedy"),
        (("--bot", BOT, "--against", ""), "--against: 0 bots; name 1 to 4, separated by commas"),
        (("--against", "greedy"), "--bot, --join: give one of them"),
        (("--join", "a b", "--against", "greedy"), "bot name 'a b': use 1-64 letters"),
        (("--bot", "mine=nowhere/bot", "--against", "greedy"), "there is no such program"),
        (
            ("--bot", f"mine={sys.executable} nowhere.py", "--against", "greedy"),
            "bot mine ended with status 2",
        ),
        (("--bot", f"mine={sys.executable} -c 1", "--against", "greedy"), "bot mine ended with status 0"),
        (("--join", "greedy", "--against", "easy"), "'greedy' is itself a bot of the house"),
    ],
    ids=["near", "unknown", "nobody", "no bot", "name", "program", "ends", "ends well", "house"],
)
def test_what_goes_wrong_is_one_line(
    server: str, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    """Wrong names and programs that end cost one line and status 2."""
    ran = happycity(tmp_path, "practice", "--server", server, *arguments)
    assert (ran.returncode, ran.stdout) in ((2, ""), (2, "no game was finished\n"))
    error = ran.stderr.splitlines()[-1]
    assert error.startswith("error: ")
    assert problem.format(server) in error


def test_bots_of_a_server_are_listed(server: str, tmp_path: Path) -> None:
    """Bots are listed by name with what they are, as a table of 80 columns and as JSON."""
    listed = json.loads(happycity(tmp_path, "status", server, "--json").stdout)["bots"]
    house = [bot for bot in listed if bot["house"]]
    assert [(bot["bot"], bot["connected"], bot["games"]) for bot in house] == [
        ("easy", True, 0),
        ("greedy", True, 0),
    ]
    assert house[0]["software"].startswith("happycity-python/")
    lines = happycity(tmp_path, "status", server).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:2] == ["greedy", "house"] for line in lines)


@pytest.mark.thorough
def test_server_of_the_environment_is_asked(tmp_path: Path) -> None:
    """Without an address it is that of HAPPYCITY_SERVER, and one line says that nobody answers."""
    ran = subprocess.run(
        [sys.executable, "-m", "happycity", "status"],
        capture_output=True,
        text=True,
        check=False,
        env={"HAPPYCITY_SERVER": f"unix:{tmp_path}/none"},
    )
    assert (ran.returncode, ran.stderr) == (1, f"unix:{tmp_path}/none: no answer\n")
