"""`tournament run`, `sprt` and `init`: the processes that they start, and what they play."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commands.programs import (
    ALL_GAMES,
    Gate,
    Start,
    command_of,
    own_folder,
    played,
    records,
    settings_file,
    tournament,
    wait_for_line,
)
from tests.tournament.servers import Arena, arena
from tests.waiting import PATIENT

from happycity import Ending
from happycity.records.replay import replay
from happycity_tournament.play.runner import FIRST_GAMES, WIDENING
from happycity_tournament.storage.store import Store


def test_the_example_is_played() -> None:
    assert tournament("list").output == "no runs\n"
    Path("league.toml").write_text(tournament("run", "--example").output)
    done = tournament(
        "run", "--config", "league.toml", "--rounds", "2", "--seed", "3",
        "--bots", "random,random2=random,greedy", "--seats", "3", "--fail-on-forfeit", "--json",
    )  # fmt: skip
    assert done.status == 0, done
    for text in ("random2", "greedy", "6 of 6 games", "seed 3", "decisions/s", f"output: {own_folder()}/"):
        assert text in done.errors
    result = json.loads(done.output)
    assert (result["state"], result["games"], result["games_total"]) == ("finished", 6, 6)
    (listed,) = json.loads(tournament("list", "--json").output)
    assert (listed["run"], listed["state"], listed["games"]) == (str(own_folder()), "finished", 6)
    url = f"sqlite:///{own_folder()}/games.sqlite"
    with Store.existing(url) as store:
        assert store.progress(result["tournament"]).decisions == result["decisions"]
    kept = records(url)
    for record in kept.values():
        replay(record)
    for (number, table, _), record in kept.items():  # the games of a table share the deal
        assert record["deal"]["decks"] == kept[number, table, 0]["deal"]["decks"]


def test_a_bot_that_dies_loses_its_own_games_only(start: Start, gate: Gate) -> None:
    gate.let_through(10)
    run = start(
        "happycity_tournament", "run", "--format", "round-robin", "--cycles", "5", "--seats", "2",
        "--bots", "random", "--bot", command_of("gated"), "--bot", command_of("mortal"), "--seed", "1",
        *settings_file(disqualify_share=0.5, disqualify_games=8), "--concurrency", "4",
        *PATIENT, "--grace-seconds", "0", "--restarts", "0", "--json",
        stderr=subprocess.PIPE,
    )  # fmt: skip
    line = wait_for_line(run, "bot mortal ended with signal SIGKILL")
    assert line.endswith(f"(output: {own_folder()}/bot-mortal.log); its seats are forfeited\n")
    gate.let_through(ALL_GAMES)
    output, errors = run.communicate()
    assert run.returncode == 0, errors
    result = json.loads(output)
    assert result["games"] == 30
    assert [line["bot"] for line in result["standings"] if line["disqualified"]] == ["mortal"]
    forfeits = {line["bot"]: line["forfeits"] for line in result["standings"]}
    assert forfeits.pop("mortal") > 0
    assert forfeits == {"random": 0, "gated": 0}
    digest = next(line for line in errors.splitlines() if line.startswith(("mortal was ", "mortal crashed ")))
    assert "; disqualified after " in digest
    assert digest.endswith(f"; log: {own_folder()}/bot-mortal.log")
    with Store.existing(f"sqlite:///{own_folder()}/games.sqlite") as store:
        endings = {seat.ending for game in store.results(1) for seat in game.seats}
    # Without grace time, the server may notice the end of the program before the run says so.
    died = {Ending.DISCONNECTED, Ending.CRASHED}
    assert endings & died
    assert endings - died == {Ending.FINISHED, Ending.ABSENT, Ending.DISQUALIFIED}


def test_a_bot_that_dies_is_started_again_and_its_games_go_on() -> None:
    """When it may not be started again, no game waits for it, however long the grace time is."""
    run = tournament(
        "run", "--bots", "random", "--bot", command_of("mortal"), "--seats", "2", "--rounds", "4",
        "--restarts", "1", *settings_file(disqualify_share=0), "--fail-on-forfeit", *PATIENT,
    )  # fmt: skip
    assert run.status == 1, run
    died = r"bot mortal ended with signal SIGKILL: .* \(output: .*/bot-mortal\.log\); "
    endings = re.findall(rf"^{died}(.*)$", run.errors, re.MULTILINE)
    assert endings == ["it is started again", "its seats are forfeited"]
    assert f"bot mortal was started again 1 time (output: {own_folder()}/bot-mortal.log)\n" in run.output
    with Store.existing(f"sqlite:///{own_folder()}/games.sqlite") as store:
        seats = [seat for game in store.results(1) for seat in game.seats]
    assert len(seats) == 16
    reasons = {seat.ending: seat.reason for seat in seats}
    assert reasons.pop(Ending.CRASHED) == "its program ended with signal SIGKILL"
    assert reasons.keys() <= {Ending.FINISHED, Ending.ABSENT}


def test_joining_a_running_server_starts_no_other_bots(opened: Arena) -> None:
    """Nor does a bot of this run throw out one of that name which is connected."""
    server = ("--server", opened.address, "--rounds", "1")
    result = played("run", *server, "--join", "ann", "--join", "dee")
    assert {line["bot"] for line in result["standings"]} == {"ann", "dee"}
    taken = tournament("run", *server, "--join", "ann", "--bot", command_of("first_move", name="dee"))
    assert taken.error == (
        f"--bot, --bots: a program is connected to {opened.address} as 'dee' already; let it play by "
        "--join dee, or end it first, or choose another name"
    )


def test_a_bot_that_ends_before_the_first_game_ends_the_run() -> None:
    """The error has the last line of its output, and says where the output is."""
    error = tournament("run", "--bots", "random", "--bot", "sad=sh -c 'echo no model; exit 3'").error
    assert error == f"bot sad ended with status 3: no model (output: {own_folder()}/bot-sad.log)"


def test_a_bot_that_never_connects_ends_the_run_before_its_first_game() -> None:
    """The error says who is missing and who is there, what its process does, and how to go on."""
    error = tournament("run", "--bots", "random", "--bot", "mute=sleep 100", "--connect-seconds", "3").error
    folder = own_folder()
    missing, _, advice = error.partition("; bot ")
    # The reference bot, too, may need more time where the machine is busy.
    assert missing in (
        "mute did not connect within 3 s; connected: random",
        "random, mute did not connect within 3 s; connected: no bot",
    )
    assert advice == (
        f"mute runs: there is no error in its output (output: {folder}/bot-mute.log); continue with: "
        f"tournament resume {folder} --connect-seconds 6"
    )
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        assert store.games(1) == []


@pytest.mark.parametrize(
    "content",
    [
        "seats = 5",
        "seats = 9",
        "rounds = 0",
        'anchor = "nobody"',
        'format = "gauntlet"',
        "cycles = 2",
        "increment_seconds = 2.0",
        "decision_seconds = 1e300",
        'title = "two\\nlines"',
        'server = "grpc://a:1"\nstore = "sqlite:///x"',
        'server = "grpc://a:1"\nworkers = 2',
        'ray = "auto"\nworkers = 0',
        "until_error = -1.0",
        'beacon = "round 7"',
    ],
)
def test_a_setting_of_a_file_is_named_as_the_file_s(content: str) -> None:
    """No flag that wasn't given is blamed, whichever rule is broken."""
    Path("cup.toml").write_text(f"{content}\n")
    problem = tournament("run", "--config", "cup.toml").error
    assert problem.startswith("cup.toml: "), problem
    assert "--" not in problem


