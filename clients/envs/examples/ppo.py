"""Learn Happy City from nothing by playing, most simply against itself: PPO with masked actions, in JAX.

    python ppo.py FOLDER                     # 10 minutes on one core, `happycity` compiled
    python ppo.py FOLDER --against planner   # learns to beat this bot, in all other seats
    python ppo.py FOLDER/policy.npz --play   # plays with the weights in the arena

All seats of many games in lockstep (`SelfPlay`) are played by the newest network, and all their decisions are
learnt from; with `--against` those of one seat (Schulman et al., "Proximal policy optimization algorithms",
2017). `--from` begins with weights, such as those of imitate.py, instead of nothing. The same seed gives the
same weights on the same machine. To play takes numpy alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from happycity import Config, Mode
from happycity_client import run
from happycity_envs.arena import policy_bot
from happycity_envs.selfplay import ACTION_COUNT, Observations, Reward, SelfPlay

Floats = NDArray[np.float32]
Weights = list[Any]
"""Matrix and bias of each layer, one after the other; the last layer gives the logits and the value."""

HIDDEN = (256, 128)
GAMES = 256
STEPS = 64
"""Decisions of each game before the network learns from them."""
EPOCHS = 2
BATCH = 2048
RATE = 7e-4
"""The step size of Adam at the beginning; it falls to 0 over the run."""
TRACE = 0.95
"""Lambda of the generalised advantage estimate; nothing is discounted, as a game ends after 30 rounds."""
CLIP = 0.2
ENTROPY = 0.01
VALUE = 0.5


class Batch(NamedTuple):
    """Decisions to learn from: a row each."""

    observations: Floats
    masks: NDArray[np.int8]
    actions: NDArray[np.int32]
    likelihoods: Floats
    """Logarithm of the probability with which the action was chosen."""
    advantages: Floats
    returns: Floats
    known: NDArray[np.bool_]
    """Whether what came of the decision is known."""


def fresh(inputs: int, rng: np.random.Generator) -> Weights:
    """Return the weights of an untrained network."""
    weights: Weights = []
    for before, after in pairwise((inputs, *HIDDEN, ACTION_COUNT + 1)):
        scale = (2 / before) ** 0.5 if after != ACTION_COUNT + 1 else 0.01
        weights += [rng.normal(0, scale, (before, after)).astype(np.float32), np.zeros(after, np.float32)]
    return weights


def forward(weights: Sequence[Any], observations: Any, masks: Any, np: Any = np) -> tuple[Any, Any]:
    """Return the logits of all actions, tiny for illegal ones, and the value; by numpy or jax.numpy."""
    *hidden, last, last_bias = weights
    out = observations
    for matrix, bias in zip(hidden[::2], hidden[1::2], strict=True):
        out = np.maximum(out @ matrix + bias, 0)
    out = out @ last + last_bias
    return np.where(masks == 1, out[..., :-1], -1e9), out[..., -1]


class Against:
    """Games in lockstep in which others play all seats but one: the arrays of `SelfPlay` for that seat."""

    def __init__(self, config: Config, opponent: str, *, seed: int) -> None:
        from happycity_envs.vector import HappyCityVectorEnv  # noqa: PLC0415 - it takes Gymnasium

        opponents = (opponent,) * (config.players - 1)
        self._tables = HappyCityVectorEnv(
            GAMES, opponents=opponents, mode=config.mode.value, reward="points", shaped=True
        )
        self._tables.reset(seed=seed)
        own = self._tables.play.arrays
        self.arrays = SimpleNamespace(
            observations=own.observations, masks=own.masks, seats=np.zeros(GAMES, np.int8)
        )

    def step(self, actions: NDArray[np.int32]) -> None:
        """Play an action at each table, and let the others play up to the next own decision."""
        _, rewards, self.arrays.ended, _, _ = self._tables.step(actions.astype(np.int64))
        self.arrays.rewards = rewards[:, None].astype(np.float32)


def learner(
    config: Config, *, decisions: int, seed: int, opponent: str | None = None, begin: Weights | None = None
) -> Iterator[tuple[int, Weights, dict[str, float]]]:
    """Yield how many decisions were played, the weights after them, and numbers of the last step."""
    import jax  # noqa: PLC0415 - to play does without
    import jax.numpy as jnp  # noqa: PLC0415

    def act(weights: Weights, observations: Any, masks: Any, key: Any) -> tuple[Any, Any, Any]:
        logits, values = forward(weights, observations, masks, jnp)
        actions = jax.random.categorical(key, logits)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0]
        return actions, chosen, values

    def loss(weights: Weights, batch: Batch) -> tuple[Any, dict[str, Any]]:
        logits, values = forward(weights, batch.observations, batch.masks, jnp)
        logs = jax.nn.log_softmax(logits)
        share = batch.known / batch.known.sum()
        ratio = jnp.exp(jnp.take_along_axis(logs, batch.actions[:, None], 1)[:, 0] - batch.likelihoods)
        gain = jnp.minimum(ratio * batch.advantages, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * batch.advantages)
        entropy = -(jnp.exp(logs) * jnp.where(batch.masks == 1, logs, 0)).sum(1)
        errors = (values - batch.returns) ** 2
        numbers = {"entropy": (entropy * share).sum(), "value_error": (errors * share).sum()}
        total = -(gain * share).sum() + VALUE * numbers["value_error"] - ENTROPY * numbers["entropy"]
        return total, numbers

    def learn(weights: Weights, moments: Any, batch: Batch, rate: float) -> tuple[Weights, Any, Any]:
        gradients, numbers = jax.grad(loss, has_aux=True)(weights, batch)
        norm = jnp.sqrt(sum((each**2).sum() for each in gradients))
        means, squares, step = moments
        step += 1
        gradients = [each * jnp.minimum(1, 0.5 / norm) for each in gradients]
        means = [0.9 * old + 0.1 * new for old, new in zip(means, gradients, strict=True)]
        squares = [0.999 * old + 0.001 * new**2 for old, new in zip(squares, gradients, strict=True)]
        weights = [
            weight - rate * mean / (1 - 0.9**step) / (jnp.sqrt(square / (1 - 0.999**step)) + 1e-5)
            for weight, mean, square in zip(weights, means, squares, strict=True)
        ]
        return weights, (means, squares, step), numbers

    act, learn = jax.jit(act), jax.jit(learn)
    rng, key = np.random.default_rng(seed), jax.random.key(seed)
    weights = begin or fresh(Observations(config.players).size, rng)
    zeros = [np.zeros_like(each) for each in weights]
    moments: Any = (zeros, zeros, 0.0)
    play: SelfPlay | Against = (
        Against(config, opponent, seed=seed)
        if opponent
        else SelfPlay(config, games=GAMES, seed=seed, reward=Reward.POINTS, shaped=True)
    )
    played = 0
    yield played, weights, {}
    while played < decisions:
        rate = RATE * (1 - played / decisions)
        key, own = jax.random.split(key)
        batch, mean = collect(play, partial(act, weights), jax.random.split(own, STEPS))
        played += GAMES * STEPS
        numbers: dict[str, Any] = {}
        for _ in range(EPOCHS):
            for rows in np.split(rng.permutation(GAMES * STEPS), GAMES * STEPS // BATCH):
                some = Batch._make(array[rows] for array in batch)
                weights, moments, numbers = learn(weights, moments, some, rate)
        yield played, weights, {"points": mean, **{name: float(number) for name, number in numbers.items()}}


def collect(play: SelfPlay | Against, act: Any, keys: Any) -> tuple[Batch, float]:
    """Play on, and return the decisions, with the mean reward of the ended games."""
    steps, arrays = [], play.arrays
    for key in keys:
        before = arrays.observations.copy(), arrays.masks.copy(), arrays.seats.copy()
        actions, likelihoods, values = map(np.asarray, act(*before[:2], key))
        play.step(actions)
        steps.append((*before, actions, likelihoods, values, arrays.rewards.copy(), arrays.ended.copy()))
    observations, masks, seats, actions, likelihoods, values, rewards, ended = map(
        np.array, zip(*steps, strict=True)
    )
    advantages, known = estimate(seats, values, rewards, ended)
    returns = advantages + values
    advantages = (advantages - advantages[known].mean()) / advantages[known].std()
    columns = observations, masks, actions, likelihoods, advantages, returns, known
    batch = Batch._make(column.reshape(-1, *column.shape[2:]) for column in columns)
    return batch, float(returns[known].mean())


def estimate(
    seats: NDArray[np.int8], values: Floats, rewards: Floats, ended: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the advantage of each decision (steps x games), and whether it is known.

    A seat's next decision may be some steps later; what comes of its last one is not known yet, unless the
    game ended.
    """
    _, games, players = rewards.shape
    advantages, known = np.zeros_like(values), np.zeros_like(ended)
    # Of each seat's decision that comes next: its value and advantage, and what is paid up to there.
    value, advantage, paid = np.zeros((3, games, players), np.float32)
    seen = np.zeros((games, players), np.bool_)
    every = np.arange(games)
    for step in reversed(range(len(values))):
        over = ended[step]
        value[over] = advantage[over] = paid[over] = 0
        seen[over] = True
        paid += rewards[step]
        own = every, seats[step]
        known[step] = seen[own]
        errors = paid[own] + value[own] - values[step]
        advantages[step] = np.where(known[step], errors + TRACE * advantage[own], 0)
        value[own], advantage[own], paid[own], seen[own] = values[step], advantages[step], 0, True
    return advantages, known


