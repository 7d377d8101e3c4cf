"""Measure the native engine beside the Python rules, pure and compiled, in one run: calls, then self-play.

    python -m tools --compiled engine-speed --before CHECKOUT --pgx PYTHON

The first table has CPU microseconds of games, worlds, playouts, rows and bots' choices, the least of some
measurements, each of a tenth of `--seconds`; the second one is that of `selfplay-speed`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from typing import Any

from happycity import Config, Game, Mode
from happycity.records.random_games import play_random_game
from happycity.wire.messages import view_message
from happycity_bots import BOTS, sampled
from happycity_client import Decision, GameStarted
from happycity_envs.selfplay import Observations
from happycity_evaluation.features import position_rows
from happycity_evaluation.quick import play_out
from tools import ROOT
from tools.benchmarks.harness import parser
from tools.engine import lacking, load_engine
from tools.engine.selfplay_speed import COMPILED, add_options, measure

ROUND = 6
"""The round from which playouts begin."""


def microseconds(action: Callable[[], object], seconds: float) -> float:
    """Return the CPU microseconds of an action that is repeated for some seconds."""
    calls, started = 0, time.process_time()
    while (used := time.process_time() - started) < seconds:
        for _ in range(16):
            action()
        calls += 16
    return 1_000_000 * used / calls


def middle_game(config: Config) -> Game:
    """Return a game at the first decision of `ROUND` that is a purchase."""
    rng = random.Random(1)
    for seed in range(1000):
        game = Game.deal(config, seed=seed)
        while game.outcome is None and (game.round < ROUND or str(game.phase) != "buy"):
            game.apply(rng.choice(game.legal_moves))
        if game.outcome is None:
            return game
    raise AssertionError("no game lasts that long")


def actions(engine: Any, config: Config) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return what is measured, by its name: by the rules, and by the engine."""
    game = middle_game(config)
    view = game.view()
    worlds = engine.Worlds(view_message(view).SerializeToString())
    position, move, rng = worlds.sample(seed=1), game.legal_moves[0], random.Random(2)
    endless, seeds = Game.worlds(view, rng), cycle(range(1000))
    observations = Observations(config.players)
    return {
        "a random game, dealing included": (
            lambda: play_random_game(Game.deal(config, seed=next(seeds)), rng),
            lambda: engine.Position.deal(config, seed=next(seeds)).random_playout(seed=next(seeds)),
        ),
        "sample a world": (lambda: next(endless), lambda: worlds.sample(seed=next(seeds))),
        f"a quick playout from round {ROUND}": (
            lambda: play_out(game.copy(), move, ()),
            lambda: position.playout(move.index),
        ),
        "copy and play a move": (
            lambda: game.copy().apply(move),
            lambda: position.copy().apply(move.index),
        ),
        "list the legal moves": (lambda: game.legal_moves, lambda: position.legal_moves),
        "a row of an observation": (
            lambda: observations.of(game, game.seat),
            lambda: position.observation(position.seat),
        ),
        "the rows of features of all seats": (lambda: position_rows(game.view()), position.features),
        **{
            f"a purchase of a new {name}": (
                partial(_choose, name, game, None),
                partial(_choose, name, game, engine),
            )
            for name in ("planner", "rollout", "search", "champion")
        },
    }


def _choose(name: str, game: Game, engine: Any) -> None:
    """Let a new bot choose, with the engine or without it."""
    vars(sampled)["Worlds"] = engine and engine.Worlds
    names = ("",) * game.config.players
    start = GameStarted(match_id=0, config=game.config, seat=game.seat, bots=names, seed=1)
    BOTS[name](start).choose(Decision.of(game))


def measured(seconds: float, repeat: int) -> Iterator[tuple[str, float, float]]:
    """Yield microseconds by the rules as this process has them, and by the engine."""
    engine = load_engine()
    for mode in Mode:
        cases = actions(engine, Config(mode=mode))
        best = {(name, which): float("inf") for name in cases for which in (0, 1)}
        # By turns, so that a machine that slows down slows both.
        for name, which in islice(cycle(best), len(best) * repeat):
            best[name, which] = min(best[name, which], microseconds(cases[name][which], seconds))
        for name in cases:
            yield f"{name}, {mode.value}", best[name, 0], best[name, 1]


def main() -> None:
    """Print tables of Markdown."""
    options = parser(__doc__)
    add_options(options)
    options.add_argument("--rules", action="store_true", help="print only what this process measures")
    arguments = options.parse_args()
    if lacking():
        sys.exit(f"error: {lacking()}")
    if arguments.rules:
        print(json.dumps(list(measured(arguments.seconds / 10, arguments.repeat))))
        return
    command = [sys.executable, "-m", "tools", "engine-speed", "--rules"]
    command += ["--seconds", str(arguments.seconds), "--repeat", str(arguments.repeat)]
    figures = []
    for path in (ROOT / "build/nothing", COMPILED):  # pure, then compiled
        environment = {**os.environ, "PYTHONPATH": str(path)}
        done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
        figures.append(json.loads(done.stdout))
    print("| microseconds of | pure | compiled | native | pure / native | compiled / native |")
    print("|---|---:|---:|---:|---:|---:|")
    for (name, pure, one), (_, compiled, other) in zip(*figures, strict=True):
        native = min(one, other)
        cells = [f"{pure:.2f}", f"{compiled:.2f}", f"{native:.2f}"]
        print(f"| {name} | {' | '.join(cells)} | {pure / native:.1f} | {compiled / native:.1f} |", flush=True)
    print()
    measure(arguments)


if __name__ == "__main__":
    main()
