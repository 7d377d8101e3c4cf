"""`python -m benchmarks.viewers`: what a thousand viewers of a running tournament cost its server.

Turns with and without viewers follow each other in one run. Bots and viewers share the machine with the
server, so wall time says little; what counts is the server's processor time for a decision.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple

import grpc

from benchmarks.soak import Process, read_line, scrape, send_line
from happycity import Config
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire.messages import config_message

BOTS = tuple(f"bot{number}" for number in range(8))
ROUNDS = 100_000
"""More than there is time for."""
_DECISIONS = "happycity_decisions_total"


class Turn(NamedTuple):
    """The server over some seconds."""

    decisions_per_second: float
    cpu_per_decision: float
    """Microseconds of the server's processor time."""
    rss: float
    """Bytes of memory at the end."""


class Benchmark:
    """A server with a tournament, and viewers of its page in some turns."""

    def __init__(self, options: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
        self._options = options
        self._stack = stack
        self._log = stack.enter_context((folder / "log").open("w"))
        server = self._start(
            "happycity", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
            "--web", "127.0.0.1:0", "--open", "--store", f"sqlite:///{folder}/games.sqlite",
            "--streams-per-peer", str(2 * options.viewers + 100),
        )  # fmt: skip
        addresses = read_line(server)
        self._address, self._metrics = str(addresses["listening"]), str(addresses["metrics"])
        self._web = str(addresses["web"])

    def run(self) -> None:
        """Play turns, and print what they were like."""
        crowd = self._start("benchmarks.crowd", self._address, *BOTS)
        read_line(crowd)
        with grpc.insecure_channel(self._address) as channel:
            config = pb.TournamentConfig(
                bots=BOTS,
                game=config_message(Config(players=4)),
                random_rounds=pb.RandomRounds(rounds=ROUNDS),
                concurrency=32,
            )
            request = pb.CreateTournamentRequest(config=config)
            created = TournamentServiceStub(channel).CreateTournament(request)
        page = f"{self._web}/tournaments/{created.tournament_id}"
        self._turn()  # to warm up
        alone, watched, received = list[Turn](), list[Turn](), list[float]()
        for number in range(self._options.turns):
            alone.append(self._turn())
            _print(f"turn {number + 1}, no viewer", alone[-1])
            options = self._options
            viewers = self._start(
                "benchmarks.audience", page, str(options.viewers), "--deaf", str(options.deaf)
            )
            read_line(viewers)
            watched.append(self._turn())
            send_line(viewers)
            report = read_line(viewers)
            viewers.wait()
            received.append(report["bytes"] / options.viewers / 1000)
            _print(f"turn {number + 1}, {options.viewers} viewers", watched[-1])
            time.sleep(1)
        _conclude(alone, watched, kilobytes=median(received))

    def _turn(self) -> Turn:
        begun, before = time.monotonic(), scrape(self._metrics)
        time.sleep(self._options.seconds)
        after, seconds = scrape(self._metrics), time.monotonic() - begun
        decisions = after[_DECISIONS] - before[_DECISIONS]
        cpu = after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]
        return Turn(
            decisions / seconds, 1e6 * cpu / max(1, decisions), after["process_resident_memory_bytes"]
        )

    def _start(self, module: str, *arguments: str) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._stack.callback(process.kill)
        return process


def _print(name: str, turn: Turn) -> None:
    print(
        f"{name:>24}: {turn.decisions_per_second:8,.0f} decisions/s, "
        f"{turn.cpu_per_decision:6.1f} µs of the server for each, {turn.rss / 1e6:6.1f} MB",
        flush=True,
    )


def _conclude(alone: Sequence[Turn], watched: Sequence[Turn], *, kilobytes: float) -> None:
    ratio = median(turn.cpu_per_decision for turn in watched) / median(
        turn.cpu_per_decision for turn in alone
    )
    memory = watched[-1].rss - alone[0].rss
    print(f"processor time for a decision with viewers: {ratio:.3f} of that without")
    print(f"memory: {memory / 1e6:+.1f} MB; each viewer received {kilobytes:.0f} kB a turn")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=1000)
    parser.add_argument("--deaf", type=int, default=20, help="viewers that don't read")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=15)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        Benchmark(parser.parse_args(), Path(folder), stack).run()


if __name__ == "__main__":
    main()
