"""The network in floating point, and how it learns which of two seats ends before the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happycity_bots.features import RAW
from happycity_bots.network import inputs_of
from training.games import MAX_SEATS, Positions

Floats = NDArray[np.float32]

HIDDEN = (64, 32)
BATCH = 512
"""Positions of a step; each has up to 10 pairs of seats."""
RATE = 2e-3
"""The step size of Adam at the beginning."""
DECAY = 1e-5
SOFT = 0.3
"""Share of the target that comes from how far apart two seats end, not only from which one is ahead."""


def targets(points: Floats) -> tuple[Floats, Floats]:
    """Return for each pair of seats how much of a win it was for the first, and the weight of the pair."""
    own, other = points[:, :, None], points[:, None, :]
    lead = own - other
    hard = (np.sign(lead) + 1) / 2
    soft = (1 + lead / (np.abs(lead) + 0.12 * (own + other) + 1)) / 2
    seats = (points >= 0).sum(1)
    weight = (own >= 0) & (other >= 0) & ~np.eye(MAX_SEATS, dtype=bool)
    target = (1 - SOFT) * hard + SOFT * soft
    return target.astype(np.float32), (weight / (seats * (seats - 1))[:, None, None]).astype(np.float32)


class Learner:
    """A network with two hidden layers of rectifiers whose output is the strength of a seat's position.

    A seat ends before another with the probability (1 + g) / 2, where g = d / sqrt(1 + d * d) and d is the
    lead in strength. The algebraic sigmoid is computed alike on every machine.
    """

    def __init__(self, weights: Sequence[Floats]) -> None:
        self.weights = [weight.astype(np.float32) for weight in weights]
        self._means = [np.zeros_like(weight) for weight in self.weights]
        self._squares = [np.zeros_like(weight) for weight in self.weights]
        self._steps = 0

    @classmethod
    def fresh(cls, rng: np.random.Generator) -> Learner:
        """Return an untrained network."""
        inputs = inputs_of(np.ones((1, len(RAW)))).shape[1]
        weights: list[Floats] = []
        sizes = (inputs, *HIDDEN, 1)
        for before, after in pairwise(sizes):
            weights.append(rng.normal(0, (2 / before) ** 0.5, (before, after)).astype(np.float32))
            weights.append(np.zeros(after, np.float32))
        weights[-2] *= 0.1
        return cls(weights)

    def forward(self, inputs: Floats) -> list[Floats]:
        """Return the outputs of all layers for rows of inputs."""
        first, b1, second, b2, last, b3 = self.weights
        one = np.maximum(inputs @ first + b1, 0)
        two = np.maximum(one @ second + b2, 0)
        return [one, two, two @ last + b3]

    @classmethod
    def load(cls, path: Path) -> Learner:
        """Read what `save` wrote."""
        with np.load(path) as arrays:
            learner = cls([])
            parts = [arrays[name] for name in arrays.files]
        count = len(parts) // 3
        learner.weights = parts[:count]
        learner._means, learner._squares = parts[count : 2 * count], parts[2 * count : 3 * count]
        learner._steps = int(parts[-1])
        return learner

    def save(self, path: Path) -> None:
        """Write the weights, and what Adam remembers of the gradients, to a file."""
        write_arrays(path, [*self.weights, *self._means, *self._squares, np.array(self._steps)])

    def strengths(self, rows: Floats) -> Floats:
        """Return the strength of each raw row."""
        strengths: Floats = self.forward(inputs_of(rows.astype(np.float64)).astype(np.float32))[-1][:, 0]
        return strengths

    def loss(self, positions: Positions) -> float:
        """Return the mean cross entropy of pairs."""
        target, weight = targets(positions.points)
        strength = self.forward(_inputs(positions.rows).reshape(-1, self.weights[0].shape[0]))[-1]
        return _loss(strength.reshape(-1, MAX_SEATS), target, weight)

    def step(self, inputs: Floats, target: Floats, weight: Floats, *, rate: float) -> float:
        """Learn from some positions (5 rows each); return the loss before."""
        one, two, out = self.forward(inputs)
        strength = out.reshape(-1, MAX_SEATS)
        lead = strength[:, :, None] - strength[:, None, :]
        root = np.sqrt(1 + lead * lead)
        slope = 2 * ((1 + lead / root) / 2 - target) / root * weight / len(strength)
        error = (slope.sum(2) - slope.sum(1)).reshape(-1, 1).astype(np.float32)
        loss = _loss(strength, target, weight)
        _, _, second, _, last, _ = self.weights
        back_two = (error @ last.T) * (two > 0)
        back_one = (back_two @ second.T) * (one > 0)
        self._adam(
            [
                inputs.T @ back_one, back_one.sum(0),
                one.T @ back_two, back_two.sum(0),
                two.T @ error, error.sum(0),
            ],
            rate=rate,
        )  # fmt: skip
        return float(loss)

    def _adam(self, gradients: Sequence[Floats], *, rate: float) -> None:
        self._steps += 1
        for number, gradient in enumerate(gradients):
            self._means[number] += 0.1 * (gradient - self._means[number])
            self._squares[number] += 0.001 * (gradient**2 - self._squares[number])
            mean = self._means[number] / (1 - 0.9**self._steps)
            scale = np.sqrt(self._squares[number] / (1 - 0.999**self._steps)) + 1e-8
            self.weights[number] -= rate * (mean / scale + DECAY * self.weights[number])


def write_arrays(path: Path, arrays: Sequence[NDArray[Any]]) -> None:
    """Write arrays to a file, whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, *arrays)
    part.replace(path)


def _loss(strength: Floats, target: Floats, weight: Floats) -> float:
    lead = strength[:, :, None] - strength[:, None, :]
    share = np.clip((1 + lead / np.sqrt(1 + lead * lead)) / 2, 1e-6, 1 - 1e-6)
    entropy = -(target * np.log(share) + (1 - target) * np.log(1 - share))
    return float((entropy * weight).sum() / len(strength))


def _inputs(rows: Floats) -> Floats:
    inputs = inputs_of(rows.reshape(-1, rows.shape[2]).astype(np.float64)).astype(np.float32)
    return inputs.reshape(len(rows), MAX_SEATS, -1)


def fit(
    learner: Learner, positions: Positions, *, epochs: int, rate: float, rng: np.random.Generator
) -> float:
    """Learn from the positions several times, with a falling step size; return the loss of the last time."""
    inputs = _inputs(positions.rows)
    target, weight = targets(positions.points)
    loss, steps = 0.0, epochs * (len(inputs) // BATCH)
    step = 0
    for _ in range(epochs):
        losses = []
        order = rng.permutation(len(inputs))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            now = rate * (1 - 0.95 * step / steps)
            part = inputs[rows].reshape(BATCH * MAX_SEATS, -1)
            losses.append(learner.step(part, target[rows], weight[rows], rate=now))
            step += 1
        loss = float(np.mean(losses))
    return loss
