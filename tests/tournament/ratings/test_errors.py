"""Errors of ratings that rest on whole deals, and what duplicate deals save."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.leagues import League, columns

from happycity_tournament.ratings.columns import Floats, Games, TableColumns
from happycity_tournament.ratings.duplicate_gain import MIN_BLOCKS, duplicate_gains
from happycity_tournament.ratings.errors import deal_scores, sandwich
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.results import DuplicateGain
from happycity_tournament.ratings.statistics import student_quantile

LEAGUE = League([-120, -60, 0, 0, 60, 120], deltas={2: 0.4, 3: 0.1})


def errors(covariance: Floats, estimate: Fit) -> Floats:
    """The standard errors of the strengths."""
    deviations: Floats = np.sqrt(np.diag(covariance)[estimate.layout.strengths])
    return deviations


def sandwich_errors(games: Games) -> Floats:
    estimate = fit(games)
    return errors(sandwich(estimate), estimate)


def test_the_scores_of_deals_sum_to_the_gradient() -> None:
    """Which is zero at the estimate, where there is no prior."""
    estimate = fit(LEAGUE.games({2: 50, 3: 40, 5: 30}, np.random.default_rng(1)), prior_games=0)
    blocks = list(deal_scores(estimate, np.arange(estimate.games.deals)))
    assert sum(len(block) for block in blocks) == 120
    assert sum(block.sum(axis=0) for block in blocks)[: len(LEAGUE.elos)] == pytest.approx(0, abs=1e-5)


def test_a_deal_of_two_bots_by_hand() -> None:
    """Between two bots the error is sqrt(sum of U^2) / I, times sqrt(C / (C - 1)) (Liang & Zeger 1986)."""
    rng = np.random.default_rng(2)
    wins = rng.random((20, 2)) < rng.random((20, 1))
    games = [
        ((0, 1), (1, 2) if won else (2, 1), deal) for deal, pair in enumerate(wins.tolist()) for won in pair
    ]
    estimate = fit(columns(games, "ab"), prior_games=0)
    chance = wins.mean()
    surprises = wins.sum(axis=1) - 2 * chance
    error = np.sqrt((surprises**2).sum() * 20 / 19) / (40 * chance * (1 - chance))
    # Each bot is half the difference from the mean.
    assert errors(sandwich(estimate), estimate) == pytest.approx([error / 2, error / 2], rel=1e-6)


def test_independent_games_have_the_errors_of_the_information() -> None:
    """Where each game is a deal of its own, the sandwich is the inverse of the information."""
    games = replace(LEAGUE, seating="single").games({4: 8000}, np.random.default_rng(3))
    estimate = fit(games)
    assert errors(sandwich(estimate), estimate) == pytest.approx(errors(estimate.inverse, estimate), rel=0.05)


def test_repeated_games_add_nothing() -> None:
    """The same deals with each game counted four times leave the errors as they are, but for the prior."""
    once = replace(LEAGUE, seating="single").games({4: 500}, np.random.default_rng(4))
    table = once.tables[4]
    four = TableColumns(*(np.concatenate([column] * 4) for column in (table.bots, table.places, table.deals)))
    assert sandwich_errors(Games(once.bots, {4: four})) == pytest.approx(sandwich_errors(once), rel=0.03)


def test_rotated_luck_narrows_errors_and_luck_kept_widens_them() -> None:
    """The cards of a deal cancel if every bot holds them once, and add up if a bot keeps them."""
    rng = np.random.default_rng(5)
    ratios = {}
    for seating in ("rotated", "repeated"):
        estimate = fit(replace(LEAGUE, luck=3.0, seating=seating).games({4: 400}, rng))
        by_deals, by_games = errors(sandwich(estimate), estimate), errors(estimate.inverse, estimate)
        ratios[seating] = float(np.mean(by_deals / by_games))
    assert ratios["rotated"] < 0.75
    assert ratios["repeated"] > 1.4


def bootstrap(estimate: Fit, rng: np.random.Generator, *, replicates: int) -> Floats:
    """Return replicates of the parameters, [replicate, parameter], for deals weighted at random (Rubin 1981).

    A replicate is one Newton step from the estimate, V sum of (w - 1) U over deals with w ~ Exp(1).
    """
    gradients = np.zeros((replicates, estimate.layout.length))
    for sums in deal_scores(estimate, np.arange(estimate.games.deals)):
        gradients += (rng.standard_exponential((replicates, len(sums))) - 1) @ sums
    parameters: Floats = estimate.parameters + gradients @ estimate.inverse
    return parameters


@pytest.mark.parametrize("seats", [2, 4])
def test_the_bootstrap_agrees_with_the_sandwich(seats: int) -> None:
    """Deals weighted at random scatter the ratings, seats and ties as far as the errors say."""
    estimate = fit(replace(LEAGUE, luck=1.5).games({seats: 400}, np.random.default_rng(6)))
    replicates = bootstrap(estimate, np.random.default_rng(7), replicates=4000)
    assert replicates.mean(axis=0) == pytest.approx(estimate.parameters, abs=0.02)
    deviations = np.sqrt(np.diag(sandwich(estimate)))
    assert replicates.std(axis=0) == pytest.approx(deviations, rel=0.07)


def test_errors_do_not_depend_on_the_numbers_of_deals() -> None:
    """Deals with other numbers, in another order and mixed over table sizes give the same errors."""
    games = LEAGUE.games({2: 60, 4: 60}, np.random.default_rng(8))
    numbers = np.random.default_rng(9).permutation(1000)
    renumbered = {
        seats: TableColumns(table.bots, table.places, numbers[table.deals] * 10**15)
        for seats, table in games.tables.items()
    }
    assert sandwich_errors(Games(games.bots, renumbered)) == pytest.approx(sandwich_errors(games), rel=1e-6)


def test_games_of_other_sizes_may_share_a_deal() -> None:
    """A deal's games are added up over the table sizes."""
    games = replace(LEAGUE, seating="single").games({2: 200, 4: 200}, np.random.default_rng(10))
    shared = {
        seats: TableColumns(table.bots, table.places, table.deals % 200)
        for seats, table in games.tables.items()
    }
    estimate = fit(Games(games.bots, shared))
    assert sum(len(block) for block in deal_scores(estimate, np.arange(estimate.games.deals))) == 200


