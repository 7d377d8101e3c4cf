"""Measure self-play with the native engine, in Python and in an older checkout, by turns in one run.

    python -m tools selfplay-speed --before CHECKOUT --pgx PYTHON

A step is one decision of one seat by a random legal action, with the observation and the mask of the seat
that decides next. The environment's seat has three policies as opponents, and decisions of all seats are
steps; or three random bots, each of which is counted as as many decisions as its own. Figures are steps for
each CPU second. A checkout is measured by its own `.venv`, and pgx, whose games run in step too, by an
interpreter that has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from itertools import product
from pathlib import Path
from statistics import median

from tools import ROOT
from tools.benchmarks.harness import parser
from tools.engine import lacking, load_engine

BATCHES = (64, 1024)
COMPILED = ROOT / "build" / "compiled"
"""What `python hatch_build.py compile --tree build/compiled` makes."""

_SELF_PLAY = """
import sys, time
import numpy as np
from happycity import Config
try:
    from happycity_envs.selfplay import ACTION_COUNT, SelfPlay
except ImportError:
    from happycity.selfplay import ACTION_COUNT, SelfPlay
games, seconds = int(sys.argv[1]), float(sys.argv[2])
play, rng = SelfPlay(Config(players=4), games=games, seed=1), np.random.default_rng(1)
noise = rng.random((games + 64, ACTION_COUNT), dtype=np.float32)
legal, steps, started = np.empty((games, ACTION_COUNT), np.float32), 0, time.process_time()
while (used := time.process_time() - started) < seconds:
    shift = steps // games % 64
    play.step(np.multiply(noise[shift : shift + games], play.arrays.masks, out=legal).argmax(1))
    steps += games
print(steps / used)
"""
_ENVIRONMENT = """
import sys, time
import numpy as np
from happycity_envs.vector import HappyCityVectorEnv
games, seconds = int(sys.argv[1]), float(sys.argv[2])
rng, asked = np.random.default_rng(1), 0
noise = rng.random((2048, 141), dtype=np.float32)
def policy(observations, masks):
    global asked
    asked += len(masks)
    return (noise[: len(masks)] * masks).argmax(1)
envs = HappyCityVectorEnv(games, opponents=(policy, policy, policy))
observations, infos = envs.reset(seed=1)
asked, started = 0, time.process_time()
while (used := time.process_time() - started) < seconds:
    observations, _, _, _, infos = envs.step(policy(observations, infos["action_mask"]).astype(np.int64))
print(asked / used)
"""
_RANDOM_OPPONENTS = """
import sys, time
import numpy as np
from happycity_envs.vector import HappyCityVectorEnv
games, seconds = int(sys.argv[1]), float(sys.argv[2])
rng, own = np.random.default_rng(1), 0
noise = rng.random((games + 64, 141), dtype=np.float32)
envs = HappyCityVectorEnv(games, opponents=("random",) * 3)
_, infos = envs.reset(seed=1)
started = time.process_time()
while (used := time.process_time() - started) < seconds:
    shift = own // games % 64
    actions = (noise[shift : shift + games] * infos["action_mask"]).argmax(1)
    infos = envs.step(actions.astype(np.int64))[-1]
    own += games
print(4 * own / used)
"""
_PGX = """
import sys, time
import jax, jax.numpy as jnp, pgx
from pgx.experimental import auto_reset
games, seconds = int(sys.argv[1]), float(sys.argv[2])
env = pgx.make("backgammon")
def turn(state, key):
    noise = jax.random.uniform(key, state.legal_action_mask.shape)
    keys = jax.random.split(key, games)
    after = jax.vmap(auto_reset(env.step, env.init))(state, (noise * state.legal_action_mask).argmax(1), keys)
    return after, after.observation.sum()
run = jax.jit(lambda state, key: jax.lax.scan(turn, state, jax.random.split(key, 64)))
state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), games))
state, _ = jax.block_until_ready(run(state, jax.random.PRNGKey(1)))
steps, started = 0, time.process_time()
while (used := time.process_time() - started) < seconds:
    state, _ = jax.block_until_ready(run(state, jax.random.PRNGKey(steps)))
    steps += 64 * games
print(steps / used)
"""


def main() -> None:
    """Print a table of Markdown."""
    options = parser(__doc__)
    add_options(options)
    arguments = options.parse_args()
    if lacking():
        sys.exit(f"error: {lacking()}")
    measure(arguments)


def add_options(options: ArgumentParser) -> None:
    """Add what is measured beside this checkout, and for how long."""
    options.add_argument(
        "--before", type=Path, help="an older checkout with its .venv (`make setup envs` there)"
    )
    options.add_argument("--pgx", type=Path, help="an interpreter that has pgx and jax[cpu]")
    options.add_argument("--seconds", type=float, default=1.0, help="CPU seconds of each measurement")
    options.add_argument(
        "--repeat", type=int, default=3, help="how often each is measured; the median counts"
    )


def measure(arguments: Namespace) -> None:
    """Print a table of Markdown."""
    folder = Path(load_engine().__file__ or "").parent
    python = Path(sys.executable)
    pure = f"{ROOT / 'build/nothing'}"
    # By name: the interpreter, and what it imports first. A folder hides an engine that is installed.
    subjects = {"native": (python, str(folder)), "pure": (python, pure)}
    if COMPILED.exists():
        subjects["compiled"] = (python, f"{COMPILED}{os.pathsep}{pure}")
    if arguments.before:
        subjects["before"] = (arguments.before / ".venv/bin/python", pure)
    _hide_engine(Path(pure))
    programs = {
        "SelfPlay": _SELF_PLAY,
        "vector environment, policies": _ENVIRONMENT,
        "vector environment, random bots": _RANDOM_OPPONENTS,
    }
    cases = [(name, program, games) for (name, program), games in product(programs.items(), BATCHES)]
    ratios = [f"native / {name}" for name in list(subjects)[1:]]
    print(f"| steps a CPU second | {' | '.join([*subjects, *ratios])} |")
    print(f"|---|{'---:|' * (2 * len(subjects) - 1)}")
    for name, program, games in cases:
        rates: dict[str, list[float]] = {subject: [] for subject in subjects}
        for _ in range(arguments.repeat):
            for subject, (interpreter, path) in subjects.items():
                rates[subject].append(_measure(interpreter, path, program, games, arguments.seconds))
        middle = {subject: median(each) for subject, each in rates.items()}
        ratios = [f"{middle['native'] / middle[other]:.1f}" for other in list(subjects)[1:]]
        figures = [f"{each:,.0f}" for each in middle.values()]
        print(f"| {name}, {games:,} games | {' | '.join(figures + ratios)} |", flush=True)
    if arguments.pgx:
        for games in BATCHES:
            rate = median(
                _measure(arguments.pgx, "", _PGX, games, arguments.seconds) for _ in range(arguments.repeat)
            )
            print(f"pgx, backgammon, {games:,} games: {rate:,.0f} steps a CPU second", flush=True)


def _hide_engine(folder: Path) -> None:
    """Make a folder from which importing the engine fails, also where it is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "happycity_engine.py").write_text('raise ImportError("hidden")\n', encoding="utf-8")


def _measure(python: Path, path: str, program: str, games: int, seconds: float) -> float:
    command = [str(python), "-c", program, str(games), str(seconds)]
    variables = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        command, env=variables, check=True, capture_output=True, text=True, cwd=python.parent
    )
    return float(done.stdout)


if __name__ == "__main__":
    main()
