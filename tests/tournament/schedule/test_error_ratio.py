"""How much larger errors are because results chose some of the games."""

import math
import os
import re
import subprocess
import sys
from dataclasses import replace

from tests.tournament.schedule.fields import names, play, random_order

from happycity import Config
from happycity_tournament.config import Adaptive, RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.schedule import schedule_of
from happycity_tournament.schedule.error_ratio import ErrorRatioCounter

ADAPTIVE = TournamentConfig(
    bots=names(6), game=Config(players=2), format=Adaptive(rounds=30, minimum_deals=10), seed=3
)
_NUMBER = re.compile(r"\d+\.\d+")
FIXED = replace(ADAPTIVE, format=RandomRounds(rounds=14), seed=4)


def games(config: TournamentConfig) -> list[FinishedGame]:
    return [random_order(game) for stage in play(schedule_of(config), random_order) for game in stage]


def rated(tournaments: list[TournamentConfig], results: list[FinishedGame]) -> Ratings:
    builder, counter = (
        GamesBuilder(names(6)),
        ErrorRatioCounter((config, config.bots) for config in tournaments),
    )
    for game in results:
        builder.add(game)
        counter.add(game)
    return rate(builder.build(), error_ratios=counter.ratios)


def margin(ratings: Ratings) -> float:
    """Return how far the first bot's interval reaches above its rating."""
    first = ratings.lines[0]
    return (first.high or math.nan) - first.elo


def test_games_that_were_fixed_beforehand_leave_errors_alone() -> None:
    """The errors of random rounds are those of the model."""
    assert "larger" not in rated([FIXED], games(FIXED)).model


def test_games_that_results_chose_make_errors_larger() -> None:
    """The model's line says by how much, and intervals are so much wider."""
    results = games(ADAPTIVE)
    wide, narrow = rated([ADAPTIVE], results), rated([], results)
    of_rating = margin(wide) / margin(narrow)
    of_difference = wide.comparisons.errors[0, 1] / narrow.comparisons.errors[0, 1]
    assert 1 < of_rating < of_difference
    assert (
        f"errors are {of_rating:.2f} times larger, and those of differences {of_difference:.2f}" in wide.model
    )


def test_a_schedule_of_another_version_leaves_no_intervals() -> None:
    """Where the first random round after the minimum has other bots, how games were chosen isn't known."""
    results = games(ADAPTIVE)
    changed = [
        replace(game, bots=tuple(names(6)[2:4] if game.bots != names(6)[2:4] else names(6)[:2]))
        if game.round == 11
        else game
        for game in results
    ]
    ratings = rated([ADAPTIVE], changed)
    assert "doesn't know" in ratings.model
    assert {line.low for line in ratings.lines} == {None}
    assert ratings.los(*names(2)) is None


def test_the_ratio_is_the_same_on_all_processors() -> None:
    """OpenBLAS adds in another order on each, and the smallest difference could change who meets next."""
    program = (
        "from tests.tournament.schedule.test_error_ratio import ADAPTIVE, games, rated\n"
        "print(rated([ADAPTIVE], games(ADAPTIVE)).lines)"
    )
    printed = set()
    for processor in ("Prescott", "Haswell"):
        environment = {**os.environ, "OPENBLAS_CORETYPE": processor}
        lines = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
        printed.add(_NUMBER.sub(lambda number: f"{float(number[0]):.6f}", lines))
    assert len(printed) == 1
