"""The network in floating point, and how it learns which of two seats ends before the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happycity_evaluation.features import RAW
from happycity_evaluation.network import UNIT, inputs_of
from tools.training.games import MAX_SEATS, Positions

Floats = NDArray[np.float32]
Rows = NDArray[np.floating[Any]]

HIDDEN = (128, 64)
CHUNK = 8192
"""Positions whose inputs are computed at once."""
BATCH = 512
"""Positions of a step; each has up to 10 pairs of seats."""
RATE = 2e-3
"""The step size of Adam at the beginning."""
WARM_UP = 100
"""Steps in which the step size grows to its full value."""
AVERAGED = 0.999
"""What remains of the averaged weights at a step; the rest comes from the newest ones."""
DECAY = 1e-5
TRACE = 0.9
"""What a later position counts in the target of an earlier one, per turn: lambda of TD(lambda)."""
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
        """Read the whole numbers that a network plays by."""
        with np.load(path) as arrays:
            return cls([arrays[name] / UNIT for name in arrays.files])

    def strengths(self, rows: Rows) -> Floats:
        """Return the strengths of raw rows: positions x seats."""
        parts = [_inputs(rows[start : start + CHUNK]) for start in range(0, len(rows), CHUNK)]
        return np.concatenate([self._strengths(part) for part in parts])

    def _strengths(self, inputs: Floats) -> Floats:
        flat = inputs.reshape(-1, inputs.shape[2])
        strengths: Floats = self.forward(flat)[-1].reshape(inputs.shape[:2])
        return strengths

    def loss(self, positions: Positions) -> float:
        """Return the mean cross entropy of pairs."""
        target, weight = targets(positions.points)
        return _loss(self.strengths(positions.rows), target, weight)

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


def write_text(path: Path, text: str) -> None:
    """Write a text to a file, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _shares(strength: Floats) -> Floats:
    """Return how likely each seat ends before each other one."""
    lead = strength[:, :, None] - strength[:, None, :]
    shares: Floats = (1 + lead / np.sqrt(1 + lead * lead)) / 2
    return shares


def _loss(strength: Floats, target: Floats, weight: Floats) -> float:
    share = np.clip(_shares(strength), 1e-6, 1 - 1e-6)
    entropy = -(target * np.log(share) + (1 - target) * np.log(1 - share))
    return float((entropy * weight).sum() / len(strength))


def _inputs(rows: Rows) -> Floats:
    inputs = inputs_of(rows.reshape(-1, rows.shape[2]).astype(np.float64)).astype(np.float32)
    return inputs.reshape(len(rows), rows.shape[1], -1)


def traced(target: Floats, left: NDArray[np.int32], judge: Learner, rows: Rows) -> Floats:
    """Return the targets of TD(lambda): the ends of games mixed with how `judge` sees the positions before.

    A position's target is the judgement of the next one, and to the share `TRACE` that one's own target. The
    last position of a game keeps its target. See Sutton and Barto, Reinforcement Learning, section 12.1.
    """
    shares, mixed = _shares(judge.strengths(rows)), target.copy()
    order = np.argsort(left, kind="stable")
    starts = np.searchsorted(left[order], np.arange(left.max() + 2))
    for start, end in pairwise(starts[1:]):
        earlier = order[start:end]
        mixed[earlier] = (1 - TRACE) * shares[earlier + 1] + TRACE * mixed[earlier + 1]
    return mixed


def fit(
    learner: Learner,
    positions: Positions,
    *,
    epochs: int,
    rate: float,
    rng: np.random.Generator,
    judge: Learner | None = None,
) -> float:
    """Learn from the positions several times, with a falling step size; return the loss of the last time.

    Targets are the ends of the games, or with `judge` those of `traced`. In the end the weights are the
    averages over the last steps.
    """
    target, weight = targets(positions.points)
    if judge is not None:
        target = traced(target, positions.left, judge, positions.rows)
    inputs = np.concatenate(
        [
            _inputs(positions.rows[start : start + CHUNK]).astype(np.float16)
            for start in range(0, len(positions.rows), CHUNK)
        ]
    )
    loss, steps, step = 0.0, epochs * (len(inputs) // BATCH), 0
    averages = [weight.copy() for weight in learner.weights]
    for _ in range(epochs):
        losses = []
        order = rng.permutation(len(inputs))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            now = rate * min(1, (step + 1) / WARM_UP) * (1 - 0.97 * step / steps)
            part = inputs[rows].astype(np.float32).reshape(BATCH * MAX_SEATS, -1)
            losses.append(learner.step(part, target[rows], weight[rows], rate=now))
            step += 1
            kept = min(AVERAGED, step / (step + 9))
            for average, newest in zip(averages, learner.weights, strict=True):
                np.add(average, (1 - kept) * (newest - average), out=average)
        loss = float(np.mean(losses))
    learner.weights = averages
    return loss