@pytest.mark.parametrize(("degrees", "quantile"), [(9, 2.262), (29, 2.045), (10**6, 1.960)])
def test_students_quantile(degrees: int, quantile: float) -> None:
    """It is the value of the tables."""
    assert student_quantile(degrees) == pytest.approx(quantile, abs=1e-3)


@pytest.mark.parametrize(("luck", "low", "high"), [(0.0, 0.85, 1.15), (1.5, 1.4, 2.1), (4.0, 3.0, 5.5)])
def test_the_gain_grows_with_the_luck_of_the_cards(luck: float, low: float, high: float) -> None:
    """A rotated game is worth one independent game if cards don't matter, and several if they do."""
    games = replace(LEAGUE, luck=luck).games({4: 500}, np.random.default_rng(11))
    worth = duplicate_gains(fit(games))[4]
    assert worth is not None
    assert low < worth.gain < high
    assert worth.low < worth.gain < worth.high


@pytest.mark.parametrize(("deals", "luck", "truth"), [(MIN_BLOCKS, 0.0, 1.0), (120, 1.5, 1.62)])
@pytest.mark.thorough
def test_intervals_of_the_gain_hold_the_truth_as_often_as_they_say(
    deals: int, luck: float, truth: float
) -> None:
    """About 95% of the intervals contain what 20,000 deals tend to, from the fewest deals on."""
    league, tries = replace(LEAGUE, luck=luck), 200
    gains = [
        duplicate_gains(fit(league.games({4: deals}, np.random.default_rng([14, number]))))[4]
        for number in range(tries)
    ]
    held = sum(worth is not None and worth.low <= truth <= worth.high for worth in gains)
    # Three standard deviations of a binomial with 95% are 4.6%.
    assert 0.90 <= held / tries <= 0.99


@pytest.mark.parametrize(
    ("worth", "verdict"),
    [
        (DuplicateGain(1.4, 1.1, 1.7), "duplicate deals saved games"),
        (DuplicateGain(0.97, 0.85, 1.09), "no saving can be distinguished from chance"),
        (DuplicateGain(0.8, 0.7, 0.9), "games on separate deals would have said more"),
    ],
)
def test_the_gain_is_judged_by_its_interval(worth: DuplicateGain, verdict: str) -> None:
    """It saved games only if the whole interval is above 1."""
    assert worth.verdict == verdict


def test_the_gain_is_what_errors_say() -> None:
    """It is the ratio of the variance by games to the variance by deals."""
    estimate = fit(replace(LEAGUE, luck=2.0).games({3: 3000}, np.random.default_rng(12)))
    worth = duplicate_gains(estimate)[3]
    assert worth is not None
    ratio = (errors(estimate.inverse, estimate) / errors(sandwich(estimate), estimate)) ** 2
    assert worth.gain == pytest.approx(ratio.mean(), rel=0.1)


def test_there_is_no_gain_without_enough_rotated_deals() -> None:
    """Neither from few deals, nor from deals that were not rotated in full."""
    rng = np.random.default_rng(13)
    assert duplicate_gains(fit(LEAGUE.games({3: MIN_BLOCKS - 1}, rng))) == {3: None}
    assert duplicate_gains(fit(LEAGUE.games({3: MIN_BLOCKS}, rng)))[3] is not None
    assert duplicate_gains(fit(replace(LEAGUE, seating="repeated").games({3: 100}, rng))) == {3: None}
    table = LEAGUE.games({3: 100}, rng).tables[3]
    halves = TableColumns(table.bots[1:], table.places[1:], table.deals[1:])
    assert duplicate_gains(fit(Games(LEAGUE.bots, {3: halves})))[3] is not None
    last_missing = np.arange(len(table.deals)) % 3 < 2
    partial = TableColumns(*(column[last_missing] for column in (table.bots, table.places, table.deals)))
    assert duplicate_gains(fit(Games(LEAGUE.bots, {3: partial}))) == {3: None}
