"""Load a server: `soak`, `fairness` and `gateways` with bots, `viewers` of a page, `pages` with visitors.

soak: a thousand bots, two hundred games at once. The first minute is for warming up, the second is measured.
Exit status 1 if a game is lost or a bot charged, or if the server's memory grows. The tournaments are stopped
in the end, and games that would take longer than a stop allows are voided.

fairness: how many decisions of 50 bots that play flat out are answered between an answer of a bot with one
game at a time and its next decision.

gateways: what a decision of bots with one game each costs server and gateways, in turns: directly, by each
number of gateways, and directly at another checkout; and how many decisions a second a core of each carries.

viewers: what viewers of a running tournament cost its server, in turns with and without them. Bots and
viewers share the machine with it, so what counts is the server's processor time for a decision.

pages: how long GetCatalogue takes while another process asks for the page of a finished game again and again.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import grpc

from happycity import Config, Ending
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1 import catalogue_service_pb2 as catalogue
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1.catalogue_service_pb2_grpc import CatalogueServiceStub
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import config_message
from happycity_client.matches import WAIT_SECONDS
from happycity_tournament.storage.store import Store
from tools import ROOT
from tools.benchmarks.crowds import BURSTS, LightBot, PatientBot, visit
from tools.benchmarks.harness import Process, interval, read_line, scrape, send_line, serve, start, store_url

PROCESSES = 4
"""Among how many processes the bots of a soak are shared."""
TOURNAMENTS = 100
"""Tournaments of a soak at once, each with its share of bots and games. Ratings take 3 kB for each pair of a
tournament's bots, which would be most of the memory in a single one."""
GROUPS = 50
"""Tournaments of bots that come by gateways. To begin one waits, as all streams are served first."""
ROUNDS = 10_000
"""More than there is time for."""
GROWTH_SHARE = 0.05
"""The part by which the server's memory may grow in a minute after the warm-up, in which caches fill and the
allocator finds its size. The server remembers how games ended, for bots that may have missed it, up to a
limit that is not reached here."""
QUIET_SECONDS = 3.0
"""How long calls are timed without visitors."""
PAUSE_SECONDS = 0.02
"""Time between two calls, so that no limit is reached."""
SEATS = 5
STOPPED = "VOID_REASON_STOPPED"
DECISIONS = "happycity_decisions_total"
FINISHED = "happycity_matches_finished_total"
RUNNING = 'happycity_matches{state="running"}'
CPU = "process_cpu_seconds_total"


class Sample(NamedTuple):
    """The server at one moment."""

    seconds: float
    metrics: dict[str, float]

    @property
    def rss(self) -> float:
        """Bytes of memory."""
        return self.metrics["process_resident_memory_bytes"]


class Span(NamedTuple):
    """The server between two moments."""

    first: Sample
    last: Sample

    def total(self, name: str) -> float:
        """Return by how much a metric has grown."""
        return self.last.metrics[name] - self.first.metrics.get(name, 0.0)

    def rate(self, name: str) -> float:
        """Return by how much a metric has grown a second."""
        return self.total(name) / (self.last.seconds - self.first.seconds)

    def lag(self, share: float) -> str:
        """Return how late the event loop was at most in a share of its ticks, by the bucket's upper end."""
        name = "happycity_loop_lag_seconds_bucket"
        counts = {
            float(key.partition('le="')[2].rstrip('"}')): self.total(key)
            for key in self.last.metrics
            if key.startswith(name)
        }
        total = counts[float("inf")]
        return f"<= {min(bound for bound, count in counts.items() if count >= share * total) * 1000:g} ms"


