"""What must hold of a ladder that was soaked: its waits, its ratings, and those of a restored backup."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import delete, func, select, update

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.ladder.v1beta1.ladder_service_pb2_grpc import LadderServiceStub
from happycity.v1 import bot_service_pb2 as bots_pb
from happycity_ladder.entries import DealKind, Rating
from happycity_ladder.ladder_config import LadderConfig
from happycity_server.ladder.ratings import Ratings
from happycity_tournament.storage import AsyncStore, Store
from happycity_tournament.storage.schema import (
    games,
    ladder_beliefs,
    ladder_deals,
    ladder_games,
    ladder_ratings,
)

PAGE = 200
"""Entries of a page."""
SAME_ELO = 1e-6
"""Ratings that differ by less are the same: sums may be made in another order after a restart."""


Known = dict[tuple[str, int], Rating]
"""Ratings by board and version."""


@dataclass
class Waits:
    """How long connected bots with room wait for a game, seen from outside."""

    longest: float = 0.0
    by_whom: str = ""
    longest_said: float = 0.0
    """What the ladder itself says."""
    _busy_at: dict[str, tuple[float, int]] = field(default_factory=dict)

    def note(self, bots: Sequence[bots_pb.ConnectedBot], now: float) -> None:
        """Note the bots at one moment; a bot that is in no game and has answered nothing since waits."""
        for bot in bots:
            before = self._busy_at.get(bot.name)
            since = bot.since.ToMicroseconds() / 1e6
            if not bot.connected or before is None or bot.games or bot.answers != before[1]:
                self._busy_at[bot.name] = now, bot.answers
                continue
            wait = now - max(before[0], since)
            if wait > self.longest:
                self.longest, self.by_whom = wait, bot.name

    def restart(self) -> None:
        """Begin again, as everybody is disconnected."""
        self._busy_at.clear()


def ids_of(url: str) -> set[int]:
    """Return the ids of the stored games."""
    with Store.existing(url) as store, store.reading() as connection:
        return set(connection.execute(select(games.c.id)).scalars())


def unrated(url: str, config: Path) -> list[str]:
    """Return what is wrong with the ratings of a store: finished deals have all games, and all count."""
    with Store.existing(url) as store, store.reading() as connection:
        rated = connection.execute(
            select(ladder_deals.c.id, ladder_deals.c.board, ladder_deals.c.versions).where(
                ladder_deals.c.finished > 0, ladder_deals.c.kind == DealKind.RATED.value
            )
        ).all()
        played = Counter(connection.execute(select(ladder_games.c.deal_id)).scalars())
    problems = [
        f"the finished deal {deal.id} lacks games" for deal in rated if played[deal.id] != len(deal.versions)
    ]
    expected = Counter((deal.board, version) for deal in rated for version in deal.versions)
    ratings = asyncio.run(_ratings_of(url, config))
    found = Counter({key: rating.deals for key, rating in ratings.items() if rating.deals})
    if found != expected:
        problems.append(f"ratings lack {(expected - found).total()} seats of finished deals")
    return problems


def ratings_then(url: str, restored: str, config: Path) -> Known:
    """Return what the ratings were when a backup was made, from the store that went on.

    `url` is a copy of that store; the deals that are later than the backup `restored` are taken away from it.
    """
    with Store.existing(restored) as store, store.reading() as connection:
        last = connection.scalar(select(func.max(ladder_deals.c.finished))) or 0
    with Store.create(url) as store, store.writing() as connection:
        connection.execute(update(ladder_deals).where(ladder_deals.c.finished > last).values(finished=0))
        connection.execute(delete(ladder_beliefs))
        connection.execute(delete(ladder_ratings))
    return asyncio.run(_ratings_of(url, config))


def differing(lines: Sequence[tuple[str, pb.LeaderboardLine]], expected: Known) -> list[str]:
    """Return how lines of leaderboards, each with its board, differ from the ratings that are expected."""
    if not any(line.rating.deals for _, line in lines):
        return ["the leaderboards of the restored backup are empty"]
    problems = []
    for board, line in lines:
        rating = expected.get((board, line.version.version_id))
        elo, deals = (rating.elo, rating.deals) if rating is not None else (0.0, 0)
        if deals != line.rating.deals or (deals and abs(elo - line.rating.elo) >= SAME_ELO):
            problems.append(
                f"the restored backup rates {line.version.bot} at {line.rating.elo:.3f} after "
                f"{line.rating.deals} deals, and the ladder did at {elo:.3f} after {deals}"
            )
    return problems


async def _ratings_of(url: str, config: Path) -> Known:
    """Return the ratings that follow from the deals of a store, by board and version."""
    ladder = LadderConfig.read(config)
    with Store.create(url) as store:
        async with AsyncStore(store) as async_store:
            ratings = Ratings(ladder, async_store, time.time)
            await ratings.load()
            await ratings.catch_up()
            found = {
                (board.name, version): rating
                for board in ladder.boards
                for version, rating in (await ratings.of(board.name)).items()
            }
            ratings.close()
    return found


def leaderboards(ladder: LadderServiceStub) -> Iterator[tuple[str, pb.LeaderboardLine]]:
    """Yield the lines of all leaderboards, each with its board."""
    for board in ladder.GetLadder(pb.GetLadderRequest(), wait_for_ready=True).boards:
        token = ""
        while True:
            request = pb.GetLeaderboardRequest(board=board.name, page_size=PAGE, page_token=token)
            page = ladder.GetLeaderboard(request)
            yield from ((board.name, line) for line in page.lines)
            token = page.next_page_token
            if not token:
                break
