"""Which place plays which game."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from happycity import Config, Deal, FailurePolicy, TimeControl
from happycity_server.places.places import Dispatcher, long_matches
from happycity_server.places.protocol import Place
from happycity_tournament.play.match_spec import MatchSpec


class Somewhere:
    def __init__(self, *bots: str) -> None:
        self.bots = set(bots)

    def is_connected(self, bot: str) -> bool:
        return bot in self.bots


def dispatcher_of(*places: Somewhere) -> Dispatcher:
    """Return what divides games among places, the first of which is the server itself."""
    return Dispatcher(lambda: cast("list[Place]", places))


def game(table: int, rotation: int = 0, bots: tuple[str, ...] = ("anna", "ben"), **fields: Any) -> MatchSpec:
    return MatchSpec(
        deal=Deal.shuffle(Config(players=2), seed=table),
        bots=bots,
        bot_seeds=(1, 2),
        time=TimeControl(),
        policy=FailurePolicy(),
        position=(1, table, rotation),
        **{"tournament_id": 1, "concurrency": 2, **fields},
    )


class Games:
    """Games that ask for a place one after the other, and stay there until they are ended."""

    def __init__(
        self, dispatcher: Dispatcher, *specs: MatchSpec, concurrency: int = 2, tournament_id: int = 1
    ) -> None:
        self._dispatcher = dispatcher
        self._specs = [replace(spec, concurrency=concurrency, tournament_id=tournament_id) for spec in specs]
        self._over = [asyncio.Event() for _ in specs]
        self.places: list[object] = [None] * len(specs)
        """Where each game is; None for those that wait, or were dropped."""
        self.tasks = [asyncio.create_task(self._play(*entry)) for entry in enumerate(self._specs)]

    async def _play(self, number: int, spec: MatchSpec) -> None:
        async with self._dispatcher.placed(spec) as place:
            self.places[number] = place
            if place is not None:
                await self._over[number].wait()

    async def end(self, *games: int) -> None:
        """End games, and let others begin."""
        for game in games:
            self._over[game].set()
        await turns()


async def turns() -> None:
    """Let all tasks do what they can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def begun(
    dispatcher: Dispatcher, *specs: MatchSpec, concurrency: int = 2, tournament_id: int = 1
) -> Games:
    """Let games ask for a place."""
    games = Games(dispatcher, *specs, concurrency=concurrency, tournament_id=tournament_id)
    await turns()
    return games


async def test_deals_go_to_the_least_busy_place_as_a_whole() -> None:
    """All rotations of a deal are played at one place, and the next deal at the other one."""
    first, second = Somewhere("anna", "ben"), Somewhere("anna", "ben")
    specs = [game(table, rotation) for table in range(2) for rotation in range(2)]
    games = await begun(dispatcher_of(first, second), *specs)
    assert games.places[0] is games.places[1]
    assert games.places[2] is games.places[3]
    assert set(map(id, games.places)) == {id(first), id(second)}


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (Somewhere("anna"), 0),  # ben isn't there
        (Somewhere(), 0),
        (Somewhere("anna", "ben"), None),  # either
    ],
)
async def test_only_a_place_with_all_bots_plays_a_game(worker: Somewhere, expected: int | None) -> None:
    """A game is played where all its bots are connected, also if another place is less busy."""
    places = (Somewhere("anna", "ben"), worker)
    games = await begun(dispatcher_of(*places), game(0), game(1))
    if expected is None:
        assert set(map(id, games.places)) == set(map(id, places))
    else:
        assert games.places == [places[expected]] * 2


async def test_bot_that_is_away_is_waited_for_at_the_server() -> None:
    """Where no place has all bots, the server knows for how long they may be away."""
    server, worker = Somewhere("anna"), Somewhere("ben")
    games = await begun(dispatcher_of(server, worker), game(0))
    assert games.places == [server]


async def test_bot_that_is_disqualified_does_not_matter() -> None:
    """A worker without it plays the game, in which its seat is forfeited anyway."""
    server, worker = Somewhere(), Somewhere("anna")
    dispatcher = dispatcher_of(server, worker)
    async with dispatcher.placed(game(0, disqualified=frozenset(("ben",)))) as place:
        assert id(place) == id(worker)


