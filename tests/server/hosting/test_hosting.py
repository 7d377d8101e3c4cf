"""A bot is submitted by the command, tried in the sandbox, and plays; the author of a bad one learns why."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.commands import programs
from tests.server.harness import Service, bearer, issued_token, serving, settings
from tests.server.hosting.conftest import FIRST, host, podman, why_not
from tests.server.server_process import ServerProcess, server_process
from tests.waiting import LIMIT

from happycity import Config, ConfigError, FailurePolicy, TimeControl
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity_runtime.tokens import Role, add_tokens, new_token
from happycity_runtime.transport import Access
from happycity_tournament.client.connection import call_server
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.config import RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.hosted.submissions import Submission, Submissions

BOT = 'name = "alice"\ncommand = "{command}"\nlanguage = "Python"\nfiles = ["*.py"]\n'


def until(event: Callable[[], object]) -> None:
    """Ask until something has come in a server of its own, which tells nothing of it."""
    deadline = time.monotonic() + LIMIT
    while not event():
        assert time.monotonic() < deadline, f"nothing came of {event} within {LIMIT:g} s"


@pytest.mark.parametrize(
    ("sandbox", "says"),
    [
        ("podman-of-nobody run {socket} {folder} {command}", "there is no program"),
        ("podman run {folder} {command}", "lacks {socket}"),
        ("podman run {socket}", "lacks {folder}"),
        ("podman run {socket} {folder}", "lacks {command}"),
        ("podman 'run", "can't read the command"),
    ],
)
async def test_sandbox_that_cannot_be_used(tmp_path: Path, sandbox: str, says: str) -> None:
    """A template that lacks something, or whose program is missing, is refused in one line."""
    add_tokens(tmp_path / "tokens.json", [])
    hosted: dict[str, Any] = {
        "hosted": tmp_path / "bots",
        "sandbox": sandbox,
        "tokens": tmp_path / "tokens.json",
    }
    with pytest.raises(ConfigError, match=re.escape(says)):
        async with serving(tmp_path, **hosted):
            pass


async def test_open_server_hosts_nothing(tmp_path: Path) -> None:
    """Without tokens the bots inside the sandbox could do everything, so hosting is refused."""
    assert settings(tmp_path).open
    with pytest.raises(ConfigError, match="it needs tokens"):
        async with serving(tmp_path, hosted=tmp_path / "bots"):
            pass


@pytest.mark.level(3)
def test_submitted_bot_plays(tmp_path: Path) -> None:
    """A bot passes and plays as the version of its digest; a bad one is rejected, and the good one stays."""
    if reason := why_not():
        pytest.skip(reason)
    clear, token = new_token(Role.BOT, "alice", created=datetime.now(UTC), owner="Team 7")
    add_tokens(tmp_path / "tokens.json", [token])
    good, bad = tmp_path / "good", tmp_path / "bad"
    for folder, command in ((good, "python bot.py"), (bad, "python -c 'print(40 + 2)'")):
        folder.mkdir()
        shutil.copy(FIRST, folder / "bot.py")
        (folder / "bot.toml").write_text(BOT.format(command=command))
    flags = (
        "--tokens",
        str(tmp_path / "tokens.json"),
        "--hosted",
        str(tmp_path / "bots"),
        "--sandbox",
        "bwrap",
        "--house",
        "rock=random",
    )
    olga = issued_token(tmp_path / "tokens.json", Role.ORGANISER, "olga")
    with server_process(tmp_path, *flags) as server:

        def run(*words: str, status: int = 0, token: str = clear) -> str:
            own = {**os.environ, "HAPPYCITY_SERVER": server.address, "HAPPYCITY_TOKEN": token}
            command = (sys.executable, "-m", "happycity", *words)
            done = subprocess.run(command, env=own, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == status, done.stderr
            return done.stdout if status in (0, 1) and done.stdout else done.stderr

        submitted = json.loads(run("submit", str(good), "--json"))
        assert submitted["state"] == "playing"
        assert [line.partition(":")[0] for line in submitted["result"]] == ["conformance", "practice game"]
        assert "42" in run("submit", str(bad), status=1)
        states = {one["digest"]: one["state"] for one in json.loads(run("submit", "--list", "--json"))}
        assert sorted(states.values()) == ["playing", "rejected"]
        assert states[submitted["digest"]] == "playing"
        bots = json.loads(run("status", "--json"))
        assert submitted["digest"][:12] in json.dumps(bots)
        bots = ("--bots", "hosted:alice", "--join", "rock", "--rounds", "1")
        tournament = json.loads(run("tournament", "run", *bots, "--json", token=olga))
        assert tournament["config"]["hosted_bots"] == {"alice": submitted["digest"]}
        assert tournament["games"] == 2
        (folder,) = (tmp_path / "runs").iterdir()
        publish = ("tournament", "publish", str(folder))
        assert "not a hosted bot" in run(*publish, "none", "--files-of", "rock", token=olga, status=2)
        run(*publish, "cup", "--files-of", "alice", token=olga)
        assert (tmp_path / "cup" / f"{submitted['digest']}.jsonl.gz").exists()
        assert run("tournament", "verify", "cup", "--sample", "2").startswith("2 games")
        assert "no submitted bot" in run("tournament", "run", "--bots", "hosted:rock", token=olga, status=2)
        with grpc.insecure_channel(server.address) as channel:
            tournaments = Service(channel, "happycity.tournament.v1beta1.TournamentService")
            config: dict[str, Any] = {
                "bots": ["alice", "ghost"],
                "game": {"players": 2, "mode": "MODE_FAMILY", "scoring": "SCORING_PRODUCT"},
            }
            config |= {"round_robin": {}, "hosted_bots": {"alice": "0" * 64}}
            with pytest.raises(grpc.RpcError, match="not as 000000000000"):
                tournaments.CreateTournament(config=config, metadata=bearer(olga))
            config["hosted_bots"]["alice"] = submitted["digest"]  # which plays until the tournament is over
            waiting = tournaments.CreateTournament(config=config, metadata=bearer(olga))
            assert "submit the new one when that is over" in run("submit", str(bad), status=2)
            assert "the server plays it" in run("bot", "alice=random", status=2)
            tournaments.StopTournament(tournament_id=waiting.tournament_id, metadata=bearer(olga))
        assert "retired" in run("submit", str(good), "--withdraw")


@pytest.mark.level(3)
def test_submitted_image_plays(tmp_path: Path) -> None:
    """An image passes its trial in podman and plays, measured; no container outlives the server."""
    command, image = podman(tmp_path)
    label = f"test={tmp_path}"  # other tests have containers of the same image at the same time
    command = command.replace("run ", f"run --label {label} ", 1)
    hosted = ("--tokens", str(tmp_path / "tokens.json"), "--hosted", str(tmp_path / "bots"), "--sandbox")
    alice = issued_token(tmp_path / "tokens.json", Role.BOT, "alice")
    olga = issued_token(tmp_path / "tokens.json", Role.ORGANISER, "olga")
    (tmp_path / "bot.toml").write_text(f'name = "alice"\nlanguage = "Go"\nimage = "{image}"\n')
    containers = ("podman", "ps", "--all", "--quiet", "--filter", f"label={label}")
    with server_process(tmp_path, *hosted, f"{command} {{image}}", "--house", "rock=random") as server:

        def run(*words: str, token: str) -> Any:
            own = {**os.environ, "HAPPYCITY_SERVER": server.address, "HAPPYCITY_TOKEN": token}
            command = (sys.executable, "-m", "happycity", *words, "--json")
            done = subprocess.run(command, env=own, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            return json.loads(done.stdout)

        submitted = run("submit", ".", token=alice)
        assert submitted["state"] == "playing"
        assert [line.partition(":")[0] for line in submitted["result"]] == ["conformance", "practice game"]
        bots = ("--bots", "hosted:alice", "--join", "rock", "--rounds", "20")
        tournament = run("tournament", "run", *bots, token=olga)
        assert tournament["games"] == 40
        assert subprocess.check_output(containers)

        def usage() -> Any:
            return run("submit", "--list", token=alice)[0]

        until(lambda: usage()["cpu_time"] > 0)
        assert usage()["peak_memory_bytes"] > 1 << 20
    until(lambda: not subprocess.check_output(containers))


@pytest.mark.level(3)
def test_hosted_bots_play_beside_workers(tmp_path: Path) -> None:
    """Workers copy them by their digests; games, restarts and usage are those of one machine.

    Nothing is played of other bytes than those of the digest, nor on a machine without a sandbox.
    """
    if reason := why_not():
        pytest.skip(reason)
    bots = ("alice", "ben", "carl")
    for bot in bots:
        host(tmp_path, bot)
    host(tmp_path, "dora").write_text("# somebody else's program")
    organiser, worker = (
        issued_token(tmp_path / "tokens.json", role, role.value) for role in (Role.ORGANISER, Role.WORKER)
    )
    flags = ("--tokens", str(tmp_path / "tokens.json"), "--hosted", str(tmp_path / "bots"))
    config = TournamentConfig(
        bots=bots,
        game=Config(players=3),
        format=RandomRounds(rounds=30),
        seed=3,
        time=TimeControl(connect_seconds=300.0, decision_seconds=300.0),
        policy=FailurePolicy(grace_seconds=300.0),
        concurrency=2,
    )

    def logged(*texts: str) -> list[Any]:
        lines = (tmp_path / "server.log").read_text().splitlines()
        return [json.loads(line) for line in lines if all(text in line for text in texts)]

    def played(server: ServerProcess) -> programs.Records:
        arena = RemoteServer(address=server.address, access=Access(token=organiser))
        digests = call_server(arena, lambda at: at.hosted_digests(bots))
        number = call_server(arena, lambda at: at.create(replace(config, hosted_bots=digests))).tournament_id
        for one in logged("bot_started", "carl", '"worker"')[:1]:
            os.kill(one["pid"], signal.SIGKILL)
        assert programs.follow(arena, number).state is TournamentState.FINISHED
        return programs.records(f"sqlite:///{tmp_path}/games.sqlite", number)

    with server_process(tmp_path, *flags) as server:
        expected = played(server)
        own = {"HAPPYCITY_TOKEN": worker, "PATH": "/nothing"}
        command = (sys.executable, "-m", "happycity", "worker", "--join", server.address)
        with subprocess.Popen(command, env=own, stderr=subprocess.DEVNULL) as without:
            until(lambda: logged("plays no hosted bots: sandbox: there is no program 'bwrap'"))
            without.terminate()
    (tmp_path / "server.log").unlink()
    with server_process(tmp_path, *flags, "--workers", "2") as server:
        until(lambda: len(logged("worker_remark", "doesn't play dora", "its content has the digest")) == 2)
        until(lambda: sum(len(logged("bot_connected", bot, '"worker"')) for bot in bots) == 6)
        assert played(server) == expected
        assert logged("match_over", '"worker"')
        until(lambda: server.metric("happycity_restarts_total").get("carl") == 1)

        def is_used(one: Submission) -> bool:
            """What is stored with a submission was used beside workers: two starts cost more than this."""
            return one.usage.cpu_seconds > 0.4 and one.usage.peak_memory_bytes > 10_000_000

        until(lambda: sum(map(is_used, Submissions(tmp_path / "bots"))) == len(bots))
        gone = logged("bot_disconnected", "ben", '"worker"')
        arena = RemoteServer(address=server.address, access=Access(token=organiser))
        request = pb.WithdrawSubmissionRequest(bot="ben")
        call_server(arena, lambda at: at.call(at.hosting.WithdrawSubmission, request))
        until(lambda: len(logged("bot_disconnected", "ben", '"worker"')) == len(gone) + 2)
