"""`make bench`: engine and wire in one run, so that their ratios hold on a noisy machine."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from statistics import median

from benchmarks.echo import ANSWER_BYTES, DECISION_BYTES, calls_per_second
from happycity import Config, Game, Mode
from happycity.records.random_games import play_random_game
from happycity.wire.decisions import DecisionEncoder

REPEATS = 3
GAMES = 1500
ROUNDS = 300
LIGHT_BOTS = "random,random2=random,greedy,greedy2=greedy"


def additions() -> float:
    """Return millions of additions a second in a plain loop: how fast this machine and Python are today."""
    started = time.perf_counter()
    total = 0
    for number in range(5_000_000):
        total += number
    return 5 / (time.perf_counter() - started)


def engine(config: Config) -> float:
    """Return decisions a second of random play, dealing included."""
    rng = random.Random(1)
    started = time.perf_counter()
    decisions = sum(play_random_game(Game.deal(config, seed=seed), rng) for seed in range(GAMES))
    return decisions / (time.perf_counter() - started)


def arena() -> float:
    """Return decisions a second of a whole tournament between light bots, as the command prints it."""
    command = [sys.executable, "-m", "happycity_tournament", "run", "--json", "--bots", LIGHT_BOTS]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, "--rounds", str(ROUNDS), "--seed", "1"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    result = json.loads(done.stdout)
    return float(result["decisions"] / result["seconds"])


def decision_bytes() -> float:
    """Return the mean size of a decision on the wire, over ten random games of four."""
    config, rng = Config(players=4), random.Random(1)
    sizes = []
    for seed in range(10):
        game, encoder = Game.deal(config, seed=seed), DecisionEncoder(seed, config)
        pending: list[list[bytes]] = [[] for _ in range(config.players)]  # events not yet sent, by seat
        while game.legal_moves:
            part = encoder.events(game.events)
            for events in pending:
                events.append(part)
            decision = encoder.decision(
                game,
                decision_id=99,
                events=pending[game.seat],
                time_left_us=10_000_000,
                last_think_us=5000,
            )
            sizes.append(len(decision))
            pending[game.seat] = []
            game.apply(rng.choice(game.legal_moves))
    return sum(sizes) / len(sizes)


def main() -> None:
    """Measure everything `REPEATS` times by turns and print the medians."""
    configs = [Config(players=players, mode=mode) for mode in Mode for players in (2, 3, 4, 5)]
    engines: dict[Config, list[float]] = {config: [] for config in configs}
    yardsticks, echoes, arenas = [], [], []
    for repeat in range(REPEATS):
        print(f"run {repeat + 1} of {REPEATS} (Ctrl-C stops it)", file=sys.stderr)
        yardsticks.append(additions())
        for config in configs:
            engines[config].append(engine(config))
        echoes.append(calls_per_second())
        arenas.append(arena())
    print(f"this machine, plain Python loop:     {median(yardsticks):>9.1f} million additions/s")
    for config in configs:
        what = f"{config.mode.value}, {config.players} players:"
        print(f"engine, random play, {what:<19}{median(engines[config]):>6,.0f} decisions/s")
    echo, whole = median(echoes), median(arenas)
    print(
        f"unary grpc.aio echo, 64 in flight:   {echo:>9,.0f} calls/s ({ANSWER_BYTES} B, {DECISION_BYTES} B)"
    )
    print(f"tournament, 4 light bots, 4 seats:   {whole:>9,.0f} decisions/s ({decision_bytes():.0f} B each)")
    print(f"tournament / echo:                   {whole / echo:>9.1f}")


if __name__ == "__main__":
    main()
