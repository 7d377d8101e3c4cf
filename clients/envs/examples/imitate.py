"""Learn to play as a bot of a data set does, by a network of one hidden layer in plain numpy.

    happycity dataset RUN --bots champion --out champion.parquet
    python imitate.py champion.parquet policy.npz   # prints the accuracy on games held out
    python ppo.py policy.npz --play                 # plays in the arena

The last tenth of the games is held out. `happycity benchmark` tells the Elo of what was learnt.
"""

import argparse
from typing import Any

import numpy as np
import pyarrow.parquet as pq

HIDDEN, EPOCHS, BATCH, RATE = 128, 10, 256, 1e-3


def rows(table: Any, name: str) -> Any:
    """Return a column of lists as an array."""
    column = table[name].combine_chunks()
    return column.flatten().to_numpy().reshape(len(column), -1)


def forward(weights: Any, observations: Any, masks: Any) -> Any:
    """Return the hidden layer, and the probability of each action."""
    hidden = np.maximum(observations @ weights[0] + weights[1], 0)
    logits = np.where(masks == 1, hidden @ weights[2] + weights[3], -1e9)
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return hidden, odds / odds.sum(-1, keepdims=True)


def train(data: Any, rng: np.random.Generator) -> list[Any]:
    """Return the weights after some rounds of Adam over the rows of a file."""
    table = pq.read_table(data)
    x, masks, y = rows(table, "observation"), rows(table, "mask"), table["action"].to_numpy().astype(int)
    games = table["game"].to_numpy()
    held = games >= np.quantile(games, 0.9)
    shapes = ((x.shape[1], HIDDEN), (HIDDEN,), (HIDDEN, masks.shape[1]), (masks.shape[1],))
    weights = [rng.normal(0, 0.03, shape).astype(np.float32) * (len(shape) > 1) for shape in shapes]
    means: list[Any] = [0.0] * 4
    squares, step = means.copy(), 0
    for epoch in range(EPOCHS):
        for batch in np.split(
            order := rng.permutation(np.flatnonzero(~held)), range(BATCH, len(order), BATCH)
        ):
            hidden, error = forward(weights, x[batch], masks[batch])
            error[np.arange(len(batch)), y[batch]] -= 1
            error /= len(batch)
            back = (error @ weights[2].T) * (hidden > 0)
            step += 1
            for n, slope in enumerate((x[batch].T @ back, back.sum(0), hidden.T @ error, error.sum(0))):
                means[n] = 0.9 * means[n] + 0.1 * slope
                squares[n] = 0.999 * squares[n] + 0.001 * slope**2
                scale = np.sqrt(squares[n] / (1 - 0.999**step)) + 1e-8
                weights[n] -= (RATE * means[n] / (1 - 0.9**step) / scale).astype(np.float32)
        right = (forward(weights, x[held], masks[held])[1].argmax(1) == y[held]).mean()
        print(f"epoch {epoch + 1}: plays as the bot in {right:.1%} of decisions held out")
    return weights


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("data", type=argparse.FileType("rb"), help="a file that `happycity dataset` wrote")
parser.add_argument("weights", help="the file to write: policy.npz")
arguments = parser.parse_args()
*hidden, last, bias = train(arguments.data, np.random.default_rng(0))
# Layers as those of ppo.py, whose last output is a value, which is not learnt here.
np.savez(arguments.weights, *hidden, np.pad(last, ((0, 0), (0, 1))), np.pad(bias, (0, 1)))
