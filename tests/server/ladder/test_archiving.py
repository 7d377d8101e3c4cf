"""A server moves the records of old seasons to their archives, and says what is wrong with the folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.ladder.test_archives import play_season
from tests.server.api.ladders import LastMove, ladder_server, refusal, until
from tests.server.conftest import FirstMove
from tests.server.harness import matches_at

from happycity import ConfigError
from happycity_ladder import archives
from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.ladder_store import LadderStore
from happycity_server.ladder import seasons as seasons_module
from happycity_server.ladder.seasons import Archiving
from happycity_server.ladder.stored import StoredLadder
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.store import Store

FILE = """
anchor = "rock"
boards = [{players = 2}]
keep_seasons = 1
archive_folder = "archives"
"""


def records(url: str) -> dict[int, str]:
    """Return the records of a store by match id."""
    with Store.existing(url) as store:
        return {game.match_id: record for game, record in store.all_games(with_records=True) if record}


def test_old_seasons_are_archived_while_bots_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old season's records are in its archive, where the server finds them; those of the next one stay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(seasons_module, "CHECK_SECONDS", 0.05)
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with ladder_server(tmp_path, file=FILE, house="rock=random") as server:
        matches = matches_at(server.channel)
        server.connect("anna", FirstMove)
        server.connect("ben", LastMove)
        for season in (1, 2):
            until(lambda: server.board().season.deals >= 2)
            server.call.CloseSeason(season_id=season)
        with Store.existing(url) as store:
            ladder = LadderStore(store)
            (archive,) = until(lambda: [each.archive for each in ladder.seasons(9) if each.archive])
            seasons = {each.id: each.archive for each in ladder.seasons(9)}
            games = ladder.games_of([deal.id for deal in ladder.deals(1000, season_id=1)])
            of_season = {game.match_id for each in games.values() for game in each}
            shown = {number: matches.GetMatchRecord(match_id=number).json for number in of_season}
            Path(archive).rename("elsewhere.sqlite")
            refused = refusal(lambda: matches.GetMatchRecord(match_id=min(of_season)))
            Path("elsewhere.sqlite").rename(archive)
        until(lambda: server.board().season.deals >= 1)
    assert archive == str(tmp_path / "archives" / "games-season-1.sqlite")
    assert seasons == {1: archive, 2: "", 3: ""}
    assert records(f"sqlite:///{archive}") == shown
    assert not of_season & set(records(url))
    assert refused.reason == "STORE_UNAVAILABLE"
    assert "archive games-season-1.sqlite" in refused.text


def test_records_are_shown_while_some_of_them_have_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one comes from where it is, from the first that has left the store on."""
    monkeypatch.setattr(archives, "_ROWS_AT_ONCE", 3)
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        play_season(store, 1)
        archive = archives.SeasonArchive(store, 1)
        archive.write()
        assert archive.prune()
    before = records(f"sqlite:///{archive.path}")
    assert 0 < len(records(url)) < len(before)
    with ladder_server(tmp_path, house="rock=random") as server:
        matches = matches_at(server.channel)
        assert before == {number: matches.GetMatchRecord(match_id=number).json for number in before}


async def test_a_store_without_a_folder_needs_one(tmp_path: Path) -> None:
    """It is said when the server starts, not when the first season is over."""
    with Store.create("sqlite://") as store:
        with pytest.raises(ConfigError, match="archive_folder: it is missing"):
            Archiving(StoredLadder(LadderConfig(keep_seasons=1), AsyncStore(store), float), asyncio.Event())
        Archiving(StoredLadder(LadderConfig(), AsyncStore(store), float), asyncio.Event())
