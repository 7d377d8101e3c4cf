"""Games for learners: positions as arrays, moves as numbers, and many games played in step.

It needs numpy (`pip install 'happycity[selfplay]'`), which the rest of `happycity` does without.
"""

from happycity.selfplay.actions import (
    ACTION_COUNT,
    ACTION_NUMBERING,
    ACTIONS,
    action_of,
    mask_of,
    write_masks,
)
from happycity.selfplay.batch import Arrays
from happycity.selfplay.observations import OBSERVATION_LAYOUT, Observations, Plane
from happycity.selfplay.rewards import Reward, rewards_of
from happycity.selfplay.selfplay import SelfPlay

__all__ = [
    "ACTIONS",
    "ACTION_COUNT",
    "ACTION_NUMBERING",
    "OBSERVATION_LAYOUT",
    "Arrays",
    "Observations",
    "Plane",
    "Reward",
    "SelfPlay",
    "action_of",
    "mask_of",
    "rewards_of",
    "write_masks",
]
