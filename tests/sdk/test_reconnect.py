"""What the SDK does when a connection is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter

import grpc
import pytest

from happycity import Ending, Move, VoidReason
from happycity.v1 import play_service_pb2 as play
from happycity.wire import StatusDetails, shallow_decision
from happycity_check.conversation import play_on, start
from happycity_check.scripted_server import ScriptedServer
from happycity_client import Bot, ConnectionFailedError, Decision, GameOver, GameStarted
from happycity_client.outbox import Outbox
from happycity_client.player import Player

from .conftest import PATIENCE, PlayWith, Script, match


class Counting(Bot):
    """Chooses by chance, and counts how often it is asked what."""

    asked: Counter[int]

    def choose(self, decision: Decision) -> Move:
        """Return any move."""
        self.asked[decision.match_id] += 1
        return self.rng.choice(decision.moves)


def counting() -> type[Counting]:
    return type("Counting", (Counting,), {"asked": Counter()})


class Thinking(Bot):
    """Answers once the test lets it."""

    asked: asyncio.Queue[Decision]
    think: asyncio.Event

    async def choose(self, decision: Decision) -> Move:
        """Wait, then return the last move."""
        self.asked.put_nowait(decision)
        await self.think.wait()
        return decision.moves[-1]


def thinking() -> type[Thinking]:
    return type("Thinking", (Thinking,), {"asked": asyncio.Queue(), "think": asyncio.Event()})


async def test_a_lost_connection_is_made_again_and_the_games_go_on(
    script: Script, play_with: PlayWith
) -> None:
    """The hello names the last token and the games; an answered decision is answered from memory."""
    bot = counting()
    play_with(bot)
    conversation = await script.welcome(token="one")
    assert (script.hello.resume_token, [*script.hello.match_ids]) == ("", [])
    games = [match(7), match(8, seed=2)]
    await start(conversation, games)
    await play_on(conversation, games)
    pending = play.PlayResponse(decisions=[game.decision() for game in games])
    before = await conversation.exchange(pending)
    script.server.cut_connections()
    conversation = await script.welcome(resumed=True, token="two")
    assert (script.hello.resume_token, [*script.hello.match_ids]) == ("one", [7, 8])
    assert await conversation.exchange(pending) == before
    assert bot.asked == {7: 2, 8: 2}
    for game in games:
        game.answer(before[game.match_id])
    await play_on(conversation, games)
    assert bot.asked == {7: 3, 8: 3}


async def test_a_decision_sent_twice_is_put_to_the_bot_once(script: Script, play_with: PlayWith) -> None:
    """On one stream too."""
    bot = counting()
    play_with(bot)
    conversation = await script.welcome()
    game = match()
    await start(conversation, [game])
    decision = game.decision()
    answers = await conversation.exchange(play.PlayResponse(decisions=[decision]))
    await conversation.repeat(decision)
    game.answer(answers[1])
    await play_on(conversation, [game])
    assert bot.asked == {1: 2}


async def test_a_thought_outlives_the_connection(script: Script, play_with: PlayWith) -> None:
    """A bot that thinks is not asked again; its answer goes to the server that asked again."""
    bot = thinking()
    play_with(bot)
    conversation = await script.welcome()
    game = match()
    await start(conversation, [game])
    pending = play.PlayResponse(decisions=[game.decision()])
    await conversation.send(pending)
    await bot.asked.get()
    script.server.cut_connections()
    conversation = await script.welcome(resumed=True)
    await conversation.send(pending, ping=True)
    bot.think.set()
    assert await conversation.receive_all() == {1: len(pending.decisions[0].moves) - 1}
    assert bot.asked.empty()


async def test_an_answer_is_sent_again_only_if_it_is_asked_for_again(
    script: Script, play_with: PlayWith
) -> None:
    """What was thought out on another connection is not sent unasked."""
    bot = thinking()
    play_with(bot)
    conversation = await script.welcome()
    games = [match(1), match(2, seed=2)]
    await start(conversation, games)
    await conversation.send(play.PlayResponse(decisions=[games[0].decision()]))
    await bot.asked.get()
    script.server.cut_connections()
    conversation = await script.welcome(resumed=True)
    bot.think.set()
    # Were the answer to game 1 sent, it would be an answer to what this conversation never asked.
    await play_on(conversation, games[1:], ping=True)


async def test_an_answer_that_is_sent_again_has_the_same_numbers(script: Script, play_with: PlayWith) -> None:
    """What the bot noted about its choice goes along: the last number of each name, also of odd names."""

    class Noting(Counting):
        asked: Counter[int] = Counter()  # noqa: RUF012 - declared by the class it derives from

        def choose(self, decision: Decision) -> Move:
            decision.note(depth=1, self=0)
            decision.note(depth=2, **{"\ud800": 3})
            return super().choose(decision)

    play_with(Noting)
    conversation = await script.welcome()
    game = match()
    await start(conversation, [game])
    pending = play.PlayResponse(decisions=[game.decision()])
    for resumed in (False, True):
        if resumed:
            script.server.cut_connections()
            conversation = await script.welcome(resumed=True)
        await conversation.send(pending)
        assert [dict(answer.metrics) for answer in (await script.receive()).answers] == [
            {"depth": 2, "self": 0, "?": 3}
        ]
    assert Noting.asked == {1: 1}


async def test_an_answer_that_was_not_sent_in_time_is_kept_in_memory_only() -> None:
    """What waits to be sent when the connection is lost is sent when the server asks again, and once."""
    outbox = Outbox()
    player = Player(counting(), "anna", outbox)
    game = match()
    player.start(*game.started())
    player.decide(shallow_decision(game.decision()))
    player.on_disconnect()
    player.welcome(resumed=True)
    assert outbox.take() == play.PlayRequest()
    player.decide(shallow_decision(game.decision()))
    assert len(outbox.take().answers) == 1


async def test_a_batch_of_a_lost_connection_is_not_thought_through(
    script: Script, play_with: PlayWith
) -> None:
    """What is open will be asked again; the bot comes back first."""

    class Slow(Counting):
        asked: Counter[int] = Counter()  # noqa: RUF012 - declared by the class it derives from

        def choose(self, decision: Decision) -> Move:
            # What it thinks: most of a minute in all, so that it surely notices before that.
            time.sleep(0.01 * decision.match_id)
            return super().choose(decision)

    play_with(Slow)
    conversation = await script.welcome()
    games = [match(number) for number in range(1, 101)]
    await start(conversation, games)
    await conversation.send(play.PlayResponse(decisions=[game.decision() for game in games]))
    await script.receive()
    script.server.cut_connections()
    await script.await_hello()
    assert len(Slow.asked) < len(games) == len(script.hello.match_ids)


async def test_a_server_that_knows_nothing_begins_anew(script: Script, play_with: PlayWith) -> None:
    """Without a resumption all games are forgotten, and each bot gets to know that its game is gone."""
    voided: list[tuple[int, VoidReason]] = []
    started: list[GameStarted] = []

    class Again(Counting):
        asked: Counter[int] = Counter()  # noqa: RUF012 - declared by the class it derives from

        def __init__(self, begin: GameStarted) -> None:
            super().__init__(begin)
            started.append(begin)

        def game_voided(self, match_id: int, reason: VoidReason) -> None:
            voided.append((match_id, reason))

    play_with(Again)
    conversation = await script.welcome()
    games = [match(1), match(2)]
    await start(conversation, games)
    await play_on(conversation, games)
    script.server.cut_connections()
    conversation = await script.welcome(resumed=False)
    assert [*script.hello.match_ids] == [1, 2]
    other = match(1, seed=9)
    await start(conversation, [other])
    await play_on(conversation, [other])
    assert voided == [(1, VoidReason.UNKNOWN), (2, VoidReason.UNKNOWN)]
    assert [begin.match_id for begin in started] == [1, 2, 1]
    script.server.cut_connections()
    await script.await_hello()
    assert [*script.hello.match_ids] == [1]


async def test_a_resignation_is_sent_again(script: Script, play_with: PlayWith) -> None:
    """The server may not have received it before the connection was lost."""

    class Failing(Bot):
        def choose(self, decision: Decision) -> Move:
            raise RuntimeError("no idea")

    play_with(Failing)
    conversation = await script.welcome()
    game = match(5)
    await start(conversation, [game])
    await conversation.send(play.PlayResponse(decisions=[game.decision()]))
    for resumed in (False, True):
        if resumed:
            script.server.cut_connections()
            await script.welcome(resumed=True)
            assert [*script.hello.match_ids] == [5]
        (resign,) = (await script.receive()).resigns
        assert (resign.match_id, resign.seat, resign.crashed) == (5, 0, True)
        assert resign.reason.startswith("RuntimeError: no idea (test_reconnect.py:")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN"),
        (grpc.StatusCode.UNAVAILABLE, ""),
        (grpc.StatusCode.ABORTED, "NO_HEARTBEAT"),
        (grpc.StatusCode.ABORTED, "STALLED"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS"),
        (grpc.StatusCode.INTERNAL, ""),
        (grpc.StatusCode.UNKNOWN, ""),
        (grpc.StatusCode.CANCELLED, ""),
        (grpc.StatusCode.UNAVAILABLE, "OUT_OF_COFFEE"),
    ],
)
async def test_what_is_retryable_is_tried_again(
    script: Script, play_with: PlayWith, code: grpc.StatusCode, reason: str
) -> None:
    """The bot connects again with its token; an unknown reason counts by its status code."""
    play_with(counting())
    await script.welcome(token="mine")
    script.stream.end(code, "for a test", details=StatusDetails(reason=reason))
    await script.await_hello()
    assert script.hello.resume_token == "mine"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.ABORTED, "REPLACED"),
        (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"),
        (grpc.StatusCode.PERMISSION_DENIED, "WRONG_NAME"),
        (grpc.StatusCode.PERMISSION_DENIED, "WRONG_ROLE"),
        (grpc.StatusCode.PERMISSION_DENIED, "REVOKED"),
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),
        (grpc.StatusCode.UNIMPLEMENTED, ""),
        (grpc.StatusCode.ABORTED, "OUT_OF_COFFEE"),
    ],
)
async def test_a_refusal_is_final(
    script: Script, play_with: PlayWith, code: grpc.StatusCode, reason: str
) -> None:
    """It ends the bot with the server's text in one line, and its reason for programs."""
    task = play_with(counting())
    await script.welcome()
    script.stream.end(code, "for a\ntest", details=StatusDetails(reason=reason))
    with pytest.raises(ConnectionFailedError, match=r"ended the session of 'anna': for a test$") as caught:
        await task
    assert caught.value.reason == reason


