"""The ladder of a server: everybody who connects plays, and what is played outlives the server."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import RandomMove
from tests.server.harness import Service, ended_match, matches_at, outcome_of
from tests.server.ladder.ladders import (
    TWO_SEATS,
    Games,
    check_complete,
    deals_in,
    laddering,
    numbers_of,
    playing,
    ratings_follow,
)
from tests.waiting import LIMIT

from happycity import Config, Move
from happycity.records.record import loads
from happycity.wire.messages import config_message
from happycity_client import Bot, Decision
from happycity_evaluation.evaluator import Evaluator
from happycity_ladder.book import Book
from happycity_ladder.entries import DealState
from happycity_server.app import RunningServer
from happycity_server.ladder import ladder as ladder_module
from happycity_server.ladder import presence
from happycity_server.ladder.ratings import LadderRatings
from happycity_server.ladder.served_book import ServedBook
from happycity_tournament.luck_adjusted import luck_of
from happycity_tournament.storage.store import Store


def ladder_of(folder: Path) -> Book:
    return Book(Store.existing(f"sqlite:///{folder}/games.sqlite"))


@pytest.mark.level(2)
@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.level(2))])
async def test_bots_that_connect_are_paired_and_rated(tmp_path: Path, workers: int) -> None:
    """All rotations of each deal are played, by different bots, and count for ratings, scores and history."""
    games = Games()
    async with (
        laddering(tmp_path, workers=workers) as server,
        playing(server.address, "anna", "ben", "carl", games=games),
    ):
        await games.more(12)
    deals = deals_in(tmp_path)
    check_complete(tmp_path, deals)
    finished = [deal for deal in deals if deal.state is DealState.FINISHED]
    assert len(finished) >= 2
    assert numbers_of(deals) == list(range(1, len(finished) + 1))
    assert len({deal.deal_seed for deal in deals}) == len(deals)
    ladder = ladder_of(tmp_path)
    season = ladder.season()
    assert season is not None
    assert season.deals == len(finished)
    played = Counter(version for deal in finished for version in deal.versions)
    assert {version: score.games for version, score in ladder.scores(1, "2-family").items()} == {
        version: 2 * deals for version, deals in played.items()
    }
    history = Book(ladder.store).history("2-family", list(played), most=1000)
    assert {point.version_id for point in history} == set(played)


async def test_the_luck_of_rated_deals_is_computed_when_they_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is kept by version, the mean over the games of the deal; flags are looked for in it."""
    games, kept, keep = Games(), asyncio.Event(), ServedBook.keep_luck

    def keep_and_tell(self: ServedBook, deal_id: int, places: Sequence[float]) -> None:
        keep(self, deal_id, places)
        loop.call_soon_threadsafe(kept.set)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(ServedBook, "keep_luck", keep_and_tell)
    async with laddering(tmp_path) as server, playing(server.address, "anna", "ben", games=games):
        await asyncio.wait_for(kept.wait(), LIMIT)
    ladder = ladder_of(tmp_path)
    (board, luck), *_ = ladder.luck_of_deals(0, ladder.last_finished())
    expected = dict.fromkeys(luck.versions, 0.0)
    for rotation, game in enumerate(ladder.games_of([luck.deal_id])[luck.deal_id]):
        seated = luck.versions[rotation:] + luck.versions[:rotation]
        record = loads(ladder.store.record(game.match_id) or "")
        for version, places in zip(seated, luck_of(record, Evaluator()), strict=True):
            expected[version] += places / 2
    assert board == "2-family"
    assert luck.places == pytest.approx(list(expected.values()))


async def reasons(server: RunningServer, match_ids: Iterable[int]) -> set[str]:
    """Ask for the records of matches; return the reasons why they are refused."""
    async with grpc.aio.insecure_channel(server.address) as channel:
        matches = matches_at(channel)
        outcomes = [await outcome_of(matches.GetMatchRecord(match_id=number)) for number in match_ids]
    return {outcome.reason for outcome in outcomes}


