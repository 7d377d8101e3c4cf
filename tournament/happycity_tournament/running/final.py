"""The final ratings of a tournament, by its stored games."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.disqualifications import Disqualifications
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.sprt import SprtState
from happycity_tournament.schedule import SprtSchedule, schedule_of


def final_ratings(config: TournamentConfig, results: Iterable[FinishedGame]) -> Ratings | None:
    """Return the final ratings by all games in the order of the schedule; it may take seconds.

    None without any rated game.
    """
    # They import numpy, for which a server and the bots of a run would wait.
    from happycity_tournament.ratings.checks import check_lines, check_model  # noqa: PLC0415
    from happycity_tournament.ratings.columns import GamesBuilder  # noqa: PLC0415
    from happycity_tournament.ratings.estimate import estimate_of  # noqa: PLC0415
    from happycity_tournament.ratings.final import rate, with_difference  # noqa: PLC0415
    from happycity_tournament.schedule.replays import swiss_error_factor  # noqa: PLC0415

    builder, (rated, test) = GamesBuilder(config.bots), _rated_games(config, results)
    for result in rated:
        builder.add(result)
    if not rated:
        return None
    estimate = estimate_of(builder.build())
    ratings = rate(
        estimate,
        anchor=config.anchor,
        anchor_elo=config.anchor_elo,
        error_factor=swiss_error_factor([(config, config.bots)], estimate),
    )
    ratings = replace(ratings, notes=(*ratings.notes, *check_lines(check_model(estimate))))
    if test is None or test.elo is None:
        return ratings
    return with_difference(ratings, config.bots, (test.elo, test.elo_low, test.elo_high))


def _rated_games(
    config: TournamentConfig, results: Iterable[FinishedGame]
) -> tuple[list[FinishedGame], SprtState | None]:
    """Leave out games of disqualified bots, and those after the decision of a test, whose state comes too."""
    played, schedule, test = list(results), schedule_of(config), None
    if isinstance(schedule, SprtSchedule):
        for result in played:
            schedule.add(result)
        last, test = schedule.last_round, schedule.state
        played = [result for result in played if last is None or result.round <= last]
    disqualifications = Disqualifications(config.policy)
    return [result for result in played if disqualifications.admit(result)], test
