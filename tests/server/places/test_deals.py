"""Which deals are in play, by what else has their seeds."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.tournament.games import finished, fixtures_of

from happycity import BotInfo, Config
from happycity_ladder import entries
from happycity_ladder.book import Book
from happycity_server.places.deals import DealsInPlay
from happycity_tournament.config import RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.games import BotProfile, FinishedGame
from happycity_tournament.storage.store import Store
from happycity_tournament.visibility import Play

FINISHED, STOPPED, RUNNING = TournamentState.FINISHED, TournamentState.STOPPED, TournamentState.RUNNING
BOTS = ("ann", "bob")


class Deals:
    """A store, and the seeds that are in play outside of it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.open: list[Any] = []
        """The specifications of open matches."""
        matches = SimpleNamespace(newest_matches=lambda: [SimpleNamespace(spec=spec) for spec in self.open])
        self.waiting_seeds: list[int] = []
        """Those of deals that wait for people at tables."""
        stored = SimpleNamespace(store=store, read=self._read)
        self.deals = DealsInPlay(matches, stored, waiting_seeds=lambda: self.waiting_seeds)  # type: ignore[arg-type]

    async def _read(self, call: Any, *arguments: Any) -> Any:
        return call(*arguments)

    def open_match(self, seed: int, **fields: Any) -> None:
        spec = {"own_deal": False, "practice": False, "position": None, **fields}
        self.open.append(SimpleNamespace(deal=SimpleNamespace(seed=seed), **spec))

    def game(self, game: FinishedGame, **fields: Any) -> FinishedGame:
        stored = replace(game, match_id=self.store.next_match_id(), **fields)
        self.store.add_games([(stored, None)])
        return stored

    def single(self, seed: int) -> FinishedGame:
        (_, game) = scheduled(0, 1)
        return self.game(game, tournament_id=None, position=None, deal_seed=seed)

    def tournament(self, seed: int, state: TournamentState, *, games: int = 1) -> FinishedGame:
        """Add a tournament; return its game."""
        config, _ = scheduled(0, seed)
        number = self.store.create_tournament(config.json(), games_total=2, created_at=1.0)
        self.store.set_state(number, state)
        _, game = scheduled(number, seed)
        return self.game(game) if games else game

    async def play(self, game: FinishedGame) -> Play:
        return (await self.deals.of_games([game]))[game.match_id][0]

    async def elsewhere(self, game: FinishedGame) -> Play:
        """Return where the deals of a game's tournament stand besides."""
        assert game.tournament_id is not None
        return (await self.deals.of_tournaments([game.tournament_id]))[game.tournament_id]


def scheduled(number: int, seed: int) -> tuple[TournamentConfig, FinishedGame]:
    """Return a tournament with a seed, and its first game."""
    config = TournamentConfig(bots=BOTS, game=Config(players=2), format=RandomRounds(rounds=1), seed=seed)
    return config, finished(fixtures_of(config)[0], tournament_id=number)


@pytest.fixture
def deals(tmp_path: Path) -> Iterator[Deals]:
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        yield Deals(store)


async def test_deals_of_tournaments(deals: Deals) -> None:
    """Each is in play as its tournament is, or another one with the same seed, whichever is more so."""
    over, paused, running = (
        deals.tournament(seed, state) for seed, state in enumerate((FINISHED, STOPPED, RUNNING))
    )
    assert [await deals.play(game) for game in (over, paused, running)] == [
        Play.ENDED,
        Play.PAUSED,
        Play.OPEN,
    ]
    assert [await deals.elsewhere(game) for game in (over, paused, running)] == [Play.ENDED] * 3
    for state, play in ((FINISHED, Play.ENDED), (STOPPED, Play.PAUSED), (RUNNING, Play.REPEATED)):
        deals.tournament(0, state, games=0)
        assert await deals.play(over) is play
        assert min(await deals.elsewhere(over), Play.REPEATED) is play


async def test_deals_of_single_matches(deals: Deals) -> None:
    """An open match with the seed repeats a deal, also one of a tournament, whose seed it follows from."""
    single, of_tournament = deals.single(7), deals.tournament(1, FINISHED)
    deals.open_match(8)
    assert await deals.play(single) is Play.ENDED
    deals.open_match(7)
    assert await deals.play(single) is Play.REPEATED
    assert await deals.elsewhere(of_tournament) is Play.ENDED
    deals.open_match(of_tournament.deal_seed, position=(0, 0, 0))  # the schedule of a tournament has it
    assert await deals.elsewhere(of_tournament) is Play.ENDED
    deals.open_match(of_tournament.deal_seed)
    assert await deals.play(of_tournament) is Play.REPEATED
    assert await deals.elsewhere(of_tournament) is Play.OPEN


async def test_a_deal_of_a_tournament_that_was_played_for_itself(deals: Deals) -> None:
    running = deals.tournament(1, RUNNING)
    assert await deals.play(deals.single(running.deal_seed)) is Play.REPEATED


async def test_deals_that_wait_for_people(deals: Deals) -> None:
    single = deals.single(7)
    deals.waiting_seeds.append(7)
    assert await deals.play(single) is Play.REPEATED


async def test_deals_of_the_ladder(deals: Deals) -> None:
    """A game of an open deal is of a deal in play, and so is one whose cards an open deal has."""
    ladder = Book(deals.store)
    ladder.open_season(10.0)
    said = BotProfile(BotInfo(), "sdk/1")
    versions = tuple(ladder.enter_version(bot, said, 11.0, owner=bot).id for bot in BOTS)
    kind, board = entries.DealKind.COMPARISON, "2-family"
    deal = entries.NewDeal(board=board, kind=kind, versions=versions, bots=BOTS, deal_seed=7)
    (begun,) = ladder.begin_deals([deal], 20.0)
    single = deals.single(7)
    game = deals.game(single, ladder=(begun.id, 0))
    assert [await deals.play(one) for one in (game, single)] == [Play.OPEN, Play.REPEATED]
    ladder.drop_deal(begun.id, 30.0)
    assert [await deals.play(one) for one in (game, single)] == [Play.ENDED] * 2
