"""Pings, silence and goodbyes, and what a bot gets to see of a server's messages."""

from __future__ import annotations

import asyncio
import time

import pytest

from happycity import Ending, Game, Move, VoidReason
from happycity.v1 import game_pb2, match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import play_on, start
from happycity_client import Bot, Decision, GameOver

from .conftest import PATIENCE, PlayWith, Script, match


class FirstMove(Bot):
    """Plays the neutral move."""

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]


async def test_pings_are_answered_while_an_asynchronous_bot_thinks(
    script: Script, play_with: PlayWith
) -> None:
    """Thinking is no reason to seem dead."""
    asked = asyncio.Event()

    class Forever(Bot):
        async def choose(self, decision: Decision) -> Move:
            asked.set()
            await asyncio.Event().wait()
            return decision.moves[0]

    play_with(Forever)
    conversation = await script.welcome()
    game = match()
    await start(conversation, [game])
    await conversation.send(play.PlayResponse(decisions=[game.decision()]))
    await asked.wait()
    await script.stream.send(play.PlayResponse(ping=play.Ping(nonce=2**63 + 1)))
    assert await script.receive() == play.PlayRequest(pong=play.Pong(nonce=2**63 + 1))


async def test_pings_overtake_decisions_that_wait_for_a_plain_bot(
    script: Script, play_with: PlayWith
) -> None:
    """A pong waits for the move that is being thought about, not for those of all games."""

    class Slow(Bot):
        def choose(self, decision: Decision) -> Move:
            # What it thinks: most of a minute in all, so that the ping surely comes before its end.
            time.sleep(0.01 * decision.match_id)
            return decision.moves[0]

    play_with(Slow)
    conversation = await script.welcome()
    games = [match(number) for number in range(1, 101)]
    await start(conversation, games)
    await script.stream.send(play.PlayResponse(decisions=[game.decision() for game in games]))
    await script.stream.send(play.PlayResponse(ping=play.Ping(nonce=1)))
    answered = 0
    while not (request := await script.receive()).HasField("pong"):
        answered += len(request.answers)
    assert answered < len(games)


async def test_a_silent_server_is_taken_for_dead(script: Script, play_with: PlayWith) -> None:
    """After three of its ping intervals without a message the bot connects again."""
    play_with(FirstMove)
    await script.welcome(ping_seconds=0.02)
    await script.welcome(resumed=True)
    assert script.hello.resume_token == "token"


async def test_a_bot_that_is_stopped_says_goodbye(script: Script, play_with: PlayWith) -> None:
    """It closes its side and waits until the server has ended the stream."""
    task = play_with(FirstMove)
    conversation = await script.welcome()
    game = match()
    await start(conversation, [game])
    await play_on(conversation, [game])
    task.cancel()
    assert await conversation.receive_goodbye(PATIENCE)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_decision_has_its_times(script: Script, play_with: PlayWith) -> None:
    """In seconds; what is absent is None, and 0 is 0."""
    times: list[tuple[float | None, ...]] = []

    class Clockwatcher(Bot):
        def choose(self, decision: Decision) -> Move:
            times.append((decision.time_left, decision.bank_left, decision.last_think, decision.round_trip))
            return decision.moves[0]

    play_with(Clockwatcher)
    conversation = await script.welcome()
    game = match()
    await start(conversation, [game])
    for clock in (
        play.Clock(),
        play.Clock(time_left_us=2_500_000, last_think_us=1500, bank_left_us=90_000_000, round_trip_us=250),
        play.Clock(time_left_us=0, last_think_us=0, bank_left_us=0, round_trip_us=0),
    ):
        decision = game.decision()
        decision.clock.CopyFrom(clock)
        answers = await conversation.exchange(play.PlayResponse(decisions=[decision]))
        game.answer(answers[1])
    assert times == [(None, None, None, None), (2.5, 90.0, 0.0015, 0.00025), (0, 0, 0, 0)]


