"""The champion's network: the strength of a seat's position, in whole numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from happycity.compiled import required
from happycity_evaluation.features import COLOURS, DWELLINGS, GOAL, GOALS, SHIFT

if TYPE_CHECKING:
    from happycity_engine import Network as NativeNetwork

Floats = NDArray[np.floating[Any]]

UNIT: Final = 1 << 12
"""Inputs, weights and outputs of layers are whole numbers of 1/4096."""

_GOAL_SCALES: Final = np.array([[10], [4], *[[2]] * (GOAL - 2)] * 2)


def inputs_of(raw: Floats) -> Floats:
    """Return what the network is shown of raw rows (see `happycity_evaluation.features.RAW`).

    These are the raw numbers, scaled, and an estimate of the points at the end like that of
    `happycity_evaluation.outlook.Outlook`. Weights are good for these inputs only: a change takes a new
    training.
    """
    columns = raw.T
    (players, expert, by_sum, number, order, moved, purse, income, inhabitants, hearts, free, special,
     turns, fastest, slowest, gain1, gain2, gain3, near1, near2) = columns[:COLOURS]  # fmt: skip
    colours, shift = columns[COLOURS:SHIFT], columns[SHIFT]
    dwellings, goals = columns[DWELLINGS:GOALS], columns[GOALS:] / _GOAL_SCALES
    left = np.maximum(np.minimum(turns, free * 0.73), 0)
    money = np.maximum(purse + income * np.maximum(left - 1, 0), 0)
    symbols = np.where(left > 0, money * (left * 3.2) / np.maximum(money + 3.5 * left, 1e-9), 0)
    weighted = inhabitants * 0.96
    total = np.maximum(weighted + hearts + symbols, 0)
    uneven = np.maximum(np.minimum(weighted, hearts) + symbols, 0) * np.maximum(weighted, hearts) / 0.96
    product = np.where(np.abs(weighted - hearts) <= symbols, total * total / 3.84, uneven)
    points = np.maximum(np.where(by_sum > 0, total, product) + shift, 0)
    promised = np.maximum(points + 0.4 * gain1, 0)
    inputs = [
        (players - 2) / 3, expert, by_sum, number / 10, order / 4, moved,
        purse / 15, income / 8, inhabitants / 8, hearts / 8, (inhabitants - hearts) / 8,
        np.minimum(inhabitants, hearts) / 8, free / 5, special,
        turns / 5, (turns - free) / 5, fastest / 5, slowest / 5, (fastest - free) / 5,
        gain1 / 10, gain2 / 10, gain3 / 10, near1 / 2, near2 / 2,
        *[colour / 3 for colour in colours],
        money / 40, symbols / 10, points / 50, np.sqrt(points) / 5, np.sqrt(promised) / 5,
        income * left / 40, shift / 20,
        *dwellings, *goals,
    ]  # fmt: skip
    return np.stack(inputs, axis=1)


class Network:
    """Two hidden layers of rectifiers in whole numbers.

    The whole numbers are held in floating point, whose sums of them are exact in any order: fast matrix
    products give the same result on every machine.
    """

    def __init__(self, weights: Sequence[NDArray[np.integer[Any]]]) -> None:
        self._weights = weights
        first, first_bias, second, second_bias, last, last_bias = [w.astype(np.float64) for w in weights]
        self._layers = ((first, first_bias * UNIT), (second, second_bias * UNIT))
        self._last, self._last_bias = last[:, 0], float(last_bias[0] * UNIT)
        self.digest = hashlib.sha256(b"".join([w.astype("<i4").tobytes() for w in weights])).hexdigest()
        """What identifies the weights: their SHA-256 as hexadecimal digits."""

    @classmethod
    def load(cls, path: Traversable) -> Network:
        """Read the weights of a file."""
        with path.open("rb") as file, np.load(file) as arrays:
            return cls([arrays[name] for name in arrays.files])

    @cached_property
    def native(self) -> NativeNetwork:
        """The same network in the native engine; ImportError where that isn't installed."""
        native: NativeNetwork = required("Network")([array.ravel().tolist() for array in self._weights])
        return native  # required returns Any

    def strengths(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """Return the strength of each raw row; only differences between them mean anything."""
        values = np.rint(inputs_of(np.array(rows, dtype=np.float64)) * UNIT)
        for weights, bias in self._layers:
            values = np.floor(np.maximum(values @ weights + bias, 0) / UNIT)
        strengths: list[float] = ((values @ self._last + self._last_bias) / (UNIT * UNIT)).tolist()
        return strengths


def quantise(weights: Sequence[Floats]) -> list[NDArray[np.int32]]:
    """Return weights in floating point as the whole numbers that `Network` takes."""
    return [np.rint(weight.astype(np.float64) * UNIT).astype(np.int32) for weight in weights]
