"""The Davidson-Luce model against other libraries, where the models coincide.

choix fits strict Plackett-Luce; evalica's `newman` fits Davidson's model of two with ties, in which its tie
parameter is half of delta; statsmodels' stratified proportional hazards are Plackett-Luce with covariates,
and have errors by groups.
"""

import numpy as np
import pytest
from benchmarks.leagues import League

from happycity_tournament.ratings.columns import Floats, Games, TableColumns
from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

ELOS = [-150, -70, -20, 40, 80, 120]
TOLERANCE = 1e-3  # Elo


def differences(values: Floats) -> list[float]:
    """How far each strength is above the first, in Elo."""
    elos: list[float] = (ELO_PER_LOGIT * (values - values[0])).tolist()
    return elos


def strengths(estimate: Fit) -> Floats:
    values: Floats = estimate.parameters[estimate.layout.strengths]
    return values


def without_seat_effects(games: Games) -> Games:
    """Put the games into fewer deals than seat effects need."""
    return Games(
        games.bots,
        {
            seats: TableColumns(table.bots, table.places, table.deals % 20)
            for seats, table in games.tables.items()
        },
    )


@pytest.mark.thorough
def test_strict_rankings_agree_with_choix() -> None:
    """Tables of two to five seats together are Plackett-Luce."""
    import choix  # noqa: PLC0415 - its import takes seconds

    games = without_seat_effects(League(ELOS).games({2: 50, 3: 50, 4: 50, 5: 50}, np.random.default_rng(1)))
    rankings = [
        tuple(seated[np.argsort(places)].tolist())
        for table in games.tables.values()
        for seated, places in zip(table.bots, table.places, strict=True)
    ]
    oracle = choix.opt_rankings(len(ELOS), rankings, alpha=0, tol=1e-10)
    assert differences(strengths(fit(games, prior_games=0))) == pytest.approx(
        differences(oracle), abs=TOLERANCE
    )


def test_ties_of_two_agree_with_evalica() -> None:
    """Two bots with ties are Davidson's model; evalica's v is half our delta."""
    import evalica  # noqa: PLC0415 - its import takes seconds

    league = League(ELOS, deltas={2: 0.7})
    games = without_seat_effects(league.games({2: 600}, np.random.default_rng(2)))
    table = games.tables[2]
    winner = {-1: evalica.Winner.X, 0: evalica.Winner.Draw, 1: evalica.Winner.Y}
    oracle = evalica.newman(
        xs=[games.bots[bot] for bot in table.bots[:, 0]],
        ys=[games.bots[bot] for bot in table.bots[:, 1]],
        winners=[winner[order] for order in np.sign(table.places[:, 0] - table.places[:, 1]).tolist()],
        tolerance=1e-12,
        limit=100_000,
    )
    estimate = fit(games, prior_games=0)
    logits = np.log([oracle.scores[bot] for bot in games.bots])
    assert differences(strengths(estimate)) == pytest.approx(differences(logits), abs=TOLERANCE)
    assert np.exp(estimate.parameters[estimate.layout.ties]) == pytest.approx([2 * oracle.v], rel=1e-6)


def test_seats_and_errors_agree_with_statsmodels() -> None:
    """A ranking is a stratum in which places are times: same strengths, seats, and errors by deal."""
    from statsmodels.duration.hazard_regression import PHReg  # noqa: PLC0415 - its import takes seconds

    league = League(ELOS, seat_effects={3: [40, 0, -40]}, luck=1.0)
    games = league.games({3: 80}, np.random.default_rng(3))
    estimate = fit(games, prior_games=0)
    table, count = estimate.games.tables[3], len(ELOS)
    covariates = np.zeros((table.bots.size, count + 3))
    rows = np.arange(table.bots.size)
    covariates[rows, table.bots.ravel()] = 1
    covariates[rows, count + rows % 3] = 1
    kept = [column for column in range(count + 3) if column not in (0, count)]  # one bot and seat are 0
    model = PHReg(table.places.ravel(), covariates[:, kept], strata=np.repeat(np.arange(len(table.deals)), 3))
    oracle = model.fit(groups=np.repeat(table.deals, 3))
    assert np.array(differences(strengths(estimate)))[1:] == pytest.approx(
        ELO_PER_LOGIT * oracle.params[: count - 1], abs=TOLERANCE
    )
    seats = estimate.parameters[estimate.layout.seats(3)]
    assert differences(seats)[1:] == pytest.approx(ELO_PER_LOGIT * oracle.params[count - 1 :], abs=TOLERANCE)

    # statsmodels does not correct for few deals, so what the correction multiplied by is divided out.
    deals = estimate.games.deals_played()
    scale = np.sqrt(deals / (deals - 1))
    covariance = sandwich(estimate)[:count, :count] / scale[:, None] / scale
    errors = [np.sqrt(covariance[0, 0] + covariance[i, i] - 2 * covariance[0, i]) for i in range(1, count)]
    assert ELO_PER_LOGIT * np.array(errors) == pytest.approx(
        ELO_PER_LOGIT * oracle.bse[: count - 1], abs=TOLERANCE
    )
