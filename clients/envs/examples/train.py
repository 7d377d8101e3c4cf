"""Train a small network to play like the planner, compare it with greedy, and keep it in a file.

    python train.py policy.npz           # one or two minutes on one core
    python train.py policy.npz --play    # plays with it in the arena

The network has one hidden layer and is written in plain numpy. It learns by imitation: games are played in
step by `SelfPlay`, the planner says what it would do in each position, and the network learns to say the
same. Half-way the network plays itself, so that it learns about the positions that its own mistakes bring.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happycity import Config, Deal, Game, Mode, Move
from happycity.selfplay import ACTION_COUNT, ACTIONS, Observations, SelfPlay, action_of, mask_of
from happycity_bots import GreedyBot, PlannerBot
from happycity_client import Bot, Decision, GameStarted, run
from happycity_envs.arena import policy_bot

Floats = NDArray[np.float32]
Masks = NDArray[np.int8]

HIDDEN = 128
BATCH = 256
RATE = 1e-3
"""The step size of Adam at the beginning; it falls to a fifth."""


class Lessons(NamedTuple):
    """Positions, and what the teacher does there."""

    observations: Floats
    masks: Masks
    actions: NDArray[np.int64]

    def rows(self, chosen: NDArray[np.int64]) -> Lessons:
        """Return some of the positions."""
        return Lessons(self.observations[chosen], self.masks[chosen], self.actions[chosen])

    def and_also(self, more: Lessons) -> Lessons:
        """Return these positions and others."""
        return Lessons(
            np.concatenate([self.observations, more.observations]),
            np.concatenate([self.masks, more.masks]),
            np.concatenate([self.actions, more.actions]),
        )


class Network:
    """Probabilities of actions from observations: a hidden layer of rectifiers, then a softmax."""

    def __init__(self, weights: Iterable[Floats]) -> None:
        self.weights = list(weights)
        self._means = [np.zeros_like(weight) for weight in self.weights]
        self._squares = [np.zeros_like(weight) for weight in self.weights]
        self._steps = 0

    @classmethod
    def fresh(cls, inputs: int, rng: np.random.Generator) -> Network:
        """Return an untrained network."""
        first = rng.normal(0, (2 / inputs) ** 0.5, (inputs, HIDDEN)).astype(np.float32)
        second = rng.normal(0, 0.01, (HIDDEN, ACTION_COUNT)).astype(np.float32)
        return cls([first, np.zeros(HIDDEN, np.float32), second, np.zeros(ACTION_COUNT, np.float32)])

    @classmethod
    def load(cls, path: Path) -> Network:
        """Read what `save` wrote."""
        with np.load(path) as arrays:
            return cls(arrays[name] for name in arrays.files)

    def save(self, path: Path) -> None:
        """Write the weights to a file."""
        np.savez(path, *self.weights)

    def __call__(self, observation: Floats, mask: Masks) -> Floats:
        """Return the probability of each action; rows of observations give rows of probabilities."""
        return self._forward(observation, mask)[1]

    def _forward(self, observations: Floats, masks: Masks) -> tuple[Floats, Floats]:
        first, first_bias, second, second_bias = self.weights
        hidden = np.maximum(observations @ first + first_bias, 0)
        logits = np.where(masks == 1, hidden @ second + second_bias, -1e9)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        return hidden, weights / weights.sum(-1, keepdims=True)

    def learn(self, lessons: Lessons, *, rate: float) -> float:
        """Make the teacher's actions more probable; return the share that was the most probable already."""
        hidden, error = self._forward(lessons.observations, lessons.masks)
        actions = lessons.actions
        right = float((error.argmax(1) == actions).mean())
        error[np.arange(len(actions)), actions] -= 1
        error /= len(actions)
        back = (error @ self.weights[2].T) * (hidden > 0)
        self._adam([lessons.observations.T @ back, back.sum(0), hidden.T @ error, error.sum(0)], rate=rate)
        return right

    def _adam(self, gradients: list[Floats], *, rate: float) -> None:
        self._steps += 1
        for number, gradient in enumerate(gradients):
            self._means[number] += 0.1 * (gradient - self._means[number])
            self._squares[number] += 0.001 * (gradient**2 - self._squares[number])
            mean = self._means[number] / (1 - 0.9**self._steps)
            scale = np.sqrt(self._squares[number] / (1 - 0.999**self._steps)) + 1e-8
            self.weights[number] -= rate * mean / scale


