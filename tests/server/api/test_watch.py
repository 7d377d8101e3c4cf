"""Watching matches: every step, whenever a watcher comes and however slowly it reads, and then the end."""

import asyncio
import sys
from collections.abc import Awaitable
from types import FrameType
from typing import Any

import pytest
from tests.server.api.arena import Arena
from tests.server.play.arena import DEAL, LocalProgram
from tests.server.play.arena import Arena as LocalArena

from happycity import Config, Ending, Game, VoidReason
from happycity.records.playback import Playback
from happycity.records.record import dumps
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import incident_message
from happycity.wire.messages import event_message, move_message, view_message
from happycity_server.broadcast import BroadcastError
from happycity_server.places.watch import WatchedMatch, Watches, recorded, responses, step_bytes
from happycity_server.play.match import Match, OpenMatch


async def solo(arena: LocalArena) -> tuple[Match, LocalProgram]:
    anna = arena.connect("anna")
    return await arena.match("anna", "anna"), anna


async def play_moves(anna: LocalProgram, count: int) -> None:
    for _ in range(count):
        await anna.answer(await anna.decision(), -1)


async def rest_of(feed: Any) -> list[bytes]:
    return [part async for part in feed]


def watch(watches: Watches, match: Match) -> Any:
    return responses(watches.live(match))


def end_of(parts: list[bytes]) -> pb.MatchEnd:
    """Return the end, which only the last part has."""
    decoded = [pb.WatchMatchResponse.FromString(part) for part in parts]
    assert [part.WhichOneof("part") for part in decoded] == ["step"] * (len(parts) - 1) + ["end"]
    return decoded[-1].end


async def test_match_that_is_voided_at_a_worker_ends_with_the_decisions_that_it_reported() -> None:
    """Its positions are not known here, but their number is."""
    match = OpenMatch(1, (await LocalArena().match("anna", "ben")).spec, created_at=0.0)
    watching = Watches().live(match)
    match.decisions = 3
    match.void(VoidReason.SERVER_ERROR)
    match.closed.set()
    assert end_of(await rest_of(responses(watching))).decisions == 3


async def test_slow_watcher_gets_every_step_and_then_the_end() -> None:
    """A watcher that holds a message while the match is played to its end gets all that follows later."""
    match, anna = await solo(LocalArena())
    watches = Watches()
    watching = watch(watches, match)
    await play_moves(anna, 5)
    parts = [await anext(watching) for _ in range(6)]
    await anna.play_to_end()
    await rest_of(watch(watches, match))  # another watcher gets the end meanwhile
    parts += await rest_of(watching)
    assert end_of(parts).decisions == len(match.referee.moves) == len(parts) - 2
    assert end_of(parts).outcome.result.seats[0].ending == match_pb2.ENDING_FINISHED


async def test_watchers_share_the_encoded_steps() -> None:
    """Each step is encoded once for all watchers of a match; after its end nothing is kept."""
    watches = Watches()
    match, anna = await solo(LocalArena())
    watched = watches.live(match)
    watchers = [asyncio.create_task(rest_of(watch(watches, match))) for _ in range(3)]
    await anna.play_to_end()
    shown = [[id(part) for part in parts] for parts in await asyncio.gather(*watchers)]
    assert shown[0] == shown[1] == shown[2]
    assert watches.live(match) is not watched
    assert not match.watchers


