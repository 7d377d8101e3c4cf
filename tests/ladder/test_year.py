"""Simulated worlds of a ladder: its ratings hold, and how results are drawn."""

import numpy as np
import pytest
from tools.benchmarks.ladder_year import Simulation, World


@pytest.mark.thorough
@pytest.mark.parametrize("world", [World(mean=500.0), World(drift=40.0), World(players=2, drift=0.0)])
def test_ranked_intervals_hold(world: World) -> None:
    """At some distance from the anchor, and however fast strengths move; bounds allow for few worlds."""
    measured = [Simulation(world, seed=seed).run() for seed in range(8)]
    held = [each.held(ranked=True) for each in measured if any(each.ranked)]
    assert np.mean(held) > 0.85


@pytest.mark.thorough
def test_a_strong_newcomer_is_soon_known() -> None:
    """At two seats a bot that is 700 Elo above the field isn't rated far too low after 80 deals."""
    world = World(players=2, house=(-300.0, -600.0), newcomer=700.0)
    after = [Simulation(world, seed=seed).run().newcomer for seed in range(12)]
    errors = [points[max(points)][0] for points in after if max(points, default=0) >= 80]
    assert np.mean(errors) > -60
