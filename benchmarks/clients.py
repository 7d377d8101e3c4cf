"""`make bench-clients`: what a decision costs in each language, on one server in one run.

Two processes of a language's greedy bot play each other at tables of two, many games at once. All languages
have their turn before the first has its next one, so a machine that grows slow does so for all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
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

from tools.languages import CLIENTS, LANGUAGES, command, missing

REPEATS = 3
ROUNDS = 400
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


class BotFailedError(Exception):
    """A bot didn't play its games to their ends."""


def clients(rounds: int) -> list[Client]:
    """Return all clients, Python first."""
    greedy = {language: command(language, "greedy") for language in LANGUAGES} | OPTIMISED
    return [
        Client("python", f"{_PYTHON} -m happycity bot {{name}}=greedy", rounds),
        *(Client(language, bot, rounds) for language, bot in greedy.items()),
        Client("C, by the bridge", f"{_BRIDGE} {_CLIENTS}/examples/c/bot", rounds // 4),
        Client("bash, by the bridge", f"{_BRIDGE} bash {_CLIENTS}/examples/bash/greedy-ish.sh", rounds // 4),
    ]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a server and give its address."""
    store = f"sqlite:///{folder / 'games.sqlite'}"
    serve = [sys.executable, "-m", "happycity", "serve", "--listen", "127.0.0.1:0", "--store", store]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=log, text=True)
    with server:
        try:
            assert server.stdout is not None
            yield str(json.loads(server.stdout.readline())["listening"])
        finally:
            server.terminate()


def measure(client: Client, server: str, folder: Path) -> Figures:
    """Play a short tournament and a long one: what both cost is the bots' start."""
    short = play(client, server, folder, rounds=1)
    whole = play(client, server, folder, rounds=client.rounds)
    cpu = (whole.cpu - short.cpu) / (whole.decisions - short.decisions)
    return Figures(rate=whole.decisions / whole.seconds, cpu=PER * cpu, start=short.cpu / 2)


def play(client: Client, server: str, folder: Path, *, rounds: int) -> Played:
    """Play a tournament between two bots of a client.

    Raises:
        BotFailedError: not all games were finished.
    """
    names = ("one", "two")
    run = [sys.executable, "-m", "happycity_tournament", "run", "--server", server, "--bots", ""]
    joining = [argument for name in names for argument in ("--join", name)]
    with ExitStack() as stack:
        bots = [stack.enter_context(playing(client.command, name, server, folder)) for name in names]
        done = subprocess.run(
            [*run, *joining, "--rounds", str(rounds), "--seed", "1", "--json"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        if done.returncode != 0:
            raise BotFailedError(f"{client.name}: {last_line(done.stderr)}")
        before = cpu_of_children()
        for bot in bots:
            bot.terminate()
        for bot in bots:
            bot.wait(DEADLINE)
    result = json.loads(done.stdout)
    if forfeits := sum(line["forfeits"] for line in result["standings"]):
        raise BotFailedError(
            f"{client.name}: {forfeits} seats were forfeited; {last_line((folder / 'one.log').read_text())}"
        )
    return Played(result["decisions"], result["seconds"], cpu_of_children() - before)


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


def cpu_of_children() -> float:
    """Return the CPU seconds of all ended processes that this one has started, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_line(text: str) -> str:
    """Return the last line of what a program said."""
    return (text.splitlines() or ["it said nothing"])[-1]


def middle(turns: Sequence[Figures], yardstick: Sequence[Figures]) -> dict[str, float]:
    """Return the medians of a client's figures, and of their ratios to Python's of the same turns."""
    pairs = list(zip(turns, yardstick, strict=True))
    return {
        "decisions_per_second": median(mine.rate for mine in turns),
        "decisions_per_second_to_python": median(mine.rate / python.rate for mine, python in pairs),
        "cpu_seconds_per_100k_decisions": median(mine.cpu for mine in turns),
        "cpu_to_python": median(mine.cpu / python.cpu for mine, python in pairs),
        "start_cpu_seconds": median(mine.start for mine in turns),
    }


def table(figures: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    yield "| client | decisions/s | to Python | CPU s / 100,000 decisions | to Python | CPU s to start |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, row in figures.items():
        yield (
            f"| {name} | {row['decisions_per_second']:,.0f} | {row['decisions_per_second_to_python']:.2f} "
            f"| {row['cpu_seconds_per_100k_decisions']:.2f} | {row['cpu_to_python']:.2f} "
            f"| {row['start_cpu_seconds']:.2f} |"
        )


def main() -> None:
    """Measure every client that is built, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clients", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of the fast clients, 40 or more")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="turns of each client")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    given = parser.parse_args()
    if given.rounds < 40 or given.repeats < 1:
        parser.error("--rounds must be 40 or more, --repeats 1 or more")
    all_clients = clients(given.rounds)
    lacking = {client.name: lack for client in all_clients if (lack := missing(client.command))}
    present = [client for client in all_clients if client.name not in lacking]
    turns: dict[str, list[Figures]] = {client.name: [] for client in present}
    with tempfile.TemporaryDirectory() as temporary, serving(folder := Path(temporary)) as server:
        for repeat in range(given.repeats):
            for client in present:
                print(f"turn {repeat + 1} of {given.repeats}: {client.name}", file=sys.stderr)
                try:
                    turns[client.name].append(measure(client, server, folder))
                except BotFailedError as error:
                    raise SystemExit(f"error: {error}") from None
    medians = {name: middle(figures, turns["python"]) for name, figures in turns.items()}
    if given.json:
        print(json.dumps({"clients": medians, "missing": lacking}, indent=2))
        return
    for line in table(medians):
        print(line)
    for name, lack in lacking.items():
        print(f"not measured: {name}, there is no {lack} (see make clients)")


if __name__ == "__main__":
    main()
