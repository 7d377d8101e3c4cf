"""What a finished game is worth to each seat."""

from __future__ import annotations

from enum import Enum

from happycity.rules.scoring import Outcome


class Reward(Enum):
    """What a learner plays for."""

    RANK = "rank"
    """The place: 1 for the first, -1 for the last, evenly in between; tied seats share. The sum is 0."""
    POINTS = "points"
    """The points, divided by 100."""


def rewards_of(outcome: Outcome, reward: Reward = Reward.RANK) -> tuple[float, ...]:
    """Return each seat's reward for a finished game."""
    if reward is Reward.POINTS:
        return tuple([points / 100 for points in outcome.points])
    ranks = outcome.ranks
    # Seats that share a place share the mean of the places that they fill.
    places = [rank + (ranks.count(rank) - 1) / 2 for rank in ranks]
    return tuple([1 - 2 * (place - 1) / (len(ranks) - 1) for place in places])
