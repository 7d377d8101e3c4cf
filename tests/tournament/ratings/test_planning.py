"""How many games a plan says are needed, against the errors that so many games have."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.leagues import League

from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.planning import deal_errors, deals_for, plan
from happycity_tournament.ratings.statistics import MIN_DEALS

ELOS = (0.0, 40.0, 80.0, 120.0, 160.0, 200.0, 240.0, 280.0)


def largest_error(league: League, *, seats: int, deals: int) -> float:
    lines = rate(league.games({seats: deals}, np.random.default_rng(7))).lines
    return max((line.high - line.low) / 2 for line in lines if line.high is not None and line.low is not None)


@pytest.mark.parametrize(("seats", "luck"), [(2, 0.0), (4, 1.5)])
def test_so_many_deals_have_such_errors(seats: int, luck: float) -> None:
    """A small tournament of a few of the bots says what a large one of all has, within 15%."""
    small, whole = League(ELOS[2:6], luck=luck), League(ELOS, luck=luck)
    errors = deal_errors(small.games({seats: 300}, np.random.default_rng(1)), seats=seats)
    assert len(errors) == 4
    planned = plan(bots=8, seats=seats, error=20, deal_error=max(errors.values()))
    tables = planned.games // seats
    assert largest_error(whole, seats=seats, deals=tables) == pytest.approx(20, rel=0.15)


def test_two_bots_share_their_deals() -> None:
    """Each is half of the difference away from the mean."""
    league = League((0.0, 50.0))
    errors = deal_errors(league.games({2: 200}, np.random.default_rng(1)), seats=2)
    planned = plan(bots=2, seats=2, error=25, deal_error=max(errors.values()))
    assert (planned.rounds, planned.games) == (planned.deals, 2 * planned.deals)
    assert largest_error(league, seats=2, deals=planned.deals) == pytest.approx(25, rel=0.15)


def test_everybody_plays_the_deals_that_are_needed() -> None:
    """Bots that sit rounds out need more rounds, and nobody has an interval with fewer than ten deals."""
    planned = plan(bots=7, seats=4, error=10, deal_error=200)
    assert planned.rounds * 4 >= planned.deals * 7 > (planned.rounds - 1) * 4
    assert planned.games == planned.rounds * 4
    assert deals_for(500, bots=7, deal_error=200) == MIN_DEALS
    assert deals_for(5, bots=7, deal_error=200) == pytest.approx(4 * planned.deals, rel=0.01)


def test_bots_that_are_not_known_say_nothing() -> None:
    """Those with few deals, those that always win, and tables of other sizes don't count."""
    games = League((0.0, 0.0, 9000.0)).games({2: 200}, np.random.default_rng(1))
    assert set(deal_errors(games, seats=2)) == {"bot 0", "bot 1"}
    assert deal_errors(games, seats=3) == {}
    assert deal_errors(League(ELOS).games({2: 5}, np.random.default_rng(1)), seats=2) == {}
