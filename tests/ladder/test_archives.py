"""Archives of closed seasons: no record is lost, whatever ends the program."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.commands.programs import happycity, tournament
from tests.tournament.games import RECORD, single_game

from happycity import BotInfo, ConfigError
from happycity_ladder import archives
from happycity_ladder.archives import SeasonArchive, archive_of, seasons_to_archive
from happycity_ladder.entries import DealKind, NewDeal
from happycity_ladder.ladder_store import LadderStore
from happycity_tournament.games import BotProfile
from happycity_tournament.storage import Store, StoreError
from happycity_tournament.storage.sources import open_source

ROOT = Path(__file__).parents[2]
BOTS = ("ann", "bob", "cem", "dee")


def play_season(store: Store, first_id: int, *, deals: int = 2, close: bool = True) -> int:
    """Play deals of four games in the present season, end it, and return its id."""
    ladder = LadderStore(store)
    season = ladder.open_season(1.0).id
    versions = tuple(ladder.enter_version(bot, BotProfile(BotInfo(), ""), 1.0, owner=bot).id for bot in BOTS)
    new = NewDeal(board="4-family", kind=DealKind.RATED, versions=versions, bots=BOTS)
    begun = ladder.begin_deals(season, [new] * deals, 2.0)
    rotations = [(deal.id, number) for deal in begun for number in range(4)]
    store.add_games(
        [
            (
                replace(single_game(match_id), tournament_id=None, position=None, ladder=rotation),
                RECORD.replace("}", f',"number":{match_id}}}', 1),
            )
            for match_id, rotation in enumerate(rotations, start=first_id)
        ]
    )
    if close:
        ladder.close_season(season, {}, 3.0)
    return season


@pytest.fixture
def played(new_url: Callable[[], str]) -> str:
    """Return the URL of a store with two closed seasons, one that lasts, and a game beside them."""
    url = new_url()
    with Store.create(url) as store:
        play_season(store, 1)
        play_season(store, 20)
        play_season(store, 40, close=False)
        store.add_games([(single_game(90), RECORD)])
    return url


def records(store: Store) -> dict[int, str]:
    return {game.match_id: record for game, record in store.all_games(with_records=True) if record}


def archive(store: Store, season_id: int, folder: Path) -> SeasonArchive:
    made = SeasonArchive(store, season_id, str(folder))
    made.write()
    while made.prune():
        pass
    return made


def test_an_archive_has_the_games_of_its_season(
    played: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_ROWS_AT_ONCE", 3)
    with Store.create(played) as store:
        games, before = store.games(100), records(store)
        made = archive(store, 1, tmp_path / "archives")
        (source,) = [open_source(str(made.path))]
        assert {game.match_id: record for game, record in source.games(with_records=True)} == {
            number: before[number] for number in range(1, 9)
        }
        source.close()
        assert records(store) == {number: record for number, record in before.items() if number > 8}
        assert store.games(100) == games
        seasons = {season.id: season.archive for season in LadderStore(store).seasons(10)}
        assert seasons == {1: str(made.path), 2: "", 3: ""}


def test_the_newest_closed_seasons_stay(played: str, tmp_path: Path) -> None:
    with Store.create(played) as store:
        assert [seasons_to_archive(store, keep) for keep in (0, 1, 2)] == [[1, 2], [1], []]
        archive(store, 1, tmp_path)
        assert [seasons_to_archive(store, keep) for keep in (0, 1, 2)] == [[2], [], []]


@pytest.mark.parametrize(
    "step",
    [*(pytest.param(step, marks=pytest.mark.thorough) for step in ("new_file", "check_store")), "delete"],
)
def test_a_kill_loses_no_record(played: str, tmp_path: Path, step: str) -> None:
    """Each record is in the store, in the archive or in both; archiving again brings it to its end."""
    with Store.existing(played) as store:
        before = records(store)
    program = f"""
import os, signal
from happycity_ladder import archives
from happycity_tournament.storage import Store
archives._ROWS_AT_ONCE = 3
calls, real = [], archives.{step}
def die(*arguments):
    calls.append(arguments)
    if len(calls) == (3 if {step!r} == "delete" else 1):  # two for each step of pruning
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)
archives.{step} = die
made = archives.SeasonArchive(Store.create({played!r}), 1, {str(tmp_path / "archives")!r})
made.write()
while made.prune():
    pass