async def test_deals_wait_for_room() -> None:
    """A place plays as many games at once as the tournament allows; then the oldest that waits begins."""
    place = Somewhere("anna", "ben")
    dispatcher = dispatcher_of(place)
    games = await begun(dispatcher, *map(game, range(3)), concurrency=1)
    assert games.places == [place, None, None]
    await games.end(0)
    assert games.places == [place, place, None]
    dispatcher.drop(1)
    await games.tasks[2]
    assert games.places[2] is None


async def test_deal_that_waits_begins_at_a_worker_that_joins() -> None:
    """It doesn't wait for room at the place for which it waited before."""
    places = [Somewhere("anna", "ben")]
    dispatcher = Dispatcher(lambda: cast("list[Place]", places))
    games = await begun(dispatcher, game(0), game(1), concurrency=1)
    places.append(Somewhere("anna", "ben"))
    dispatcher.reconsider()
    await turns()
    assert games.places == places


async def test_lost_worker_gets_nothing() -> None:
    """The rest of a deal goes elsewhere when its place is lost."""
    places = [Somewhere(), Somewhere("anna", "ben")]
    dispatcher = Dispatcher(lambda: cast("list[Place]", places))
    assert (await begun(dispatcher, game(0))).places == [places[1]]
    del places[1]
    assert (await begun(dispatcher, game(0, rotation=1))).places == places


async def test_game_that_is_cancelled_leaves_its_place() -> None:
    """Also between the grant and its next step: else its place would be counted for good."""
    place = Somewhere("anna", "ben")
    dispatcher = dispatcher_of(place)
    async with dispatcher.placed(game(0, concurrency=1)):
        games = await begun(dispatcher, game(1), game(2), concurrency=1)
    games.tasks[0].cancel()  # it has been granted the place, and hasn't noticed yet
    await turns()
    assert games.places == [None, place]


async def test_a_tournament_without_room_holds_up_no_other() -> None:
    """Its deals wait longer, but for places that it has filled by itself."""
    dispatcher = dispatcher_of(Somewhere("anna", "ben"))
    first = await begun(dispatcher, game(0), game(1), concurrency=1)
    second = await begun(dispatcher, game(0), game(1), concurrency=1, tournament_id=2)
    await second.end(0)
    assert [None in games.places for games in (first, second)] == [True, False]
    await first.end(0)
    assert None not in first.places


async def test_nothing_is_kept_of_a_tournament_that_has_ended() -> None:
    """A server plays thousands of them."""
    place = Somewhere("anna", "ben")
    dispatcher = dispatcher_of(place)
    for tournament_id in range(1, 101):
        async with dispatcher.placed(game(0, tournament_id=tournament_id)):
            pass
        dispatcher.drop(tournament_id)
    kept = [value for value in vars(dispatcher).values() if isinstance(value, (dict, list))]
    assert len(kept) == 3
    assert not any(kept)


@pytest.mark.parametrize(
    ("decisions", "seconds", "dropped"),
    [
        ([50, 40, 10], 0.0, [50, 40, 10]),
        # 100 decisions were played in 10 s, and a game of two bots has about 56.
        ([50, 40, 10], 1.0, [40, 10]),
        ([10, 40, 50], 2.5, [10]),
        ([50, 40, 10], 10.0, []),
        ([90, 10], 1.0, [10]),  # a long game is always near its end
        ([0, 0], 3.0, [0, 0]),
        ([], 3.0, []),
    ],
)
async def test_games_that_are_near_their_end_are_finished(
    decisions: list[int], seconds: float, dropped: list[int]
) -> None:
    """Others are dropped, as one after the other they would take too long."""
    matches = [SimpleNamespace(decisions=count, started_at=100.0, bots="ab") for count in decisions]
    found = long_matches(cast(Any, matches), seconds, now=110.0)
    assert [match.decisions for match in found] == dropped
