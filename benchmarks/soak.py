"""`make soak`: a thousand bots, two hundred games at once, for two minutes, and how the server stands it.

The first minute is for warming up, the second is measured. Exit status 1 if a game is lost or a bot charged,
or if the server's memory grows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import grpc

from happycity import Config, Ending
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire.messages import config_message
from happycity_tournament.storage import Store

PROCESSES = 4
"""Among how many processes the bots are shared."""
TOURNAMENTS = 100
"""Tournaments at once, each with its share of bots and games. Ratings take 3 kB for each pair of a
tournament's bots, which would be most of the memory in a single one."""
SEATS = 5
ROUNDS = 1000
"""More than there is time for."""
GROWTH_SHARE = 0.05
"""The part by which the server's memory may grow in a minute after the warm-up, in which caches fill and the
allocator finds its size. The server remembers how games ended, for bots that may have missed it, up to a
limit that is not reached here."""

Process = subprocess.Popen[str]


class Sample(NamedTuple):
    """The server at one moment."""

    seconds: float
    metrics: dict[str, float]

    @property
    def rss(self) -> float:
        """Bytes of memory."""
        return self.metrics["process_resident_memory_bytes"]


@dataclass
class Outcome:
    """What was measured."""

    bots: int
    warm_up: int
    """Seconds before anything is measured."""
    empty: float
    """Bytes of the server without bots."""
    full: float
    """Bytes of the server with all bots connected, and no game played yet."""
    samples: list[Sample] = field(default_factory=list)
    started: int = 0
    stored: int = 0
    charged: int = 0
    """Stored games in which a seat was forfeited."""
    ends: Counter[str] = field(default_factory=Counter)
    lost_streams: int = 0

    @property
    def lost_games(self) -> int:
        """Games that were started, and are not in the store."""
        return self.started - self.stored

    @property
    def warm(self) -> list[Sample]:
        """The samples after the warm-up."""
        return [sample for sample in self.samples if sample.seconds >= self.warm_up]

    def growth(self) -> float:
        """Return the slope of the memory in bytes a second after the warm-up, by least squares."""
        warm = self.warm
        at, rss = mean(sample.seconds for sample in warm), mean(sample.rss for sample in warm)
        spread = sum((sample.seconds - at) ** 2 for sample in warm)
        return sum((sample.seconds - at) * (sample.rss - rss) for sample in warm) / spread

    def faults(self) -> list[str]:
        """Return what must not have happened, a line each."""
        last = self.samples[-1].metrics
        refused = sum(value for name, value in last.items() if name.startswith("happycity_refusals_total"))
        problems = {
            f"{self.lost_games} games are lost": self.lost_games,
            f"{self.charged} games have forfeited seats": self.charged,
            f"{self.ends['VOIDED']} games were voided": self.ends["VOIDED"],
            f"{self.lost_streams} bots lost their streams": self.lost_streams,
            f"the server refused something {refused:.0f} times": refused,
            f"memory grows by {self.growth() / 1000:.0f} kB/s": 60 * self.growth()
            > GROWTH_SHARE * self.warm[0].rss,
        }
        return [text for text, wrong in problems.items() if wrong]


def scrape(address: str) -> dict[str, float]:
    """Return a server's metrics by name, those with labels as name{labels}."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def read_line(process: Process) -> Any:
    """Wait for a line of JSON from a process."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{process.args!r} ended with status {process.wait()}")
    return json.loads(line)


