"""Servers that keep a ladder, bots that play in it, and what is in the store afterwards."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.server import conftest
from tests.server.conftest import RandomMove
from tests.server.harness import serving

from happycity import BotInfo
from happycity_client import Bot
from happycity_ladder.book import Book
from happycity_ladder.entries import DealState, LadderDeal, Rating
from happycity_ladder.ladder_config import LadderConfig
from happycity_server.app import RunningServer
from happycity_server.ladder.ratings import LadderRatings
from happycity_server.ladder.served_book import ServedBook
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.store import Store

TWO_SEATS = """
anchor = "greedy"
[[boards]]
players = 2
[policy]
grace_seconds = 0.5
"""


class Games:
    """Counts the games of bots, and wakes who waits for them."""

    def __init__(self) -> None:
        self.finished = 0
        self._changed = asyncio.Event()

    def note(self) -> None:
        self.finished += 1
        self._changed.set()

    async def more(self, games: int) -> None:
        target = self.finished + games
        while self.finished < target:
            self._changed.clear()
            await self._changed.wait()


@asynccontextmanager
async def laddering(folder: Path, toml: str = TWO_SEATS, **values: Any) -> AsyncIterator[RunningServer]:
    """Run a server that keeps a ladder while the context lasts."""
    path = folder / "ladder.toml"
    path.write_text(toml)
    async with serving(folder, ladder=path, **values) as (server, _):
        yield server


@asynccontextmanager
async def playing(
    address: str, *names: str, games: Games, version: str = "1", kind: type[Bot] = RandomMove
) -> AsyncIterator[None]:
    """Let bots play while the context lasts, and count their games."""

    class Counted(kind):  # type: ignore[misc, valid-type]
        def game_over(self, *arguments: Any) -> None:
            games.note()

    async with conftest.playing(address, *names, bot=Counted, info=BotInfo(version=version)):
        yield


def deals_in(folder: Path) -> list[LadderDeal]:
    """Return the deals of a store, oldest first."""
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        return Book(store).deals(10_000)[::-1]


def numbers_of(deals: Iterable[LadderDeal]) -> list[int]:
    """Return the numbers of the finished ones among deals, in order."""
    return sorted(deal.finished for deal in deals if deal.finished)


async def ratings_follow(folder: Path) -> dict[int, Rating]:
    """Check that what a store keeps of the ratings says the same as all deals rated again; return them."""
    config, found = LadderConfig.read(folder / "ladder.toml"), list[dict[int, Rating]]()
    for kept in (True, False):
        with Store.create(f"sqlite:///{folder}/games.sqlite") as store:
            async with AsyncStore(store) as async_store:
                ratings = LadderRatings(ServedBook(config, async_store, lambda: 4e9))
                if kept:
                    await ratings.load()
                assert ratings.behind
                await ratings.catch_up()
                assert not ratings.behind
                found.append(dict(await ratings.of(config.boards[0].name)))
                ratings.close()
    assert found[0] == found[1]
    return found[0]


def check_complete(folder: Path, deals: Sequence[LadderDeal]) -> None:
    """Check that the stored games of deals are all rotations of one deal, for those that are finished."""
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        ladder = Book(store)
        games = ladder.games_of([deal.id for deal in deals])
        versions = ladder.versions()
    for deal in deals:
        for game in games[deal.id]:
            assert game.ladder is not None
            assert game.deal_seed == deal.deal_seed
            bots = [versions[version].bot for version in deal.versions]
            assert [*game.bots] == bots[game.ladder[1] :] + bots[: game.ladder[1]]
        rotations = [game.ladder[1] for game in games[deal.id] if game.ladder is not None]
        assert (rotations == list(range(len(deal.versions)))) == (deal.state is DealState.FINISHED)
