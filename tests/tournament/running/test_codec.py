"""Tournaments as messages: what is written is what is read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.leagues import League

from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.final import rate
from happycity_tournament.running.codec import ratings_message, ratings_of
from happycity_tournament.running.snapshot import FinalRatings

LEAGUE = League([-60, 0, 0, 60])
RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    "games",
    [
        LEAGUE.games({2: 40, 4: 40}, RNG),
        LEAGUE.games({4: 5}, RNG),
        replace(LEAGUE, seating="single").games({3: 40}, RNG),
        Games(LEAGUE.bots, {}),
    ],
    ids=["everything is known", "too few deals", "no rotated deal", "no game"],
)
def test_final_ratings_survive_the_wire(games: Games) -> None:
    """Every number arrives, and what is unknown stays unknown."""
    ratings = rate(games)
    sent = ratings_message(ratings, anchor_elo=1500)
    received = ratings_of(type(sent).FromString(sent.SerializeToString()))
    assert received == FinalRatings.of(ratings, anchor_elo=1500)
