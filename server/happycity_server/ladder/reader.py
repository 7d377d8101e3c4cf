"""What is computed of a ladder on request: leaderboards, histories, comparisons and flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import partial

from happycity.ladder.v1beta1.ladder_service_pb2 import VersionComparison
from happycity_ladder.entries import DealLuck, LadderDeal, RatedDeal, Rating, RatingPoint, Season, Version
from happycity_ladder.flags import Flag, find_flags
from happycity_ladder.leaderboard import LeaderboardLine
from happycity_server.broadcast import SharedValues
from happycity_server.errors import too_many
from happycity_server.ladder.challenges import against_house, latest_deals, not_in_ladder
from happycity_server.ladder.ladder import Ladder
from happycity_tournament.ratings.comparison import PairedGames
from happycity_tournament.recorded_games import RecordedGame

LEADERBOARD_SECONDS = 1.0
"""How long a leaderboard is shown before it is made again."""
MAX_POINTS = 500
"""Points of a bot's history that are shown."""
MAX_COMPARISONS = 16
"""Comparisons that may wait or be computed at once."""
FLAGGED_DEALS = 20_000
"""The latest deals of a season in which flags are looked for: strengths are taken as constant in them."""
FLAGS_SECONDS = 60.0
"""How long flags are shown before they are looked for again."""


class LadderReader:
    """Reads a ladder and its store; all methods raise StoreError if the store can't be read."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.book = ladder.book
        self._comparing = 0
        self._leaderboards = SharedValues[tuple[str, int, int], list[LeaderboardLine]](kept=8)
        """By board, season and moment."""
        self._flags = SharedValues[tuple[int, int], list[Flag]](kept=2)
        """By season and moment."""

    async def season(self, season_id: int | None = None) -> Season:
        """Return a season, the present one for None; ApiError if there is none with this id."""
        season = await self.book.read(self.book.season, season_id)
        if season is None:
            raise not_in_ladder("season", str(season_id))
        return season

    async def leaderboard(self, board: str, season: Season) -> list[LeaderboardLine]:
        """Return the lines of a board in a season; those of the present one are at most a second old."""
        if season.ended_at is not None:
            return list((await self.book.read(self.book.leaderboards, season.id)).get(board, ()))
        make = partial(self.ladder.leaderboard, board, season.id)
        moment = int(self.book.clock() // LEADERBOARD_SECONDS)
        return await self._leaderboards.get((board, season.id, moment), make)

    async def history(self, board: str, versions: Collection[Version]) -> list[RatingPoint]:
        """Return the ratings of a bot's versions on a board over time, oldest first, at most `MAX_POINTS`.

        The last one is that of the newest version now.
        """
        ids, now = [version.id for version in versions], self.book.clock()
        points = await self.book.read(self.book.history, board, ids, most=MAX_POINTS - 1)
        rated = await self.ladder.ratings.of(board, now, versions=ids)
        played = (version for version in ids if version in rated and rated[version].deals)
        return points + [
            RatingPoint(board=board, version_id=version, at=now, rating=rated[version])
            for version in sorted(played)[-1:]
        ]

    async def ratings(self, versions: Collection[int]) -> dict[str, dict[int, Rating]]:
        """Return the ratings of versions by board, those on which they played."""
        found = {}
        for board in self.ladder.config.boards:
            rated = await self.ladder.ratings.of(board.name, versions=versions)
            found[board.name] = {version: rating for version, rating in rated.items() if rating.deals}
        return found

    async def compare(self, old: int, new: int) -> VersionComparison:
        """Compare two versions of a bot by deals that both played against the house; ratings are not in it.

        ApiError if there is no such version, they are of different bots, or too many comparisons wait.
        """
        versions = await self.book.read(self.book.versions, {old, new})
        for version in (old, new):
            if version not in versions or versions[version].bot != versions[old].bot:
                raise not_in_ladder("version", str(version))
        if self._comparing >= MAX_COMPARISONS:
            raise too_many(MAX_COMPARISONS, "comparisons")
        self._comparing += 1
        try:
            return await self.book.load(self._compare, versions[old], versions[new])
        finally:
            self._comparing -= 1

    async def flags(self, season: Season) -> list[Flag]:
        """Return the flags of a season, board by board."""
        moment = int(self.book.clock() // FLAGS_SECONDS)
        make = partial(self.book.load, self._find_flags, season)
        return await self._flags.get((season.id, moment), make)

    # In threads of the store

    def _compare(self, old: Version, new: Version) -> VersionComparison:
        first, second = (
            {_conditions(deal, version.id): deal for deal in self._against_house(version)}
            for version in (old, new)
        )
        common = first.keys() & second.keys()
        games = [self._games([deals[conditions].id for conditions in common]) for deals in (first, second)]
        paired = PairedGames(*games)
        if old.bot not in paired.compared_bots:
            return VersionComparison()
        compared = paired.comparison(old.bot)
        return VersionComparison(
            deals=compared.deals, difference=compared.score.value, standard_error=paired.score_error(old.bot)
        )

    def _against_house(self, version: Version) -> list[LadderDeal]:
        """Return the latest finished deals of a version against the house alone."""
        deals = latest_deals(self.book, version.id)
        versions = self.book.versions({other for deal in deals for other in deal.versions})
        house = {other.id for other in versions.values() if other.house}
        return against_house(deals, version.id, house)

    def _games(self, deal_ids: Collection[int]) -> list[RecordedGame]:
        return [(game, None) for games in self.book.games_of(deal_ids).values() for game in games]

    def _find_flags(self, season: Season) -> list[Flag]:
        last = season.closed_after if season.closed_after is not None else self.book.last_finished()
        before = self.book.seasons(1, season.id)
        first = before[0].closed_after or 0 if before else 0
        deals: defaultdict[str, list[RatedDeal]] = defaultdict(list)
        for board, deal in self.book.rated_deals(max(first, last - FLAGGED_DEALS)):
            if deal.finished > last:
                break
            deals[board].append(deal)
        luck: defaultdict[str, list[DealLuck]] = defaultdict(list)
        for board, deal_luck in self.book.luck_of_deals(max(first, last - FLAGGED_DEALS), last):
            luck[board].append(deal_luck)
        versions = self.book.versions()
        flags: list[Flag] = []
        for board, of_board in sorted(deals.items()):
            scores = self.book.scores(season.id, board)
            forfeits = {version: (score.games, score.forfeits) for version, score in scores.items()}
            flags += find_flags(board, of_board, versions, forfeits, luck[board])
        return flags


def _conditions(deal: LadderDeal, version: int) -> tuple[int, tuple[int, ...]]:
    """Return what deals of two versions must have in common to be compared: cards, opponents and seats."""
    return deal.deal_seed, tuple(0 if other == version else other for other in deal.versions)
