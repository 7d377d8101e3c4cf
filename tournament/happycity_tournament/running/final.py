"""The final ratings of a tournament, by the games that its standings count."""

from __future__ import annotations

from happycity_tournament.ratings.results import Ratings
from happycity_tournament.running.progress import TournamentStatus


def final_ratings(status: TournamentStatus) -> Ratings | None:
    """Return the final ratings by the games so far; it may take seconds. None without a game that counts."""
    # They import numpy, for which a server and the bots of a run would wait.
    from happycity_tournament.ratings.final import rate  # noqa: PLC0415
    from happycity_tournament.schedule.error_ratio import ErrorRatioCounter  # noqa: PLC0415

    config, games = status.config, status.standings.figures().games
    if not games.tables:
        return None
    counter = ErrorRatioCounter([(config, config.bots)])
    if counter.expects_games:
        for table in games.tables.values():
            for bots, places, deal in zip(table.bots, table.places, table.deals, strict=True):
                counter.add_row([games.bots[bot] for bot in bots], places.tolist(), int(deal) % 2**64)
    return rate(games, anchor=config.anchor, anchor_elo=config.anchor_elo, error_ratios=counter.ratios)
