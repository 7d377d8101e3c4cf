"""`tournament games`: the games of a run, a store, a record file or a server, chosen and listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League
from tests.tournament.servers import arena

from happycity import Config, Ending
from happycity_tournament.client.run_folder import Run as RunFolder
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.report.export import export_games
from happycity_tournament.storage import Store
from happycity_tournament.storage.sources import open_source

BOTS = ("ann", "bob", "cem", "dee")


def ending(match_id: int, bot: str) -> Ending:
    return Ending.CRASHED if (match_id, bot) in {(3, "ann"), (5, "bob")} else Ending.FINISHED


LEAGUE = League(BOTS, rounds=12, ending=ending, reason="IndexError")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    LEAGUE.store(tmp_path / "games.sqlite")
    return tmp_path / "games.sqlite"


def listed(run: Run, *arguments: object) -> list[Any]:
    status, output, errors = run("games", *arguments, "--json")
    assert (status, errors) == (0, "")
    games: list[Any] = json.loads(output)
    return games


def ids(run: Run, *arguments: object) -> list[int]:
    return [game["game"] for game in listed(run, *arguments)]


def seat_of(game: Any, bot: str) -> Any:
    (seat,) = [seat for seat in game["seats"] if seat["bot"] == bot]
    return seat


# Which games ---------------------------------------------------------------------------------------------


def test_the_newest_games_come_first(run: Run, store: Path) -> None:
    """Twenty are listed unless a limit says otherwise; 0 lists all."""
    assert ids(run, store) == list(range(48, 28, -1))
    assert ids(run, store, "--limit", 3) == [48, 47, 46]
    assert ids(run, store, "--limit", 0) == list(range(48, 0, -1))


def test_the_latest_run_is_the_default(run: Run, finished_run: RunFolder) -> None:
    """A run's folder may be named, too."""
    assert ids(run) == ids(run, finished_run.folder) == list(range(12, 0, -1))


def test_lost_games_are_those_in_which_the_bot_was_not_first(run: Run, store: Path) -> None:
    """A shared first place is not lost."""
    every, lost = listed(run, store, "--limit", 0), ids(run, store, "--bot", "ann", "--lost", "--limit", 0)
    assert lost == [game["game"] for game in every if seat_of(game, "ann")["place"] > 1]
    assert 0 < len(lost) < 48


def test_the_worst_games_have_the_lowest_places_and_then_the_fewest_points(run: Run, store: Path) -> None:
    """Points count by their distance from the best bot's; a forfeited game is last."""
    worst = listed(run, store, "--bot", "ann", "--worst", 6)
    assert len(worst) == 6
    merits = []
    for game in worst:
        best = max(seat["points"] for seat in game["seats"])
        own = seat_of(game, "ann")
        merits.append((-own["place"], own["points"] - best))
    assert merits == sorted(merits)
    every = listed(run, store, "--limit", 0)
    assert max(seat_of(game, "ann")["place"] for game in every) == -merits[0][0]


def test_forfeited_games_are_found_with_their_reasons(run: Run, store: Path) -> None:
    """Those of anybody, or of one bot."""
    assert ids(run, store, "--forfeits") == [5, 3]
    (game,) = listed(run, store, "--forfeits", "--bot", "ann")
    own = seat_of(game, "ann")
    assert (game["game"], own["ending"], own["reason"]) == (3, "crashed", "IndexError")


def test_a_record_file_is_listed_from_its_end(run: Run, store: Path, tmp_path: Path) -> None:
    """Its games have numbers in place of match ids."""
    source, out = open_source(str(store)), tmp_path / "games.jsonl"
    export_games(source, out, file_format="records")
    source.close()
    assert ids(run, out, "--limit", 2) == [48, 47]
    assert len(listed(run, out, "--bot", "ann", "--limit", 0)) == 48


@pytest.mark.thorough
def test_a_server_lists_its_games_page_by_page(run: Run, tmp_path: Path) -> None:
    """They are as in its store, as the tournament is over."""
    bots = {"ann": "random", "bob": "greedy"}
    config = TournamentConfig(
        bots=tuple(bots), game=Config(players=2), format=RandomRounds(rounds=103), seed=2
    )
    with arena(tmp_path, bots) as opened:
        opened.play(config)
        every = listed(run, f"grpc://{opened.address}#1", "--limit", 0)
        assert ids(run, f"grpc://{opened.address}", "--limit", 2) == [206, 205]
    assert [game["game"] for game in every] == list(range(206, 0, -1))
    assert every == listed(run, opened.url, "--limit", 0)


def test_games_are_listed_from_every_database(run: Run, new_url: Callable[[], str]) -> None:
    """Pages follow each other in each kind of database."""
    with Store.create(url := new_url()) as opened:
        League(BOTS, rounds=55, with_records=False).add_to(opened)
    assert ids(run, url, "--limit", 0, "--bot", "bob") == list(range(220, 0, -1))


# What is shown -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_a_game_is_a_line(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """It has id, deal, and by seat place, bot and points, or how the bot forfeited."""
    monkeypatch.setenv("COLUMNS", str(width))
    _, output, _ = run("games", store.name, "--limit", 0)
    lines = output.splitlines()
    assert lines[0].split() == ["game", "deal", "seat", "1", "seat", "2", "seat", "3", "seat", "4"]
    assert len(lines) == 2 + 48 + 1
    assert all(len(line) <= width for line in lines)
    third = next(line for line in lines if line.startswith("   3"))
    assert "1.1" in third
    assert "4. ann crashed" in third
    assert lines[-1] == "look at one with: happycity show games.sqlite 48"


def test_long_names_leave_room_for_the_points(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five bots with long names fit into 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    bots = [letter * 64 for letter in "abcde"]
    url = League(bots, seats=5, rounds=1).store(tmp_path / "games.sqlite")
    _, output, _ = run("games", url)
    (line,) = [line for line in output.splitlines() if line.startswith("   1 ")]
    assert len(line) <= 80
    assert line.count("…") == 5
    points = [seat["points"] for seat in listed(run, url)[-1]["seats"]]
    assert [int(cell) for cell in line.split()[4::3]] == points


def test_what_the_limit_left_out_is_said(run: Run, store: Path) -> None:
    """A list that was cut says so."""
    _, output, _ = run("games", store)
    assert "the newest 20; more with: --limit N, all with: --limit 0" in output
    assert "the newest" not in run("games", store, "--limit", 48)[1]


def test_no_game_is_said_in_words(run: Run, store: Path) -> None:
    """An empty list is no error."""
    status, output, _ = run("games", store, "--forfeits", "--bot", "cem")
    assert (status, output) == (0, "no game of that kind\n")
    assert listed(run, store, "--forfeits", "--bot", "cem") == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--bot", "anne"), "--bot: 'anne' plays in no game of STORE; did you mean ann?"),
        (("--lost",), "--lost: name the bot with --bot"),
        (("--worst", 3), "--worst: name the bot with --bot"),
        (
            ("--bot", "ann", "--worst", 3, "--limit", 5),
            "--worst, --limit: both say how many games; give one of them",
        ),
    ],
)
def test_wrong_choices_are_refused(run: Run, store: Path, arguments: tuple[Any, ...], expected: str) -> None:
    """One line says what is wrong, and what would be right."""
    status, output, errors = run("games", store, *arguments)
    assert (status, output) == (2, "")
    assert (
        errors.replace(f"database sqlite:///{store}", "STORE:").replace(str(store), "STORE")
        == f"error: {expected}\n"
    )
