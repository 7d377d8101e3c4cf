"""The Python SDK as a program, and without a server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from happycity import Config, Game, Move
from happycity_client import Bot, ConnectionFailedError, Decision, GameStart, Settings, play_games


class FirstMove(Bot):
    """Plays the neutral move."""

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]


async def test_no_server_is_told_in_one_line() -> None:
    """Nobody listens on the port: the error says where, and what to do."""
    with pytest.raises(ConnectionFailedError, match=r"127\.0\.0\.1:9.*happycity serve") as caught:
        await play_games(FirstMove, Settings(name="anna", server="127.0.0.1:9"))
    assert "\n" not in str(caught.value)


PROGRAM = """
from happycity_client import Bot, run
class MyBot(Bot):
    def choose(self, decision):
        return decision.moves[0]
run(MyBot)
"""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HAPPYCITY_SERVER": "127.0.0.1:9"}, "error: no connection to 127.0.0.1:9"),
        ({"HAPPYCITY_CA": "/no/such/file"}, "error: ca: '/no/such/file' can't be read: No such file"),
        (
            {"HAPPYCITY_SERVER": "192.0.2.1:9", "HAPPYCITY_TOKEN": "secret"},
            "error: token: it would travel unencrypted to 192.0.2.1:9",
        ),
    ],
)
def test_run_exits_with_one_line_and_status_2(
    tmp_path: Path, environment: dict[str, str], expected: str
) -> None:
    """A bot's own program ends without a traceback."""
    program = tmp_path / "bot.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(expected)
    assert len(done.stderr.splitlines()) == 1


def test_bot_can_be_tried_on_a_local_game() -> None:
    """A decision made from a game has what a served one has."""
    game = Game.deal(Config(players=3), seed=4)
    bot = FirstMove(GameStart(game_id=0, config=game.config, seat=0, bots=("a", "b", "c"), seed=1))
    decision = Decision.of(game)
    assert decision.view == game.view()
    assert decision.events == game.events
    assert decision.seat == game.seat
    choice = bot.choose(decision)
    assert choice in game.legal_moves
