"""The server that is started before the command line is read: when, for whom, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from happycity.runtime.child import Child
from happycity_tournament.arena import spare_server
from happycity_tournament.arena.processes import start_server
from happycity_tournament.arena.run_folder import OwnServer
from happycity_tournament.bots.lineup import Lineup
from happycity_tournament.bots.processes import ProcessError


@pytest.fixture(autouse=True)
def spare(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Child]]:
    """Return the servers that wait for a task; those of a test end with it."""
    waiting: list[Child] = []
    monkeypatch.setattr(spare_server, "_spare", waiting)
    monkeypatch.delenv("HAPPYCITY_SERVER", raising=False)
    yield waiting
    spare_server.end_spare_server()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["list"],
        ["show", "run"],
        ["run", "--server", "127.0.0.1:50051"],
        ["sprt", "--server=127.0.0.1:50051"],
        ["run", "--help"],
    ],
)
def test_a_command_that_needs_no_server_starts_none(arguments: list[str], spare: list[Child]) -> None:
    """Commands that only read, that play elsewhere, and the help."""
    spare_server.start_spare_server(arguments)
    assert not spare


def test_a_server_elsewhere_may_be_in_the_environment(
    spare: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run plays on the server that the environment names."""
    monkeypatch.setenv("HAPPYCITY_SERVER", "127.0.0.1:50051")
    spare_server.start_spare_server(["run"])
    assert not spare


async def test_a_run_uses_the_server_that_waits(spare: list[Child], tmp_path: Path) -> None:
    """The next server of the process is another one; its own output has what is wrong with its settings."""
    spare_server.start_spare_server(["sprt", "--candidate", "planner"])
    (waiting,) = spare
    server = start_server(
        OwnServer(store="nonsense"), Lineup(), tokens=tmp_path / "tokens.json", folder=tmp_path
    )
    assert server.child is waiting
    assert not spare
    with pytest.raises(ProcessError, match=r"the server ended with status 2: .*STORE.*is not a database URL"):
        await server.address()
    assert "is not a database URL" in (tmp_path / "server.log").read_text()


async def test_a_server_without_a_task_ends_by_itself(spare: list[Child]) -> None:
    """It does when the command that started it has ended, however that ended."""
    spare_server.start_spare_server(["run"])
    (waiting,) = spare
    assert waiting.stdin is not None
    waiting.stdin.close()  # once more by the fixture, which does nothing
    assert await waiting.wait() == 0


async def test_a_server_that_nobody_needs_ends(spare: list[Child]) -> None:
    """A file of settings may name another one, which is known when a server has been started."""
    spare_server.start_spare_server(["run", "tournament.toml"])
    (waiting,) = spare
    spare_server.end_spare_server()
    assert not spare
    assert await waiting.wait() != 0
