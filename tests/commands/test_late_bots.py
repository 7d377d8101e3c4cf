"""`tournament add` and `withdraw` as whole commands, and servers that are killed right after them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import grpc
import pytest
from tests.commands.programs import DEADLINE, Start, create, follow, records, serve, start_gated

from happycity import Config
from happycity.v1 import match_service_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire import config_message
from happycity_tournament.plan import Plan
from happycity_tournament.store import Store

CYCLES = 20

FREE_GAMES = 4

GATED = f"""
import asyncio
import itertools
from pathlib import Path
from happycity_client import Bot, run

numbers = itertools.count(1)

class Gated(Bot):
    '''Begins {FREE_GAMES} games at once, and the others when it may: slowly, until there is no need to.'''

    def __init__(self, start):
        super().__init__(start)
        self.waits = next(numbers) > {FREE_GAMES}

    async def choose(self, decision):
        if self.waits:
            self.waits = False
            await self.begin()
        return decision.moves[0]

    async def begin(self):
        while not Path("go").exists():
            await asyncio.sleep(0.01)
        for _ in range(600):
            if Path("hurry").exists():
                break
            await asyncio.sleep(0.01)

run(Gated)
"""

NEWCOMER = """
from pathlib import Path
from happycity_client import Bot, run

class Newcomer(Bot):
    def __init__(self, start):
        super().__init__(start)
        Path("hurry").touch()

    def choose(self, decision):
        return decision.moves[-1]

Path("go").touch()
run(Newcomer)
"""


def tournament(folder: Path, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command of `tournament` to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "happycity_tournament", *arguments],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a newcomer, and a bot that has the tournament go on for long until that is in."""
    (tmp_path / "gated.py").write_text(GATED, encoding="utf-8")
    (tmp_path / "newcomer.py").write_text(NEWCOMER, encoding="utf-8")
    return tmp_path


RUN = (
    "run", "--format", "round-robin", "--cycles", str(CYCLES), "--seats", "2", "--seed", "3",
    "--decision-time", "600", "--connect-time", "120", "--concurrency", str(FREE_GAMES), "--bots", "random",
    "--bot", f"gated={sys.executable} gated.py",
)  # fmt: skip
LATE = ("--bot", f"late={sys.executable} newcomer.py")


def follow_free_games(own: Path) -> None:
    """Follow a run until it has played the games that begin at once."""
    follow(json.loads((own / "plan.json").read_text())["address"], 1, until_games=FREE_GAMES)


def games_by_pair(folder: Path) -> Counter[frozenset[str]]:
    """Return how often each pair has played in a run."""
    with Store(f"sqlite:///{folder}/games.sqlite") as store:
        return Counter(frozenset(result.fixture.bots) for result in store.results(1))


def test_a_bot_joins_a_run_from_another_terminal(start: Start, folder: Path) -> None:
    """Both commands end well, every pair has met equally often, and `resume` would start the newcomer too."""
    run = start("happycity_tournament", *RUN, "--json", "result.json", stderr=subprocess.PIPE)
    assert run.stderr is not None
    assert run.stderr.readline()  # the first progress: the tournament is there
    (own,) = folder.glob("runs/*")
    follow_free_games(own)
    taken = tournament(folder, "add", str(own), "--bots", "random", status=2)
    assert taken.stderr == "error: bots: 'random' takes part already, or did\n"
    added = tournament(folder, "add", str(own), *LATE, "--json")
    assert run.wait(DEADLINE) == 0
    told = json.loads((folder / "result.json").read_text())
    assert (told["state"], told["games"], told["games_total"]) == ("finished", 6 * CYCLES, 6 * CYCLES)
    assert {line["bot"]: line["games"] for line in told["standings"]} == dict.fromkeys(
        ["random", "gated", "late"], 4 * CYCLES
    )
    assert sum(line["forfeits"] for line in told["standings"]) == 0
    assert set(games_by_pair(own).values()) == {2 * CYCLES}
    (stay,) = told["config"]["roster"]
    assert stay == {"bot": "late", "first_round": stay["first_round"], "last_round": None}
    assert stay["first_round"] > 1

    result = json.loads(added.stdout)
    assert (result["standings"], result["final"]) == (told["standings"], told["final"])
    assert "late takes part from round" in added.stderr
    assert json.loads((own / "plan.json").read_text())["commands"]["late"].endswith("newcomer.py")
    again = tournament(folder, "add", str(own), "--join", "later", status=2)
    assert again.stderr == "error: tournament 1 is finished\n"