def test_a_bot_that_is_called_otherwise_is_not_waited_for_again(opened: Arena) -> None:
    """The advice is the one remedy that helps."""
    server = ("--server", opened.address, "--rounds", "1", "--connect-seconds", "0.1")
    error = tournament("run", *server, "--join", "ann", "--join", "bobb", "--seats", "2").error
    assert error.endswith("did you mean bob by bobb?; play again with the right name")


NAMES = {"ann": "random", "bob": "random", "cem": "random", "dee": "greedy"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("arena"), NAMES) as running:
        yield running


def test_a_seed_gives_the_same_games_at_any_concurrency(opened: Arena) -> None:
    joining = [text for name in NAMES for text in ("--join", name)]
    swiss = ("--format", "swiss", "--seats", "2", "--rounds", "3", "--seed", "7")
    run = ("run", "--server", opened.address, "--bots", "", *joining, *swiss)
    one, many = (played(*run, "--concurrency", concurrency) for concurrency in (1, 64))
    assert one["games"] == many["games"] == 12
    assert records(opened.url, one["tournament"]) == records(opened.url, many["tournament"])
    assert one["standings"] == many["standings"]


@pytest.mark.parametrize(
    ("arguments", "status", "verdict", "line"),
    [
        pytest.param(
            ("--candidate", "greedy", "--base", "random", "--seats", "3", "--elo1", "100"), 0, "h1",
            "greedy is stronger than random", marks=pytest.mark.level(2),
        ),
        (("--candidate", command_of("first_move", name="new"), "--base", "random", "--max-blocks", "1"),
         3, "undecided", "undecided"),
    ],
)  # fmt: skip
def test_a_sequential_test_ends_with_its_verdict(
    arguments: tuple[str, ...], status: int, verdict: str, line: str
) -> None:
    """Two bots fill all seats, reference bots or programs; the status is 3 if nothing was decided."""
    done = tournament("sprt", *arguments, "--seed", "1", "--concurrency", "16", "--json")
    assert done.status == status, done
    assert line in done.errors
    result = json.loads(done.output)
    assert result["sprt"]["verdict"] == verdict
    assert sum(line["forfeits"] for line in result["standings"]) == 0


