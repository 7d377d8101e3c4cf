"""A simulated year of a ladder, and how its results are drawn."""

import numpy as np
import pytest
from benchmarks.ladder_year import Simulation, Year, draw_deals, everybody

SHORT = Year(bots=5, games=60, days=2.0)


def test_each_game_is_drawn_by_the_model() -> None:
    """However much luck a deal's games share, one game has the odds of strengths and ties (Davidson 1970)."""
    strengths = np.tile([1.0, 0.0], (20_000, 1))
    places = draw_deals(strengths, 0.6, np.random.default_rng(1))
    weights = np.array([np.e, 1.0, 0.1 * np.exp(0.5)])
    wins, losses = ((places[:, :, 0] < places[:, :, 1]).mean(), (places[:, :, 0] > places[:, :, 1]).mean())
    assert np.allclose([wins, losses, 1 - wins - losses], weights / weights.sum(), atol=0.01)


def test_games_of_a_deal_share_its_luck() -> None:
    """In a rotated deal equal bots win by turns more often than by chance; without luck they don't."""
    even = []
    for residual in (0.5, 1.0):
        places = draw_deals(np.zeros((20_000, 2)), residual, np.random.default_rng(1))
        wins = (places[:, :, 0] < places[:, :, 1]).sum(axis=1)
        losses = (places[:, :, 0] > places[:, :, 1]).sum(axis=1)
        even.append(float(((wins == 1) & (losses == 1)).mean()))
    assert even[0] > even[1] + 0.1
    assert even[1] == pytest.approx(2 * (1 / 2.1) ** 2, abs=0.01)


def test_a_year_is_the_same_again() -> None:
    """The seed determines all."""
    one, other = (Simulation(SHORT, "ladder", seed=3) for _ in range(2))
    assert one.run().games == other.run().games > 0
    states = [[beliefs.dump() for beliefs in each.beliefs.values()] for each in (one, other)]
    assert states[0] == states[1]


@pytest.mark.thorough
def test_ratings_track_the_truth() -> None:
    """Errors are as large as stated, and little larger than if the pairing knew all strengths."""
    year = Year(bots=20, games=12_000, days=70.0)
    ladder, oracle = (Simulation(year, schedule, seed=1).run() for schedule in ("ladder", "oracle"))
    assert ladder.games == pytest.approx(year.games, rel=0.02)
    assert ladder.ratio(everybody) < 1.15
    assert ladder.coverage(everybody) > 0.93
    assert ladder.rmse(everybody) < 1.3 * oracle.rmse(everybody)
