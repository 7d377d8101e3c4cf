"""The final ratings of a tournament, by its stored games."""

from __future__ import annotations

from collections.abc import Iterable

from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.disqualifications import Disqualifications
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.schedule import SprtSchedule, schedule_of


def final_ratings(config: TournamentConfig, results: Iterable[FinishedGame]) -> Ratings | None:
    """Return the final ratings by all games in the order of the schedule; it may take seconds.

    None without any rated game.
    """
    # They import numpy, for which a server and the bots of a run would wait.
    from happycity_tournament.ratings.columns import GamesBuilder  # noqa: PLC0415
    from happycity_tournament.ratings.final import rate  # noqa: PLC0415
    from happycity_tournament.schedule.error_ratio import ErrorRatioCounter  # noqa: PLC0415

    builder, counter = GamesBuilder(config.bots), ErrorRatioCounter([(config, config.bots)])
    for result in _rated_games(config, results):
        builder.add(result)
        counter.add(result)
    games = builder.build()
    if not games.tables:
        return None
    return rate(games, anchor=config.anchor, anchor_elo=config.anchor_elo, error_ratios=counter.ratios)


def _rated_games(config: TournamentConfig, results: Iterable[FinishedGame]) -> list[FinishedGame]:
    """Leave out games of disqualified bots, and those after the decision of a test."""
    played, schedule = list(results), schedule_of(config)
    if isinstance(schedule, SprtSchedule):
        for result in played:
            schedule.add(result)
        last = schedule.last_round
        played = [result for result in played if last is None or result.round <= last]
    disqualifications = Disqualifications(config.policy)
    return [result for result in played if disqualifications.admit(result)]
