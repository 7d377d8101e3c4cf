"""Titles that a terminal can't show spoil neither the command nor the list of runs afterwards."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tournament.runs import LEAGUE

from happycity_tournament.client.run_folder import RUNS, OwnServer, Run, own_store
from happycity_tournament.lineup import Lineup
from happycity_tournament.storage.store import Store

TITLE = "Kõrgmängud ★ 日本"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-8"])
@pytest.mark.parametrize("columns", ["1", "300"])
def test_a_title_outside_the_character_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, columns: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RUNS / "a"
    folder.mkdir(parents=True)
    with Store.create(own_store(folder)) as store:
        config = {**LEAGUE.config, "title": TITLE}
        number = store.create_tournament(config, games_total=1, created_at=0.0)
    venue = OwnServer(store=own_store(folder))
    Run(folder=folder, tournament_id=number, created_at=0.0, venue=venue, lineup=Lineup()).save()
    own = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": columns, "LC_ALL": "C"}
    for words in (("list",), ("show",)):
        done = subprocess.run(
            [sys.executable, "-m", "happycity_tournament", *words],
            env=own,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.decode(encoding)