async def test_a_server_that_is_gone_is_given_up(reserved: str, play_with: PlayWith) -> None:
    """After the time to reconnect, one line says that there is no connection."""
    async with ScriptedServer.listening(reserved) as server:
        task = play_with(counting(), address=server.address, reconnect_seconds=0.5)
        await Script(server).welcome()
    with pytest.raises(ConnectionFailedError, match=r"^no connection to 127\.0\.0\.1:.*happycity serve"):
        await task


async def test_a_server_that_shut_down_and_stays_away_is_a_normal_end(
    reserved: str, play_with: PlayWith, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is wrong then: the bot returns."""
    caplog.set_level(logging.INFO)
    async with ScriptedServer.listening(reserved) as server:
        # Long enough for another attempt, however slow the machine is.
        task = play_with(counting(), address=server.address, reconnect_seconds=5.0)
        script = Script(server)
        await script.welcome()
        details = StatusDetails(reason="SHUTTING_DOWN")
        script.stream.end(grpc.StatusCode.UNAVAILABLE, "bye", details=details)
        await script.await_hello()  # so the status has arrived before the connection breaks
    await task
    assert "anna: the server has shut down" in caplog.messages


async def test_a_bot_waits_for_its_server_for_so_long_as_it_is_to(reserved: str, play_with: PlayWith) -> None:
    """The first connection is tried again too then."""
    trying = Waiting()
    logging.getLogger("happycity_client").addHandler(trying)
    try:
        play_with(counting(), address=reserved, wait_seconds=PATIENCE)
        await trying.logged.wait()
        async with ScriptedServer.listening(reserved) as server:
            await Script(server).welcome()
    finally:
        logging.getLogger("happycity_client").removeHandler(trying)


class Waiting(logging.Handler):
    """Sets an event when something is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.logged = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """Set the event."""
        self.logged.set()


async def test_a_game_that_is_over_is_not_thought_about(script: Script, play_with: PlayWith) -> None:
    """Its thought is cancelled, and nothing more is sent for it."""
    cancelled = asyncio.Event()
    over: list[GameOver] = []

    class Absorbed(Bot):
        async def choose(self, decision: Decision) -> Move:
            if decision.match_id == 2:
                return decision.moves[0]
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            raise AssertionError

        def game_over(self, result: GameOver) -> None:
            over.append(result)

    play_with(Absorbed)
    conversation = await script.welcome()
    games = [match(1), match(2)]
    await start(conversation, games)
    await conversation.send(play.PlayResponse(decisions=[games[0].decision()]))
    await conversation.send(play.PlayResponse(games_over=[games[0].over()]))
    await play_on(conversation, games[1:])
    await cancelled.wait()
    assert conversation.late_answers == []
    assert [[seat.ending for seat in each.seats] for each in over] == [[Ending.TIMEOUT, Ending.FINISHED]]