@dataclass
class SoakOutcome:
    """What was measured in a soak."""

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
    def stopped(self) -> int:
        """Games that were voided as their tournament was stopped."""
        return self.ends[STOPPED] // SEATS

    @property
    def voided(self) -> int:
        """Games that were voided for another reason."""
        return sum(count for end, count in self.ends.items() if "VOID_" in end) // SEATS - self.stopped

    @property
    def lost_games(self) -> int:
        """Games that were started, and are not in the store, though nothing voided them."""
        return self.started - self.stored - self.stopped - self.voided

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
            f"{self.voided} games were voided": self.voided,
            f"{self.lost_streams} bots lost their streams": self.lost_streams,
            f"the server refused something {refused:.0f} times": refused,
            f"memory grows by {self.growth() / 1000:.0f} kB/s": 60 * self.growth()
            > GROWTH_SHARE * self.warm[0].rss,
        }
        return [text for text, wrong in problems.items() if wrong]

    def table(self) -> Mapping[str, str]:
        """Return the figures by what they are."""
        samples, growth = self.warm, self.growth()
        span = Span(samples[0], samples[-1])
        outbox = span.last.metrics["happycity_outbox_high_water_bytes"]
        return {
            "bots connected": f"{self.bots:,}",
            "games at once, median": f"{median(sample.metrics[RUNNING] for sample in samples):,.0f}",
            "games started": f"{self.started:,}",
            "games stored": f"{self.stored:,}",
            "games lost": f"{self.lost_games:,}",
            "games with a forfeit": f"{self.charged:,}",
            "games voided, by the stop": f"{self.voided:,}, {self.stopped:,}",
            "streams lost": f"{self.lost_streams:,}",
            "games a second": f"{span.rate(FINISHED):,.1f}",
            "decisions a second": f"{span.rate(DECISIONS):,.0f}",
            "processor of the server": f"{span.rate(CPU):.0%}",
            "memory of the server without bots": f"{self.empty / 1e6:.1f} MB",
            "memory for each idle bot": f"{(self.full - self.empty) / self.bots / 1000:.1f} kB",
            "memory when warm": f"{span.first.rss / 1e6:.1f} MB",
            "memory in the end": f"{span.last.rss / 1e6:.1f} MB",
            "growth when warm": f"{growth / 1000:+.1f} kB/s",
            "growth for each game": f"{growth / span.rate(FINISHED):+,.0f} B",
            **{f"loop lag, {name}": span.lag(share) for name, share in LAGS.items()},
            "overloads": f"{span.last.metrics['happycity_overloads_total']:.0f}",
            "outbox, most for a bot": f"{outbox / 1000:.1f} kB",
        }


LAGS = {"median": 0.5, "95%": 0.95, "worst": 1.0}


class Loaded:
    """A server that is observed, and the crowds that use it."""

    def __init__(self, folder: Path, stack: ExitStack, *options: str, tree: Path = ROOT) -> None:
        self._stack = stack
        self._log = stack.enter_context((folder / "crowds.log").open("w"))
        self.store = store_url(folder)
        listening = ("--metrics", "127.0.0.1:0", "--web", "127.0.0.1:0", "--open")
        self.process, addresses = serve(stack, folder, *listening, *options, tree=tree)
        self.address, self.web = addresses["listening"], addresses["web"]
        self._metrics = addresses["metrics"]
        self.channel = stack.enter_context(grpc.insecure_channel(self.address))
        self.tournaments = TournamentServiceStub(self.channel)

    def sample(self, begun: float = 0.0) -> Sample:
        """Look at the server; the time is that since `begun`."""
        return Sample(time.monotonic() - begun, scrape(self._metrics))

    def crowd(self, *arguments: str) -> Process:
        """Start a crowd, which says when it is there."""
        return start(self._stack, self._log, "tools.benchmarks.crowds", *arguments)

    def create(self, bots: Sequence[str], *, seats: int, concurrency: int, seed: int = 1) -> int:
        """Begin a tournament without an end; return its id."""
        config = pb.TournamentConfig(
            bots=bots,
            game=config_message(Config(players=seats)),
            random_rounds=pb.RandomRounds(rounds=ROUNDS),
            seed=seed,
            concurrency=concurrency,
        )
        created = self.tournaments.CreateTournament(pb.CreateTournamentRequest(config=config))
        return int(created.tournament_id)


