"""`tournament games`: the games of a run, a store, a record file or a server, chosen and listed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import League

from happycity import Ending
from happycity_tournament.storage.store import Store

BOTS = ("ann", "bob", "cem", "dee")


def ending(match_id: int, bot: str) -> Ending:
    return Ending.CRASHED if (match_id, bot) in {(3, "ann"), (5, "bob")} else Ending.FINISHED


LEAGUE = League(BOTS, rounds=12, ending=ending, reason="IndexError")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    LEAGUE.store(tmp_path / "games.sqlite")
    return tmp_path / "games.sqlite"


def listed(run: Run, *arguments: object) -> list[Any]:
    games: list[Any] = json_of(run, "games", *arguments)
    return games


def ids(run: Run, *arguments: object) -> list[int]:
    return [game["game"] for game in listed(run, *arguments)]


def seat_of(game: Any, bot: str) -> Any:
    (seat,) = [seat for seat in game["seats"] if seat["bot"] == bot]
    return seat


@pytest.mark.level(2)
def test_the_newest_games_come_first(run: Run, store: Path, tmp_path: Path) -> None:
    assert ids(run, store) == list(range(48, 28, -1))
    assert ids(run, store, "--limit", 3) == [48, 47, 46]
    assert ids(run, store, "--limit", 0) == list(range(48, 0, -1))
    assert "the newest 20; more with: --limit N, all with: --limit 0" in run("games", store)[1]
    assert "the newest" not in run("games", store, "--limit", 48)[1]
    out = tmp_path / "games.jsonl"  # numbers take the place of ids there
    assert run("export", store, "--format", "records", "--out", out)[0] == 0
    assert ids(run, out, "--limit", 2) == [48, 47]
    assert len(listed(run, out, "--bot", "ann", "--limit", 0)) == 48


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
    assert ids(run, store, "--forfeits") == [5, 3]
    (game,) = listed(run, store, "--forfeits", "--bot", "ann")
    own = seat_of(game, "ann")
    assert (game["game"], own["ending"], own["reason"]) == (3, "crashed", "IndexError")
    assert listed(run, store, "--forfeits", "--bot", "cem") == []
    assert run("games", store, "--forfeits", "--bot", "cem")[:2] == (0, "no game of that kind\n")


def test_games_are_listed_from_every_database(run: Run, new_url: Callable[[], str]) -> None:
    with Store.create(url := new_url()) as opened:
        League(BOTS, rounds=55, with_records=False).add_to(opened)
    assert ids(run, url, "--limit", 0, "--bot", "bob") == list(range(220, 0, -1))


@pytest.mark.parametrize("width", [80, 120])
def test_a_game_is_a_line(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """It has id, deal, and by seat place, bot and points, or how the bot forfeited; long names are cut."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("games", store.name, "--limit", 0)[1].splitlines()
    assert lines[0].split() == ["game", "deal", "seat", "1", "seat", "2", "seat", "3", "seat", "4"]
    assert len(lines) == 2 + 48 + 1
    assert all(len(line) <= width for line in lines)
    third = next(line for line in lines if line.startswith("   3"))
    assert "1.1" in third
    assert "4. ann crashed" in third
    assert lines[-1] == "look at one with: happycity show games.sqlite 48"

    url = League([letter * 64 for letter in "abcde"], seats=5, rounds=1).store(Path("long.sqlite"))
    (line,) = [line for line in run("games", url)[1].splitlines() if line.startswith("   1 ")]
    assert (len(line) <= width, line.count("…")) == (True, 5)
    points = [seat["points"] for seat in listed(run, url)[-1]["seats"]]
    assert [int(cell) for cell in line.split()[4::3]] == points