class FirstSeat(Bot):
    """Answers in its games in the first seat only: of a deal for two, one game is finished and one isn't."""

    async def choose(self, decision: Decision) -> Move:
        """Return the first legal move, or nothing."""
        if self.start.seat:
            await asyncio.Event().wait()
        return decision.moves[0]


@asynccontextmanager
async def broken_off(folder: Path) -> AsyncIterator[RunningServer]:
    """Yield a server with two deals between anna and ben of which one game each is over; then it stops."""
    games = Games()
    async with AsyncExitStack() as bots, laddering(folder, grace=0.0) as server:
        await bots.enter_async_context(playing(server.address, "anna", games=games, kind=FirstSeat))
        await bots.enter_async_context(playing(server.address, "ben", games=games))
        await games.more(4)  # two for each of them
        yield server


@pytest.mark.level(2)
async def test_deals_that_were_broken_off_go_on(tmp_path: Path) -> None:
    """Until all games of a deal are over, none of its records is shown: the cards are the same."""
    async with broken_off(tmp_path) as server:
        assert await reasons(server, range(1, 5)) == {"MATCH_RUNNING"}
    first = deals_in(tmp_path)
    assert [deal.state for deal in first] == [DealState.OPEN] * 2
    games = Games()
    async with laddering(tmp_path) as server, playing(server.address, "anna", "ben", games=games):
        await games.more(4)
    deals = deals_in(tmp_path)[:2]
    assert [deal.id for deal in deals] == [deal.id for deal in first]
    assert numbers_of(deals) == [1, 2]
    check_complete(tmp_path, deals)
    stored = ladder_of(tmp_path).games_of([deal.id for deal in deals])
    async with laddering(tmp_path) as server:
        assert await reasons(server, [game.match_id for game in stored[1] + stored[2]]) == {""}


@pytest.mark.level(2)
@pytest.mark.parametrize(("bots", "version"), [(["dora", "emil"], "1"), (["anna", "ben"], "2")])
async def test_deals_whose_bots_do_not_come_back_are_dropped(
    tmp_path: Path, bots: Sequence[str], version: str
) -> None:
    """A deal is given up when a bot comes back as another version, or not at all for some time."""
    async with broken_off(tmp_path):
        pass
    games, short = Games(), "return_seconds = 0.2\n" + TWO_SEATS
    async with (
        laddering(tmp_path, short) as server,
        playing(server.address, *bots, version=version, games=games),
    ):
        await games.more(12)
    assert [deal.state for deal in deals_in(tmp_path)[:2]] == [DealState.DROPPED] * 2


