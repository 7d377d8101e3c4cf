"""The Python SDK as a program, and without a server."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from pathlib import Path

import grpc
import pytest

import happycity_client
from happycity import Config, Game, Move
from happycity.runtime.child import child_environment
from happycity.wire import StatusDetails
from happycity_check.conversation import play_on, start
from happycity_client import Bot, ConnectionFailedError, Decision, GameStarted, Settings

from .conftest import PATIENCE, Script, match


class FirstMove(Bot):
    """Plays the neutral move."""

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]


async def test_no_server_is_reported_in_one_line() -> None:
    """Nobody listens on the port: the error says where, and what to do."""
    with pytest.raises(ConnectionFailedError, match=r"127\.0\.0\.1:9.*happycity serve") as caught:
        await happycity_client.play(FirstMove, Settings(name="anna", server="127.0.0.1:9"))
    assert "\n" not in str(caught.value)


PROGRAM = """
from happycity_client import Bot, run
class MyBot(Bot):
    def choose(self, decision):
        return decision.moves[0]
run(MyBot)
"""


async def start_bot(folder: Path, **variables: str) -> asyncio.subprocess.Process:
    """Start a bot of its author, with these variables."""
    program = folder / "bot.py"
    program.write_text(PROGRAM, encoding="utf-8")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        program,
        env=child_environment(**variables),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HAPPYCITY_SERVER": "127.0.0.1:9"}, "error: no connection to 127.0.0.1:9"),
        ({"HAPPYCITY_CA": "/no/such/file"}, "error: ca: /no/such/file can't be read: No such file"),
        ({"HAPPYCITY_GAMES": "-1"}, "error: HAPPYCITY_GAMES: '-1' is not a number of games"),
        (
            {"HAPPYCITY_SERVER": "192.0.2.1:9", "HAPPYCITY_TOKEN": "secret"},
            "error: token: it would travel unencrypted to 192.0.2.1:9",
        ),
    ],
)
async def test_run_exits_with_one_line_and_status_2(
    tmp_path: Path, variables: dict[str, str], expected: str
) -> None:
    """A bot's own program ends without a traceback."""
    bot = await start_bot(tmp_path, **variables)
    _, errors = await bot.communicate()
    assert bot.returncode == 2
    assert errors.decode().startswith(expected)
    assert len(errors.splitlines()) == 1


async def test_a_second_signal_does_not_break_off_the_goodbye(script: Script, tmp_path: Path) -> None:
    """An impatient organiser, or a Ctrl-C held down: the server gets the goodbye all the same."""
    bot = await start_bot(tmp_path, HAPPYCITY_SERVER=script.server.address)
    conversation = await script.welcome()
    assert script.hello.name == "MyBot"
    game = match()
    await start(conversation, [game])
    await play_on(conversation, [game])
    bot.send_signal(signal.SIGTERM)
    assert (await script.receive()).HasField("goodbye")
    bot.send_signal(signal.SIGTERM)
    bot.send_signal(signal.SIGINT)
    assert await script.stream.receive(PATIENCE) is None  # its side is closed, this one is not
    script.stream.end()
    _, errors = await bot.communicate()
    assert bot.returncode == 0
    assert re.fullmatch(r"\S+Z INFO stopped", errors.decode().splitlines()[-1])
    assert b"Traceback" not in errors


async def test_a_signal_while_the_server_is_away_ends_the_bot(script: Script, tmp_path: Path) -> None:
    """It doesn't wait for the end of the pause before the next attempt."""
    bot = await start_bot(tmp_path, HAPPYCITY_SERVER=script.server.address)
    await script.welcome()
    later = StatusDetails(reason="SHUTTING_DOWN", retry_seconds=50)
    script.stream.end(grpc.StatusCode.UNAVAILABLE, "try again later", details=later)
    assert bot.stderr is not None
    while b"trying again" not in (line := await bot.stderr.readline()):
        assert line
    bot.send_signal(signal.SIGTERM)
    _, errors = await bot.communicate()
    assert bot.returncode == 0
    assert re.fullmatch(r"\S+Z INFO stopped\n", errors.decode())


def test_a_bot_can_be_tried_on_a_local_game() -> None:
    """A decision made from a game has what a server's has, but for times."""
    game = Game.deal(Config(players=3), seed=4)
    bot = FirstMove(GameStarted(match_id=0, config=game.config, seat=0, bots=("a", "b", "c"), seed=1))
    while game.outcome is None:
        decision = Decision.of(game)
        assert (decision.view, decision.events) == (game.view(), game.events)
        assert (decision.seat, decision.moves) == (game.seat, game.legal_moves)
        assert [decision.coins(move) for move in decision.moves] == [
            game.coin_change(move) for move in game.legal_moves
        ]
        times = (decision.time_left, decision.bank_left, decision.last_think, decision.round_trip)
        assert set(times) == {None}
        game.apply(bot.choose(decision))


async def test_a_local_decision_stays_as_it_was() -> None:
    """It shows the position that it was made from, also when the game has gone on."""
    game = Game.deal(Config(players=2), seed=4)
    decision = Decision.of(game)
    view, moves, events = game.view(), game.legal_moves, game.events
    game.apply(game.neutral_move)
    assert (decision.view, decision.moves, decision.events) == (view, moves, events)
