"""A bot that fills several seats of one match, and bots that fail in one of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from happycity import ConfigError, Ending, Move, VoidReason
from happycity.match import MAX_REASON
from happycity.v1 import cards_pb2, match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import play_on, play_out, start
from happycity_client import Bot, Decision, GameOver, GameStarted

from .conftest import PlayWith, Script, match


class Remembering(Bot):
    """Remembers what it sees; each test derives a class with lists of its own."""

    made: list[Remembering]
    over: asyncio.Queue[tuple[Remembering, GameOver | VoidReason]]

    def __init__(self, begin: GameStarted) -> None:
        """Note that there is one bot more."""
        super().__init__(begin)
        self.seen: list[int] = []
        self.made.append(self)

    def choose(self, decision: Decision) -> Move:
        """Return any move."""
        assert decision.seat == decision.view.seat == self.start.seat
        self.seen.append(decision.decision_id)
        return self.rng.choice(decision.moves)

    def game_over(self, over: GameOver) -> None:
        """Note the end."""
        self.over.put_nowait((self, over))

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Note the end."""
        assert match_id == self.start.match_id
        self.over.put_nowait((self, reason))


def remembering(**more: Any) -> type[Remembering]:
    return type("Remembering", (Remembering,), {"made": [], "over": asyncio.Queue(), **more})


async def test_each_seat_of_a_match_has_a_bot_of_its_own(script: Script, play_with: PlayWith) -> None:
    """Each gets its seat, its seed and its decisions; one GameOver ends them all."""
    bot = remembering()
    play_with(bot)
    game = match(5, players=4, seats=(0, 2))
    await play_out(await script.welcome(), [game])
    first, second = bot.made
    assert [(made.start.match_id, made.start.seat) for made in bot.made] == [(5, 0), (5, 2)]
    assert first.start.seed != second.start.seed
    assert first.start.bots == ("bot", "other1", "bot", "other3")
    assert first.seen
    assert second.seen
    assert not set(first.seen) & set(second.seen)
    ends = [await bot.over.get() for _ in bot.made]
    assert [made for made, _ in ends] == [first, second]
    for _, over in ends:
        assert isinstance(over, GameOver)
        assert over.match_id == 5
        assert {seat.ending for seat in over.seats} == {Ending.FINISHED}


async def test_all_seats_of_a_match_are_resumed(script: Script, play_with: PlayWith) -> None:
    """The hello names the match once; each bot goes on with its memory, and answers what is sent again."""
    bot = remembering()
    play_with(bot)
    conversation = await script.welcome()
    game = match(5, players=4, seats=(1, 3))
    await start(conversation, [game])
    for _ in range(6):
        await play_on(conversation, [game])
    pending = play.PlayResponse(decisions=[game.decision()])
    before = await conversation.exchange(pending)
    script.server.cut_connections()
    conversation = await script.welcome(resumed=True)
    assert [*script.hello.match_ids] == [5]
    assert await conversation.exchange(pending) == before
    assert len(bot.made) == 2
    assert sum(len(made.seen) for made in bot.made) == 7


async def test_a_voided_match_is_voided_in_all_seats(script: Script, play_with: PlayWith) -> None:
    """Each bot gets the reason."""
    bot = remembering()
    play_with(bot)
    conversation = await script.welcome()
    game = match(5, players=4, seats=(1, 3))
    await start(conversation, [game])
    over = game.voided(match_pb2.VOID_REASON_STOPPED)
    await conversation.send(play.PlayResponse(games_over=[over]))
    assert [await bot.over.get() for _ in range(2)] == [(made, VoidReason.STOPPED) for made in bot.made]


async def test_a_bot_that_fails_gives_up_its_seat_alone(script: Script, play_with: PlayWith) -> None:
    """The other seats of the match, and other matches, are played on."""

    def choose(self: Remembering, decision: Decision) -> Move:
        if self.start.match_id == 5 and self.start.seat == 2:
            raise RuntimeError("no idea")
        return decision.moves[0]

    bot = remembering(choose=choose)
    play_with(bot)
    conversation = await script.welcome()
    game, other = match(5, players=4, seats=(0, 2)), match(6, seed=2)
    await start(conversation, [game, other])
    while game.game.seat != 2:
        await play_on(conversation, [game])
    await conversation.repeat(game.decision())  # nothing but a resignation comes back
    (resign,) = (await script.receive()).resigns
    assert (resign.match_id, resign.seat, resign.HasField("seat"), resign.crashed) == (5, 2, True, True)
    game.answer(0)  # the fallback of the server
    for _ in range(10):
        if game.game.seat == 2:
            game.answer(0)
        else:
            await play_on(conversation, [game, other])
    await conversation.send(play.PlayResponse(games_over=[game.over()]))
    survivor, over = await bot.over.get()
    assert (survivor.start.match_id, survivor.start.seat) == (5, 0)
    assert isinstance(over, GameOver)


async def resignation(script: Script, play_with: PlayWith, bot: type[Bot]) -> play.Resign:
    """Let a bot fail at its first decision; return what it sends."""
    play_with(bot)
    conversation = await script.welcome()
    game = match(5)
    await start(conversation, [game])
    await conversation.repeat(game.decision())
    (resign,) = (await script.receive()).resigns
    assert resign.crashed
    assert len(resign.reason) <= MAX_REASON
    assert resign.reason.isprintable()
    return resign


