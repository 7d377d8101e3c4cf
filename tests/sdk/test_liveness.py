"""Pings, silence and goodbyes."""

from __future__ import annotations

import asyncio
import time

import pytest

from happycity import Move
from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_check.dialogue import play_on, start
from happycity_client import Bot, Decision, GameOver, VoidReason

from .conftest import PATIENCE, Playing, Script, table


class FirstMove(Bot):
    """Plays the neutral move."""

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]


async def test_pings_are_answered_while_an_asynchronous_bot_thinks(
    script: Script, play_with: Playing
) -> None:
    """Thinking is no reason to seem dead."""
    asked = asyncio.Event()

    class Forever(Bot):
        async def choose(self, decision: Decision) -> Move:
            asked.set()
            await asyncio.Event().wait()
            return decision.moves[0]

    play_with(Forever)
    dialogue = await script.welcome()
    game = table()
    await start(dialogue, [game])
    await dialogue.send(play.PlayResponse(decisions=[game.decision()]))
    await asked.wait()
    assert script.stream is not None
    await script.stream.send(play.PlayResponse(ping=play.Heartbeat(nonce=2**63 + 1)))
    received = await script.stream.receive(PATIENCE)
    assert received is not None
    assert received.request == play.PlayRequest(pong=play.Heartbeat(nonce=2**63 + 1))


async def test_pings_overtake_decisions_that_wait_for_a_plain_bot(script: Script, play_with: Playing) -> None:
    """A pong waits for the move that is being thought about, not for those of all games."""

    class Slow(Bot):
        def choose(self, decision: Decision) -> Move:
            # What it thinks: most of a minute in all, so that the ping surely comes before its end.
            time.sleep(0.01 * decision.game_id)
            return decision.moves[0]

    play_with(Slow)
    dialogue = await script.welcome()
    games = [table(number) for number in range(1, 101)]
    await start(dialogue, games)
    assert script.stream is not None
    await script.stream.send(play.PlayResponse(decisions=[game.decision() for game in games]))
    await script.stream.send(play.PlayResponse(ping=play.Heartbeat(nonce=1)))
    answered = 0
    while (received := await script.stream.receive(PATIENCE)) and not received.request.HasField("pong"):
        answered += len(received.request.answers)
    assert answered < len(games)


async def test_a_silent_server_is_taken_for_dead(script: Script, play_with: Playing) -> None:
    """After three of its heartbeats without a message the bot connects anew."""
    play_with(FirstMove)
    await script.welcome(heartbeat_ms=20)
    await script.welcome(resumed=True)
    assert script.hello.resume_token == "token"


async def test_a_bot_that_is_stopped_says_goodbye(script: Script, play_with: Playing) -> None:
    """It closes its side and waits until the server has ended the stream."""
    task = play_with(FirstMove)
    dialogue = await script.welcome()
    game = table()
    await start(dialogue, [game])
    await play_on(dialogue, [game])
    task.cancel()
    assert await dialogue.last_words(PATIENCE)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_decision_tells_the_clock(script: Script, play_with: Playing) -> None:
    """In seconds; what isn't known is None."""
    told: list[tuple[float | None, ...]] = []

    class Clockwatcher(Bot):
        def choose(self, decision: Decision) -> Move:
            told.append((decision.time_left, decision.bank_left, decision.last_think, decision.round_trip))
            return decision.moves[0]

    play_with(Clockwatcher)
    dialogue = await script.welcome()
    game = table()
    await start(dialogue, [game])
    for clock in (
        play.Clock(),
        play.Clock(time_left_ms=2500, last_think_us=1500, bank_left_ms=90_000, round_trip_us=250),
    ):
        decision = game.decision()
        decision.clock.CopyFrom(clock)
        answers = await dialogue.exchange(play.PlayResponse(decisions=[decision]))
        game.answer(answers[1])
    assert told == [(None, None, None, None), (2.5, 90.0, 0.0015, 0.00025)]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (play.VOID_REASON_SHUTDOWN, VoidReason.SHUTDOWN),
        (play.VOID_REASON_SERVER_ERROR, VoidReason.SERVER_ERROR),
        (play.VOID_REASON_STOPPED, VoidReason.STOPPED),
        (play.VOID_REASON_UNKNOWN, VoidReason.UNKNOWN),
        (play.VOID_REASON_UNSPECIFIED, VoidReason.UNSPECIFIED),
        (play.VoidReason.ValueType(99), VoidReason.UNSPECIFIED),
    ],
)
async def test_a_voided_game_is_told_with_its_reason(
    script: Script, play_with: Playing, sent: play.VoidReason.ValueType, expected: VoidReason
) -> None:
    """It is not over in the sense of `game_over`, which is not called."""
    told: asyncio.Queue[tuple[int, VoidReason]] = asyncio.Queue()

    class Curious(FirstMove):
        def game_voided(self, game_id: int, reason: VoidReason) -> None:
            told.put_nowait((game_id, reason))

        def game_over(self, over: GameOver) -> None:
            raise AssertionError(over)

    play_with(Curious)
    dialogue = await script.welcome()
    game = table(3)
    await start(dialogue, [game])
    await dialogue.send(play.PlayResponse(games_over=[game.voided(sent)]))
    assert await told.get() == (3, expected)


async def test_what_a_newer_server_adds_is_left_out(script: Script, play_with: Playing) -> None:
    """Moves of unknown kinds are not offered, and the others keep their positions."""
    told: asyncio.Queue[GameOver] = asyncio.Queue()
    offered: list[int] = []

    class Last(Bot):
        def choose(self, decision: Decision) -> Move:
            offered.append(len(decision.moves))
            assert decision.events
            return decision.moves[-1]

        def game_over(self, over: GameOver) -> None:
            told.put_nowait(over)

    play_with(Last)
    dialogue = await script.welcome()
    game = table(1)
    await start(dialogue, [game])
    decision = game.decision()
    known = len(decision.moves)
    decision.moves.insert(1, game_pb2.Move())
    decision.events.add(kind=game_pb2.EventKind.ValueType(99))
    assert await dialogue.exchange(play.PlayResponse(decisions=[decision])) == {1: known}
    assert offered == [known]
    over = game.over()
    over.result.endings[1] = game_pb2.Ending.ValueType(99)
    await dialogue.send(play.PlayResponse(games_over=[over]))
    assert (await told.get()).endings == ("forfeit:timeout", "unknown")