def load(path: Path) -> Weights:
    """Read the weights of a file."""
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


def policy_of(weights: Weights) -> Callable[[Floats, NDArray[np.int8]], Floats]:
    """Return the policy of a network: its logits, of which the highest legal one counts."""

    def ppo(observations: Floats, masks: NDArray[np.int8]) -> Floats:
        if observations.shape[-1] != len(weights[0]):
            raise ValueError("the weights were learnt from games of another number of seats")
        return np.asarray(forward(weights, observations, masks)[0])

    return ppo


def train(folder: Path, config: Config, *, decisions: int, snapshots: int, **options: Any) -> None:
    """Learn, and keep weights in `folder`: `policy.npz` at the end, and others along the way.

    `options` are those of `learner`. A line of `training.jsonl` has the decisions played and the CPU seconds
    up to each file of weights.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = 0
    with (folder / "training.jsonl").open("w", encoding="utf-8") as log:
        for played, weights, numbers in learner(config, decisions=decisions, **options):
            if played * snapshots < kept * decisions:
                continue
            kept += 1
            last = played >= decisions
            path = folder / ("policy.npz" if last else f"policy-{played // 1000:06}k.npz")
            np.savez(path, *weights)
            line = {"file": path.name, "decisions": played, "cpu_seconds": round(time.process_time(), 1)}
            line |= {name: round(number, 4) for name, number in numbers.items()}
            log.write(f"{json.dumps(line)}\n")
            log.flush()
            sys.stderr.write(f"{json.dumps(line)}\n")


def main() -> None:
    """Learn, or play."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path, help="the folder for the weights; with --play a file of weights")
    parser.add_argument("--play", action="store_true", help="play with them in the arena; learn nothing")
    parser.add_argument("--decisions", type=int, default=5_000_000, help="how many to learn from")
    parser.add_argument("--snapshots", type=int, default=20, help="how often weights are kept")
    parser.add_argument(
        "--against", metavar="BOT", help="the reference bot in all other seats, such as planner"
    )
    parser.add_argument("--from", metavar="FILE", type=Path, help="the weights to begin with; none: nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seats", dest="players", type=int, default=4, choices=range(2, 6))
    parser.add_argument("--mode", type=Mode, default=Mode.FAMILY, help="family or expert")
    options = parser.parse_args()
    if options.play:
        try:
            weights = load(options.path)
        except (OSError, ValueError, BadZipFile) as error:
            parser.exit(
                2, f"error: no weights could be read; learn some by `python ppo.py FOLDER`: {error}\n"
            )
        run(policy_bot(policy_of(weights)))
        return
    if find_spec("jax") is None:
        parser.exit(2, "error: JAX is not installed; install it by `make envs` or `pip install jax`\n")
    # The matrices are small: threads would cost more than they save.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    config, begin = Config(players=options.players, mode=options.mode), getattr(options, "from")
    train(
        options.path,
        config,
        decisions=options.decisions,
        snapshots=options.snapshots,
        seed=options.seed,
        opponent=options.against,
        begin=begin and load(begin),
    )


if __name__ == "__main__":
    main()