DIGESTS = {
    "crash": r"crash crashed in \d+ of \d+ games?: IndexError: .* \(failing\.py:\d+\)",
    "illegal": r"illegal gave illegal answers in \d+ of \d+ games?: answers that are no legal moves, such as "
    r"\d+",
    "slow": r"slow answered too late in \d+ of \d+ games?: no answer within 5 s",
    "silent": r"silent was silent in 1 of 1 game: has never answered \(2 decisions, 5 s each; is its output "
    r"buffered\?\)",
}
"""What the last lines of a run say of the bots of `failing.py`."""


def test_every_way_to_fail_is_one_line_that_names_what_and_where() -> None:
    bots = [argument for name in DIGESTS for argument in ("--bot", command_of("failing", name=name))]
    run = tournament(
        "run", "--bots", "random,greedy", *bots, "--seats", "2", "--rounds", "2", "--seed", "1",
        *settings_file(max_strikes=1), *PATIENT, "--decision-seconds", "5", "--json",
    )  # fmt: skip
    assert run.status == 0, run
    folder = own_folder()
    shown = tournament("show", str(folder))
    result = json.loads(run.output)
    lines = {line["bot"]: line for line in result["standings"]}
    for name, pattern in DIGESTS.items():
        log = folder / f"bot-{name}.log"
        disqualified = "; disqualified after 1 game" if name == "silent" else ""
        digest = rf"{pattern}, first in game \d+{disqualified}; log: {re.escape(str(log))}"
        for output in (run.errors, shown.output):
            assert len([line for line in output.splitlines() if re.fullmatch(digest, line)]) == 1
        assert lines[name]["forfeit_counts"]
        assert re.fullmatch(digest, f"{lines[name]['digest']}; log: {lines[name]['log']}")
        # As it happens, the first failure of each bot is a line with its place.
        assert re.search(rf"^{name}: .* \(game \d+, round 1, decision \d+\)$", run.errors, re.MULTILINE)
    assert "silent is disqualified: it was silent in 1 of 1 game" in run.errors
    assert [lines[name]["forfeits"] for name in ("random", "greedy")] == [0, 0]


def test_a_silent_bot_costs_few_games() -> None:
    """It is out after two decisions, of which `test_referee.py` has how long they take by default."""
    silent = command_of("failing", name="silent")
    limits = (*PATIENT, "--decision-seconds", "5")
    run = tournament("run", "--bots", "random", "--bot", silent, "--rounds", "100", *limits)
    assert run.status == 130, run  # the other one is left alone
    with Store.existing(f"sqlite:///{own_folder()}/games.sqlite") as store:
        games = store.results(1)
    first, *others = sorted(games, key=lambda game: game.match_id)
    assert Ending.SILENT in [seat.ending for seat in first.seats]
    # Each of the games that are stored before the first one may have let more begin.
    early = [game for game in others if Ending.SILENT in [seat.ending for seat in game.seats]]
    assert 0 <= len(others) - (FIRST_GAMES - 1) <= WIDENING * len(early)
    endings = {seat.ending for game in others for seat in game.seats}
    assert endings == {Ending.FINISHED, Ending.SILENT, Ending.DISQUALIFIED}
