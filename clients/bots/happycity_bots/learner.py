"""The learner: a network like the champion's that has seen few games, and none of the champion."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from happycity_bots.champion import ChampionBot
from happycity_bots.halving import TrialBudget
from happycity_client import GameStarted

if TYPE_CHECKING:
    from happycity_evaluation.network import Network

WEIGHTS = "learner.npz"
"""The weights, in this package, made by `tools train FOLDER --generations 1 --files 10`.

They are never trained again, as the opponents of benchmarks stay as they are.
"""


@cache
def learners_network() -> Network:
    """Return the network whose weights come with the package."""
    # Imported here, as numpy takes long to import and most reference bots do without it.
    from happycity_evaluation.network import Network  # noqa: PLC0415

    return Network.load(files("happycity_bots") / WEIGHTS)


class LearnerBot(ChampionBot):
    """Play at once by a network that has learnt from 2,000 games of planner, rollout and greedy."""

    budget = TrialBudget()
    ahead = False

    def __init__(self, start: GameStarted, *, budget: TrialBudget | None = None) -> None:
        super().__init__(start, budget=budget)
        self._play_by(learners_network())
