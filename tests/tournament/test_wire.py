"""Tournaments as messages: what is written is what is read."""

from dataclasses import replace

import numpy as np
import pytest
from tests.tournament.cli.screens import standing
from tools.benchmarks.models import League

from happycity import Config, Ending
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.v1.rating_pb2 import Rating
from happycity_tournament import wire
from happycity_tournament.config import TournamentConfig
from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.standings.standings import ForfeitCount, Standing

LEAGUE = League([-60, 0, 0, 60])
RNG = np.random.default_rng(1)
CONFIG = TournamentConfig(bots=("ann", "bob"), game=Config(players=2), seed=5)


@pytest.mark.parametrize(
    "games",
    [
        LEAGUE.games({2: 40, 4: 40}, RNG),
        LEAGUE.games({4: 5}, RNG),
        replace(LEAGUE, seating="single").games({3: 40}, RNG),
        Games(LEAGUE.bots, {}),
    ],
    ids=["two sizes", "few deals", "no rotated deal", "no game"],
)
def test_final_ratings_survive_the_wire(games: Games) -> None:
    ratings = replace(rate(estimate_of(games)), notes=("one", "another"))
    sent = wire.ratings_message(ratings)
    received = wire.ratings_of(type(sent).FromString(sent.SerializeToString()))
    assert replace(received, differences={}) == replace(ratings, differences={})
    assert received.to_next() == ratings.to_next()


COUNTS = (ForfeitCount(Ending.CRASHED, "ValueError: 7", 2, 5), ForfeitCount(Ending.ABSENT, "", 1, 8))
RATED = {"elo": 1510.5, "low": 1490.0, "high": 1531.0, "rank_best": 2, "rank_worst": 3, "mark": "lost all"}
STANDING = standing(2, "ann", **RATED, shared=1, forfeits=3, forfeit_counts=COUNTS, games_unrated=1)


def test_standings_survive_the_wire() -> None:
    """The ends of an interval that are not known are absent, and 0 is not taken for absent.

    What another server leaves out is 0, and costs no error.
    """
    for changes in ({}, {"low": None, "high": None}, {"elo": 0.0, "low": None, "high": 0.0}):
        line = replace(STANDING, **changes)
        assert received(pb.Standing.FromString(wire.standing_message(line).SerializeToString())) == line
    bare = received(pb.Standing(rank=1, bot="ann"))
    assert (bare.elo, bare.low, bare.high) == (0.0, None, None)


def test_what_a_line_does_not_have_is_absent() -> None:
    """No text is empty, and no number stands for one that is not known."""
    sent = wire.standing_message(replace(STANDING, low=None))
    assert sent.rating == Rating(elo=1510.5, high=1531.0, rank_best=2, rank_worst=3, mark="lost all")
    assert not sent.rating.HasField("deals")
    assert [count.HasField("reason") for count in sent.forfeit_counts] == [True, False]
    config = wire.tournament_config_message(CONFIG)
    assert not config.HasField("anchor")
    assert not config.HasField("title")
    mean = wire.ratings_message(rate(estimate_of(LEAGUE.games({4: 5}, RNG))))
    assert not mean.HasField("anchor")
    assert {line.rating.HasField("deals") for line in mean.ratings} == {True}


def received(sent: pb.Standing) -> Standing:
    tournament = pb.Tournament(tournament_id=1, config=wire.tournament_config_message(CONFIG))
    progress = pb.TournamentProgress(state=pb.TOURNAMENT_STATE_RUNNING)
    (line,) = wire.snapshot_of(tournament, progress, standings=[sent]).standings
    return line
