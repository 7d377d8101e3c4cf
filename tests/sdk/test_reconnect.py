"""What the SDK does when a connection is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter

import grpc
import pytest

from happycity import Move
from happycity.v1 import play_service_pb2 as play
from happycity_check.dialogue import play_on, start
from happycity_check.peer import Peer
from happycity_client import Bot, ConnectionFailedError, Decision, GameOver, GameStart, VoidReason
from happycity_client.outbox import Outbox
from happycity_client.player import Player

from .conftest import PATIENCE, Playing, Script, table


class Counting(Bot):
    """Chooses by chance, and counts how often it is asked what."""

    asked: Counter[int]

    def choose(self, decision: Decision) -> Move:
        """Return any move."""
        self.asked[decision.game_id] += 1
        return self.rng.choice(decision.moves)


def counting() -> type[Counting]:
    return type("Counting", (Counting,), {"asked": Counter()})


class Thinking(Bot):
    """Answers when it is told to."""

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
    script: Script, play_with: Playing
) -> None:
    """The hello names the last token and the games; an answered decision is answered from memory."""
    bot = counting()
    play_with(bot)
    dialogue = await script.welcome(token="one")
    assert (script.hello.resume_token, [*script.hello.games]) == ("", [])
    tables = [table(7), table(8, seed=2)]
    await start(dialogue, tables)
    await play_on(dialogue, tables)
    open_now = play.PlayResponse(decisions=[each.decision() for each in tables])
    before = await dialogue.exchange(open_now)
    script.peer.cut()
    dialogue = await script.welcome(resumed=True, token="two")
    assert (script.hello.resume_token, [*script.hello.games]) == ("one", [7, 8])
    assert await dialogue.exchange(open_now) == before
    assert bot.asked == {7: 2, 8: 2}
    for each in tables:
        each.answer(before[each.game_id])
    await play_on(dialogue, tables)
    assert bot.asked == {7: 3, 8: 3}


async def test_a_decision_sent_twice_is_put_to_the_bot_once(script: Script, play_with: Playing) -> None:
    """On one stream too."""
    bot = counting()
    play_with(bot)
    dialogue = await script.welcome()
    game = table()
    await start(dialogue, [game])
    decision = game.decision()
    answers = await dialogue.exchange(play.PlayResponse(decisions=[decision]))
    await dialogue.repeat(decision)
    game.answer(answers[1])
    await play_on(dialogue, [game])
    assert bot.asked == {1: 2}


async def test_a_thought_outlives_the_connection(script: Script, play_with: Playing) -> None:
    """A bot that thinks is not asked again; its answer goes to the server that asked again."""
    bot = thinking()
    play_with(bot)
    dialogue = await script.welcome()
    game = table()
    await start(dialogue, [game])
    open_now = play.PlayResponse(decisions=[game.decision()])
    await dialogue.send(open_now)
    await bot.asked.get()
    script.peer.cut()
    dialogue = await script.welcome(resumed=True)
    await dialogue.send(open_now, ping=True)
    bot.think.set()
    assert await dialogue.settle() == {1: len(open_now.decisions[0].moves) - 1}
    assert bot.asked.empty()


async def test_an_answer_is_sent_again_only_if_it_is_asked_for_again(
    script: Script, play_with: Playing
) -> None:
    """What was thought out about another connection's question is not pressed on the server."""
    bot = thinking()
    play_with(bot)
    dialogue = await script.welcome()
    games = [table(1), table(2, seed=2)]
    await start(dialogue, games)
    await dialogue.send(play.PlayResponse(decisions=[games[0].decision()]))
    await bot.asked.get()
    script.peer.cut()
    dialogue = await script.welcome(resumed=True)
    bot.think.set()
    # Were the answer to game 1 sent, the dialogue would complain of an answer to what it never asked.
    await play_on(dialogue, games[1:], ping=True)


