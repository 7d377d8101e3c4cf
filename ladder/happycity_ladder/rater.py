"""Rates the deals of a ladder in their order: the same deals give the same ratings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from happycity_ladder.beliefs import Beliefs
from happycity_ladder.entries import RatedDeal, RatingPoint, Season, Version
from happycity_ladder.ladder_config import LadderConfig


class Rater:
    """What is known of all versions, by board.

    A version is entered on a board just before the first deal that it has finished there, not when it
    connects.
    """

    def __init__(self, config: LadderConfig) -> None:
        self.beliefs = {board.name: Beliefs(board.players, config) for board in config.boards}
        self.entered: dict[str, dict[str, int]] = {board: {} for board in self.beliefs}
        """By board and bot: the newest version that was entered."""
        self._anchor = config.anchor

    def take(self, board: str, beliefs: Beliefs, versions: Mapping[int, Version]) -> None:
        """Go on with what is known of a board; `versions` are those that were entered there."""
        self.beliefs[board] = beliefs
        self.entered[board] = {versions[version].bot: version for version in sorted(versions)}

    def add(
        self,
        deals: Sequence[tuple[str, RatedDeal]],
        versions: Mapping[int, Version],
        seasons: Sequence[Season],
    ) -> dict[tuple[str, int], RatingPoint]:
        """Rate deals; return the latest ratings of their versions, by board and version.

        `seasons` are those that have ended, oldest first.
        """
        latest = {}
        for board, deal in deals:
            beliefs = self.beliefs.get(board)  # None for one that the ladder no longer has
            if beliefs is None or deal.finished <= beliefs.finished:
                continue
            for season in seasons:
                assert season.closed_after is not None
                assert season.ended_at is not None
                if beliefs.finished <= season.closed_after < deal.finished:
                    beliefs.end_season(season.ended_at)
            for version in deal.versions:
                self._enter(board, beliefs, versions[version])
            beliefs.add(deal)
            for version in deal.versions:
                at, rating = deal.finished_at, beliefs.rating(version, deal.finished_at)
                latest[board, version] = RatingPoint(board=board, version_id=version, at=at, rating=rating)
        return latest

    def _enter(self, board: str, beliefs: Beliefs, version: Version) -> None:
        newest = self.entered[board].get(version.bot)
        beliefs.enter(
            version.id,
            version.first_at,
            before=newest if newest != version.id else None,
            house=version.house,
            anchor=version.house and version.bot == self._anchor,
        )
        if newest is None or newest < version.id:
            self.entered[board][version.bot] = version.id
