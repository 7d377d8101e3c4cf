from collections.abc import Iterator

import pytest
from tests.tournament.conftest import Run
from tests.tournament.runs import make_run
from tests.tournament.servers import arena

from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.client.run_folder import Run as RunFolder
from happycity_tournament.config import TournamentState

OLDER, LATEST = "20261122-070000", "20261122-080000"


@pytest.fixture
def finished_run(run: Run) -> RunFolder:
    """Return a finished run, the latest of two."""
    make_run(OLDER, state=TournamentState.STOPPED, games=4)
    return make_run(LATEST)


@pytest.fixture
def open_run(run: Run) -> Iterator[tuple[RunFolder, str]]:
    """Return a run in progress, five of whose games are finished, and the address of its server.

    Its bots are not connected, so it waits for them.
    """
    opened = make_run(LATEST, state=TournamentState.RUNNING, games=5)
    with arena(opened.folder, {}) as server, RemoteServer(address=server.address).announced(opened.folder):
        yield opened, server.address
