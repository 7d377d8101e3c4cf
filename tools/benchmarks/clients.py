"""Measure what a decision costs in each language, on one server in one run.

Two processes of a language's greedy bot play each other at tables of two, many games at once. All languages
have their turn before the first has its next one, so a machine that grows slow does so for all.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tools.benchmarks.harness import cpu_of_children, last_line, parser, play_tournament, serve
from tools.languages import CLIENTS, LANGUAGES, command, missing

PER = 100_000
"""The number of decisions for which CPU time is shown."""
DEADLINE = 600.0

_PYTHON = shlex.quote(sys.executable)
_CLIENTS = shlex.quote(str(CLIENTS))
_BRIDGE = f"{_PYTHON} -m happycity bridge --shared --games 0 --"

OPTIMISED = {"rust": f"{_CLIENTS}/rust/target/release/examples/greedy"}
"""Bots of which `make clients` makes a build for tests, without optimisation."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client, and how many rounds it plays: a slow one plays fewer."""

    name: str
    command: str
    """How its bot is started; {name} in it is the bot's."""
    rounds: int


class Played(NamedTuple):
    """A tournament between two bots of a client."""

    decisions: int
    seconds: float
    """How long it took from the moment when both were there."""
    cpu: float
    """CPU seconds of both bots and of what they started, from their start to their end."""


class Figures(NamedTuple):
    """What is measured of a client."""

    rate: float
    """Decisions a second: of the whole arena, bots, server and store together."""
    cpu: float
    """CPU seconds of the bots for `PER` decisions."""
    start: float
    """CPU seconds of one bot for its start, its end and some 50 decisions."""


def clients(rounds: int) -> list[Client]:
    """Return all clients, Python first."""
    greedy = {language: command(language, "greedy") for language in LANGUAGES} | OPTIMISED
    return [
        Client("python", f"{_PYTHON} -m happycity bot {{name}}=greedy", rounds),
        *(Client(language, bot, rounds) for language, bot in greedy.items()),
        Client("C, by the bridge", f"{_BRIDGE} {_CLIENTS}/examples/c/bot", rounds // 4),
        Client("bash, by the bridge", f"{_BRIDGE} bash {_CLIENTS}/examples/bash/greedy-ish.sh", rounds // 4),
    ]


def measure(client: Client, server: str, folder: Path) -> Figures:
    """Play a short tournament and a long one: what both cost is the bots' start."""
    short = play(client, server, folder, rounds=1)
    whole = play(client, server, folder, rounds=client.rounds)
    cpu = (whole.cpu - short.cpu) / (whole.decisions - short.decisions)
    return Figures(rate=whole.decisions / whole.seconds, cpu=PER * cpu, start=short.cpu / 2)


def play(client: Client, server: str, folder: Path, *, rounds: int) -> Played:
    """Play a tournament between two bots of a client.

    Raises:
        SystemExit: not all games were finished.
    """
    names = ("one", "two")
    joining = [argument for name in names for argument in ("--join", name)]
    with ExitStack() as stack:
        bots = [stack.enter_context(playing(client.command, name, server, folder)) for name in names]
        at = ("--server", f"grpc://{server}", "--no-clock", "--rounds", rounds)
        played = play_tournament(*at, "--bots", "", *joining)
        before = cpu_of_children()
        for bot in bots:
            bot.terminate()
        for bot in bots:
            bot.wait(DEADLINE)
    if forfeits := sum(line["forfeits"] for line in played.result["standings"]):
        said = last_line((folder / "one.log").read_text())
        raise SystemExit(f"error: {client.name}: {forfeits} seats were forfeited; {said}")
    return Played(played.decisions, played.result["seconds"], cpu_of_children() - before)


@contextmanager
def playing(command: str, name: str, server: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a bot; it is killed in the end if it still runs."""
    mine = {"HAPPYCITY_SERVER": server, "HAPPYCITY_NAME": name, "HAPPYCITY_GAMES": "0"}
    with (folder / f"{name}.log").open("w") as log:
        bot = subprocess.Popen(
            shlex.split(command.format(name=name)), env=os.environ | mine, stdout=log, stderr=log
        )
    try:
        yield bot
    finally:
        bot.kill()
        bot.wait()


def row(name: str, turns: Sequence[Figures], yardstick: Sequence[Figures]) -> str:
    """Return a client's line in Markdown: medians of its figures, and of their ratios to Python's."""
    pairs = list(zip(turns, yardstick, strict=True))
    return (
        f"| {name} | {median(mine.rate for mine in turns):,.0f} "
        f"| {median(mine.rate / python.rate for mine, python in pairs):.2f} "
        f"| {median(mine.cpu for mine in turns):.2f} "
        f"| {median(mine.cpu / python.cpu for mine, python in pairs):.2f} "
        f"| {median(mine.start for mine in turns):.2f} |"
    )


def main() -> None:
    """Measure every client that is built, and print the table."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=400, help="rounds of the fast clients, 40 or more")
    options.add_argument("--repeats", type=int, default=3, help="turns of each client")
    given = options.parse_args()
    if given.rounds < 40 or given.repeats < 1:
        options.error("--rounds must be 40 or more, --repeats 1 or more")
    all_clients = clients(given.rounds)
    lacking = {client.name: lack for client in all_clients if (lack := missing(client.command))}
    present = [client for client in all_clients if client.name not in lacking]
    turns: dict[str, list[Figures]] = {client.name: [] for client in present}
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        _, addresses = serve(stack, folder)
        for repeat in range(given.repeats):
            for client in present:
                print(f"turn {repeat + 1} of {given.repeats}: {client.name}", file=sys.stderr)
                turns[client.name].append(measure(client, addresses["listening"], folder))
    print("| client | decisions/s | to Python | CPU s / 100,000 decisions | to Python | CPU s to start |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, figures in turns.items():
        print(row(name, figures, turns["python"]))
    for name, lack in lacking.items():
        print(f"not measured: {name}, there is no {lack} (see make clients)")