async def test_an_answer_sent_again_tells_the_same(script: Script, play_with: Playing) -> None:
    """What the bot noted of its choice goes along, with the last number of each name, even of odd ones."""

    class Noting(Counting):
        asked: Counter[int] = Counter()  # noqa: RUF012 - declared by the class it derives from

        def choose(self, decision: Decision) -> Move:
            decision.note(depth=1, self=0)
            decision.note(depth=2, **{"\ud800": 3})
            return super().choose(decision)

    play_with(Noting)
    dialogue = await script.welcome()
    game = table()
    await start(dialogue, [game])
    open_now = play.PlayResponse(decisions=[game.decision()])
    for resumed in (False, True):
        if resumed:
            script.peer.cut()
            dialogue = await script.welcome(resumed=True)
        await dialogue.send(open_now)
        assert script.stream is not None
        received = await script.stream.receive(PATIENCE)
        assert received is not None
        assert [dict(answer.metrics) for answer in received.request.answers] == [
            {"depth": 2, "self": 0, "?": 3}
        ]
    assert Noting.asked == {1: 1}


async def test_an_answer_that_was_not_sent_in_time_is_kept_in_memory_only() -> None:
    """What waits to be sent when the connection is lost is sent when the server asks again, and once."""
    outbox = Outbox()
    player = Player(counting(), "anna", outbox)
    game = table()
    player.start(game.started())
    player.decide(game.decision())
    player.lose()
    player.welcome(resumed=True)
    assert outbox.take() == play.PlayRequest()
    player.decide(game.decision())
    assert len(outbox.take().answers) == 1


async def test_a_batch_of_a_lost_connection_is_not_thought_through(
    script: Script, play_with: Playing
) -> None:
    """What is open will be asked again; the bot comes back first."""

    class Slow(Counting):
        asked: Counter[int] = Counter()  # noqa: RUF012 - declared by the class it derives from

        def choose(self, decision: Decision) -> Move:
            # What it thinks: most of a minute in all, so that it surely notices before that.
            time.sleep(0.01 * decision.game_id)
            return super().choose(decision)

    play_with(Slow)
    dialogue = await script.welcome()
    games = [table(number) for number in range(1, 101)]
    await start(dialogue, games)
    await dialogue.send(play.PlayResponse(decisions=[game.decision() for game in games]))
    assert script.stream is not None
    await script.stream.receive(PATIENCE)
    script.peer.cut()
    await script.meet()
    assert len(Slow.asked) < len(games) == len(script.hello.games)


async def test_a_server_that_knows_nothing_begins_anew(script: Script, play_with: Playing) -> None:
    """Without a resumption all games are forgotten, and each bot hears that its game is gone."""
    voided: list[tuple[int, VoidReason]] = []
    started: list[GameStart] = []

    class Anew(Counting):
        asked: Counter[int] = Counter()  # noqa: RUF012 - declared by the class it derives from

        def __init__(self, begin: GameStart) -> None:
            super().__init__(begin)
            started.append(begin)

        def game_voided(self, game_id: int, reason: VoidReason) -> None:
            voided.append((game_id, reason))

    play_with(Anew)
    dialogue = await script.welcome()
    games = [table(1), table(2)]
    await start(dialogue, games)
    await play_on(dialogue, games)
    script.peer.cut()
    dialogue = await script.welcome(resumed=False)
    assert [*script.hello.games] == [1, 2]
    other = table(1, seed=9)
    await start(dialogue, [other])
    await play_on(dialogue, [other])
    assert voided == [(1, VoidReason.UNKNOWN), (2, VoidReason.UNKNOWN)]
    assert [begin.game_id for begin in started] == [1, 2, 1]
    script.peer.cut()
    await script.meet()
    assert [*script.hello.games] == [1]


