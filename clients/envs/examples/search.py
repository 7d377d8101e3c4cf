"""OpenSpiel's Monte Carlo tree search, guided by a network that `ppo.py` has trained.

    python -m happycity_envs search:guided      # in this folder, with the weights in policy.npz

The policy says which actions are tried first, and the values of all seats replace playouts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from open_spiel.python.algorithms import mcts
from ppo import forward, load  # type: ignore[import-not-found]  # beside this file

from happycity.rules.scoring import score
from happycity_envs.openspiel import HappyCityGame, HappyCityState
from happycity_envs.selfplay import Observations, mask_of

SIMULATIONS = int(os.environ.get("SIMULATIONS", "100"))
WEIGHTS = Path(os.environ.get("WEIGHTS", "policy.npz"))
SPREAD = 5
"""A lead of this many points over the mean of the others counts as half of a win."""


class NetworkEvaluator(mcts.Evaluator):  # type: ignore[misc]  # OpenSpiel has no types
    """Values states by a network that was trained for points, shaped by those of the moment."""

    def __init__(self, game: HappyCityGame, weights: list[Any]) -> None:
        self._weights = weights
        self._observations = Observations(game.config.players)

    def evaluate(self, state: HappyCityState) -> Any:
        """Return for each seat by how much it will end before the others, from -1 to 1."""
        position = state.position
        assert position is not None
        points = np.array(score(position.cities).points, float)
        for seat in range(len(points)):
            row = self._observations.of(position, seat)
            points[seat] += 100 * forward(self._weights, row, np.ones(1))[1]
        lead = (points - points.mean()) / SPREAD
        return lead / (1 + abs(lead))

    def prior(self, state: HappyCityState) -> list[tuple[int, float]]:
        """Return the network's probability of each action, or those of a chance node."""
        if state.is_chance_node():
            outcomes: list[tuple[int, float]] = state.chance_outcomes()
            return outcomes
        position = state.position
        assert position is not None
        row = self._observations.of(position, position.seat)
        logits, _ = forward(self._weights, row, mask_of(position.legal_moves))
        actions = state.legal_actions()
        shares = np.exp(logits[actions] - logits[actions].max())
        return list(zip(actions, shares / shares.sum(), strict=True))


def guided(game: HappyCityGame, seat: int, seed: int) -> Any:
    """Return the search for a seat."""
    return mcts.MCTSBot(
        game,
        uct_c=2.0,
        max_simulations=SIMULATIONS,
        evaluator=NetworkEvaluator(game, load(WEIGHTS)),
        solve=False,
        random_state=np.random.RandomState(seed % 2**32),
        child_selection_fn=mcts.SearchNode.puct_value,
    )
