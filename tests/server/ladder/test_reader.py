"""What is computed of a ladder when somebody asks."""

from typing import cast

from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.leaderboard import Line
from happycity_server.ladder.ladder import Ladder
from happycity_server.ladder.reader import LEADERBOARD_SECONDS, LadderReader
from happycity_server.ladder.stored import StoredLadder
from happycity_tournament.storage.async_store import AsyncStore


class Shown:
    """A ladder that counts how often its leaderboards are made."""

    def __init__(self, store: AsyncStore) -> None:
        self.stored = StoredLadder(LadderConfig(), store, lambda: self.now)
        self.now = 50.0
        self.seasons = self
        self.made: list[tuple[str, int]] = []

    async def leaderboard(self, board: str, season_id: int) -> list[Line]:
        self.made.append((board, season_id))
        return []


async def test_leaderboard_is_made_once_a_second_and_for_each_season(store: AsyncStore) -> None:
    """The leaderboard of a season that has just ended is not shown as that of the next one."""
    shown = Shown(store)
    reader = LadderReader(cast("Ladder", shown))
    for _ in range(2):
        await reader.leaderboard("2-family", await reader.season())
        shown.now += LEADERBOARD_SECONDS / 2
    assert shown.made == [("2-family", 1)]
    await reader.leaderboard("2-family", await reader.season())
    assert shown.made == [("2-family", 1)] * 2
    reader.stored.entries.close_season(1, {}, shown.now)
    await reader.leaderboard("2-family", await reader.season())
    assert shown.made == [*[("2-family", 1)] * 2, ("2-family", 2)]
