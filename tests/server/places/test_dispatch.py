"""Which place plays which game."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from happycity import Config, FailurePolicy, TimeControl
from happycity_server.places.dispatch import Dispatcher
from happycity_tournament.games import Fixture
from happycity_tournament.running.terms import Terms


class Somewhere:
    """A place with certain bots."""

    def __init__(self, *bots: str, away: Iterable[str] = ()) -> None:
        self.ready = True
        self.bots = set(bots)
        self.away = set(away)

    def is_connected(self, bot: str) -> bool:
        """Return whether a bot is connected."""
        return bot in self.bots

    def knows(self, bot: str) -> bool:
        """Return whether a bot is connected, or was a moment ago."""
        return bot in self.bots | self.away


def terms(concurrency: int = 2, grace_seconds: float = 5.0) -> Terms:
    """Return those of a tournament."""
    return Terms(
        tournament_id=1,
        game=Config(players=2),
        time=TimeControl(),
        policy=FailurePolicy(grace_seconds=grace_seconds),
        concurrency=concurrency,
    )


def fixture(table: int, rotation: int = 0, bots: tuple[str, ...] = ("anna", "ben")) -> Fixture:
    """Return a game of the first round."""
    return Fixture(1, table, rotation, deal_seed=table, bots=bots, bot_seeds=(1, 2))


async def placed(dispatcher: Dispatcher, *fixtures: Fixture, **options: float) -> list[object]:
    """Return the places of games that begin one after the other; None for those that wait."""
    tournament = terms(**options)  # type: ignore[arg-type]
    tasks = [asyncio.create_task(dispatcher.place_for(entry, tournament)) for entry in fixtures]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return [task.result() if task.done() else None for task in tasks]


async def test_deals_go_to_the_least_busy_place_as_a_whole() -> None:
    """All rotations of a deal are played at one place, and the next deal at the other one."""
    first, second = Somewhere("anna", "ben"), Somewhere("anna", "ben")
    dispatcher = Dispatcher((first, second), lambda: 0.0)
    games = [fixture(table, rotation) for table in range(2) for rotation in range(2)]
    places = await placed(dispatcher, *games)
    assert places[0] is places[1]
    assert places[2] is places[3]
    assert {id(place) for place in places} == {id(first), id(second)}


@pytest.mark.parametrize(
    ("elsewhere", "expected"),
    [
        (Somewhere("anna"), 0),  # ben isn't there
        (Somewhere(), 0),
        (Somewhere("anna", "ben"), None),  # either
    ],
)
async def test_only_a_place_with_all_bots_plays_a_game(elsewhere: Somewhere, expected: int | None) -> None:
    """A game is played where all its bots are connected, also if another place is less busy."""
    places = (Somewhere("anna", "ben"), elsewhere)
    found = await placed(Dispatcher(places, lambda: 0.0), fixture(0), fixture(1))
    if expected is None:
        assert set(map(id, found)) == set(map(id, places))
    else:
        assert found == [places[expected]] * 2


async def test_bot_that_is_away_is_waited_for_where_it_was() -> None:
    """It would forfeit at once where it never was; one that was nowhere doesn't matter."""
    places = (Somewhere("anna"), Somewhere("anna", away=["ben"]))
    dispatcher = Dispatcher(places, lambda: 0.0)
    assert await placed(dispatcher, fixture(0)) == [places[1]]
    ((found),) = await placed(dispatcher, fixture(1, bots=("anna", "carl")))
    assert found in places


async def test_deals_wait_for_room() -> None:
    """A place plays as many games at once as the tournament allows; then the oldest that waits begins."""
    place = Somewhere("anna", "ben")
    dispatcher = Dispatcher((place,), lambda: 0.0)
    tournament = terms(concurrency=1)
    tasks = [asyncio.create_task(dispatcher.place_for(fixture(table), tournament)) for table in range(3)]
    await asyncio.sleep(0)
    assert [task.done() for task in tasks] == [True, False, False]
    dispatcher.release(place, 1)
    await asyncio.sleep(0)
    assert [task.done() for task in tasks] == [True, True, False]
    dispatcher.drop(1)
    assert await tasks[2] is None


async def test_bots_without_a_common_place_are_waited_for() -> None:
    """A bot that comes to the others' place ends that."""
    places = (Somewhere("anna"), Somewhere("ben"))
    dispatcher = Dispatcher(places, lambda: 0.0)
    waiting = asyncio.create_task(dispatcher.place_for(fixture(0), terms()))
    await asyncio.sleep(0)
    assert not waiting.done()
    places[0].bots.add("ben")
    dispatcher.reconsider()
    assert await waiting is places[0]


async def test_bots_without_a_common_place_play_after_the_grace_time() -> None:
    """Then the place with most of them plays the game; the others forfeit it."""
    now = 0.0
    places = (Somewhere("anna"), Somewhere("ben", "carl"))
    dispatcher = Dispatcher(places, lambda: now)
    waiting = asyncio.create_task(
        dispatcher.place_for(fixture(0, bots=("anna", "ben", "carl")), terms(grace_seconds=5.0))
    )
    await asyncio.sleep(0)
    now = 6.0
    dispatcher.reconsider()
    assert await waiting is places[1]


async def test_lost_place_gets_nothing() -> None:
    """The rest of a deal goes elsewhere when its place is lost."""
    places = (Somewhere("anna", "ben"), Somewhere("anna", "ben"))
    dispatcher = Dispatcher(places, lambda: 0.0)
    (first,) = await placed(dispatcher, fixture(0))
    assert isinstance(first, Somewhere)
    first.ready = False
    (second,) = await placed(dispatcher, fixture(0, rotation=1))
    assert second is not first
