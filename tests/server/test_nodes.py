"""Nodes of a cluster without a cluster: their program, and the process that talks to Ray played by a script.

`tests/commands/test_ray.py` has the whole of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import grpc
import pytest
from structlog.testing import capture_logs
from tests.server.harness import bearer, called, connected, end_of, issued_token, settings

from happycity import ConfigError
from happycity.runtime.child import Child, child_environment
from happycity.runtime.tokens import Role
from happycity.worker.v1 import worker_service_pb2
from happycity.worker.v1.worker_service_pb2_grpc import WorkerServiceStub
from happycity_server.workers.cluster import RayLauncher, contents_of
from happycity_server.workers.driver import ClusterError
from happycity_server.workers.local import WorkerStartError
from happycity_server.workers.node import run_node
from happycity_server.workers.shipping import shipped_files
from happycity_server.workers.task import NodeTask, Report, WorkerTask
from happycity_tournament.bots.cluster import ClusterTask, LocalBots
from happycity_tournament.bots.lineup import BotEntry, Lineup

NODE = "10.0.0.7"
READY = [{"worker": 1, "report": {"node": NODE}}, {"worker": 1, "report": {"control": f"{NODE}:5"}}]


def worker_task(folder: Path) -> WorkerTask:
    own = settings(folder, tokens=folder / "tokens.json", open=True, store="sqlite://")
    return WorkerTask(number=1, settings=own, secret="secret")


def node_task(folder: Path, *bots: BotEntry) -> NodeTask:
    lineup = Lineup(bots=bots, directory=folder)
    return NodeTask(worker=worker_task(folder), files={"tokens": ""}, bots=LocalBots(lineup=lineup))


async def test_node_runs_a_worker_and_its_bots_until_it_is_not_wanted(tmp_path: Path) -> None:
    """It says where the worker listens and which bot ended by itself, and sends the end of all output."""
    reports: asyncio.Queue[Report] = asyncio.Queue()
    stop = asyncio.Event()
    ending = BotEntry(
        name="brief", command=f"{shlex.quote(sys.executable)} -c \"import sys; sys.exit('bye')\""
    )
    task = node_task(tmp_path, ending)
    running = asyncio.create_task(run_node(task, tmp_path, reports.put_nowait, stop))
    first = await reports.get()
    assert first.listening
    assert first.control.startswith("127.0.0.1:")
    assert (await reports.get()).bot_ended == "bot brief at worker 1 ended with status 1: bye"
    stop.set()
    await running
    assert reports.get_nowait() == Report(log="bot-brief.worker-1.log", output="bye\n")
    assert reports.empty()


async def test_node_without_the_program_of_a_bot_says_so(tmp_path: Path) -> None:
    """Nothing is started there."""
    task = node_task(tmp_path, BotEntry(name="mine", command="./mine"))
    with pytest.raises(
        ConfigError, match=r"^bot mine: '\./mine' can't be started: there is no such program$"
    ):
        await run_node(task, tmp_path, lambda report: None, asyncio.Event())


def test_a_node_gets_what_a_worker_and_bots_import() -> None:
    """That is our own packages and what they need; neither tools nor compiled bytecode."""
    names = dict(shipped_files())
    wanted = ("happycity/__init__.py", "happycity_server/workers/node.py", "happycity_bots/__main__.py")
    assert names.keys() >= {*wanted, "grpc/__init__.py", "pydantic/__init__.py", "structlog/__init__.py"}
    assert not [name for name in names if name.startswith(("ray/", "pytest/", "..")) or name.endswith(".pyc")]


async def test_node_gets_new_files(tmp_path: Path) -> None:
    """A token that is created while the worker runs is taken there, and one that is revoked is not."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    revoked, created = issued_token(old, Role.BOT, "anna"), issued_token(new, Role.BOT, "anna")
    own = settings(tmp_path, tokens=old, store="sqlite://")
    worker = WorkerTask(number=1, settings=own, secret="secret")
    task = NodeTask(worker=worker, files={"tokens": old.read_text()})
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "happycity_server.workers.node"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"{task.model_dump_json(exclude_unset=True)}\n".encode())
    ready = Report.model_validate_json(await program.stdout.readline())
    async with grpc.aio.insecure_channel(ready.listening) as channel:
        stream = await connected(channel, "anna", bearer(revoked))
        refused = await called(channel, "/happycity.v1.PlayService/Play", bearer(created))
        assert refused.reason == "UNAUTHENTICATED"
        program.stdin.write(f"{json.dumps({'tokens': new.read_text()})}\n".encode())
        assert (await end_of(stream)).reason == "REVOKED"
        await connected(channel, "anna", bearer(created))
    program.stdin.close()
    assert await program.wait() == 0


