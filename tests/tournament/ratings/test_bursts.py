"""Bursts: deals in a row in which a bot fails are found, and errors allow for them."""

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.leagues import League

from happycity_tournament.ratings.checks.bursts import SIGNIFICANCE, bursts_of
from happycity_tournament.ratings.checks.model_checks import Subject, check_lines, check_model
from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.fit import fit

LEAGUE = League([0.0] * 4)


def crashing(deals: int, crashed: Collection[int]) -> Games:
    """Return games of four equal bots, the first of which comes last in some of the deals."""
    games = LEAGUE.games({4: deals}, np.random.default_rng(1))
    table = games.tables[4]
    last = (table.bots == 0) & np.isin(table.deals, list(crashed))[:, None]
    return Games(games.bots, {4: replace(table, places=np.where(last, 5, table.places))})


def test_a_single_burst_is_found_and_named() -> None:
    """The check says who, when, and how much weaker; the window begins and ends about there."""
    estimate = fit(crashing(100, range(40, 50)))
    checks = check_model(estimate, bursts_of(estimate))
    (check,) = [check for check in checks if check.subject is Subject.BURSTS]
    assert check.failed
    assert check.largest[0].bot == LEAGUE.bots[0]
    assert check.largest[0].versus == "deals 42 to 49 of its own"
    assert check.largest[0].value < -100
    (line,) = [line for line in check_lines([check]) if line.startswith("check of bursts")]
    assert "weaker in deals 42 to 49" in line


def test_too_few_blocks_have_no_interval() -> None:
    """Blocks of a burst's length are too few in a hundred deals; the model's line says why."""
    ratings = rate(crashing(100, range(40, 50)))
    assert {line.low for line in ratings.lines} == {None}
    assert {line.deals for line in ratings.lines} == {100}
    assert f"as results of {LEAGUE.bots[0]} came in bursts" in ratings.model


def test_errors_rest_on_blocks_where_bursts_are_many() -> None:
    """The same failures spread evenly leave a smaller error."""
    crashed = [deal for deal in range(1000) if deal % 100 < 10]
    bursts, spread = (rate(crashing(1000, some)).lines[0] for some in (crashed, range(0, 1000, 10)))
    widths = [(line.high or math.nan) - (line.low or math.nan) for line in (bursts, spread)]
    assert widths[0] > 1.5 * widths[1]


@pytest.mark.parametrize("seed", range(3))
def test_independent_deals_are_left_alone(seed: int) -> None:
    """The p-value is that of the least likely bot, corrected for all."""
    games = LEAGUE.games({4: 200}, np.random.default_rng(seed))
    assert bursts_of(fit(games))[0].p_value > SIGNIFICANCE
    assert "bursts" not in rate(games).model


def test_a_short_series_is_not_looked_at() -> None:
    """Fewer than thirty deals show nothing about their order."""
    assert bursts_of(fit(LEAGUE.games({4: 29}, np.random.default_rng(1)))) == []