async def test_a_decision_is_the_servers(script: Script, play_with: PlayWith) -> None:
    """View, moves, events, coins and the message itself."""
    seen: list[Decision] = []

    class Watching(FirstMove):
        def choose(self, decision: Decision) -> Move:
            seen.append(decision)
            return super().choose(decision)

    play_with(Watching)
    conversation = await script.welcome()
    game = match(2**63 - 1, players=3)
    await start(conversation, [game])
    positions: list[Game] = []
    messages: list[play.Decision] = []
    while not game.is_over:
        positions.append(game.game.copy())
        messages.append(game.decision())
        await play_on(conversation, [game])
    assert [decision.view for decision in seen] == [position.view() for position in positions]
    assert [decision.moves for decision in seen] == [position.legal_moves for position in positions]
    assert [decision.message for decision in seen] == messages
    assert [decision.decision_id for decision in seen] == [message.decision_id for message in messages]
    assert {decision.match_id for decision in seen} == {2**63 - 1}
    for decision, position, message in zip(seen, positions, messages, strict=True):
        assert [decision.coins(move) for move in decision.moves] == [
            position.coin_change(move) for move in position.legal_moves
        ]
        assert len(decision.events) == len(message.events)
        assert decision.events[-len(position.events) :] == position.events


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        *((match_pb2.VoidReason.Value(f"VOID_REASON_{reason.name}"), reason) for reason in VoidReason),
        (match_pb2.VOID_REASON_UNSPECIFIED, VoidReason.UNKNOWN),
        (match_pb2.VoidReason.ValueType(99), VoidReason.UNKNOWN),
    ],
)
async def test_a_voided_game_has_its_reason(
    script: Script, play_with: PlayWith, sent: match_pb2.VoidReason.ValueType, expected: VoidReason
) -> None:
    """It is not over in the sense of `game_over`, which is not called."""
    voided: asyncio.Queue[tuple[int, VoidReason]] = asyncio.Queue()

    class Curious(FirstMove):
        def game_voided(self, match_id: int, reason: VoidReason) -> None:
            voided.put_nowait((match_id, reason))

        def game_over(self, over: GameOver) -> None:
            raise AssertionError(over)

    play_with(Curious)
    conversation = await script.welcome()
    game = match(3)
    await start(conversation, [game])
    await conversation.send(play.PlayResponse(games_over=[game.voided(sent)]))
    assert await voided.get() == (3, expected)


async def test_an_end_of_a_newer_server_is_a_voided_game(script: Script, play_with: PlayWith) -> None:
    """Neither a result nor a reason: why is unknown."""
    voided: asyncio.Queue[VoidReason] = asyncio.Queue()

    class Curious(FirstMove):
        def game_voided(self, match_id: int, reason: VoidReason) -> None:
            voided.put_nowait(reason)

    play_with(Curious)
    conversation = await script.welcome()
    await start(conversation, [match(3)])
    await conversation.send(play.PlayResponse(games_over=[play.GameOver(match_id=3)]))
    assert await voided.get() is VoidReason.UNKNOWN


async def test_what_a_newer_server_adds_is_left_out(script: Script, play_with: PlayWith) -> None:
    """Moves of unknown kinds are not offered, and the others keep their positions and coins."""
    ends: asyncio.Queue[GameOver] = asyncio.Queue()
    offered: list[list[int]] = []

    class Last(Bot):
        def choose(self, decision: Decision) -> Move:
            offered.append([decision.coins(move) for move in decision.moves])
            assert decision.events
            return decision.moves[-1]

        def game_over(self, over: GameOver) -> None:
            ends.put_nowait(over)

    play_with(Last)
    conversation = await script.welcome()
    game = match(1)
    await start(conversation, [game])
    decision = game.decision()
    known = [move.coins for move in decision.moves]
    decision.moves.insert(1, game_pb2.Move(kind=game_pb2.MoveKind.ValueType(99), coins=7))
    decision.events.add(kind=game_pb2.EventKind.ValueType(99))
    answers = await conversation.exchange(play.PlayResponse(decisions=[decision]))
    assert answers == {1: len(known)}
    assert offered == [known]
    over = game.over()
    over.result.seats[1].ending = match_pb2.Ending.ValueType(99)
    await conversation.send(play.PlayResponse(games_over=[over]))
    seats = (await ends.get()).seats
    assert [seat.ending for seat in seats] == [Ending.TIMEOUT, Ending.OTHER]
    assert [seat.forfeited for seat in seats] == [True, True]
    assert seats[0].reason == "no answer in time"