@pytest.mark.thorough
async def test_node_runs_the_house(tmp_path: Path) -> None:
    """A bot of the server plays at the worker of a node too, by a process there that ends with the worker."""
    own = settings(tmp_path, open=True, store="sqlite://", house="easy=random")
    worker = WorkerTask(number=1, settings=own, house={"easy": "of the house"}, secret="secret")
    reports: asyncio.Queue[Report] = asyncio.Queue()
    stop = asyncio.Event()
    task = NodeTask(worker=worker, files={})
    with capture_logs() as logs:
        running = asyncio.create_task(run_node(task, tmp_path, reports.put_nowait, stop))
        control = (await reports.get()).control
        async with grpc.aio.insecure_channel(control) as channel:
            work = WorkerServiceStub(channel).Work(metadata=bearer("secret"))
            names: list[str] = []
            while not names:
                response = await work.read()
                assert isinstance(response, worker_service_pb2.WorkResponse)
                names += [state.bot.name for state in response.bots if state.bot.house]
        stop.set()
        await running
    assert names == ["easy"]
    (pid,) = [entry["pid"] for entry in logs if entry["event"] == "house_bot_started"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def driver(*lines: Mapping[str, object], then: str = "sys.stdin.read()") -> Child:
    """Start a script in place of what talks to Ray; it has read its task when it writes these lines."""
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    script = f"import sys; sys.stdin.readline(); sys.stdout.write({text!r}); sys.stdout.flush(); {then}"
    return Child.start(
        [sys.executable, "-c", script],
        environment=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def cluster_task(folder: Path, *, workers: int = 0) -> ClusterTask:
    bots = LocalBots(lineup=Lineup(directory=folder))
    return ClusterTask(address="auto", workers=workers, most_workers=9, bots=bots, folder=folder)


@pytest.mark.parametrize(
    ("nodes", "workers", "expected"),
    [
        ([4.0, 3.0, 1.0], 0, 3),
        ([64.0], 0, 9),  # there are no games for more
        ([4.0], 5, 5),  # the cluster may grow
    ],
)
async def test_nodes_get_a_worker_for_every_two_cpus(
    tmp_path: Path, nodes: list[float], workers: int, expected: int
) -> None:
    """A number that is asked for is what counts."""
    said: list[str] = []
    launcher = RayLauncher(cluster_task(tmp_path, workers=workers), said.append)
    await launcher.connect(driver({"nodes": nodes}))
    await launcher.close()
    assert launcher.workers == expected
    assert said[0].endswith(f": starting {expected} workers")


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([{"failed": "Version mismatch"}], "--ray auto: Version mismatch"),
        ([{"nodes": [1.0, 1.0]}], "--ray auto: no node has 2 CPUs, which a worker takes"),
    ],
)
async def test_cluster_that_cannot_be_used_costs_one_line(
    tmp_path: Path, lines: list[Mapping[str, object]], text: str
) -> None:
    """It says what is wrong with which cluster."""
    with pytest.raises(ClusterError) as caught:
        await RayLauncher(cluster_task(tmp_path), lambda text: None).connect(driver(*lines))
    assert str(caught.value) == text


async def test_worker_is_lost_with_its_node_or_with_ray(tmp_path: Path) -> None:
    """Its end has a reason, and a line for people says which node it was."""
    said: list[str] = []
    launcher = RayLauncher(cluster_task(tmp_path), said.append)
    after_task = f"sys.stdin.readline(); print({json.dumps(READY[0])!r}); print({json.dumps(READY[1])!r})"
    await launcher.connect(driver({"nodes": [2.0]}, then=after_task))
    (tmp_path / "tokens.json").write_text("")
    worker = await launcher.start(worker_task(tmp_path))
    assert (worker.node, worker.control) == (NODE, f"{NODE}:5")
    assert await worker.wait() == "the connection to the Ray cluster was lost"
    await launcher.close()
    assert said[1:] == [
        "1 worker on the nodes play",
        f"worker 1 on {NODE} was lost: the connection to the Ray cluster was lost; it starts again",
    ]


async def test_worker_for_bots_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes one CPU, and its node gets the server's tokens again when they change."""
    monkeypatch.setattr("happycity_server.workers.cluster.FILES_SECONDS", 0.01)
    (tmp_path / "tokens.json").write_text("old")
    launcher = RayLauncher(ClusterTask(address="auto", most_workers=9), lambda text: None)
    answering = (
        "import json\nsys.stdin.readline()\n"
        f"for line in {[json.dumps(line) for line in READY]}:\n    print(line, flush=True)\n"
        "files = json.loads(sys.stdin.readline())['files']\n"
        "print(json.dumps({'worker': 1, 'lost': str(files)}), flush=True)\nsys.stdin.read()"
    )
    await launcher.connect(driver({"nodes": [2.0, 1.0]}, then=f"exec({answering!r})"))
    assert launcher.workers == 3
    worker = await launcher.start(worker_task(tmp_path))
    (tmp_path / "tokens.json").write_text("new")
    assert await worker.wait() == "{'tokens': 'new'}"
    await launcher.close()


async def test_reason_why_a_worker_does_not_start_is_said_once(tmp_path: Path) -> None:
    """It is tried again and again, with the same result each time."""
    said: list[str] = []
    launcher = RayLauncher(cluster_task(tmp_path), said.append)
    failing = (
        "import json\nfor line in sys.stdin:\n    number = json.loads(line)['worker']\n"
        "    for more in ({'report': {'failed': 'no such program'}}, {'lost': 'it ended'}):\n"
        "        print(json.dumps({'worker': number, **more}), flush=True)"
    )
    await launcher.connect(driver({"nodes": [2.0]}, then=f"exec({failing!r})"))
    (tmp_path / "tokens.json").write_text("")
    for _ in range(2):
        with pytest.raises(WorkerStartError, match=r"^worker 1: no such program"):
            await launcher.start(worker_task(tmp_path))
    await launcher.close()
    assert len(said) == 2
    assert said[1].endswith("; trying again")


def test_files_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    """The nodes keep the copies that they have."""
    tokens, certificate = tmp_path / "tokens.json", tmp_path / "cert.pem"
    tokens.write_bytes(b"\xff")
    certificate.write_text("PEM")
    own = settings(tmp_path, tokens=tokens, tls_cert=certificate, tls_key=tmp_path / "missing.pem")
    assert contents_of(own) == {"tls_cert": "PEM"}
