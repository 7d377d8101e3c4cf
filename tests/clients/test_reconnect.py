"""Bots of all languages whose connections break off in the middle of their games, on a real server."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from tests.clients.breaking import Break, Relay
from tests.clients.programs import Records, Reference, duel, records, serving, started

from happycity import Mode

PYTHON_GREEDY = shlex.join([sys.executable, "-m", "happycity", "bot", "greedy"])

BREAKS = [
    Break(of_server=True, bytes=6_000),
    Break(of_server=False, bytes=600),
    Break(of_server=True, bytes=8_000),
    Break(of_server=False, bytes=800),
    Break(of_server=True, bytes=10_000),
]
"""In a duel without them, the server sends a bot some 65,000 bytes and gets 5,000, all games at once."""


@pytest.mark.thorough
async def test_python_outlives_lost_connections(in_python: Reference, tmp_path: Path) -> None:
    """What is asked of the other languages holds for the Python SDK."""
    assert await disturbed(PYTHON_GREEDY, tmp_path) == in_python("greedy", Mode.FAMILY)


async def test_a_bot_outlives_lost_connections(greedy: str, in_python: Reference, tmp_path: Path) -> None:
    """Its games are finished as if nothing had happened: the records are the same."""
    assert await disturbed(greedy, tmp_path) == in_python("greedy", Mode.FAMILY)


async def disturbed(bot: str, folder: Path) -> Records:
    """Play a duel over connections that break off; return its records."""
    store = f"sqlite:///{folder / 'games.sqlite'}"
    run = (sys.executable, "-m", "happycity_tournament", "run", *duel(Mode.FAMILY))
    async with serving(store) as server, Relay.listening(server, BREAKS) as relay:
        mine = {"HAPPYCITY_SERVER": relay.address, "HAPPYCITY_NAME": "greedy", "HAPPYCITY_GAMES": "0"}
        async with (
            started(*shlex.split(bot), env=os.environ | mine, cwd=folder) as playing,
            started(*run, "--server", server, "--bots", "random", "--join", "greedy", cwd=folder) as running,
        ):
            assert await running.wait() == 0
            assert playing.returncode is None, "the bot gave up"
            playing.terminate()
            assert await playing.wait() == 0
    assert relay.made == len(BREAKS)
    return records(store)
