import os
import shutil
from pathlib import Path

import pytest
from tests.tournament.servers import arena

from happycity import Config
from happycity_tournament.client.run_folder import OwnServer, Run, own_store
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.lineup import BotEntry, Lineup

BOTS = ("planner", "greedy")
FOLDER = Path("runs/20261122-080000")


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play a tournament of four games on a real server, once for all tests; return its store's file."""
    folder = tmp_path_factory.mktemp("played")
    config = TournamentConfig(bots=BOTS, game=Config(players=2), format=RandomRounds(rounds=2), seed=3)
    with arena(folder, {bot: bot for bot in BOTS}) as opened:
        opened.play(config)
    return folder / "games.sqlite"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test run in a folder of its own, without anybody's settings."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("HAPPYCITY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def run_folder(played: Path) -> Path:
    """Return the folder of a finished run of four games, below the present folder."""
    FOLDER.mkdir(parents=True)
    shutil.copy(played, FOLDER / "games.sqlite")
    bots = tuple(BotEntry(name=bot, join=True) for bot in BOTS)
    venue = OwnServer(store=own_store(FOLDER))
    lineup = Lineup(bots=bots, directory=Path.cwd())
    Run(folder=FOLDER, tournament_id=1, created_at=0.0, venue=venue, lineup=lineup).save()
    return FOLDER