async def test_a_resignation_is_said_again(script: Script, play_with: Playing) -> None:
    """The server may not have heard it before the connection was lost."""

    class Failing(Bot):
        def choose(self, decision: Decision) -> Move:
            raise RuntimeError("no idea")

    play_with(Failing)
    dialogue = await script.welcome()
    game = table(5)
    await start(dialogue, [game])
    await dialogue.send(play.PlayResponse(decisions=[game.decision()]))
    for resumed in (False, True):
        if resumed:
            script.peer.cut()
            await script.welcome(resumed=True)
            assert [*script.hello.games] == [5]
        assert script.stream is not None
        received = await script.stream.receive(PATIENCE)
        assert received is not None
        assert [(each.game_id, each.reason) for each in received.request.resigns] == [
            (5, "RuntimeError('no idea')")
        ]


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
    ],
)
async def test_what_may_pass_is_tried_again(
    script: Script, play_with: Playing, code: grpc.StatusCode, reason: str
) -> None:
    """The bot comes back with its token."""
    play_with(counting())
    await script.welcome(token="mine")
    assert script.stream is not None
    script.stream.end(code, reason=reason, text="for a test")
    await script.meet()
    assert script.hello.resume_token == "mine"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.ABORTED, "REPLACED"),
        (grpc.StatusCode.FAILED_PRECONDITION, "UNSUPPORTED_VERSION"),
        (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"),
        (grpc.StatusCode.PERMISSION_DENIED, "WRONG_NAME"),
        (grpc.StatusCode.PERMISSION_DENIED, "WRONG_ROLE"),
        (grpc.StatusCode.PERMISSION_DENIED, "REVOKED"),
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),
        (grpc.StatusCode.UNIMPLEMENTED, ""),
    ],
)
async def test_a_refusal_is_final(
    script: Script, play_with: Playing, code: grpc.StatusCode, reason: str
) -> None:
    """It ends the bot with the server's words in one line, and its reason for programs."""
    task = play_with(counting())
    await script.welcome()
    assert script.stream is not None
    script.stream.end(code, reason=reason, text="for a\ntest")
    with pytest.raises(ConnectionFailedError, match=r"ended the session of 'anna': for a test$") as caught:
        await task
    assert caught.value.reason == reason


async def test_a_server_that_is_gone_is_given_up(reserved: str, play_with: Playing) -> None:
    """After the time to reconnect, one line says that there is no connection."""
    async with Peer.listening(reserved) as peer:
        task = play_with(counting(), server=peer.address, reconnect_seconds=0.5)
        await Script(peer).welcome()
    with pytest.raises(ConnectionFailedError, match=r"^no connection to 127\.0\.0\.1:.*happycity serve"):
        await task


async def test_a_server_that_shut_down_and_stays_away_is_a_normal_end(
    reserved: str, play_with: Playing, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is wrong then: the bot returns."""
    caplog.set_level(logging.INFO)
    async with Peer.listening(reserved) as peer:
        # Long enough for one more attempt, however slow the machine is.
        task = play_with(counting(), server=peer.address, reconnect_seconds=5.0)
        script = Script(peer)
        await script.welcome()
        assert script.stream is not None
        script.stream.end(grpc.StatusCode.UNAVAILABLE, reason="SHUTTING_DOWN", text="bye")
        await script.meet()  # so it has heard that; leaving at once could break the stream off before
    await task
    assert "anna: the server has shut down" in caplog.messages


async def test_a_bot_waits_for_its_server_if_it_is_told_to(reserved: str, play_with: Playing) -> None:
    """The first connection is tried again too then."""
    trying = Listening()
    logging.getLogger("happycity_client").addHandler(trying)
    try:
        play_with(counting(), server=reserved, wait_seconds=PATIENCE)
        await trying.heard.wait()
        async with Peer.listening(reserved) as peer:
            await Script(peer).welcome()
    finally:
        logging.getLogger("happycity_client").removeHandler(trying)


class Listening(logging.Handler):
    """Tells when something was logged."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """Tell."""
        self.heard.set()


async def test_a_game_that_is_over_is_not_thought_about(script: Script, play_with: Playing) -> None:
    """Its thought is cancelled, and nothing more is sent for it."""
    cancelled = asyncio.Event()
    over: list[GameOver] = []

    class Absorbed(Bot):
        async def choose(self, decision: Decision) -> Move:
            if decision.game_id == 2:
                return decision.moves[0]
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            raise AssertionError

        def game_over(self, result: GameOver) -> None:
            over.append(result)

    play_with(Absorbed)
    dialogue = await script.welcome()
    games = [table(1), table(2)]
    await start(dialogue, games)
    await dialogue.send(play.PlayResponse(decisions=[games[0].decision()]))
    await dialogue.send(play.PlayResponse(games_over=[games[0].over()]))
    await play_on(dialogue, games[1:])
    await cancelled.wait()
    assert dialogue.too_late == []
    assert [each.endings for each in over] == [("forfeit:timeout", "finished")]