def collect(config: Config, *, games: int, steps: int, seed: int, pupil: Network | None = None) -> Lessons:
    """Play games in step and note what the planner would do; the pupil plays two moves of three, if any."""
    observations, masks, actions = [], [], []
    rng = np.random.default_rng(seed)
    play = SelfPlay(config, games=games, seed=seed)
    teachers = [seated(PlannerBot, config, seat) for seat in range(config.players)]
    for _ in range(steps):
        wanted = np.array([action_of(chosen(teachers[game.seat], game)) for game in play.games])
        observations.append(play.arrays.observations.copy())
        masks.append(play.arrays.masks.copy())
        actions.append(wanted)
        played = wanted
        if pupil is not None:
            own = pupil(play.arrays.observations, play.arrays.masks).argmax(1)
            played = np.where(rng.random(games) < 2 / 3, own, wanted)
        play.step(played)
    return Lessons(np.concatenate(observations), np.concatenate(masks), np.concatenate(actions))


def fit(network: Network, lessons: Lessons, *, epochs: int, rng: np.random.Generator) -> None:
    """Go through the lessons several times, in another order each time."""
    for epoch in range(epochs):
        order = rng.permutation(len(lessons.actions))
        rate = RATE * (1 - 0.8 * epoch / epochs)
        right = [
            network.learn(lessons.rows(rows), rate=rate)
            for rows in np.split(order, range(BATCH, len(order), BATCH))
        ]
        note(f"  epoch {epoch + 1} of {epochs}: plays as the planner in {np.mean(right):.1%} of decisions")


def train(config: Config, *, games: int = 256, steps: int = 300, seed: int = 0) -> Network:
    """Return a network that has learnt from some 2 x `games` x `steps` decisions."""
    rng = np.random.default_rng(seed)
    network = Network.fresh(Observations(config.players).size, rng)
    note("watching the planner play")
    first = collect(config, games=games, steps=steps, seed=0)
    fit(network, first, epochs=5, rng=rng)
    note("playing, with the planner's advice")
    second = collect(config, games=games, steps=steps, seed=1_000_000, pupil=network)
    fit(network, first.and_also(second), epochs=5, rng=rng)
    return network


# Comparison -----------------------------------------------------------------------------------------------


def seated(bot: type[Bot], config: Config, seat: int) -> Bot:
    """Return a bot for a local game."""
    return bot(GameStarted(match_id=0, config=config, seat=seat, bots=("",) * config.players, seed=seat))


def chosen(bot: Bot, game: Game) -> Move:
    """Return what a bot chooses in a local game."""
    move = bot.choose(Decision.of(game))
    assert isinstance(move, Move)
    return move


def gain(network: Network, rival: type[Bot], config: Config, *, deals: int, seed: int) -> tuple[float, float]:
    """Return by how many places the network ends before a rival on average, and the standard error.

    Each deal is played twice: seats take turns between the two, so both get the same cards and seats.
    """
    gains = []
    for number in range(deals):
        deal = Deal.shuffle(config, seed=seed + number)
        total = 0.0
        for own in (0, 1):
            ranks = _play(network, rival, deal, own=own)
            signs = [-1 if seat % 2 == own else 1 for seat in range(config.players)]
            total += sum(sign * rank for sign, rank in zip(signs, ranks, strict=True))
        gains.append(total / config.players)
    return float(np.mean(gains)), float(np.std(gains, ddof=1) / deals**0.5)


def _play(network: Network, rival: type[Bot], deal: Deal, *, own: int) -> tuple[int, ...]:
    game = Game(deal)
    observations = Observations(deal.config.players)
    rivals = [seated(rival, deal.config, seat) for seat in range(deal.config.players)]
    while game.outcome is None:
        if game.seat % 2 == own:
            numbers = network(observations.of(game, game.seat), mask_of(game.legal_moves))
            move = ACTIONS[int(numbers.argmax())]
        else:
            move = chosen(rivals[game.seat], game)
        game.apply(move)
    return game.outcome.ranks


def note(line: str) -> None:
    """Report progress."""
    sys.stderr.write(f"{line}\n")


def main() -> None:
    """Train, compare and save; or play."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="the file of the weights")
    parser.add_argument("--play", action="store_true", help="play with them in the arena; train nothing")
    parser.add_argument("--seats", dest="players", type=int, default=4)
    parser.add_argument("--mode", type=Mode, default=Mode.FAMILY, help="family or expert")
    parser.add_argument("--steps", type=int, default=300, help="decisions of each game in each half")
    options = parser.parse_args()
    if options.play:
        run(policy_bot(Network.load(options.file)), name="trained")
        return
    config = Config(players=options.players, mode=options.mode)
    network = train(config, steps=options.steps)
    network.save(options.file)
    mean, error = gain(network, GreedyBot, config, deals=200, seed=10**9)
    note(f"{options.file}: ends {mean:+.2f} ±{1.96 * error:.2f} places before greedy, over 200 deals")


if __name__ == "__main__":
    main()
