"""The ratings of a running ladder: what is stored of them, and that their memory is bounded."""

import gc
from collections.abc import Generator
from typing import cast

import pytest
from tests.ladder.test_book import BOTS, begun, play, profile

from happycity_ladder.book import Book
from happycity_ladder.entries import RatedDeal, Rating, RatingPoint, Version
from happycity_ladder.ladder_config import Board, LadderConfig
from happycity_ladder.leaderboard import LeaderboardLine
from happycity_server.ladder.ladder import Ladder
from happycity_server.ladder.ratings import LadderRatings, _History
from happycity_server.ladder.reader import LEADERBOARD_SECONDS, LadderReader
from happycity_server.ladder.served_book import ServedBook
from happycity_tournament.storage.async_store import AsyncStore

YEAR = 365 * 86400.0


def point(version: int, at: float) -> RatingPoint:
    rating = Rating(elo=1500.0, error=10.0, deals=1)
    return RatingPoint(board="2-family", version_id=version, at=at, rating=rating)


def version(number: int, first_at: float) -> Version:
    return Version(
        id=number, bot="ann", profile=profile(), owner="ann", house=False, first_at=first_at, last_at=first_at
    )


def stored_history(times: list[float]) -> list[float]:
    """Return the times of the points in the store after deals of one version at these times, from 0 on."""
    history, stored = _History(), set[float]()
    for at in times:
        stored.difference_update(old.at for old in history.add([point(1, at)], {1: version(1, 0.0)}))
        stored.add(at)
    return sorted(stored)


@pytest.mark.level(2)
def test_history_shows_the_first_minute_and_stays_small() -> None:
    """A version's first deals are seen at once; in a year points get rare, and the last is the newest."""
    times = [number / 2 for number in range(1, 121)]
    first_minute = stored_history(times)
    assert first_minute[-1] == times[-1]
    assert len(first_minute) > 20
    times += [float(number * 600) for number in range(1, int(YEAR / 600))]
    year = stored_history(times)
    assert year[-1] == times[-1]
    assert first_minute[:-1] == year[: len(first_minute) - 1]
    assert len(year) < 750


def test_history_forgets_versions_that_stopped_playing() -> None:
    """Of a hundred versions that played one after the other, the last one is in memory; all points stay."""
    history = _History()
    for number in range(1, 101):
        first_at = number * 1000.0
        for at in (first_at + 1.0, first_at + 10.0):
            assert not history.add([point(number, at)], {number: version(number, first_at)})
    assert len(history._lines) == 1


async def test_ratings_forget_versions_that_stopped_playing(store: AsyncStore) -> None:
    """However many versions a bot has had, no more than those of the last deals are in memory."""
    ladder, ratings = (
        Book(store.store),
        LadderRatings(ServedBook(LadderConfig(boards=(Board(players=2),)), store, float)),
    )
    await ratings.load()
    for number in range(5):
        versions = [ladder.versions_of(bot)[0].id for bot in ("ann", "bob")]
        play(ladder, begun(ladder, *versions), 2 * number + 1, winner=versions[0])
        await ratings.catch_up()
        begun(ladder, 3 * number + 3, 3 * number + 1)  # a version that has begun a deal stays
        for bot in BOTS:
            ladder.enter_version(bot, profile(f"{number + 2}"), 30.0 + number, owner=bot)
    rated = await ratings.of("2-family")
    gc.collect()
    known = [each.id for each in gc.get_objects() if type(each) is Version and each.bot == "ann"]
    ratings.close()
    assert len(rated) == 10
    assert len(known) <= 1


async def test_season_that_ends_while_deals_are_read_counts(store: AsyncStore) -> None:
    """The ratings of a running server are those that follow from its store alone."""
    config, ladder = LadderConfig(boards=(Board(players=2),)), Book(store.store)
    ratings, again = (LadderRatings(ServedBook(config, store, lambda: 50.0)) for _ in range(2))
    for each in (ratings, again):
        await each.load()
    play(ladder, begun(ladder, 1, 2), 1)
    await ratings.catch_up()
    find = ratings._book.rated_deals

    def rated_deals(after: int) -> Generator[tuple[str, RatedDeal]]:
        if after == 1:
            ladder.close_season(1, {}, 40.0)
            play(ladder, begun(ladder, 1, 2), 3)
        return find(after)

    ratings._book.rated_deals = rated_deals  # type: ignore[method-assign]
    await ratings.catch_up()
    await again.catch_up()
    assert await ratings.of("2-family") == await again.of("2-family")
    for each in (ratings, again):
        each.close()


class Shown:
    """A ladder that counts how often its leaderboards are made."""

    def __init__(self, store: AsyncStore) -> None:
        self.book = ServedBook(LadderConfig(), store, lambda: self.now)
        self.now = 50.0
        self.made: list[tuple[str, int]] = []

    async def leaderboard(self, board: str, season_id: int) -> list[LeaderboardLine]:
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
    reader.book.close_season(1, {}, shown.now)
    await reader.leaderboard("2-family", await reader.season())
    assert shown.made == [*[("2-family", 1)] * 2, ("2-family", 2)]