def send_line(process: Process) -> None:
    """Send a process the line that it waits for."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


class Soak:
    """A server and its bots, both observed."""

    def __init__(self, given: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
        self._given = given
        self._store = f"sqlite:///{folder}/games.sqlite"
        self._log = stack.enter_context((folder / "log").open("w"))
        self._stack = stack
        environ = {
            "HAPPYCITY_SERVE_STREAMS_PER_PEER": str(2 * given.bots),
            "HAPPYCITY_SERVE_OPEN_TOURNAMENTS": str(TOURNAMENTS),
        }
        self._server = self._start(
            "happycity", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--open",
            "--store", self._store, "--workers", str(given.workers), environ=environ,
        )  # fmt: skip
        addresses = read_line(self._server)
        self._address, self._metrics = str(addresses["listening"]), str(addresses["metrics"])

    def run(self) -> Outcome:
        """Connect all bots, play, stop, and look into the store."""
        given = self._given
        empty = self._sample(0).rss
        crowds = [self._start("benchmarks.crowd", self._address, *names) for names in self._shares()]
        connected = sum(read_line(crowd)["connected"] for crowd in crowds)
        outcome = Outcome(bots=connected, warm_up=given.warm_up, empty=empty, full=self._sample(0).rss)
        with grpc.insecure_channel(self._address) as channel:
            stub = TournamentServiceStub(channel)
            ids = [self._create(stub, number) for number in range(TOURNAMENTS)]
            self._watch(outcome)
            for tournament_id in ids:
                stub.StopTournament(pb.StopTournamentRequest(tournament_id=tournament_id))
            for tournament_id in ids:
                _wait_for_the_end(stub, tournament_id)
        outcome.started = int(scrape(self._metrics)["happycity_matches_started_total"])
        for crowd in crowds:
            send_line(crowd)
            report = read_line(crowd)
            outcome.ends.update(report["ends"])
            outcome.lost_streams += report["lost"]
            crowd.wait()
        self._server.terminate()
        if self._server.wait() != 0:
            raise SystemExit(f"the server ended with status {self._server.returncode}")
        with Store.existing(self._store) as store:
            games = store.games(outcome.started + 1)
        outcome.stored = len(games)
        outcome.charged = sum(
            any(seat.ending is not Ending.FINISHED for seat in game.seats) for game in games
        )
        return outcome

    def _watch(self, outcome: Outcome) -> None:
        """Look at the server once a second."""
        begun = time.monotonic()
        for second in range(1, self._given.warm_up + self._given.seconds + 1):
            time.sleep(max(0.0, begun + second - time.monotonic()))
            outcome.samples.append(self._sample(time.monotonic() - begun))
            print(f"\r{self._progress(outcome.samples[-1])}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)

    def _shares(self) -> Iterator[list[str]]:
        """Yield the names of the bots in each process."""
        size = self._given.bots // PROCESSES
        for first in range(0, size * PROCESSES, size):
            yield [f"soak{number}" for number in range(first, first + size)]

    def _create(self, stub: TournamentServiceStub, number: int) -> int:
        """Create one of the tournaments, between bots of all processes."""
        names = [name for share in self._shares() for name in share]
        config = pb.TournamentConfig(
            bots=names[number::TOURNAMENTS],
            game=config_message(Config(players=SEATS)),
            random_rounds=pb.RandomRounds(rounds=ROUNDS),
            seed=number,
            concurrency=self._given.games // TOURNAMENTS,
        )
        created = stub.CreateTournament(pb.CreateTournamentRequest(config=config))
        return int(created.tournament_id)

    def _start(self, *arguments: str, environ: dict[str, str] | None = None) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **(environ or {})},
        )
        self._stack.callback(_end, process)
        return process

    def _sample(self, seconds: float) -> Sample:
        return Sample(seconds, scrape(self._metrics))

    def _progress(self, sample: Sample) -> str:
        running = sample.metrics['happycity_matches{state="running"}']
        finished = sample.metrics["happycity_matches_finished_total"]
        return (
            f"{sample.seconds:3.0f} s: {running:.0f} games run, {finished:.0f} are finished, "
            f"{sample.rss / 1e6:.1f} MB "
        )


def _wait_for_the_end(stub: TournamentServiceStub, tournament_id: int) -> None:
    for _ in stub.WatchTournament(pb.WatchTournamentRequest(tournament_id=tournament_id)):
        pass  # the last message comes when no game runs


def _end(process: Process) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


def lag_counts(first: Sample, last: Sample) -> dict[float, float]:
    """Return how many ticks of the event loop between two samples were at most so many seconds late."""
    name = "happycity_loop_lag_seconds_bucket"
    return {
        float(key.partition('le="')[2].rstrip('"}')): value - first.metrics[key]
        for key, value in last.metrics.items()
        if key.startswith(name)
    }


def quantile(counts: dict[float, float], share: float) -> float:
    """Return the upper end of the bucket of a histogram that has a quantile."""
    total = counts[float("inf")]
    return min(bound for bound, count in counts.items() if count >= share * total)


def table(outcome: Outcome) -> dict[str, str]:
    """Return the figures by what they are."""
    samples = outcome.warm
    first, last = samples[0], samples[-1]
    seconds = last.seconds - first.seconds
    running = [sample.metrics['happycity_matches{state="running"}'] for sample in samples]
    lags = lag_counts(first, last)

    def a_second(name: str) -> float:
        return (last.metrics[name] - first.metrics[name]) / seconds

    return {
        "bots connected": f"{outcome.bots:,}",
        "games at once, median": f"{median(running):,.0f}",
        "games started": f"{outcome.started:,}",
        "games stored": f"{outcome.stored:,}",
        "games lost": f"{outcome.lost_games:,}",
        "games with a forfeit": f"{outcome.charged:,}",
        "games voided": f"{outcome.ends['VOIDED']:,}",
        "streams lost": f"{outcome.lost_streams:,}",
        "games a second": f"{a_second('happycity_matches_finished_total'):,.1f}",
        "decisions a second": f"{a_second('happycity_decisions_total'):,.0f}",
        "processor of the server": f"{a_second('process_cpu_seconds_total'):.0%}",
        "memory of the server without bots": f"{outcome.empty / 1e6:.1f} MB",
        "memory for each idle bot": f"{(outcome.full - outcome.empty) / outcome.bots / 1000:.1f} kB",
        "memory when warm": f"{first.rss / 1e6:.1f} MB",
        "memory in the end": f"{last.rss / 1e6:.1f} MB",
        "growth when warm": f"{outcome.growth() / 1000:+.1f} kB/s",
        "growth for each game": f"{outcome.growth() / a_second('happycity_matches_finished_total'):+,.0f} B",
        "loop lag, median": f"<= {quantile(lags, 0.5) * 1000:g} ms",
        "loop lag, 95%": f"<= {quantile(lags, 0.95) * 1000:g} ms",
        "loop lag, worst": f"<= {quantile(lags, 1.0) * 1000:g} ms",
        "overloads": f"{last.metrics['happycity_overloads_total']:.0f}",
        "outbox, most for a bot": f"{last.metrics['happycity_outbox_high_water_bytes'] / 1000:.1f} kB",
    }


def main() -> None:
    """Run the soak and print its table; exit with status 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--bots", type=int, default=1000, help="bots that are connected")
    parser.add_argument("--games", type=int, default=200, help="games at once")
    parser.add_argument("--workers", type=int, default=0, help="processes that play beside the server")
    parser.add_argument("--seconds", type=int, default=60, help="how long is measured")
    parser.add_argument("--warm-up", type=int, default=60, help="seconds of play before that")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        outcome = Soak(given, Path(folder), stack).run()
    for name, value in table(outcome).items():
        print(f"{name:42} {value:>12}")
    faults = outcome.faults()
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
