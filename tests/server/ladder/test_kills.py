"""A ladder whose server is killed."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests.server.ladder.ladders import (
    TWO_SEATS,
    Games,
    check_complete,
    deals_in,
    numbers_of,
    playing,
    ratings_follow,
)

from happycity_ladder.entries import DealState
from happycity_tournament.storage.store import Store


@asynccontextmanager
async def killed_server(folder: Path, address: str) -> AsyncIterator[str]:
    """Run a server that keeps a ladder, and kill it at the end of the context; yields its address."""
    command = [
        *("-m", "happycity", "serve", "--stop-with-stdin", "--open", "--listen", address),
        *("--ladder", f"{folder}/ladder.toml", "--store", f"sqlite:///{folder}/games.sqlite"),
    ]
    with (folder / "server.log").open("a") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout is not None
    try:
        yield json.loads(await process.stdout.readline())["listening"]
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


def games_in(folder: Path) -> set[int]:
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        return {game.match_id for game in store.games(10_000)}


@pytest.mark.thorough
async def test_kills_lose_nothing(tmp_path: Path) -> None:
    """Bots find the server again, deals go on, and the ratings are those of all finished deals."""
    (tmp_path / "ladder.toml").write_text(TWO_SEATS)
    address, games, stored = "127.0.0.1:0", Games(), set[int]()
    async with AsyncExitStack() as bots:
        for number in range(4):
            async with killed_server(tmp_path, address) as address:
                if not number:
                    playing_bots = playing(address, "anna", "ben", "carl", games=games)
                    await bots.enter_async_context(playing_bots)
                await games.more(24)
            assert stored < games_in(tmp_path)  # but for the very last ones, which were not stored yet
            stored = games_in(tmp_path)
    deals = deals_in(tmp_path)
    check_complete(tmp_path, deals)
    finished = numbers_of(deals)
    assert finished == list(range(1, len(finished) + 1))
    assert not [deal for deal in deals if deal.state is DealState.DROPPED]
    await ratings_follow(tmp_path)
