"""`happycity ask`: recorded decisions are put to bots of several languages, also in a debugger."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.commands.programs import happycity
from tests.terminal.terminal import Key, Terminal
from tests.terminal.test_show import stored_record
from tests.tournament.servers import arena

from happycity import Config
from happycity.records.record import Json, loads
from happycity_client import Bot, Decision, read_decision
from happycity_client import ask as run_ask
from happycity_tournament.client.run_folder import OwnServer, Run, own_store
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.lineup import BotEntry, Lineup

BOT = Path(__file__).parent / "bots" / "first_move.py"
ROOT = Path(__file__).resolve().parents[2]
MINE = f"{sys.executable} {BOT}"


class FirstMove(Bot):
    def choose(self, decision: Decision) -> Any:
        return decision.moves[0]


@dataclass(frozen=True)
class Asked:
    status: int
    output: str
    errors: str

    @property
    def marks(self) -> str:
        return "".join(line[0] for line in self.output.splitlines() if line[1:].startswith(" decision "))


@pytest.fixture(scope="session")
def played_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "runs" / "20261122-080000"
    folder.mkdir(parents=True)
    bots = ("mine", "greedy", "random")
    config = TournamentConfig(bots=bots, game=Config(players=3), format=RandomRounds(rounds=1), seed=3)
    with arena(folder, {"greedy": "greedy", "random": "random"}) as opened:
        opened.connect("mine", FirstMove)
        tournament_id = opened.play(config).tournament_id
    entries = (
        BotEntry(name="mine", command=MINE),
        BotEntry(name="greedy", builtin="greedy"),
        BotEntry(name="random", builtin="random"),
    )
    Run(
        folder=folder,
        tournament_id=tournament_id,
        created_at=0.0,
        venue=OwnServer(store=own_store(folder)),
        lineup=Lineup(bots=entries, directory=folder),
    ).save()
    return folder


@pytest.fixture
def ask(played_run: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """Return a function that calls `happycity ask`, where the latest run is the played one."""
    monkeypatch.chdir(played_run.parents[1])

    def call(*arguments: object, **environment: str) -> Asked:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            done = happycity("ask", *arguments)
        printed = capfd.readouterr()  # by the bot
        return Asked(done.status, done.output + printed.out, printed.err + done.errors)

    return call


def record_of(folder: Path, match_id: int) -> Json:
    return loads(stored_record(folder / "games.sqlite", match_id))


def decisions_of(folder: Path, match_id: int, bot: str) -> list[int]:
    record = record_of(folder, match_id)
    seat = record["bots"].index(bot)
    return [number for number, line in enumerate(record["moves"], start=1) if line["seat"] == seat]


def written(path: Path, record: Json) -> Path:
    path.write_text(json.dumps(record) + "\n")
    return path


@pytest.mark.level(2)
@pytest.mark.parametrize("bot", ["mine", "greedy", "random"])
def test_a_whole_game_is_asked(ask: Any, played_run: Path, bot: str) -> None:
    """A deterministic bot decides all as then, also one that uses the seed of its game."""
    asked = ask(played_run, 2, "--bot", bot, "--all")
    assert asked.status == 0, asked
    assert asked.marks == "=" * len(decisions_of(played_run, 2, bot))


@pytest.mark.level(2)
def test_a_decision_says_whose_it_is(ask: Any, played_run: Path) -> None:
    """Its seat is asked; the bot gets all that has happened, as after a restart."""
    number = decisions_of(played_run, 1, "greedy")[3]
    asked = ask(f"1@{number}")
    assert (asked.status, asked.marks) == (0, "=")
    assert asked.output.startswith("greedy (seat ")


@pytest.mark.level(2)
def test_json_has_every_answer_with_the_numbers_of_the_bot(ask: Any, played_run: Path) -> None:
    """The standard output has nothing else: what the bot prints goes to the standard error."""
    asked = ask(1, "--all", "--json")
    content = json.loads(asked.output)
    assert (content["game"], content["bot"]) == (1, "mine")
    assert [entry["decision"] for entry in content["decisions"]] == decisions_of(played_run, 1, "mine")
    assert {entry["outcome"] for entry in content["decisions"]} == {"same"}
    assert [entry["metrics"]["decisions"] for entry in content["decisions"]][:3] == [1, 2, 3]
    assert "choosing " in asked.errors


@pytest.mark.level(2)
def test_what_went_wrong_is_asked_first(ask: Any, played_run: Path, tmp_path: Path) -> None:
    """Where the record has no answer of the bot, the answer is compared with nothing."""
    record = record_of(played_run, 1)
    number, seat = decisions_of(played_run, 1, "mine")[4], record["bots"].index("mine")
    record["incidents"] = [{"decision": number, "seat": seat, "kind": "timeout", "text": "no answer in 10 s"}]
    asked = ask(written(tmp_path / "game.jsonl", record), "--bot", f"mine={MINE}")
    assert (asked.status, asked.marks) == (0, "?")
    assert f"? decision {number}, round " in asked.output
    assert "; the record has no answer: played " in asked.output


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("fault", "status", "marks", "output", "errors"),
    [
        ("", 0, "=", "1 as in the record\n", ""),
        ("last", 1, "=!", "; the record has ", ""),
        ("crash", 1, "=!", "crashed: IndexError: tuple index out of range (first_move.py:", "Traceback"),
        ("exit", 1, "=!", "its program ended with status 3", ""),
        ("refuse", 2, "", "", "no model file\nerror: mine: its program ended with status 1\n"),
    ],
)
def test_what_a_bot_does_is_marked(
    ask: Any, *, fault: str, status: int, marks: str, output: str, errors: str
) -> None:
    """Where it differs the status is 1; a game is not asked further when the bot fails."""
    asked = ask(1, *(["--all"] if fault else []), FAULT=fault)
    assert (asked.status, asked.marks[: len(marks)]) == (status, marks), asked
    assert asked.marks.count("!") == marks.count("!")
    assert output in asked.output
    assert errors in asked.errors
    assert "choosing " in asked.output or fault == "refuse"  # what the bot prints goes to the terminal


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("1", "--bot", "nosuch"), "--bot: no bot 'nosuch' plays; there are: greedy, mine"),
        (("1", "--bot", "mien"), "--bot: no bot 'mien' plays; did you mean mine?"),
        (("1@4000",), "GAME@DECISION: there is no decision 4000; the game has "),
        (("1@3", "--all"), "--all: it asks the whole game; leave the decision out"),
        (("77",), "it has no game 77; this lists its games: tournament games"),
        (("1x",), "1x: there is no such file or folder"),
    ],
)
@pytest.mark.usefixtures("ask")
def test_wrong_arguments_cost_one_line(arguments: tuple[str, ...], expected: str) -> None:
    assert expected in happycity("ask", *arguments).error


@pytest.mark.usefixtures("ask")
def test_what_is_not_clear_is_asked_for(played_run: Path) -> None:
    # Where a decision is another seat's, the nearest one of the bot is named.
    greedy, mine = (decisions_of(played_run, 1, bot) for bot in ("greedy", "mine"))
    near = min(mine, key=lambda number: abs(number - greedy[2]))
    refused = happycity("ask", f"1@{greedy[2]}", "--bot", "mine").error
    assert f"decision {greedy[2]} is one of greedy; the nearest of mine is {near}" in refused

    # A store doesn't say how its bots were started, nor which of them is meant.
    store = played_run / "games.sqlite"
    said = happycity("ask", store, 1, "--bot", MINE).error
    assert "--bot: say which bot's decisions are asked, of " in said
    said = happycity("ask", store, 1, "--bot", "mine").error
    assert '--bot: give the command that starts it, as in --bot "mine=COMMAND"' in said


@pytest.mark.level(2)
def test_a_decision_is_written_and_asked_without_its_record(
    ask: Any, played_run: Path, tmp_path: Path
) -> None:
    """The file has what a server sends to a bot that begins there; SDK and command read it."""
    number, file = decisions_of(played_run, 1, "mine")[4], tmp_path / "lost.decision"
    said = ask(f"1@{number}", "--out", file).output
    start, decision = read_decision(file)
    assert (start.match_id, start.bots[start.seat], decision.decision_id) == (1, "mine", number)
    assert said.startswith(f"{file}: decision {number} of game 1, round ")
    assert said.endswith(f": mine has a choice of {', '.join(map(str, decision.moves))}\n")
    first = run_ask(FirstMove, file)
    assert first is decision.moves[0]

    asked = ask(file, "--bot", MINE)
    assert (asked.status, asked.marks) == (0, "?"), asked
    assert asked.output.startswith(f"mine (seat {start.seat + 1}) is asked decision {number} of game 1")
    assert ask(file, "--bot", MINE, FAULT="refuse").status == 2


def test_what_can_not_be_written_costs_one_line(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "other.decision").write_text("")
    for arguments, expected in {
        ("1", "--all", "--out", tmp_path / "a.decision"): "--out: it takes one decision, without --all",
        ("1", "--out", tmp_path / "a.json"): "a.json must end in .decision, by which such files are known",
        ("1", "--out", tmp_path / "none" / "a.decision"): "--out: ",
        (tmp_path / "other.decision", "--bot", MINE): "other.decision is not a decision as this writes it",
        (tmp_path / "gone.decision", "--bot", MINE): "gone.decision can't be read: No such file",
    }.items():
        assert expected in happycity("ask", *arguments).error


@pytest.mark.level(2)
def test_a_debugger_holds_the_bot_and_reads_the_terminal(ask: Any) -> None:
    """The bot's standard streams are those of the terminal, and nothing runs out while it stands."""
    with Terminal("ask", "1", "--all", columns=120, env={"FAULT": "breakpoint"}) as terminal:
        terminal.wait_for("(Pdb)")
        terminal.send("p self.decisions * 21\r")
        terminal.wait_for("\n42")
        terminal.send("c\r")
        assert terminal.wait() == 0
        assert "as in the record" in terminal.text


@pytest.mark.level(2)
def test_the_first_ctrl_c_is_the_bots(ask: Any) -> None:
    """The command goes on after it; the second one stops both, also a bot that a debugger holds."""
    with Terminal("ask", "1", "--all", columns=120, env={"FAULT": "breakpoint"}) as terminal:
        terminal.wait_for("(Pdb)")
        terminal.send(Key.CTRL_C + "p self.decisions * 21\r")
        terminal.wait_for("\n42")
        terminal.send(Key.CTRL_C)
        assert terminal.wait() == 130
