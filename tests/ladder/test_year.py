"""Simulated worlds of a ladder: its ratings hold, and how results are drawn."""

import numpy as np
import pytest
from tools.benchmarks.ladder_year import Simulation, World, draw_deals

SHORT = World(guests=5, weeks=0.3)


def test_each_game_is_drawn_by_the_model() -> None:
    """However much luck a deal's games share, one game has the odds of the strengths."""
    places = draw_deals(np.tile([1.0, 0.0], (20_000, 1)), 0.6, np.random.default_rng(1))
    wins = (places[:, :, 0] < places[:, :, 1]).mean()
    assert wins == pytest.approx(np.e / (np.e + 1), abs=0.01)


def test_games_of_a_deal_share_its_luck() -> None:
    """In a rotated deal equal bots win by turns more often than by chance; without luck they don't."""
    even = []
    for luck in (0.5, 1.0):
        places = draw_deals(np.zeros((20_000, 2)), luck, np.random.default_rng(1))
        even.append(float(((places[:, :, 0] == 1).sum(axis=1) == 1).mean()))
    assert even[0] > even[1] + 0.1
    assert even[1] == pytest.approx(0.5, abs=0.01)


def test_a_world_is_the_same_again() -> None:
    one, other = (Simulation(SHORT, seed=3) for _ in range(2))
    assert one.run().deals == other.run().deals > 0
    assert one.beliefs.dump() == other.beliefs.dump()


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
