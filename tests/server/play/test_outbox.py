"""A connection without gRPC: pings, bots that don't read, and what gathers for them."""

import asyncio

import pytest
from tests.server.play.arena import Arena

from happycity import Ending, TimeControl, VoidReason
from happycity.v1 import play_service_pb2 as play
from happycity_server.errors import Reason
from happycity_server.play.lobby import CONNECTION_SECONDS
from happycity_server.play.outbox import OutboxState


async def test_pong_measures_the_round_trip(arena: Arena) -> None:
    """The time from ping to pong is in the next decision and in the record; before, it is absent."""
    anna = arena.connect("anna")
    match = await arena.match("anna", "ghost")
    decision = await anna.decision()
    assert not decision.clock.HasField("round_trip_us")
    await anna.say()  # the bot shows that it is done with the batch
    arena.wait(5.1)
    ping = (await anna.read()).ping
    arena.now += 0.03
    await anna.say(pong=play.Pong(nonce=ping.nonce))
    await anna.say(pong=play.Pong(nonce=99))
    await anna.say(pong=play.Pong(nonce=ping.nonce))  # a second time: it measures nothing
    await anna.answer(decision)
    assert (await anna.decision()).clock.round_trip_us == pytest.approx(30_000, abs=2)
    match.forfeit(0, Ending.RESIGNED, arena.now)
    assert match.record()["clock"]["round_trip_us"] == [pytest.approx(30_000, abs=2), 0]


async def test_unanswered_pings_end_no_stream(arena: Arena) -> None:
    """They measure nothing, and that is all: whether a bot is there, its connection knows."""
    anna = arena.connect("anna")
    match = await arena.match("anna", "ghost", time=TimeControl(decision_seconds=600.0))
    for _ in range(20):
        await anna.read()
        arena.wait(5.1)
    assert anna.received.ping.nonce > 10
    assert anna.end is None
    assert anna.session.round_trip_us is None
    assert match.referee.endings[0] is Ending.FINISHED


async def test_full_outbox_ends_the_stream() -> None:
    """A bot that reads nothing while much is sent to it is dropped."""
    arena = Arena(outbox_bytes=2000, high_water_bytes=1000)
    anna = arena.connect("anna")
    anna.outbox.send(b"x" * 1500)
    arena.wait(CONNECTION_SECONDS)
    assert anna.end is None
    anna.outbox.send(b"x" * 1000)
    arena.wait(CONNECTION_SECONDS)
    assert anna.end is Reason.STALLED


async def test_nothing_is_read_from_a_bot_while_its_outbox_is_congested() -> None:
    """The reader of a connection waits until the outbox is sent."""
    arena = Arena(high_water_bytes=1000)
    anna = arena.connect("anna")
    anna.outbox.send(b"x" * 1500)
    assert anna.outbox.congested
    waiting = asyncio.create_task(anna.outbox.drained())
    await asyncio.sleep(0)
    arena.wait(14.0)
    assert not waiting.done()
    await anna.outbox.next_batch()
    await waiting
    assert not anna.outbox.congested
    assert arena.lobby.counters.outbox_high_water_bytes > 1500


async def test_flood_of_wrong_answers_needs_no_room(arena: Arena) -> None:
    """Of many notices some are sent, and how many more there were."""
    anna = arena.connect("anna")
    await anna.read()
    for _ in range(1000):
        await anna.say(answers=[play.Answer(match_id=5)] * 100)
    assert anna.outbox.waiting_bytes < 20_000
    batch = await anna.read()
    assert len(batch.notices) == 101
    assert batch.notices[-1].text == "and 99900 more such notices"
    await anna.say(answers=[play.Answer(match_id=5)])
    assert len((await anna.read()).notices) == 1


async def test_decisions_gather_while_the_bot_is_busy(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a bot thinks, decisions of its other games wait for a moment, or until it says something.

    Their clocks start when they are sent.
    """
    monkeypatch.setattr("happycity_server.play.outbox.HOLD_SECONDS", 3600.0)
    anna, ben = arena.connect("anna"), arena.connect("ben")
    busy_with = await arena.match("anna", "ben")
    others = [await arena.match("ben", "anna") for _ in range(2)]
    decision = await anna.decision()
    assert decision.match_id == busy_with.match_id
    while not all(match.asked_at(1) is not None for match in others):
        await ben.answer(await ben.decision())
    gathered = asyncio.create_task(anna.read())
    await asyncio.sleep(0)
    arena.wait(1.0)
    await anna.say()
    assert len((await gathered).decisions) == 2
    assert {match.referee.deadline for match in others} == {arena.now + 10.02}
    monkeypatch.setattr("happycity_server.play.outbox.HOLD_SECONDS", 0.0)
    for waiting in anna.received.decisions[1:]:
        await anna.answer(waiting)
    assert (await anna.read()).decisions
    others[0].void(VoidReason.STOPPED)
    assert (await anna.read()).games_over  # though the bot has not answered


async def test_a_stream_that_ends_waits_for_no_bot(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits while a bot is busy is sent when the stream is to end, then the end."""
    monkeypatch.setattr("happycity_server.play.outbox.HOLD_SECONDS", 3600.0)
    anna = arena.connect("anna")
    await arena.match("anna", "ghost")
    await anna.decision()
    anna.outbox.notice(play.NOTICE_KIND_PAUSED, "a pause")
    gathered = asyncio.create_task(anna.read())
    await asyncio.sleep(0)
    assert not gathered.done()
    anna.outbox.end(None)
    assert [notice.text for notice in (await gathered).notices] == ["a pause"]
    anna.outbox.heard()
    anna.outbox.end(None)
    await anna.read()
    assert anna.batches[-1] == b""


async def test_a_wrong_step_of_an_outbox_fails(arena: Arena) -> None:
    """The states have an order, which every change keeps."""
    outbox = arena.connect("anna").outbox
    outbox.end(None)
    for state in OutboxState:
        with pytest.raises(AssertionError):
            outbox._enter(state)
