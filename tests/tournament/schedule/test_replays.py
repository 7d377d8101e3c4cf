"""How much larger errors are where results chose the games."""

from collections.abc import Sequence

import numpy as np
import pytest

from happycity import Config
from happycity_tournament.config import Adaptive, Format, Swiss, TournamentConfig
from happycity_tournament.schedule.replays import PlayedTournament, error_ratio


def ratio(elos: Sequence[float], chosen: Format, *, seats: int = 2, error: float = 20.0) -> float:
    """Return the ratio after 40 rounds of bots that were rated so, with independent errors."""
    bots = [f"bot-{number}" for number in range(len(elos))]
    config = TournamentConfig(bots=tuple(bots), game=Config(players=seats), format=chosen, seed=1)
    covariance = error**2 * (np.eye(len(bots)) - 1 / len(bots))
    return error_ratio(
        [PlayedTournament(config, 40, config.bots)], dict(zip(bots, elos, strict=True)), covariance
    )


EQUAL = [1500.0] * 8


@pytest.mark.parametrize(("seats", "least", "most"), [(2, 1.12, 1.27), (4, 1.10, 1.25)])
def test_errors_grow_where_equal_bots_are_chosen_by_luck(seats: int, least: float, most: float) -> None:
    """They scatter 1.2 times as much as they say, by complete simulations of eight equal bots."""
    assert least < ratio(EQUAL, Adaptive(rounds=40, minimum_deals=10), seats=seats) < most


def test_errors_hold_where_luck_can_not_choose() -> None:
    """Bots that are far apart are placed by their strength."""
    elos = np.linspace(500, 2500, 8).tolist()
    assert ratio(elos, Adaptive(rounds=40, minimum_deals=10)) < 1.05


def test_chance_among_estimates_is_not_taken_for_strength() -> None:
    """Estimates that scatter no more than their errors say may be those of equal bots."""
    scattered = np.random.default_rng(1).normal(1500, 40, size=8).tolist()
    adaptive = Adaptive(rounds=40, minimum_deals=10)
    assert ratio(scattered, adaptive, error=40) > 1.1
    assert ratio(scattered, adaptive, error=4) < ratio(scattered, adaptive, error=40)


def test_errors_grow_in_a_swiss() -> None:
    """Bots meet those of equal scores, luck included."""
    assert 1.05 < ratio([1500.0] * 16, Swiss(rounds=40)) < 1.1


def test_games_that_were_fixed_beforehand_make_the_ratio_smaller() -> None:
    """Where most is known from other games, how some were chosen matters little."""
    bots = [f"bot-{number}" for number in range(8)]
    format_ = Adaptive(rounds=40, minimum_deals=10)
    config = TournamentConfig(bots=tuple(bots), game=Config(players=2), format=format_, seed=1)
    centred = np.eye(8) - 1 / 8
    played, elos = [PlayedTournament(config, 40, config.bots)], dict.fromkeys(bots, 1500.0)
    much = error_ratio(played, elos, 100 * centred, fixed_information=1000 * centred)
    assert much < 1.05


def test_the_ratio_is_the_same_in_every_run() -> None:
    """Ratings of the same games may not differ from run to run."""
    adaptive = Adaptive(rounds=20, minimum_deals=5)
    assert ratio(EQUAL, adaptive) == ratio(EQUAL, adaptive)
