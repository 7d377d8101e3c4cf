"""The commands `happycity serve` and `happycity health` as real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import grpc
import pytest
import trustme

from happycity import Config
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire import config_message

DEADLINE = 60.0
HAPPYCITY = (sys.executable, "-m", "happycity")

Server = subprocess.Popen[str]
Start = Callable[..., tuple[Server, str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Give a function that starts a server and returns it with its address."""
    servers: list[Server] = []

    def start_one(
        *options: str,
        stdin: int | None = subprocess.DEVNULL,
        listen: str = "127.0.0.1:0",
        environ: Mapping[str, str] | None = None,
    ) -> tuple[Server, str]:
        server = subprocess.Popen(
            [*HAPPYCITY, "serve", "--listen", listen, *options],
            cwd=tmp_path,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environ or {})},
        )
        servers.append(server)
        assert server.stdout is not None
        return server, str(json.loads(server.stdout.readline())["listening"])

    yield start_one
    for server in servers:
        server.kill()
        server.communicate()


def command(
    *arguments: str, cwd: Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HAPPYCITY, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        env={**os.environ, **(environ or {})},
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_stops_in_good_order(start: Start, number: signal.Signals) -> None:
    """A signal ends the server with status 0; its log is JSON lines where no person reads it."""
    server, address = start()
    server.send_signal(number)
    _, errors = server.communicate(timeout=DEADLINE)
    assert server.returncode == 0
    told = [json.loads(line) for line in errors.splitlines()]
    lines = [line for line in told if line["event"] != "overloaded"]  # a busy machine may be late
    assert [line["event"] for line in lines] == ["listening", "access_open", "stopping", "stopped"]
    assert lines[0]["address"] == address


def test_server_keeps_its_games_in_the_default_store(start: Start, tmp_path: Path) -> None:
    """Without options, games go to an SQLite file under runs/."""
    start()
    assert (tmp_path / "runs" / "happycity.sqlite").is_file()


def test_server_can_stop_with_its_parent(start: Start) -> None:
    """With --stop-with-stdin, the end of the standard input is the end of the server."""
    server, _ = start("--stop-with-stdin", stdin=subprocess.PIPE)
    server.communicate(timeout=DEADLINE)  # closes its standard input
    assert server.returncode == 0


def test_port_that_is_taken_costs_one_line(start: Start, tmp_path: Path) -> None:
    """A second server on the port does not start, and says which port and what to do."""
    _, address = start()
    second = command("serve", "--listen", address, "--store", "sqlite:///other.sqlite", cwd=tmp_path)
    assert second.returncode == 2
    (line,) = second.stderr.splitlines()
    assert line.startswith(f"error: listen: {address} can't be listened on")


def test_bot_commands_that_cannot_play_cost_one_line(start: Start, tmp_path: Path) -> None:
    """An unknown bot and a server that isn't there are named, with status 2."""
    unknown = command("bot", "nobody", cwd=tmp_path)
    assert unknown.returncode == 2
    assert unknown.stderr.splitlines() == [
        "error: unknown bot 'nobody'; there are: random, greedy, planner, rollout"
    ]
    alone = command("bot", "random", "--server", "127.0.0.1:9", cwd=tmp_path)
    assert alone.returncode == 2
    (line,) = alone.stderr.splitlines()
    assert "no connection to 127.0.0.1:9" in line


def test_health_tells_whether_a_server_serves(start: Start, tmp_path: Path) -> None:
    """Status 0 for a server that serves, 1 where none answers."""
    _, address = start()
    healthy = command("health", address, cwd=tmp_path)
    assert (healthy.returncode, healthy.stdout) == (0, f"{address}: serving\n")
    assert command("health", "127.0.0.1:9", cwd=tmp_path).returncode == 1


# Settings ------------------------------------------------------------------------------------------------


def test_settings_in_force_are_printed(tmp_path: Path) -> None:
    """Flags, environment and file together, as a file that gives the same again; nothing is served."""
    (tmp_path / "server.toml").write_text('store = "postgresql://olga:geheim@db/arena"\nopen_matches = 5\n')
    environ = {"HAPPYCITY_SERVE_CONFIG": "server.toml", "HAPPYCITY_SERVE_OPEN_TOURNAMENTS": "6"}
    done = command("serve", "--print-config", "--grace", "7", cwd=tmp_path, environ=environ)
    assert (done.returncode, done.stderr) == (0, "")
    printed = tomllib.loads(done.stdout)
    assert (printed["open_matches"], printed["open_tournaments"], printed["grace_seconds"]) == (5, 6, 7.0)
    assert printed["store"] == "postgresql://olga:***@db/arena"
    assert "geheim" not in done.stdout


def test_each_problem_of_the_settings_costs_one_line(tmp_path: Path) -> None:
    """Status 2, and for each wrong value who said it."""
    (tmp_path / "server.toml").write_text("opne = true\n")
    done = command(
        "serve", "--config", "server.toml", cwd=tmp_path, environ={"HAPPYCITY_SERVE_GRACE_SECONDS": "long"}
    )
    assert done.returncode == 2
    number, key = done.stderr.splitlines()
    assert number.startswith("error: HAPPYCITY_SERVE_GRACE_SECONDS: Input should be a valid number")
    assert key == "error: server.toml: opne: there is no such key; the nearest is open"


def test_exposed_server_costs_one_line(tmp_path: Path) -> None:
    """Without tokens and TLS nothing is listened on but loopback."""
    done = command("serve", "--listen", "0.0.0.0:0", cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: listen: 0.0.0.0:0 can be reached from other machines")
    assert done.stdout == ""


def test_wrong_certificate_costs_one_line(tmp_path: Path) -> None:
    """The file is named."""
    done = command("serve", "--tls-cert", "no.pem", "--tls-key", "no.pem", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: certificate: no.pem can't be read: No such file or directory\n"


def test_metrics_address_is_printed(tmp_path: Path) -> None:
    """Programs that start a server find its metrics, also on a free port."""
    server = subprocess.Popen(
        [*HAPPYCITY, "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        with urllib.request.urlopen(f"http://{told['metrics']}/metrics", timeout=DEADLINE) as answer:
            assert b"happycity_build_info" in answer.read()
    finally:
        server.kill()
        server.communicate()


# Stopping ------------------------------------------------------------------------------------------------


def test_second_signal_stops_at_once(start: Start) -> None:
    """One signal drains, another voids what still runs; the status is 0 all the same."""
    steps = ("stopping", "finishing_matches", "voiding_matches", "stopped")
    server, address = start("--grace", "3600", "--no-clock")
    assert server.stderr is not None
    with match_that_hangs(address):
        server.send_signal(signal.SIGTERM)
        events = [""]
        while events[-1] != "finishing_matches":
            events.append(json.loads(server.stderr.readline())["event"])
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=DEADLINE)
    assert server.returncode == 0
    events += [json.loads(line)["event"] for line in errors.splitlines()]
    assert tuple(event for event in events if event in steps) == steps


@contextmanager
def match_that_hangs(address: str) -> Iterator[None]:
    """Begin a match between two bots that never answer, and keep them connected."""
    streams, queues = [], [SimpleQueue[play.PlayRequest | None]() for _ in range(2)]
    with grpc.insecure_channel(address) as channel:
        for name, queue in zip(("one", "two"), queues, strict=True):
            queue.put(play.PlayRequest(hello=play.Hello(name=name, protocol_version=1)))
            stream = PlayServiceStub(channel).Play(iter(queue.get, None))
            assert next(stream).HasField("welcome")
            streams.append(stream)
        match = match_pb.CreateMatchRequest(config=config_message(Config(players=2)), bots=["one", "two"])
        MatchServiceStub(channel).CreateMatch(match)
        for stream in streams:
            assert any(response.games_started for response in stream)  # there may be a ping before
        yield
        for queue in queues:
            queue.put(None)


# Health and secrets --------------------------------------------------------------------------------------


def test_health_is_asked_by_service_and_tls(start: Start, tmp_path: Path) -> None:
    """A probe may ask for one service, over TLS and with a certificate of its own."""
    authority = trustme.CA()
    leaf = authority.issue_cert("arena.example.org")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    leaf.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    _, address = start("--tls-cert", "both.pem", "--tls-key", "both.pem", "--client-ca", "ca.pem")
    options = [
        "--ca",
        "ca.pem",
        "--cert",
        "both.pem",
        "--key",
        "both.pem",
        "--server-name",
        "arena.example.org",
    ]
    service = "happycity.v1.PlayService"
    healthy = command("health", address, *options, "--service", service, cwd=tmp_path)
    assert (healthy.returncode, healthy.stdout) == (0, f"{address}: serving\n"), healthy.stderr
    unknown = command("health", address, *options, "--service", "no.such.Service", cwd=tmp_path)
    assert (unknown.returncode, unknown.stderr) == (1, f"{address}: no such service\n")
    assert (
        command("health", address, *options[:2], cwd=tmp_path).returncode == 1
    )  # no certificate, wrong name
    assert command("health", address, cwd=tmp_path).returncode == 1  # no TLS
    wrong = command("health", address, "--ca", "missing.pem", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "error: ca: missing.pem can't be read: No such file or directory\n",
    )


def test_no_secret_is_told_anywhere(start: Start, tmp_path: Path) -> None:
    """Tokens come by file and environment: no log, output, record or process list has one."""
    clear = {
        role: command("token", "create", "--role", role, "--name", name, cwd=tmp_path).stdout.strip()
        for role, name in (("bot", "random"), ("organiser", "olga"))
    }
    server, address = start()
    bot = subprocess.Popen(
        [*HAPPYCITY, "bot", "random", "--server", address],
        cwd=tmp_path,
        env={**os.environ, "HAPPYCITY_TOKEN": clear["bot"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        with grpc.insecure_channel(address) as channel:
            stub = MatchServiceStub(channel)
            for shown in (f"Bearer {clear['organiser']}x", clear["organiser"], "Bearer " + clear["bot"]):
                with pytest.raises(grpc.RpcError) as caught:
                    stub.CreateMatch(match_pb.CreateMatchRequest(), metadata=(("authorization", shown),))
                assert not any(secret in str(caught.value) for secret in clear.values())
            assert server.stderr is not None
            lines = [server.stderr.readline()]
            while json.loads(lines[-1])["event"] != "bot_connected":
                lines.append(server.stderr.readline())
        commands = [Path(f"/proc/{process.pid}/cmdline").read_text() for process in (server, bot)]
    finally:
        bot.terminate()
        heard, _ = bot.communicate(timeout=DEADLINE)
        server.terminate()
        _, rest = server.communicate(timeout=DEADLINE)
    listed = command("token", "list", "--json", cwd=tmp_path).stdout
    told = "\n".join([*lines, rest, heard, *commands, listed, (tmp_path / "runs/tokens.json").read_text()])
    for secret in clear.values():
        assert secret.split("_", 2)[2] not in told
        assert re.search(secret.split("_")[1], told)  # the id is what logs and lists go by
