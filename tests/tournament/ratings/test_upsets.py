"""Ratings that rest on one or two upsets."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.leagues import League

from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.final import rate

LEAGUE = League([0.0, 40.0, -40.0, 0.0, 3000.0])


def league(upsets: int) -> Games:
    """Return games in which the last bot was beaten so many times."""
    games = LEAGUE.games({2: 250}, np.random.default_rng(1))
    table = games.tables[2]
    places = table.places.copy()
    rows = np.flatnonzero((table.bots == 4).any(axis=1))[::7][:upsets]
    places[rows] = 3 - places[rows]
    return Games(games.bots, {2: replace(table, places=places)})


def test_one_upset_is_no_interval() -> None:
    """The rating is there and who is stronger is certain, but not by how much; the line says so."""
    ratings = rate(league(1))
    best = ratings.lines[4]
    assert best.low is best.high is None
    assert (best.rank_best, best.rank_worst) == (1, 1)
    assert ratings.difference(best.bot, ratings.lines[0].bot) is None
    assert f"no interval for {best.bot}, " in ratings.model


def test_the_others_are_rated_as_if_it_were_not_there() -> None:
    """They have intervals around ratings whose mean is 1500."""
    lines = rate(league(1)).lines[:4]
    assert sum(line.elo for line in lines) / 4 == pytest.approx(1500)
    for line in lines:
        assert line.low is not None
        assert line.high is not None
        assert 30 < line.high - line.low < 150


def test_some_upsets_are_an_interval() -> None:
    """From three on the error is known well enough."""
    best = rate(league(6)).lines[4]
    assert best.low is not None
    assert best.high is not None


def test_duels_of_equal_bots_are_no_upsets() -> None:
    """Few games between equal bots, or nearly all of them ties, have their intervals."""
    games = League([0.0, 0.0], deltas={2: 30.0}).games({2: 120}, np.random.default_rng(1))
    assert None not in {line.low for line in rate(games).lines}
