"""The lobby: when matches begin, which bots they wait for, and what that costs."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

import pytest
from tests.server.play.arena import Arena, broken_deal

from happycity import Ending, VoidReason
from happycity.v1 import play_service_pb2 as play
from happycity_server.errors import ApiError, Reason
from happycity_server.play.match import MatchState
from happycity_server.play.session import Session

FINISHED, ABSENT, DISQUALIFIED = Ending.FINISHED, Ending.ABSENT, Ending.DISQUALIFIED
WAITING, RUNNING = MatchState.WAITING, MatchState.RUNNING


async def calls_of(action: Callable[[], Awaitable[object]]) -> int:
    """Return how many Python functions are called during an action, on the whole event loop."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        await action()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.level(2)
async def test_waiting_matches_cost_nothing_until_their_bot_has_room(arena: Arena) -> None:
    """What happens to other bots calls as many functions with 2,000 waiting matches as with none."""

    async def dora_plays() -> None:
        dora = arena.connect("dora")
        match = await arena.match("dora", "ghost")
        decision = await dora.decision()
        await dora.answer(decision)
        match.void(VoidReason.STOPPED)
        await dora.until(lambda received: received.games_over)
        await dora.say(goodbye=play.Goodbye())
        dora.lose()
        await match.closed.wait()

    await dora_plays()  # fills caches
    alone = await calls_of(dora_plays)
    arena.connect("busy", max_games=1)
    for _ in range(2001):
        await arena.match("busy", "ghost")
    awaited = [asyncio.create_task(arena.lobby.wait_for(["nobody"], 60.0)) for _ in range(2000)]
    await asyncio.sleep(0)
    assert sum(match.state is WAITING for match in arena.lobby.matches.values()) == 2000
    assert await calls_of(dora_plays) < alone + 200
    for task in awaited:
        task.cancel()


async def test_waiting_for_bots_ends_when_all_are_there(arena: Arena) -> None:
    """`wait_for` returns as soon as the last bot is connected, `wait_for_any` with the first one."""
    every = asyncio.create_task(arena.lobby.wait_for(["anna", "ben"], 3600.0))
    one = asyncio.create_task(arena.lobby.wait_for_any(["anna", "ben"]))
    await asyncio.sleep(0)
    arena.connect("ben")
    await one
    assert not every.done()
    arena.connect("anna")
    assert await every == []
    assert await arena.lobby.wait_for(["anna", "carl"], 0.0) == ["carl"]


async def test_error_of_the_arena_voids_one_match(arena: Arena, log: list[Any]) -> None:
    """A match in which the server fails is voided with its reason, and others go on."""
    anna, ben = arena.connect("anna"), arena.connect("ben")
    sound, broken = await arena.match("anna", "ben"), await arena.match("anna", "ben", deal=broken_deal())
    while broken.state is RUNNING:
        program = (anna, ben)[broken.referee.game.seat]
        decision = await program.decision()
        if decision.match_id == broken.match_id:
            await program.answer(decision)
    assert (broken.state, broken.void_reason) == (MatchState.VOIDED, VoidReason.SERVER_ERROR)
    assert sound.state is RUNNING
    assert [line["match"] for line in log if line["event"] == "match_failed"] == [broken.match_id]
    await anna.until(lambda received: received.games_over)
    assert anna.received.games_over[0].outcome.WhichOneof("end") == "void_reason"


@pytest.mark.parametrize("failure", ["session", "watcher"])
async def test_watchers_and_sessions_do_not_keep_a_match(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, log: list[Any], failure: str
) -> None:
    """A session or a watcher that fails keeps neither the match nor its news from others."""

    def failing(*_: object) -> None:
        raise ArithmeticError("unexpected")

    arena.connect("anna")
    match, noticed = await arena.match("anna", "ghost"), asyncio.Event()
    if failure == "watcher":
        match.watchers.add(failing)
    match.watchers.add(noticed.set)
    with monkeypatch.context() as patch:
        if failure == "session":
            patch.setattr(Session, "end_match", failing)
        match.void(VoidReason.STOPPED)
    assert noticed.is_set()
    await match.closed.wait()
    assert match.match_id not in arena.lobby.matches
    assert [line["event"] for line in log if line["event"] == "match_failed"] == ["match_failed"]


async def test_voided_match_has_no_deadline(arena: Arena, log: list[Any]) -> None:
    """A match that is voided, but not removed yet, is not played on by its clock."""
    arena.connect("anna")
    match = await arena.match("anna", "ghost")
    match.void(VoidReason.STOPPED)
    arena.wait(11.0)
    assert match.match_id in arena.lobby.matches
    assert not match.referee.moves
    assert not [line for line in log if line["event"] == "match_failed"]
    assert match.summary()["void_reason"] == "stopped"


async def test_match_that_nobody_plays_any_longer_is_voided(arena: Arena) -> None:
    """A caller that gives a match up leaves nothing of it."""
    arena.connect("anna")
    spec = (await arena.match("anna", "ghost")).spec
    match = arena.lobby.create(spec)

    async def play_it() -> None:
        async with arena.lobby.played(match):
            pass

    playing = asyncio.create_task(play_it())
    await asyncio.sleep(0)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert match.void_reason is VoidReason.STOPPED
    assert match.closed.is_set()
    assert match.match_id not in arena.lobby.matches


async def test_closing_lobby_waits_until_finished_matches_are_stored(arena: Arena) -> None:
    """A match that ends in the grace time is stored before the lobby is closed; no match begins any more."""
    arena.stored.clear()
    anna = arena.connect("anna", max_games=2)
    match, waiting = await arena.match("anna", "anna"), await arena.match("anna", "ghost")
    closing = asyncio.create_task(arena.lobby.close(30.0))
    await asyncio.sleep(0)
    await anna.say(resigns=[play.Resign(match_id=1)])
    assert match.state is MatchState.FINISHED
    assert waiting.void_reason is VoidReason.SHUTDOWN
    for _ in range(10):
        await asyncio.sleep(0)
    assert not closing.done()
    arena.stored.set()
    await closing
    assert match.closed.is_set()
    assert not arena.lobby.matches
    with pytest.raises(ApiError) as caught:
        arena.lobby.create(match.spec)
    assert caught.value.reason is Reason.SHUTTING_DOWN


@pytest.mark.parametrize("is_lost", [False, True], ids=["still connected", "lost"])
async def test_bot_that_will_not_come_back_is_waited_for_by_no_match(arena: Arena, *, is_lost: bool) -> None:
    """As when its program has ended once too often: matches that run, and those that wait for it, go on."""
    dora, emil = arena.connect("dora", max_games=1), arena.connect("emil")
    running, waiting = [await arena.match("dora", "emil") for _ in range(2)]
    if is_lost:
        dora.lose()
    arena.lobby.dismiss("dora", "its program ended with status 3")
    if not is_lost:
        dora.lose()
    while len(emil.received.games_over) < 2:
        await emil.play_to_end()
    first, second = (match.results[0] for match in (running, waiting))
    assert (first.ending, first.reason) == (Ending.DISCONNECTED, "its program ended with status 3")
    assert second.ending is Ending.ABSENT
    assert not arena.lobby.is_connected("dora")
    arena.lobby.dismiss("nobody", "")