def test_a_stopped_run_is_joined_and_left_without_a_server(start: Start, folder: Path) -> None:
    """The store and the plan are changed; whoever resumes starts the newcomer, and the one that left not."""
    (folder / "go").touch()
    run = start(
        "happycity_tournament", *RUN, "--bots", "random,random2=random", stderr=subprocess.PIPE
    )  # fmt: skip
    assert run.stderr is not None
    assert run.stderr.readline()
    (own,) = folder.glob("runs/*")
    follow_free_games(own)
    run.send_signal(signal.SIGINT)
    assert run.wait(DEADLINE) == 130
    (folder / "hurry").touch()

    added = tournament(folder, "add", str(own), *LATE)
    assert "late takes part from round" in added.stdout
    tournament(folder, "withdraw", str(own), "random2")
    shown = tournament(folder, "show", str(own)).stdout
    assert "random2 (left)" in shown
    assert "random2 was withdrawn after round" in shown
    done = tournament(folder, "resume", str(own), "--json", "result.json")
    assert "late takes part from round" in done.stdout
    pairs = games_by_pair(own)
    stayed = ("random", "gated", "late")
    assert {pairs[frozenset({one, other})] for one in stayed for other in stayed if one < other} == {
        2 * CYCLES
    }
    assert "random2" not in (own / "plan.json").read_text()
    assert (own / "bot-late.log").exists()


