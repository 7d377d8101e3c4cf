"""The Python SDK on its own: settings, errors of a connection, and local decisions."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from happycity import Config, ConfigError, Game, Move
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire import config_message
from happycity_client import Bot, ConnectionFailedError, Decision, GameOver, GameStart, Settings, play_games
from happycity_server.app import ServerConfig, serving


class FirstMove(Bot):
    """Plays the neutral move."""

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]


def gathered(**given: str | int | None) -> Settings:
    fields: dict[str, str | int | None] = {"name": None, "server": None, "token": None, "games": None}
    return Settings.gather(default_name="FirstMove", **{**fields, **given})  # type: ignore[arg-type]  # a test's short cut


def test_settings_come_from_arguments_then_environment_then_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given wins over the environment, which wins over the defaults."""
    for variable in ("NAME", "SERVER", "TOKEN", "GAMES"):
        monkeypatch.delenv(f"HAPPYCITY_{variable}", raising=False)
    assert gathered() == Settings(name="FirstMove")
    monkeypatch.setenv("HAPPYCITY_NAME", "anna")
    monkeypatch.setenv("HAPPYCITY_SERVER", "example:1")
    monkeypatch.setenv("HAPPYCITY_TOKEN", "secret")
    monkeypatch.setenv("HAPPYCITY_GAMES", "3")
    assert gathered() == Settings(name="anna", server="example:1", token="secret", games=3)
    assert gathered(name="ben", server="other:2", games=0) == Settings(
        name="ben", server="other:2", token="secret", games=0
    )


def test_games_that_are_no_number_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is named."""
    monkeypatch.setenv("HAPPYCITY_GAMES", "many")
    with pytest.raises(ConfigError, match="HAPPYCITY_GAMES: 'many'"):
        gathered()


async def test_no_server_is_told_in_one_line() -> None:
    """Nobody listens on the port: the error says where, and what to do."""
    with pytest.raises(ConnectionFailedError, match=r"127\.0\.0\.1:9.*happycity serve") as caught:
        await play_games(FirstMove, Settings(name="anna", server="127.0.0.1:9"))
    assert "\n" not in str(caught.value)


async def test_refused_name_is_told(tmp_path: Path) -> None:
    """The server's reason reaches the bot's author."""
    config = ServerConfig(listen="127.0.0.1:0", store=f"sqlite:///{tmp_path}/games.sqlite")
    async with serving(config) as address:
        with pytest.raises(ConnectionFailedError, match="'not a name'"):
            await play_games(FirstMove, Settings(name="not a name", server=address))


def test_run_without_a_server_exits_with_status_2(tmp_path: Path) -> None:
    """A bot's own program ends with one line and no traceback."""
    program = tmp_path / "bot.py"
    program.write_text(
        "from happycity_client import Bot, run\n"
        "class MyBot(Bot):\n"
        "    def choose(self, decision):\n"
        "        return decision.moves[0]\n"
        "run(MyBot)\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, "HAPPYCITY_SERVER": "127.0.0.1:9"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: no connection to 127.0.0.1:9")
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


async def test_asynchronous_bot_thinks_about_many_games_at_once(tmp_path: Path) -> None:
    """While one game's decision is pending, the others go on."""
    pending: set[int] = set()
    all_pending = asyncio.Event()
    over: list[int] = []
    done = asyncio.Event()

    class Patient(Bot):
        """Answers its first decisions only once all three games wait for it."""

        async def choose(self, decision: Decision) -> Move:
            """Wait, then return the first legal move."""
            pending.add(decision.game_id)
            if len(pending) == 3:
                all_pending.set()
            await all_pending.wait()
            return decision.moves[0]

        def game_over(self, result: GameOver) -> None:
            """Count."""
            over.append(result.game_id)
            assert result.endings == ("finished", "finished")
            if len(over) == 3:
                done.set()

    config = ServerConfig(listen="127.0.0.1:0", store=f"sqlite:///{tmp_path}/games.sqlite")
    async with serving(config) as address, asyncio.timeout(30):
        tasks = [
            asyncio.create_task(play_games(factory, Settings(name=name, server=address)))
            for name, factory in (("patient", Patient), ("ben", FirstMove))
        ]
        async with grpc.aio.insecure_channel(address) as channel:
            request = pb.CreateMatchRequest(config=config_message(Config(players=2)), bots=["patient", "ben"])
            for _ in range(3):
                await MatchServiceStub(channel).CreateMatch(request)
            await done.wait()
    await asyncio.gather(*tasks)
    assert sorted(over) == sorted(pending)
