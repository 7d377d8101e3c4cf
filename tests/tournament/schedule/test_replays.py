"""How much larger errors are where results chose the games."""

from collections.abc import Sequence

import numpy as np
import pytest

from happycity import Config
from happycity_tournament.config import Adaptive, Format, Swiss, TournamentConfig
from happycity_tournament.ratings.results import ErrorRatios
from happycity_tournament.schedule.replays import PlayedTournament, error_ratios


def ratios(
    elos: Sequence[float], chosen: Format, *, seats: int = 2, error: float = 20.0, rounds: int = 40
) -> ErrorRatios:
    """Return the ratios after so many rounds of bots that were rated so, with independent errors."""
    bots = [f"bot-{number}" for number in range(len(elos))]
    config = TournamentConfig(bots=tuple(bots), game=Config(players=seats), format=chosen, seed=1)
    covariance = error**2 * (np.eye(len(bots)) - 1 / len(bots))
    return error_ratios(
        [PlayedTournament(config, rounds, config.bots)], dict(zip(bots, elos, strict=True)), covariance
    )


EQUAL = [1500.0] * 8


@pytest.mark.parametrize("seats", [2, 4])
def test_errors_grow_where_equal_bots_are_chosen_by_luck(seats: int) -> None:
    """Those of differences, for which games are chosen, grow more."""
    of_ratings, of_differences = ratios(EQUAL, Adaptive(rounds=40, minimum_deals=10), seats=seats)
    assert 1.05 < of_ratings < of_differences < 1.3


def test_errors_hold_where_luck_can_not_choose() -> None:
    """Bots that are far apart are placed by their strength."""
    elos = np.linspace(500, 2500, 8).tolist()
    assert max(ratios(elos, Adaptive(rounds=40, minimum_deals=10))) < 1.05


def test_chance_among_estimates_is_not_taken_for_strength() -> None:
    """Estimates that scatter no more than their errors say may be those of equal bots."""
    scattered = np.random.default_rng(1).normal(1500, 40, size=8).tolist()
    adaptive = Adaptive(rounds=40, minimum_deals=10)
    as_scattered, far_apart = (ratios(scattered, adaptive, error=error) for error in (40, 4))
    assert as_scattered.differences > 1.1
    assert far_apart.differences < as_scattered.differences


def test_errors_grow_in_a_swiss() -> None:
    """Bots meet those of equal scores, luck included."""
    assert 1.05 < ratios([1500.0] * 16, Swiss(rounds=40)).differences < 1.1


def test_chance_is_not_taken_for_strength_where_errors_grow_a_lot() -> None:
    """In 12 rounds of 64 equal bots errors grow by four fifths, and the estimates scatter by as much more."""
    swiss, error = Swiss(rounds=12), 70.0
    equal = ratios([1500.0] * 64, swiss, error=error, rounds=12)
    scatter = np.random.default_rng(1).normal(size=64)
    elos = 1500 + error * equal.ratings * scatter / scatter.std()
    as_scattered = ratios(elos.tolist(), swiss, error=error, rounds=12)
    assert equal.ratings > 1.7
    assert as_scattered.differences == pytest.approx(equal.differences, rel=0.03)


def test_games_that_were_fixed_beforehand_make_the_ratios_smaller() -> None:
    """Where most is known from other games, how some were chosen matters little."""
    bots = [f"bot-{number}" for number in range(8)]
    format_ = Adaptive(rounds=40, minimum_deals=10)
    config = TournamentConfig(bots=tuple(bots), game=Config(players=2), format=format_, seed=1)
    centred = np.eye(8) - 1 / 8
    played, elos = [PlayedTournament(config, 40, config.bots)], dict.fromkeys(bots, 1500.0)
    much = error_ratios(played, elos, 100 * centred, fixed_information=1000 * centred)
    assert max(much) < 1.05


def test_the_ratios_are_the_same_in_every_run() -> None:
    """Ratings of the same games may not differ from run to run."""
    adaptive = Adaptive(rounds=20, minimum_deals=5)
    assert ratios(EQUAL, adaptive) == ratios(EQUAL, adaptive)
