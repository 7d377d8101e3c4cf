"""How much larger errors are in a Swiss tournament."""

import numpy as np
from tests.tournament.schedule.fields import names
from tools.benchmarks.models import League

from happycity import Config
from happycity_tournament.config import RandomRounds, Swiss, TournamentConfig
from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.estimate import Estimate, estimate_of
from happycity_tournament.schedule.replays import swiss_error_factor

BOTS = names(8)
SWISS = TournamentConfig(bots=BOTS, game=Config(players=2), format=Swiss(rounds=8), seed=1)


def estimate() -> Estimate:
    played = League([0.0] * 8).games({2: 32}, np.random.default_rng(1))
    return estimate_of(Games(BOTS, played.tables))


def test_only_results_that_choose_games_make_errors_larger() -> None:
    """A fixed schedule has the factor 1; a Swiss one is replayed, each time with the same factor."""
    rounds = TournamentConfig(bots=BOTS, game=Config(players=2), format=RandomRounds(rounds=8), seed=1)
    assert swiss_error_factor([(rounds, BOTS)], estimate()) == 1
    factor = swiss_error_factor([(rounds, BOTS), (SWISS, BOTS)], estimate())
    assert 1 <= factor < 1.5
    assert swiss_error_factor([(SWISS, BOTS)], estimate()) == factor


def test_bots_are_found_by_the_names_that_rate_them() -> None:
    """A tournament has no say if its bots are not among those that are rated."""
    assert swiss_error_factor([(SWISS, [f"{bot}@here" for bot in BOTS])], estimate()) == 1