def test_ctrl_c_ends_only_what_add_has_started(start: Start, folder: Path) -> None:
    """The tournament goes on without the bot, and the last line says how to take it out."""
    (folder / "go").touch()
    _, address = serve(start, "sqlite:///games.sqlite")
    start("happycity", "bot", "random", "--server", address)
    start_gated(start, address, bots=folder)
    run = start(
        "happycity_tournament", *RUN[:9], "--bots", "", "--join", "random", "--join", "gated",
        "--server", address, "--connect-time", "120", "--concurrency", "1", "--grace", "0",
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stderr is not None
    assert run.stderr.readline()
    follow(address, 1, until_games=FREE_GAMES)
    add = start(
        "happycity_tournament", "add", "1", "--server", address, "--bots", "late=random",
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert add.stderr is not None
    assert any("late takes part from round" in line for line in add.stderr)
    add.send_signal(signal.SIGINT)
    _, errors = add.communicate(timeout=DEADLINE)
    assert add.returncode == 130
    assert errors.splitlines()[-1].startswith("ended: late; the tournament goes on")
    assert errors.splitlines()[-1].endswith(f"tournament withdraw --server {address} 1 late")
    withdrawn = tournament(folder, "withdraw", "--server", address, "1", "late", "--json")
    told = json.loads(withdrawn.stdout)
    assert told["roster"][0]["bot"] == "late"
    assert told["roster"][0]["last_round"] is not None
    (folder / "hurry").touch()
    assert run.wait(DEADLINE) == 0
    with Store(f"sqlite:///{folder}/games.sqlite") as store:
        pairs = Counter(frozenset(result.fixture.bots) for result in store.results(1))
    assert pairs[frozenset({"random", "gated"})] == 2 * CYCLES


def test_the_end_of_a_run_is_told_though_its_server_is_gone(start: Start, tmp_path: Path) -> None:
    """The run ends its server with the last game; whoever has joined looks into the store then."""
    own = tmp_path / "runs" / "mine"
    own.mkdir(parents=True)
    url = f"sqlite:///{own}/games.sqlite"
    server, address = serve(start, url)
    start("happycity", "bot", "random", "random2=random", "gated=greedy", "--server", address)
    many = config(pb.TOURNAMENT_FORMAT_ROUND_ROBIN)
    many.cycles = 10_000
    tournament_id = create(address, many)
    follow(address, tournament_id, until_games=1)
    Plan(join=BOTS[:3], address=address, store=url, logs=own).save(tournament_id)
    add = start(
        "happycity_tournament", "add", str(own), "--bots", "late=random", "--json", stderr=subprocess.PIPE
    )
    assert add.stderr is not None
    assert any("late takes part from round" in line for line in add.stderr)
    with Store(url) as store:
        store.set_state(tournament_id, "finished")
    server.kill()
    output, errors = add.communicate(timeout=DEADLINE)
    assert add.returncode == 0, errors
    told = json.loads(output)
    assert (told["state"], told["config"]["bots"]) == ("finished", list(BOTS))
    assert Plan.load(own).builtin == ("late=random",)


# Servers that are killed ---------------------------------------------------------------------------------

BOTS = ("random", "random2", "gated", "late")


def config(kind: pb.TournamentFormat.ValueType) -> pb.TournamentConfig:
    return pb.TournamentConfig(
        bots=BOTS[:3], game=config_message(Config(players=2)), format=kind, rounds=20, cycles=10, seed=5,
        concurrency=4, time_control=match_service_pb2.TimeControl(connect_ms=120_000, decision_ms=600_000),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "answered", "new_url"),
    [
        (pb.TOURNAMENT_FORMAT_SWISS, True, "sqlite"),
        (pb.TOURNAMENT_FORMAT_SWISS, False, "postgresql"),
        (pb.TOURNAMENT_FORMAT_ROUND_ROBIN, True, "postgresql"),
        (pb.TOURNAMENT_FORMAT_ROUND_ROBIN, False, "sqlite"),
    ],
    indirect=["new_url"],
)
def test_a_server_that_is_killed_after_an_addition(
    start: Start, folder: Path, url: str, *, kind: pb.TournamentFormat.ValueType, answered: bool
) -> None:
    """What was answered is there, what was not may be; the games are those of an undisturbed tournament."""
    (folder / "go").touch()
    server, address = serve(start, url)
    start("happycity", "bot", "random", "random2=random", "late=random", "--server", address)
    start_gated(start, address, bots=folder)
    tournament_id = create(address, config(kind))
    follow(address, tournament_id, until_games=FREE_GAMES)
    with grpc.insecure_channel(address) as channel:
        request = pb.AddBotsRequest(tournament_id=tournament_id, bots=["late"])
        call = TournamentServiceStub(channel).AddBots.future(request)
        if answered:
            assert list(call.result(DEADLINE).tournament.config.bots) == list(BOTS)
        else:
            follow(address, tournament_id, until_games=FREE_GAMES + 1)
        server.kill()
        server.wait(DEADLINE)
    (folder / "hurry").touch()
    serve(start, url, listen=address)
    last = follow(address, tournament_id).tournament
    assert last.state == pb.TOURNAMENT_STATE_FINISHED
    assert tuple(last.config.bots) in ({BOTS} if answered else {BOTS, BOTS[:3]})
    undisturbed = create(address, last.config)
    follow(address, undisturbed)
    assert records(url, tournament_id) == records(url, undisturbed)
    assert len(records(url, tournament_id)) == last.games_total


# Refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("add", "1", "--join", "late"), "1: an id needs its place; add --server"),
        (("add", "runs/none", "--join", "late"), "runs/none is no folder of a run"),
        (("add", "1", "--server", "127.0.0.1:1"), "bots, bot, join: say by one of them who is to join"),
        (("add", "x", "--server", "127.0.0.1:1", "--join", "late"), "'x' is no tournament's id"),
        (("add", "1", "--server", "h:1", "--bots", "late"), "bots: 'late' is none of the reference bots"),
        (("add", "1", "--server", "h:1", "--bot", "late"), "bot: 'late' is not NAME=COMMAND"),
        (("add", "1", "--server", "h:1", "--join", ""), "bots, bot, join: a name or a command is empty"),
        (("add", "1", "--server", "h:1", "--join", "a", "--bots", "a=greedy"), "'a' is named more than once"),
        (
            ("add", "1", "--server", "h:1", "--join", "a", "--store", "x"),
            "store: a running server has its own",
        ),
        (("withdraw", "1", "late"), "1: an id needs its place; add --server"),
        (("withdraw", "runs/none", "late"), "runs/none is no folder of a run"),
    ],
)
def test_bad_input_costs_a_line_and_status_2(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    """Nothing is started, and the line says what is wrong."""
    (line,) = tournament(tmp_path, *arguments, status=2).stderr.splitlines()
    assert line.startswith("error: ")
    assert told in line


def test_a_format_with_fixed_bots_is_refused_offline_too(tmp_path: Path) -> None:
    """A gauntlet that is over, or was stopped, takes nobody in, and its plan stays as it is."""
    tournament(tmp_path, "run", "--format", "gauntlet", "--challengers", "random", "--seats", "2", "--bots",
               "random,random2=random")  # fmt: skip
    (own,) = tmp_path.glob("runs/*")
    with Store(f"sqlite:///{own}/games.sqlite") as store:
        store.set_state(1, "stopped")
    before = (own / "plan.json").read_text()
    for arguments in (("add", str(own), "--join", "late"), ("withdraw", str(own), "random")):
        done = tournament(tmp_path, *arguments, status=2)
        assert done.stderr.startswith("error: gauntlet has the same bots from beginning to end; only ")
    assert (own / "plan.json").read_text() == before
