"""`tournament run --ray`: nodes of a real local cluster play, and the games are the same."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.clients.languages import command, missing
from tests.commands.programs import (
    ALL_GAMES,
    Gate,
    Start,
    command_of,
    follow,
    own_folder,
    own_server,
    played,
    records,
    tournament,
    wait_for_line,
)

from happycity_tournament.arena.connection import Connection
from happycity_tournament.arena.locations import call_server
from happycity_tournament.arena.run_folder import RemoteServer
from happycity_tournament.storage import Store

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]

END_SECONDS = 60.0
AT_ONCE = 2
GAMES = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Yield a cluster of two nodes on this machine, with two CPUs each."""
    pytest.importorskip("ray", reason="`make envs` installs Ray")
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    nodes = Cluster()
    add_node(nodes)
    add_node(nodes)
    yield nodes
    nodes.shutdown()


def add_node(cluster: Any) -> None:
    """Add a node, the first one as head; Ray gives it 30 s, which a busy machine may exceed."""
    for attempts_left in (2, 1, 0):
        try:
            cluster.add_node(num_cpus=2, include_dashboard=False)
        except Exception:
            if not attempts_left:
                raise
        else:
            return


def programs_on_nodes() -> Mapping[int, str]:
    """Return the programs that run workers and bots on nodes, by their process ids."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            text = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = (process / "environ").read_bytes()
            if b"RAY_JOB_ID=" in environment and "happycity" in text:
                found[int(process.name)] = text
    return found


def wait_until_nothing_runs() -> None:
    """Wait until no program of a run is left on any node."""
    while left := programs_on_nodes():
        for process, text in left.items():
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(process)
                ended, _, _ = select.select([handle], [], [], END_SECONDS)
                os.close(handle)
                assert ended, text


def wait_for_games_everywhere(server: RemoteServer) -> None:
    """Wait until all three places play as many games as they may, all of which wait for a gated bot."""

    async def watch(connection: Connection) -> None:
        async with aclosing(connection.watch(1)) as snapshots:
            async for snapshot in snapshots:
                if sum(bot.games_waiting for bot in snapshot.activity if bot.bot == "gated") == 3 * AT_ONCE:
                    break

    call_server(server, watch)


def run_of(store: str) -> tuple[str, ...]:
    """Return the arguments of a tournament in whose games a bot in Go meets a gated one."""
    if lacking := missing(go := command("go", "greedy")):
        pytest.skip(f"there is no {lacking}; `make clients` builds it")
    return (
        "run", "--bots", "", "--bot", command_of("gated"), "--bot", f"gopher={go}", "--seats", "2",
        "--rounds", str(GAMES // 2), "--seed", "11", "--concurrency", str(AT_ONCE), "--connect-time", "300",
        "--decision-time", "300", "--grace", "300", "--no-web", "--store", store,
    )  # fmt: skip


def test_results_do_not_depend_on_nodes(
    start: Start, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same seed gives the same records and standings with a node that is killed as without nodes.

    Games of the lost node begin again, its worker moves to another one, and no process is left.
    """
    store = "sqlite:///games.sqlite"
    with Gate(tmp_path) as gate:
        gate.let_through(ALL_GAMES)
        alone = played(*run_of(store))
    expected = records(store)

    folder = tmp_path / "nodes"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with Gate(folder) as gate:
        arguments = (*run_of(store), "--json", "result.json", "--ray", cluster.address)
        run = start("happycity_tournament", *arguments, stderr=subprocess.PIPE)
        wait_for_line(run, "2 workers on the nodes play")
        wait_for_games_everywhere(own_server(own_folder()))
        (other,) = cluster.worker_nodes
        cluster.remove_node(other, allow_graceful=False)
        wait_for_line(run, " was lost: ")
        gate.let_through(GAMES // 4)
        follow(own_server(own_folder()), until_games=GAMES // 4)
        add_node(cluster)
        wait_for_line(run, "plays again, on ")
        gate.let_through(ALL_GAMES)
        _, errors = run.communicate()
        assert run.returncode == 0, errors
    assert json.loads(Path("result.json").read_text())["standings"] == alone["standings"]
    assert records(store) == expected
    with Store.existing(store) as opened:
        assert opened.require_tournament(1).troubles.games_voided == 0
    lost = [json.loads(line) for line in (own_folder() / "server.log").read_text().splitlines()]
    assert [entry["matches"] for entry in lost if entry["event"] == "worker_lost"] == [AT_ONCE]
    wait_until_nothing_runs()


def test_nothing_stays_behind_a_killed_run(start: Start, cluster: Any) -> None:
    """Workers and bots on the nodes end with the run, though nobody could ask them to."""
    arguments = ("run", "--bots", "random,greedy", "--rounds", "1000000", "--no-web", "--concurrency", "4")
    run = start("happycity_tournament", *arguments, "--ray", cluster.address, stderr=subprocess.PIPE)
    wait_for_line(run, "2 workers on the nodes play")
    assert programs_on_nodes()
    run.kill()
    wait_until_nothing_runs()


def test_cluster_that_cannot_be_reached_costs_one_line(cluster: Any) -> None:
    """It says which cluster, and nothing is played."""
    done = tournament("run", "--rounds", "1", "--no-web", "--ray", "127.0.0.1:1")
    assert "--ray 127.0.0.1:1: no Ray cluster can be reached there: Connection refused" in done.error
