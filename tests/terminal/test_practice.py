"""`happycity practice` and `happycity status` as an author uses them: on a server of others, with a house."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.commands.programs import happycity, own_folder
from tests.server.conftest import FirstMove
from tests.server.harness import met, serving
from tests.server.server_process import server_process

from happycity import Ending, Mode
from happycity_client import Settings, play
from happycity_runtime.transport import Access
from happycity_terminal.practice import PracticeGame, PracticeMatches, PracticePlan
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.lineup import Lineup, bot_entries

ROOT = Path(__file__).parents[2]
BOT = f"mine={sys.executable} {ROOT}/tests/commands/bots/first_move.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server_process(
        tmp_path_factory.mktemp("server"), "--open", "--house", "greedy,easy=random"
    ) as process:
        asyncio.run(house_connects(process.address))
        yield process.address


async def house_connects(address: str) -> None:
    """Wait for the bots of the house, which a busy machine starts late."""
    async with grpc.aio.insecure_channel(address) as channel:
        await met(channel, "greedy", "easy")


@pytest.mark.level(2)
def test_bot_practises_against_the_house(server: str) -> None:
    """A program is started, plays each deal in every rotation of the seats, and its results are shown."""
    arguments = ("--bot", BOT, "--against", "greedy,easy", "--games", "4", "--seed", "7")
    ran = happycity("practice", "--server", server, *arguments)
    assert ran.status == 0, ran
    head, *games, last, worst = ran.output.splitlines()
    assert head.split() == ["game", "deal", "seat", "place", "points", "others"]
    assert sorted(line.split()[1:3] for line in games) == [["7", "1"], ["7", "2"], ["7", "3"], ["8", "1"]]
    assert last.startswith("4 of 4 games of mine: mean place ")
    assert "; greedy " in last
    shown = happycity(*worst.partition("happycity ")[2].split())
    assert shown.status == 0, shown
    assert "mine" in shown.output
    assert "Ctrl-C stops it" in ran.errors
    assert (own_folder() / "bot-mine.log").exists()


@pytest.mark.level(2)
def test_results_as_json(server: str) -> None:
    arguments = ("--bot", BOT, "--against", "mine", "--games", "2", "--mode", "expert", "--json")
    ran = happycity("practice", "--server", server, *arguments)
    result = json.loads(ran.output)
    assert (result["bot"], result["against"], result["mode"]) == ("mine", ["mine"], "expert")
    assert [game["bots"] for game in result["games"]] == [["mine", "mine"]] * 2
    assert {ending for game in result["games"] for ending in game["endings"]} == {"finished"}
    assert len({game["match"] for game in result["games"]}) == 2
    assert result["mean_place"] == pytest.approx(
        sum(game["places"][game["seat"]] for game in result["games"]) / 2
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--bot", BOT, "--against", "gredy"), "not a bot of the house at {}; did you mean greedy?"),
        (("--bot", BOT, "--against", "zzz"), "not a bot of the house at {}; there are: easy, greedy"),
        (("--bot", BOT, "--against", ""), "--against: 0 bots; name 1 to 4, separated by commas"),
        (("--against", "greedy"), "--bot, --join: give one of them"),
        (("--join", "a b", "--against", "greedy"), "bot name 'a b': use 1-64 of"),
        (("--bot", "mine=nowhere/bot", "--against", "greedy"), "there is no such program"),
        (("--bot", f"mine={sys.executable} no.py", "--against", "greedy"), "bot mine ended with status 2"),
        (("--bot", f"mine={sys.executable} -c 1", "--against", "greedy"), "mine ended without connecting"),
        (("--join", "greedy", "--against", "easy"), "'greedy' is itself a bot of the house"),
    ],
    ids=range(9),
)
def test_what_goes_wrong_is_one_line(server: str, arguments: tuple[str, ...], problem: str) -> None:
    ran = happycity("practice", "--server", server, *arguments)
    assert (ran.status, ran.output) in ((2, ""), (2, "no game was finished\n"))
    error = ran.errors.splitlines()[-1]
    assert error.startswith("error: ")
    assert problem.format(server) in error


def test_bots_of_a_server_are_listed(server: str) -> None:
    shown = json.loads(happycity("status", server, "--json").output)
    assert "happycity.v1.PlayService" in shown["about"]["services"]
    house = [bot for bot in shown["bots"] if bot["house"]]
    listed = [(bot["name"], bot["connected"], bot["games"]) for bot in house]
    assert listed == [("easy", True, 0), ("greedy", True, 0)]
    assert house[0]["software"].startswith("happycity-python/")
    lines = happycity("status", "--server", server).output.splitlines()
    (row,) = [number for number, line in enumerate(lines) if line.split()[:2] == ["greedy", "house"]]
    assert lines[row - 1].split()[:2] == ["easy", "house"]  # a line for each bot, however much it says
    assert max(map(len, lines)) <= 80
    refused = happycity("status", server, "--server", "127.0.0.1:1")
    assert refused.errors == "error: --server: the server is named by ADDRESS already\n"


async def played(
    server: str,
    against: Sequence[str],
    games: int,
    seed: int | None = None,
    *,
    remark: Callable[[str], object] = print,
) -> list[PracticeGame]:
    plan = PracticePlan(
        server=RemoteServer(address=server, access=Access()),
        lineup=Lineup(bots=bot_entries("", [], ["anna"])),
        against=tuple(against),
        games=games,
        seed=seed,
        mode=Mode.EXPERT,
        decision_seconds=None,
    )
    return [game async for game in PracticeMatches(plan, remark).play()]


@asynccontextmanager
async def server_with_anna(folder: Path, **values: Any) -> AsyncIterator[str]:
    async with serving(folder, **values) as (server, _):
        bot = asyncio.create_task(play(FirstMove, Settings(name="anna", server=server.address)))
        yield server.address
        bot.cancel()
        await asyncio.gather(bot, return_exceptions=True)


@pytest.mark.level(2)
async def test_deals_count_up_after_each_rotation_of_the_seats(tmp_path: Path) -> None:
    """A bot plays against itself; one that is not there for long is waited for, which is said once."""
    remarks: list[str] = []
    async with server_with_anna(tmp_path) as address:
        games = await played(address, ["anna"], 5, seed=2**32 - 1, remark=remarks.append)
    assert sorted(game.deal for game in games) == [0, 0, 1, 2**32 - 1, 2**32 - 1]
    assert {seat.ending for game in games for seat in game.seats} == {Ending.FINISHED}
    assert all(game.own is game.seats[0] for game in games)
    assert [remark.partition(":")[0] for remark in remarks] in ([], ["waiting"])


@pytest.mark.level(2)
async def test_the_quota_is_waited_for(tmp_path: Path) -> None:
    async with server_with_anna(tmp_path, practice_matches=1) as address:
        assert len(await played(address, ["anna"], 3)) == 3