@pytest.mark.level(2)
@pytest.mark.parametrize("broken", ["_play_rotations", "bot_seeds", "MatchSpec"])
async def test_a_deal_that_fails_unexpectedly_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Its bots are free again, the ladder plays it to its end later, and the server stops."""
    monkeypatch.setattr(ladder_module, "RETRY_SECONDS", 0.0)
    where = ladder_module.Ladder if broken.startswith("_") else ladder_module
    sound, failures = getattr(where, broken), iter(range(3))

    def failing(*arguments: Any, **named: Any) -> Any:
        if next(failures, None) is not None:
            raise ArithmeticError("unexpected")
        return sound(*arguments, **named)

    monkeypatch.setattr(where, broken, failing)
    games = Games()
    async with laddering(tmp_path) as server, playing(server.address, "anna", "ben", games=games):
        await games.more(24)
    deals = deals_in(tmp_path)
    assert next(failures, None) is None
    assert [deal.state for deal in deals[:2]] == [DealState.FINISHED] * 2
    check_complete(tmp_path, deals)


@pytest.mark.level(2)
async def test_a_ladder_whose_parts_fail_goes_on_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object) -> None:
        raise ArithmeticError("unexpected")

    games = Games()
    async with laddering(tmp_path) as server, playing(server.address, "anna", "ben", games=games):
        await games.more(2)
        for owner, name in (
            (ladder_module.Ladder, "_next_time"),
            (LadderRatings, "catch_up"),
            (LadderRatings, "save"),
        ):
            monkeypatch.setattr(owner, name, failing)
        await games.more(6)


@pytest.mark.level(2)
async def test_practice_comes_first(tmp_path: Path) -> None:
    """A bot that plays in the ladder all the time gets its practice matches, too."""
    games = Games()
    async with (
        laddering(tmp_path) as server,
        playing(server.address, "anna", "ben", games=games),
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        await games.more(2)
        terms = {"config": config_message(Config(players=2)), "bots": ["anna", "anna"]}
        match = await matches_at(channel).CreatePracticeMatch(**terms)
        assert (await ended_match(matches_at(channel), match.match_id)).outcome.HasField("result")
        await games.more(4)  # and the ladder goes on


@pytest.mark.level(2)
async def test_bots_that_wait_for_the_end_of_a_deal_are_not_said_to_lack_opponents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have some, where as many deals are played as may be at once."""
    monkeypatch.setattr(presence, "PATIENCE", -1.0)
    games, holds, asked, goes_on = Games(), asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Held(RandomMove):
        async def choose(self, decision: Decision) -> Move:  # type: ignore[override]
            if holds.is_set():
                asked.set()
                await goes_on.wait()
            return self.rng.choice(decision.moves)

    async with (
        laddering(tmp_path, f"deals_at_once = 1\n{TWO_SEATS}") as server,
        playing(server.address, "anna", "ben", "carl", games=games, kind=Held),
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        await games.more(12)  # all have played
        holds.set()
        await asked.wait()
        shown = await Service(channel, "happycity.ladder.v1beta1.LadderService").GetLadder()
        assert [(one.bots, one.text) for one in shown.idle] == [(1, presence.WaitReason.FULL.value)]
        goes_on.set()


@pytest.mark.level(2)
async def test_seasons_end_by_time(tmp_path: Path) -> None:
    """Each leaves its leaderboard; the ratings go on, with more doubt, also when they are made again."""
    games = Games()
    async with (
        laddering(tmp_path, "season_days = 3e-6\n" + TWO_SEATS) as server,
        playing(server.address, "anna", "ben", "carl", games=games),
    ):
        await games.more(20)
    ladder = ladder_of(tmp_path)
    *_, first = ladder.seasons(10_000)
    assert len(ladder.seasons(10_000)) > 1
    assert first.closed_after is not None
    seasons = [season for season in ladder.closed_seasons() if season.deals]
    assert all(ladder.leaderboards(season.id)["2-family"] for season in seasons[1:])
    await ratings_follow(tmp_path)


@pytest.mark.level(2)
async def test_a_store_that_fails_for_a_while_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ladder rests before it plays again what could not be stored; then everything goes on."""
    monkeypatch.setattr(ladder_module, "RETRY_SECONDS", 0.5)
    games = Games()
    async with laddering(tmp_path) as server, playing(server.address, "anna", "ben", games=games):
        await games.more(8)
        with sqlite3.connect(tmp_path / "games.sqlite", timeout=LIMIT) as database:
            database.execute("ALTER TABLE games RENAME TO games_away")
        began = asyncio.get_running_loop().time()
        # Two bots end eight games in a row of two deals; the games of six rows need five rests at least.
        await games.more(8 + 6 * 8)
        assert asyncio.get_running_loop().time() - began >= 5 * 0.5
        with sqlite3.connect(tmp_path / "games.sqlite", timeout=LIMIT) as database:
            database.execute("ALTER TABLE games_away RENAME TO games")
        await games.more(24)
    deals = deals_in(tmp_path)
    check_complete(tmp_path, deals)
    assert not [deal for deal in deals if deal.state is DealState.DROPPED]
    finished = numbers_of(deals)
    assert finished == list(range(1, len(finished) + 1))
