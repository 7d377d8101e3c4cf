"""Measure the native engine beside the Python rules, in one run: games, worlds, playouts, rows, calls.

Figures are CPU microseconds. With `--compiled` (`python -m tools --compiled engine-speed`), the rules are the
compiled ones.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from typing import Any

from happycity import Config, Game, Mode
from happycity.compiled import is_compiled
from happycity.records.random_games import play_random_game
from happycity.wire.messages import view_message
from happycity_bots import BOTS, sampled
from happycity_client import Decision, GameStarted
from happycity_envs.selfplay import Observations
from happycity_evaluation.features import position_rows
from happycity_evaluation.quick import play_out
from tools.benchmarks.harness import parser
from tools.engine import load_engine

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
            for name in ("rollout", "search", "champion")
        },
    }


def _choose(name: str, game: Game, engine: Any) -> None:
    """Let a new bot choose, with the engine or without it."""
    vars(sampled)["Worlds"] = engine and engine.Worlds
    names = ("",) * game.config.players
    start = GameStarted(match_id=0, config=game.config, seat=game.seat, bots=names, seed=1)
    BOTS[name](start).choose(Decision.of(game))


def main() -> None:
    """Print a table of Markdown."""
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=0.5, help="CPU seconds for each figure")
    options.add_argument("--repeat", type=int, default=3, help="how often each is measured; the least counts")
    arguments = options.parse_args()
    engine = load_engine()
    rules = "compiled" if is_compiled() else "pure"
    print(f"| microseconds of | Python, {rules} | native, called from Python | ratio |\n|---|---:|---:|---:|")
    for mode in Mode:
        measured = actions(engine, Config(mode=mode))
        best = {(name, which): float("inf") for name in measured for which in (0, 1)}
        # By turns, so that a machine that slows down slows both.
        for name, which in islice(cycle(best), len(best) * arguments.repeat):
            best[name, which] = min(best[name, which], microseconds(measured[name][which], arguments.seconds))
        for name in measured:
            python, native = best[name, 0], best[name, 1]
            print(f"| {name}, {mode.value} | {python:.2f} | {native:.2f} | {python / native:.0f} |")


if __name__ == "__main__":
    main()
