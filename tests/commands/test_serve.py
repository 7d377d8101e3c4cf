"""The commands `happycity serve` and `happycity health` as real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

DEADLINE = 60.0
HAPPYCITY = (sys.executable, "-m", "happycity")

Server = subprocess.Popen[str]
Start = Callable[..., tuple[Server, str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Give a function that starts a server and returns it with its address."""
    servers: list[Server] = []

    def start_one(*options: str, stdin: int | None = subprocess.DEVNULL) -> tuple[Server, str]:
        server = subprocess.Popen(
            [*HAPPYCITY, "serve", "--listen", "127.0.0.1:0", *options],
            cwd=tmp_path,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        servers.append(server)
        assert server.stdout is not None
        return server, str(json.loads(server.stdout.readline())["listening"])

    yield start_one
    for server in servers:
        server.kill()
        server.communicate()


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HAPPYCITY, *arguments], cwd=cwd, capture_output=True, text=True, timeout=DEADLINE, check=False
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_stops_in_good_order(start: Start, number: signal.Signals) -> None:
    """A signal ends the server with status 0; its log is JSON lines where no person reads it."""
    server, address = start()
    server.send_signal(number)
    _, errors = server.communicate(timeout=DEADLINE)
    assert server.returncode == 0
    lines = [json.loads(line) for line in errors.splitlines()]
    assert [line["event"] for line in lines] == ["listening", "stopping", "stopped"]
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