"""
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    with Store.create(played) as store:
        left = records(store)
        assert len(left) == len(before) - (3 if step == "delete" else 0)
        assert seasons_to_archive(store, 1) == [1]
        made = archive(store, 1, tmp_path / "archives")
        with Store.existing(f"sqlite:///{made.path}") as moved:
            assert {**records(store), **records(moved)} == before


def test_a_season_keeps_the_archive_in_which_its_first_records_are(played: str, tmp_path: Path) -> None:
    """Whatever folder is named later; without that file, nothing takes its place."""
    with Store.create(played) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(archives, "_ROWS_AT_ONCE", 3)
        before = records(store)
        begun = SeasonArchive(store, 1, str(tmp_path / "first"))
        begun.write()
        assert begun.prune()
        assert archive_of(store, 8) == str(begun.path)
        assert seasons_to_archive(store, 1) == [1]
        made = archive(store, 1, tmp_path / "second")
        assert made.path == begun.path
        assert seasons_to_archive(store, 1) == []
        with Store.existing(f"sqlite:///{made.path}") as moved:
            assert {**records(store), **records(moved)} == before
        made.path.unlink()
        with pytest.raises(StoreError, match="there is no such file"):
            archive(store, 1, tmp_path / "second")


def test_nothing_is_deleted_that_the_file_lacks(played: str, tmp_path: Path) -> None:
    with Store.create(played) as store:
        before = records(store)
        made = SeasonArchive(store, 1, str(tmp_path / "archives"))
        Store.create(f"sqlite:///{made.path}").close()
        with pytest.raises(StoreError, match="lacks the record of game 1; move it away"):
            made.write()
        made.path.write_text("noise " * 1000)
        with pytest.raises(StoreError, match="is not a SQLite database"):
            made.write()
        with pytest.raises(AssertionError, match="before the archive is written"):
            made.prune()
        assert records(store) == before


def test_only_closed_seasons_are_archived(played: str, tmp_path: Path) -> None:
    """Not the season that lasts, one that never was, or one with an open deal, whose games may still come."""
    with Store.create(played) as store:
        ladder = LadderStore(store)
        new = NewDeal(board="4-family", kind=DealKind.RATED, versions=tuple(ladder.versions()), bots=BOTS)
        (deal,) = ladder.begin_deals(2, [new], 4.0)
        for season, problem in {
            3: "still plays season 3",
            9: "no season 9",
            2: "still plays season 2",
        }.items():
            with pytest.raises(StoreError, match=problem):
                SeasonArchive(store, season, str(tmp_path)).write()
        ladder.drop_deal(deal.id, 5.0)
        SeasonArchive(store, 2, str(tmp_path)).write()


def test_an_archive_is_beside_its_store(played: str) -> None:
    """A store in PostgreSQL has no folder, so one must be named."""
    with Store.create(played) as store:
        if played.startswith("sqlite"):
            path = Path(played.removeprefix("sqlite:///"))
            assert SeasonArchive(store, 1).path == path.with_name(f"{path.stem}-season-1.sqlite")
        else:
            with pytest.raises(ConfigError, match="archive_folder: it is missing"):
                SeasonArchive(store, 1)


def test_a_command_archives_a_season_of_a_store_without_a_server(tmp_path: Path) -> None:
    """It refuses a store that a server uses, or that isn't there; given again, it changes nothing more."""
    url, folder = f"sqlite:///{tmp_path}/games.sqlite", str(tmp_path / "archives")
    with Store.create(url) as store:
        play_season(store, 1)
        store.claim()
        in_use = happycity("ladder", "archive", 1, "--store", url)
        assert (in_use.status, "is in use by another server" in in_use.error) == (2, True)
    for _ in range(2):
        done = happycity("ladder", "archive", 1, "--store", url, "--folder", folder, "--json")
        assert done.status == 0, done
        assert json.loads(done.output) == {"season": 1, "archive": f"{folder}/games-season-1.sqlite"}
    assert "there is no such file" in happycity("ladder", "archive", 1, "--store", f"{url}x").error
    assert not Path(f"{tmp_path}/games.sqlitex").exists()
    listed = tournament("games", f"{folder}/games-season-1.sqlite", "--json")
    assert len(json.loads(listed.output)) == 8
