"""The games of a bot, without a connection: what the Python SDK adds to the conformance suite."""

import asyncio
from collections.abc import Awaitable
from inspect import CORO_CLOSED, getcoroutinestate
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.bots import ask, player_of, reconnect, start

from happycity import VoidReason
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import outcome_message
from happycity_client import Bot, Decision, Move


async def settled() -> None:
    """Let the event loop run until all that doesn't wait for something else has been done."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_bot_that_thinks_answers_on_the_connection_that_asked_last() -> None:
    """It is asked once. What it says between two connections waits until the server asks again."""
    may_answer, asked = asyncio.Event(), []

    class Thinking(Bot):
        async def choose(self, decision: Decision) -> Move | int:
            asked.append(decision.decision_id)
            await may_answer.wait()
            decision.note(depth=2)
            return decision.moves[-1]

    player = player_of(Thinking)
    ask(player)
    await asyncio.sleep(0)
    reconnect(player, 1)
    start(player)  # it is being played
    may_answer.set()
    await settled()
    assert player.outbox.take() == play.PlayRequest()
    ask(player)
    (answer,) = player.outbox.take().answers
    assert (answer.decision_id, answer.move, asked, dict(answer.metrics)) == (1, 2, [1], {"depth": 2})


async def test_what_a_bot_says_of_a_settled_decision_counts_for_nothing() -> None:
    """A thought that is cancelled may still choose or fail: the next decision is answered by itself."""
    cancelled = []

    class Stubborn(Bot):
        async def choose(self, decision: Decision) -> Move | int:
            try:
                if decision.decision_id < 3:
                    await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(decision.decision_id)
                if decision.decision_id == 2:
                    raise RuntimeError from None
            return 0

    player = player_of(Stubborn)
    for decision_id in (1, 2, 3):
        ask(player, decision_id)
        await settled()
    (answer,) = player.outbox.take().answers
    assert (answer.decision_id, cancelled) == (3, [1, 2])


async def test_a_thought_that_is_settled_before_it_begins_is_closed() -> None:
    """Else Python would warn the author that a coroutine was never awaited."""
    thoughts = []

    class Thinking(Bot):
        def choose(self, decision: Decision) -> Awaitable[int]:
            thoughts.append(self.think())
            return thoughts[-1]

        async def think(self) -> int:
            return 0

    player = player_of(Thinking)
    ask(player, 1)
    ask(player, 2)  # in the same turn of the event loop
    await settled()
    (answer,) = player.outbox.take().answers
    assert (answer.decision_id, [*map(getcoroutinestate, thoughts)]) == (2, [CORO_CLOSED] * 2)


def test_games_that_the_server_no_longer_knows_are_voided() -> None:
    """A welcome names the games that still run; a bot hears of the end of all others."""
    voided = []

    class Listening(Bot):
        def choose(self, decision: Decision) -> Move | int:
            return 0

        def game_voided(self, match_id: int, reason: VoidReason) -> None:
            voided.append((match_id, reason))

    player = player_of(Listening)
    player.keep([1])
    assert voided == []
    player.keep([2])
    assert voided == [(1, VoidReason.UNKNOWN)]


def line_of(text: str) -> str:
    """Return the place of the line of this file that ends with a comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return f"(test_player.py:{next(number for number, line in enumerate(lines, 1) if line.endswith(text))})"


class Failing(Bot):
    error = ""
    asked = 0

    heard_of_the_end = False

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        type(self).heard_of_the_end = True

    async def choose(self, decision: Decision) -> Move | int:
        self.asked += 1
        assert self.asked == 1, "a bot that has crashed is asked no more"
        if self.error == "engine":
            Move.parse("fly to the moon")  # no such move
        if self.error == "later":
            await asyncio.sleep(0)
            return decision.moves[1000]  # beyond the end
        if self.error == "cancelled":
            waiting = asyncio.create_task(asyncio.Event().wait())
            asyncio.get_running_loop().call_soon(waiting.cancel)
            await waiting  # cancelled here
        return None  # type: ignore[return-value]  # as authors do


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("engine", f"InvalidMoveError: not a move: 'fly to the moon' (* {line_of('# no such move')}"),
        ("later", f"IndexError: tuple index out of range {line_of('# beyond the end')}"),
        ("cancelled", f"CancelledError {line_of('# cancelled here')}"),
        ("none", "choose returned None: is a return missing?"),
    ],
)
async def test_a_crash_is_one_line_with_the_place_in_the_authors_code(error: str, expected: str) -> None:
    """The reply to all that is asked from then on is the resignation, once for each connection."""
    broken: Any = type("Broken", (Failing,), {"error": error})
    player = player_of(broken)
    ask(player)
    await settled()
    (resign,) = player.outbox.take().resigns
    begin, _, end = expected.partition("*")
    assert resign.reason.startswith(begin)
    assert resign.reason.endswith(end)
    assert (resign.match_id, resign.HasField("seat"), resign.crashed) == (1, True, True)
    ask(player, 2)
    assert player.outbox.take() == play.PlayRequest()
    reconnect(player, 1)
    ask(player, 2)
    assert player.outbox.take().resigns == [resign]
    player.end(play.GameOver(match_id=1, outcome=outcome_message(VoidReason.STOPPED)))
    assert not broken.heard_of_the_end


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (0, "what makes the bots returned 0, which is not a Bot"),
        (Failing(), "the start of the game is missing: write super().__init__(start)"),
    ],
)
def test_what_is_not_a_bot_can_not_play(made: Any, line: str) -> None:
    """A function may play instead of making a bot, and a class forget the start of its game."""
    player = player_of(lambda start: made)
    (resign,) = player.outbox.take().resigns
    assert resign.reason == f"TypeError: {line}"
