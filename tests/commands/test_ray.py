"""`tournament run --ray` and `serve --ray`: nodes of a real cluster play, and the games are the same."""

import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.commands import programs
from tests.commands.programs import ALL_GAMES, Gate, Program, Start
from tests.server.harness import issued_token
from tests.server.hosting.conftest import host, why_not
from tests.waiting import LIMIT, PATIENT

from happycity import Config, TimeControl
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access
from happycity_tournament.client.connection import call_server
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.storage.store import Store

pytestmark = pytest.mark.level(3)

AT_ONCE = 2
GAMES = 60
HOSTED_GAMES = 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Yield a cluster of two nodes on this machine, with two CPUs each."""
    pytest.importorskip("ray", reason="`make envs` installs Ray")
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    nodes = Cluster()
    add_node(nodes)
    add_node(nodes)
    yield nodes
    left = [process for node in nodes.list_all_nodes() for process in processes_of(node)]
    nodes.shutdown()
    for process in left:
        process.wait(LIMIT)


def processes_of(node: Any) -> list[subprocess.Popen[bytes]]:
    """Return what Ray has started for a node.

    Ray waits for the end of each for one second and forgets it, of which Python warns if it ends later.
    """
    return [info.process for infos in node.all_processes.values() for info in infos]


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
    """Return the programs that run workers and bots on nodes of these tests, by their process ids.

    Another of xdist's processes may run tests of this file at the same time, on a cluster of its own.
    """
    ours = f"PYTEST_XDIST_WORKER={os.environ.get('PYTEST_XDIST_WORKER', '')}".encode()
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            text = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = (process / "environ").read_bytes()
            is_ours = ours in environment.split(b"\0") or "PYTEST_XDIST_WORKER" not in os.environ
            if is_ours and b"RAY_JOB_ID=" in environment and ("happycity" in text or "gated.py" in text):
                found[int(process.name)] = text
    return found


def wait_until_nothing_runs() -> None:
    while left := programs_on_nodes():
        for process, text in left.items():
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(process)
                ended, _, _ = select.select([handle], [], [], LIMIT)
                os.close(handle)
                assert ended, text


def wait_for_workers(program: Program, count: int) -> None:
    for _ in range(count):
        programs.wait_for_line(program, " plays")


@pytest.mark.nightly
def test_results_do_not_depend_on_nodes(
    start: Start, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same seed gives the same records and standings with a node that is killed as without nodes.

    Games of the lost node begin again, its worker moves to another one, and no process is left.
    """
    store = "sqlite:///games.sqlite"
    with Gate(tmp_path) as gate:
        gate.let_through(ALL_GAMES)
        alone = programs.played(*programs.gated_run(GAMES, at_once=AT_ONCE, store=store))
    expected = programs.records(store)

    folder = tmp_path / "nodes"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with Gate(folder) as gate:
        gated = programs.gated_run(GAMES, at_once=AT_ONCE, store=store)
        on_nodes = ("--json", "--ray", cluster.address)
        run = start("happycity_tournament", *gated, *on_nodes, stderr=subprocess.PIPE)
        wait_for_workers(run, 2)
        server = programs.own_server(programs.own_folder())
        programs.wait_for_waiting_games(server, "gated", 3 * AT_ONCE)  # at all three places
        (other,) = cluster.worker_nodes
        # By handles from before the kill: a process that has ended can't be asked for by its id.
        bots = [os.pidfd_open(number) for number, text in programs_on_nodes().items() if "gated.py" in text]
        left = processes_of(other)
        cluster.remove_node(other, allow_graceful=False)
        for process in left:
            process.wait(LIMIT)
        programs.wait_for_line(run, " was lost; ")
        ended, _, _ = select.select(bots, [], [], LIMIT)
        assert ended  # or the lost node's bot would take permits that the games need
        for handle in bots:
            os.close(handle)
        gate.let_through(GAMES // 4)
        programs.follow(server, until_games=GAMES // 4)
        add_node(cluster)
        wait_for_workers(run, 1)
        gate.let_through(ALL_GAMES)
        output, errors = run.communicate()
        assert run.returncode == 0, errors
    assert programs.standings_of(json.loads(output)) == programs.standings_of(alone)
    assert programs.records(store) == expected
    with Store.existing(store) as opened:
        assert opened.require_tournament(1).problems.games_voided == 0
    lines = (programs.own_folder() / "server.log").read_text().splitlines()
    lost = [json.loads(line) for line in lines if line.startswith("{")]  # Ray has lines of its own
    assert [entry["matches"] for entry in lost if entry["event"] == "worker_lost"] == [AT_ONCE]
    wait_until_nothing_runs()


def wait_for_games_on_nodes(server: RemoteServer, games: int) -> None:
    """Wait until this number of games was played by workers: the server logs only its own."""
    finished = own = 0
    while finished - own < games:
        finished = programs.follow(server, until_games=finished + games).games
        own = Path("server.log").read_text().count('"match_over"')


def test_hosted_bots_play_on_the_nodes(start: Start, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes copy submitted bots and play them in the sandbox, and the games are those of a server alone."""
    if reason := why_not():
        pytest.skip(reason)
    for bot in ("alice", "ben"):
        host(Path(), bot)
    access = Access(token=issued_token(Path("tokens.json"), Role.ORGANISER, "olga"))
    monkeypatch.setenv("HAPPYCITY_SERVE_LOG", "json")
    match = TournamentConfig(
        bots=("alice", "ben"),
        game=Config(players=2),
        format=RandomRounds(rounds=100_000),
        seed=11,
        time=TimeControl(connect_seconds=LIMIT, decision_seconds=LIMIT),
        concurrency=AT_ONCE,
    )
    played = []
    for number, options in ((1, ("--ray", cluster.address, "--workers", "2")), (2, ())):
        own = ("--tokens", "tokens.json", "--hosted", "bots", *options)
        server, where = programs.serve_where(start, *own, shell='exec "$@" 2> server.log')
        arena = RemoteServer(address=where["listening"], access=access)
        digests = call_server(arena, lambda connection: connection.hosted_digests(match.bots))
        config = replace(match, hosted_bots=digests)
        call_server(arena, lambda connection: connection.create(config))  # noqa: B023
        if options:
            wait_for_games_on_nodes(arena, HOSTED_GAMES)
        programs.follow(arena, number, until_games=2 * HOSTED_GAMES)
        call_server(arena, lambda connection: connection.stop(number))  # noqa: B023
        server.terminate()
        server.wait()
        wait_until_nothing_runs()
        played.append(programs.records(tournament_id=number))
    common = played[0].keys() & played[1].keys()
    assert len(common) > HOSTED_GAMES
    assert {place: played[0][place] for place in common} == {place: played[1][place] for place in common}


@pytest.mark.level(3)
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="a worker of a run takes two CPUs")
def test_run_starts_a_cluster_of_its_own() -> None:
    """`--ray local` needs no other Ray, and nothing of it is left at the end."""
    pytest.importorskip("ray", reason="`make envs` installs Ray")
    arguments = ("run", "--bots", "random,greedy", "--rounds", "20", "--no-web", "--seed", "2", *PATIENT)
    alone, shared = "sqlite:///alone.sqlite", "sqlite:///shared.sqlite"
    programs.played(*arguments, "--store", alone)
    result = programs.tournament(*arguments, "--concurrency", "4", "--store", shared, "--ray", "local")
    assert result.status == 0
    assert programs.records(shared) == programs.records(alone)
    wait_until_nothing_runs()


def test_nothing_stays_behind_a_killed_run(start: Start, cluster: Any) -> None:
    """Workers and bots on the nodes end with the run, though nobody could ask them to."""
    arguments = ("run", "--bots", "random,greedy", "--rounds", "1000000", "--no-web", "--concurrency", "4")
    run = start("happycity_tournament", *arguments, "--ray", cluster.address, stderr=subprocess.PIPE)
    wait_for_workers(run, 2)
    assert programs_on_nodes()
    run.kill()
    wait_until_nothing_runs()


def test_cluster_that_cannot_be_reached_costs_one_line(cluster: Any) -> None:
    """It says which cluster, and nothing is played."""
    done = programs.tournament("run", "--rounds", "1", "--no-web", "--ray", "127.0.0.1:1")
    assert "--ray 127.0.0.1:1: no Ray cluster can be reached there: Connection refused" in done.error
