"""Games for learners: positions as arrays, moves as numbers, and many games played in step.

It needs numpy (`pip install 'happycity[selfplay]'`), which the rest of `happycity` does without.
"""

from happycity.selfplay.observations import OBSERVATION_LAYOUT, Observations, Plane
from happycity.selfplay.selfplay import (
    ACTION_COUNT,
    ACTION_NUMBERING,
    ACTIONS,
    Arrays,
    Reward,
    SelfPlay,
    action_of,
    mask_of,
    move_of,
    rewards_of,
    write_masks,
)

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
    "move_of",
    "rewards_of",
    "write_masks",
]