def soak(given: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
    """Connect all bots, play, stop, and look into the store.

    Raises:
        SystemExit: something was wrong.
    """
    if given.bots < SEATS:
        raise SystemExit(f"error: --bots {given.bots}: a table takes {SEATS} of them")
    limits = ("--streams-per-peer", str(2 * given.bots), "--open-tournaments", str(TOURNAMENTS))
    server = Loaded(folder, stack, *limits, "--workers", str(given.workers))
    empty = server.sample().rss
    names = [f"soak{number}" for number in range(given.bots)]
    parts = [names[first::PROCESSES] for first in range(PROCESSES)]
    crowds = [server.crowd("bots", server.address, "", *part) for part in parts]
    connected = sum(read_line(crowd)["connected"] for crowd in crowds)
    outcome = SoakOutcome(bots=connected, warm_up=given.warm_up, empty=empty, full=server.sample().rss)
    tournaments = min(TOURNAMENTS, given.bots // SEATS)
    games = max(1, given.games // tournaments)
    ids = [
        server.create(names[number::tournaments], seats=SEATS, concurrency=games, seed=number)
        for number in range(tournaments)
    ]
    for sample in _samples(server, given.warm_up + given.seconds):
        outcome.samples.append(sample)
    for tournament_id in ids:
        server.tournaments.StopTournament(pb.StopTournamentRequest(tournament_id=tournament_id))
    for tournament_id in ids:
        for _ in server.tournaments.WatchTournament(pb.WatchTournamentRequest(tournament_id=tournament_id)):
            pass  # the last message comes when no game runs
    outcome.started = int(server.sample().metrics["happycity_matches_started_total"])
    for crowd in crowds:
        send_line(crowd)
        report = read_line(crowd)
        outcome.ends.update(report["ends"])
        outcome.lost_streams += report["lost"]
    server.process.terminate()
    if status := server.process.wait():
        raise SystemExit(f"error: the server ended with status {status}")
    with Store.existing(server.store) as store:
        games_stored = store.games(outcome.started + 1)
    outcome.stored = len(games_stored)
    outcome.charged = sum(
        any(seat.ending is not Ending.FINISHED for seat in game.seats) for game in games_stored
    )
    for name, value in outcome.table().items():
        print(f"{name:42} {value:>12}")
    if faults := outcome.faults():
        raise SystemExit("\n".join(f"error: {fault}" for fault in faults))


def _samples(server: Loaded, seconds: int) -> Iterator[Sample]:
    """Look at the server once a second."""
    begun = time.monotonic()
    for second in range(1, seconds + 1):
        time.sleep(max(0.0, begun + second - time.monotonic()))
        yield (sample := server.sample(begun))
        games = f"{sample.metrics[RUNNING]:.0f} games run, {sample.metrics[FINISHED]:.0f} are finished"
        print(f"\r{second:3} s: {games}, {sample.rss / 1e6:.1f} MB ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def fairness(given: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
    """Print the decisions that others answer while a bot with one game waits for its next decision."""
    server = Loaded(folder, stack, "--streams-per-peer", str(2 * given.bots))
    asyncio.run(_fairness(given, server))


async def _fairness(given: argparse.Namespace, server: Loaded) -> None:
    names = [f"eager{number}" for number in range(given.bots)]
    others = [LightBot(server.address, name) for name in names]
    patient = PatientBot(server.address, "patient", others, decisions=given.decisions)
    crowd = [*others, patient, LightBot(server.address, "partner")]
    playing = [asyncio.create_task(bot.play()) for bot in crowd]
    for bot in crowd:
        await bot.welcomed.wait()
    await asyncio.to_thread(server.create, ["patient", "partner"], seats=2, concurrency=1)
    await asyncio.to_thread(server.create, names, seats=2, concurrency=given.games)
    await patient.done.wait()
    waits = sorted(patient.waits)
    print(
        f"decisions of {given.bots} others with {given.games} games between an answer and the next decision:"
    )
    print(f"median {median(waits):,.0f}, 95% {waits[int(0.95 * len(waits))]:,}, most {waits[-1]:,}")
    print(
        f"decisions of each: {sum(bot.answered for bot in others) / given.bots:,.0f}, its own {len(waits):,}"
    )
    for task in playing:
        task.cancel()
    await asyncio.gather(*playing, return_exceptions=True)


def gateways(given: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
    """Play turns directly, by gateways, and at another checkout, and print what each was like."""
    ways: dict[str, tuple[Path, int]] = {"directly": (ROOT, 0)}
    ways |= {f"by {number} gateway{'s' * (number > 1)}": (ROOT, number) for number in given.gateways}
    if given.tree is not None:
        ways[f"directly at {given.tree.name}"] = given.tree.resolve(), 0
    last = next(reversed(ways))
    costs: dict[str, list[float]] = {name: [] for name in ways}
    hops: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(given.turns):
        for name, (tree, number) in ways.items():
            own = folder / f"{turn} {name}"
            own.mkdir()
            with ExitStack() as ending:
                server, addresses = _with_bots(given, own, ending, number, tree)
                cost, hop = _carried(server, addresses, given.seconds, f"turn {turn + 1}, {name}")
                costs[name].append(cost)
                hops[name].append(hop)
    for name, each in costs.items():
        ratios = [cost / other for cost, other in zip(each, costs[last], strict=True)]
        low, high = interval(ratios)
        cost = median(each)
        print(f"{name:>24}: {cost:6.1f} us of the server, {1e6 / cost:,.0f} decisions/s a core")
        print(f"{'':>24}  {median(ratios):.2f} ({low:.2f} to {high:.2f}) of {last}")
        if number := ways[name][1]:
            hop = median(hops[name])
            print(f"{'':>24}  {hop:.1f} us of its gateway, {number * 1e6 / hop:,.0f} decisions/s of all")


def _carried(server: Loaded, gateways: Sequence[str], seconds: int, name: str) -> tuple[float, float]:
    """Let a turn pass; return the microseconds of the server and of gateways for a decision.

    `gateways` are the addresses of their metrics.
    """
    before = [scrape(address) for address in gateways]
    first = server.sample()
    cost = _observed(server, seconds, name)
    decisions = max(1.0, Span(first, server.sample(1.0)).total(DECISIONS))
    after = [scrape(address) for address in gateways]
    used = sum(late[CPU] - early[CPU] for early, late in zip(before, after, strict=True))
    for late in after:
        rss, streams = late["process_resident_memory_bytes"] / 1e6, late["happycity_gateway_streams"]
        print(f"{'a gateway':>24}: {streams:8,.0f} streams, {rss:.1f} MB")
    if gateways:
        print(f"{'gateways':>24}: {1e6 * used / decisions:6.1f} us for a decision", flush=True)
    return cost, 1e6 * used / decisions


def _with_bots(
    given: argparse.Namespace, folder: Path, ending: ExitStack, number: int, tree: Path
) -> tuple[Loaded, Sequence[str]]:
    """Return a warm server whose bots, each with one game, come by a number of gateways, or directly.

    The addresses of the gateways' metrics come with it.
    """
    size = 2 * max(1, given.bots // (2 * GROUPS))
    limits = ("--streams-per-peer", str(2 * given.bots), "--open-tournaments", str(GROUPS), "--grace", "0")
    server = Loaded(folder, ending, *limits, tree=tree)
    own = "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"
    command = "happycity", "gateway", "--join", server.address, *own
    log = ending.enter_context((folder / "gateways.log").open("w"))
    started = [start(ending, log, *command) for _ in range(number)]
    said = [read_line(gateway) for gateway in started]
    addresses = [line["listening"] for line in said] or [server.address]
    names = [f"bot{index}" for index in range(given.bots - given.bots % size)]
    processes = max(PROCESSES, number)
    crowds = [
        server.crowd("bots", addresses[first % len(addresses)], "1", *names[first::processes])
        for first in range(processes)
    ]
    for crowd in crowds:
        read_line(crowd)
    for first in range(0, len(names), size):
        server.create(names[first : first + size], seats=2, concurrency=size // 2, seed=first)
    time.sleep(given.seconds / 2)  # to warm up
    return server, [line["metrics"] for line in said]


def viewers(given: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
    """Play turns without viewers and with them, and print what they were like."""
    server = Loaded(folder, stack, "--streams-per-peer", str(2 * given.viewers + 100))
    bots = [f"bot{number}" for number in range(8)]
    read_line(server.crowd("bots", server.address, "", *bots))
    page = f"{server.web}/tournaments/{server.create(bots, seats=4, concurrency=32)}"
    time.sleep(given.seconds)  # to warm up
    costs: dict[int, list[float]] = {0: [], given.viewers: []}
    for turn in range(given.turns):
        costs[0].append(_observed(server, given.seconds, f"turn {turn + 1}, no viewer"))
        crowd = server.crowd("viewers", page, str(given.viewers), str(given.deaf))
        read_line(crowd)
        name = f"turn {turn + 1}, {given.viewers} viewers"
        costs[given.viewers].append(_observed(server, given.seconds, name))
        send_line(crowd)
        print(f"{'each received':>24}: {read_line(crowd)['bytes'] / given.viewers / 1000:.0f} kB")
        crowd.wait()
    ratio = median(costs[given.viewers]) / median(costs[0])
    print(f"processor time for a decision with viewers: {ratio:.3f} of that without")


def _observed(server: Loaded, seconds: int, name: str) -> float:
    """Let a turn pass and print it; return the microseconds of the server's processor for a decision."""
    begun = time.monotonic()
    first = server.sample(begun)
    time.sleep(seconds)
    span = Span(first, server.sample(begun))
    cost = 1e6 * span.total(CPU) / max(1.0, span.total(DECISIONS))
    memory = f"{span.last.rss / 1e6:.1f} MB"
    print(f"{name:>24}: {span.rate(DECISIONS):8,.0f} decisions/s, {cost:6.1f} us each, {memory}", flush=True)
    return cost


def pages(given: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
    """Play a match, time calls without visitors of its page and with them, and print what they took."""
    server = Loaded(folder, stack, "--house", "random,greedy", "--grace", "0", tree=given.tree.resolve())
    matches, stub = MatchServiceStub(server.channel), CatalogueServiceStub(server.channel)
    bots = ("greedy", "random", "greedy", "random", "greedy")
    config = config_message(Config(players=len(bots)))
    match = matches.CreateMatch(match_pb.CreateMatchRequest(config=config, bots=bots, seed=7))
    ended = match_pb.GetMatchRequest(match_id=match.match_id, wait=duration_message(WAIT_SECONDS))
    while not matches.GetMatch(ended).HasField("outcome"):
        pass
    for path in (f"/matches/{match.match_id}.json", f"/matches/{match.match_id}"):
        asyncio.run(
            visit(f"{server.web}{path}")
        )  # the server imports what serves pages for the first visitor
        end = time.monotonic() + QUIET_SECONDS
        quiet = list(_calls(stub, lambda: time.monotonic() < end))  # noqa: B023 - it is used at once
        crowd = server.crowd("visitors", f"{server.web}{path}", str(given.views))
        read_line(crowd)
        started = time.monotonic()
        busy = list(_calls(stub, lambda: crowd.poll() is None))  # noqa: B023 - it is used at once
        seconds = time.monotonic() - started
        print(
            f"{path}: {BURSTS} times {given.views} views in {seconds:.2f} s, "
            f"{read_line(crowd)['statuses']}; a call: "
            f"median {median(quiet):.1f} ms and worst {max(quiet):.0f} ms before, "
            f"median {median(busy):.1f} ms and worst {max(busy):.0f} ms meanwhile "
            f"(x{median(busy) / median(quiet):.1f}, {len(busy)} calls)"
        )


def _calls(stub: CatalogueServiceStub, goes_on: Callable[[], bool]) -> Iterator[float]:
    """Yield how many milliseconds each call takes, with pauses between them."""
    while goes_on():
        time.sleep(PAUSE_SECONDS)
        started = time.perf_counter()
        stub.GetCatalogue(catalogue.GetCatalogueRequest())
        yield (time.perf_counter() - started) * 1e3


def main() -> None:
    """Run one of the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)

    command = commands.add_parser("soak")
    command.set_defaults(run=soak)
    command.add_argument("--bots", type=int, default=1000, help="bots that are connected")
    command.add_argument("--games", type=int, default=200, help="games at once")
    command.add_argument("--workers", type=int, default=0, help="workers that play next to the server")
    command.add_argument("--seconds", type=int, default=60, help="how long is measured")
    command.add_argument("--warm-up", type=int, default=60, help="seconds of play before that")

    command = commands.add_parser("fairness")
    command.set_defaults(run=fairness)
    command.add_argument("--bots", type=int, default=50, help="bots that play flat out")
    command.add_argument("--games", type=int, default=400, help="their games at once")
    command.add_argument("--decisions", type=int, default=300, help="decisions of the bot that is observed")

    command = commands.add_parser("gateways")
    command.set_defaults(run=gateways)
    command.add_argument("--bots", type=int, default=500, help="bots with one game each")
    command.add_argument("--gateways", type=int, nargs="*", default=[1, 2], help="numbers of gateways")
    command.add_argument("--tree", type=Path, help="another checkout, whose server is measured too")
    command.add_argument("--turns", type=int, default=5)
    command.add_argument("--seconds", type=int, default=15)

    command = commands.add_parser("viewers")
    command.set_defaults(run=viewers)
    command.add_argument("--viewers", type=int, default=1000)
    command.add_argument("--deaf", type=int, default=20, help="viewers that don't read")
    command.add_argument("--turns", type=int, default=5)
    command.add_argument("--seconds", type=int, default=15)

    command = commands.add_parser("pages")
    command.set_defaults(run=pages)
    command.add_argument("--tree", type=Path, default=ROOT, help="the server's checkout")
    command.add_argument("--views", type=int, default=200)

    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        given.run(given, Path(folder), stack)