async def test_a_match_that_can_not_be_shown_ends_its_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the game can't be played once more, watchers get the failure instead of waiting for ever."""
    match, anna = await solo(LocalArena())
    watches = Watches()
    watching = [watch(watches, match) for _ in range(3)]
    for each in watching:
        await anext(each)
    monkeypatch.setattr(Playback, "show", broken)
    await anna.answer(await anna.decision(), 0)
    outcomes = await asyncio.gather(*map(rest_of, watching), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [BroadcastError] * 3
    monkeypatch.undo()
    await anna.play_to_end()
    assert end_of(await rest_of(watch(watches, match))).decisions == match.decisions  # for those who come now


def broken(*_: object) -> None:
    raise ValueError("broken")


async def test_end_comes_when_the_match_is_stored() -> None:
    """A watcher that gets the result finds the match in the store: the end waits for that."""
    arena = LocalArena()
    arena.stored.clear()
    match, anna = await solo(arena)
    watching = asyncio.create_task(rest_of(watch(Watches(), match)))
    await anna.say(resigns=[play.Resign(match_id=1)])
    for _ in range(10):
        await asyncio.sleep(0)
    assert match.over.done()
    assert not watching.done()
    arena.stored.set()
    assert end_of(await watching).outcome.result.seats[1].ending == match_pb2.ENDING_RESIGNED


async def test_steps_are_the_positions_of_the_game() -> None:
    """A step has the move with its coins, what it brought about, the view, and the think time of a bot."""
    arena = LocalArena()
    match, anna = await solo(arena)
    watching = asyncio.create_task(rest_of(watch(Watches(), match)))
    for _ in range(10):
        decision = await anna.decision()
        arena.wait(0.25)
        await anna.answer(decision, -1)
    match.forfeit(0, Ending.RESIGNED, arena.now)
    match.forfeit(1, Ending.RESIGNED, arena.now)
    *steps, _ = [pb.WatchMatchResponse.FromString(part).step for part in await watching]
    game = Game(DEAL)
    events, view = map(event_message, game.events), view_message(game.view())
    assert steps[0] == pb.MatchStep(events=events, view=view)
    assert not steps[0].HasField("seat")
    for number, (seat, move) in enumerate(match.referee.moves, start=1):
        coins = game.coin_change(move)
        game.apply(move)
        assert steps[number] == pb.MatchStep(
            decisions=number,
            seat=seat,
            move=move_message(move, coins),
            events=map(event_message, game.events),
            view=view_message(game.view()),
            think_us=match.referee.think_us[number - 1] if number <= 10 else None,
            incidents=map(incident_message, match.referee.incidents) if number == 11 else (),
        )
    assert list(match.referee.think_us[:10]) == pytest.approx([250_000] * 10, abs=1)
    assert any(step.move.coins < 0 for step in steps)


async def test_steps_have_the_bots_numbers_and_what_went_wrong() -> None:
    """Numbers are in the step of their decision, incidents in the next step after they happened.

    Live and from the record these are the same.
    """
    arena = LocalArena()
    match, anna = await solo(arena)
    watching = asyncio.create_task(rest_of(watch(Watches(), match)))
    await anna.answer(await anna.decision(), 0, depth=3, value=-0.5)
    await anna.answer(await anna.decision(), 99)
    await anna.answer(await anna.decision(), 0, depth=5)
    match.forfeit(1, Ending.CRASHED, arena.now, reason="ValueError: 7 (anna.py:3)")
    match.forfeit(0, Ending.RESIGNED, arena.now)
    live = await watching
    stored = WatchedMatch(recorded(dumps(match.record()), match.match_id, match.bots))
    assert stored.positions(step_bytes) == live[:-1]
    steps = [pb.WatchMatchResponse.FromString(part).step for part in live]
    assert [dict(step.metrics) for step in steps[:4]] == [{}, {"depth": 3, "value": -0.5}, {}, {"depth": 5}]
    happened = [
        [(entry.decision_id, entry.seat, entry.kind) for entry in step.incidents] for step in steps[:6]
    ]
    forfeit = match_pb2.INCIDENT_KIND_FORFEIT
    illegal = [(2, 0, match_pb2.INCIDENT_KIND_ILLEGAL_ANSWER)]
    assert happened == [[], [], illegal, [], [(4, 1, forfeit), (4, 0, forfeit)], []]
    assert steps[4].incidents[0].text == "the seat is forfeited: crashed: ValueError: 7 (anna.py:3)"


async def steps_made_during(action: Awaitable[Any]) -> tuple[Any, int]:
    """Return the result of an action, and how many steps for watchers were made on this thread meanwhile."""
    steps = 0

    def count(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal steps
        steps += event == "call" and frame.f_code is step_bytes.__code__

    sys.setprofile(count)
    try:
        return await action, steps
    finally:
        sys.setprofile(None)


async def parts_of(arena: Arena, match: pb.Match, **fields: Any) -> list[pb.WatchMatchResponse]:
    return [part async for part in arena.matches.WatchMatch(match_id=match.match_id, **fields)]


@pytest.mark.level(2)
async def test_match_is_shown_live_and_from_its_record_alike(arena: Arena) -> None:
    """A watcher sees the same messages while the match runs, afterwards, and from any decision on."""
    match = await arena.create("anna", "anna", seed=3)
    watching = asyncio.create_task(parts_of(arena, match))
    anna = await arena.connect("anna")
    await anna.play_to_end()
    live = await watching
    match = await arena.finished(match.match_id)
    assert await parts_of(arena, match) == live
    assert len(live) == match.decisions + 2  # the beginning, a step for each decision, the end
    assert live[0].step.view == view_message(Game.deal(Config(players=2), seed=3).view())
    assert live[-1].end == pb.MatchEnd(decisions=match.decisions, outcome=match.outcome)
    assert await parts_of(arena, match, from_decision=10) == live[10:]
    assert await parts_of(arena, match, from_decision=2**32 - 1) == live[-1:]


@pytest.mark.level(2)
async def test_steps_cost_only_where_they_are_shown(arena: Arena) -> None:
    """A stored match is not replayed on the event loop, and a live one only if a watcher wants its steps."""
    anna = await arena.connect("anna")
    match = await arena.create("anna", "anna")
    _, steps = await steps_made_during(anna.play_to_end())
    assert steps == 0
    match = await arena.create("anna", "anna")
    watching = asyncio.create_task(parts_of(arena, match))
    _, steps = await steps_made_during(anna.play_to_end())
    live = await watching
    assert steps >= len(live) - 2  # all but perhaps the last one, as the set-up has a step too
    assert await steps_made_during(parts_of(arena, match)) == (live, 0)