def line_of(text: str) -> int:
    """Return the line of this file that has a text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (number,) = [
        number for number, line in enumerate(lines, start=1) if text in line and "line_of" not in line
    ]
    return number


async def test_a_crash_has_its_place_in_the_authors_code(script: Script, play_with: PlayWith) -> None:
    """Error type, message, file and line: of the author's deepest line, not of the engine's or Python's."""

    class Failing(Bot):
        def choose(self, decision: Decision) -> Move:
            return Move.parse("fly to the moon")  # no such move

    assert (await resignation(script, play_with, Failing)).reason == (
        "InvalidMoveError: not a move: 'fly to the moon' (expected for example 'keep', 'build museum' or "
        f"'draw 2') (test_seats.py:{line_of('# no such move')})"
    )


async def test_a_crash_of_an_asynchronous_bot(script: Script, play_with: PlayWith) -> None:
    """The place is there also if the bot fails later on."""

    class Failing(Bot):
        async def choose(self, decision: Decision) -> Move:
            await asyncio.sleep(0)
            return decision.moves[1000]  # beyond the end

    assert (await resignation(script, play_with, Failing)).reason == (
        f"IndexError: tuple index out of range (test_seats.py:{line_of('# beyond the end')})"
    )


async def test_a_crash_in_one_short_line(script: Script, play_with: PlayWith) -> None:
    """However long and colourful the message is."""

    class Failing(Bot):
        def choose(self, decision: Decision) -> Move:
            raise ValueError("\x1b[31mfirst\nsecond \u202e" + "x" * 10_000)

    reason = (await resignation(script, play_with, Failing)).reason
    assert reason.startswith("ValueError: [31mfirst second x")


async def test_a_crash_without_a_message(script: Script, play_with: PlayWith) -> None:
    """The type and the place say enough."""

    class Failing(Bot):
        def choose(self, decision: Decision) -> Move:
            raise KeyError  # without a word

    reason = (await resignation(script, play_with, Failing)).reason
    assert reason == f"KeyError (test_seats.py:{line_of('# without a word')})"


async def test_an_illegal_choice_is_a_crash(script: Script, play_with: PlayWith) -> None:
    """The bot's author reads what was chosen and what was legal."""

    class Failing(Bot):
        def choose(self, decision: Decision) -> Move:
            return Move.parse("copy box")

    reason = (await resignation(script, play_with, Failing)).reason
    assert reason == "ValueError: the bot chose copy box, which is not legal (draw 1, draw 2, draw 3)"


async def test_a_bot_that_can_not_be_made_crashes(script: Script, play_with: PlayWith) -> None:
    """Its seat is given up before its first decision."""

    class Failing(Bot):
        def __init__(self, begin: GameStarted) -> None:
            raise OSError(2, "No such file", "weights.bin")

        def choose(self, decision: Decision) -> Move:
            raise AssertionError

    assert (await resignation(script, play_with, Failing)).reason == (
        f"FileNotFoundError: [Errno 2] No such file: 'weights.bin' (test_seats.py:{line_of('OSError(2')})"
    )


async def test_an_unknown_kind_of_game_is_given_up(script: Script, play_with: PlayWith) -> None:
    """A mode of a newer server can't be played; the other games go on."""
    bot = remembering()
    play_with(bot)
    conversation = await script.welcome()
    game = match(5)
    (started,) = game.started()
    started.config.mode = cards_pb2.Mode.ValueType(9)
    await conversation.send(play.PlayResponse(games_started=[started]))
    (resign,) = (await script.receive()).resigns
    assert (resign.match_id, resign.seat, resign.crashed) == (5, 0, True)
    assert resign.reason == f"{ConfigError.__name__}: mode: 9 is neither MODE_FAMILY nor MODE_EXPERT"
    await play_out(conversation, [match(6)])


async def test_a_wait_that_is_cancelled_by_others_is_a_crash(script: Script, play_with: PlayWith) -> None:
    """The bot's own task was not cancelled, so the game would wait for ever."""

    class Failing(Bot):
        async def choose(self, decision: Decision) -> Move:
            waiting = asyncio.create_task(asyncio.Event().wait())
            asyncio.get_running_loop().call_soon(waiting.cancel)
            await waiting  # cancelled here
            raise AssertionError

    assert (await resignation(script, play_with, Failing)).reason == (
        f"CancelledError (test_seats.py:{line_of('# cancelled here')})"
    )


@pytest.mark.parametrize("last", ["an answer", "an error"])
async def test_what_a_bot_says_of_a_settled_decision_counts_for_nothing(
    script: Script, play_with: PlayWith, last: str
) -> None:
    """A thought that is cancelled may still choose or fail: the next decision is answered by itself."""
    asked: asyncio.Queue[int] = asyncio.Queue()

    class Stubborn(Bot):
        async def choose(self, decision: Decision) -> Move:
            asked.put_nowait(decision.decision_id)
            if (decision.match_id, decision.decision_id) == (5, first):
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    if last == "an error":
                        raise RuntimeError from None
                return decision.moves[0]
            await asyncio.sleep(0)
            return decision.moves[-1]

    play_with(Stubborn)
    conversation = await script.welcome()
    game = match(5)
    await start(conversation, [game])
    late = game.decision()
    first = late.decision_id
    await conversation.repeat(late)
    assert await asked.get() == first
    game.answer(0)  # the clock settles it
    pending = game.decision()
    assert await conversation.exchange(play.PlayResponse(decisions=[pending])) == {5: len(pending.moves) - 1}
    await play_out(conversation, [match(6, seed=3)])
