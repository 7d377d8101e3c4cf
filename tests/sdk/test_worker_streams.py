"""What becomes of games at a worker that goes away while the server stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from happycity import Move, VoidReason
from happycity_check.conversation import start
from happycity_check.scripted_server import ScriptedServer
from happycity_client import Bot, Decision

from .conftest import PlayWith, Script, match


class Voided(Bot):
    """Plays the neutral move, and notes which of its games were voided."""

    voided: asyncio.Queue[tuple[int, VoidReason]]

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Note it."""
        self.voided.put_nowait((match_id, reason))


@pytest.fixture
def bot() -> type[Voided]:
    """Give a bot with a list of its own."""
    return type("Voided", (Voided,), {"voided": asyncio.Queue()})


@pytest.fixture
async def worker() -> AsyncIterator[Script]:
    """Give a scripted worker."""
    async with ScriptedServer.listening() as listening:
        yield Script(listening)


async def test_games_at_a_worker_that_stays_away_are_voided(
    script: Script, worker: Script, play_with: PlayWith, bot: type[Voided]
) -> None:
    """Those at the server go on, and the bot comes back to the worker with its token and without games."""
    play_with(bot, games=0, reconnect_seconds=0.0)
    at_server = await script.welcome(workers=[worker.server.address])
    at_worker = await worker.welcome(token="worker's")
    games = [match(1), match(2, seed=2)]
    await start(at_server, games[:1])
    await start(at_worker, games[1:])
    worker.server.cut_connections()
    assert await bot.voided.get() == (2, VoidReason.UNKNOWN)
    await worker.welcome(resumed=True)
    assert (worker.hello.resume_token, [*worker.hello.match_ids]) == ("worker's", [])
    assert bot.voided.empty()


async def test_games_at_a_worker_that_is_named_no_longer_are_voided(
    script: Script, worker: Script, play_with: PlayWith, bot: type[Voided]
) -> None:
    """Those at the server go on where it says so."""
    play_with(bot, games=0)
    at_server = await script.welcome(workers=[worker.server.address])
    games = [match(1), match(2, seed=2)]
    await start(at_server, games[:1])
    await start(await worker.welcome(), games[1:])
    script.server.cut_connections()
    await script.welcome(resumed=True)
    assert await bot.voided.get() == (2, VoidReason.UNKNOWN)
    assert bot.voided.empty()


async def test_games_of_a_worker_that_ends_the_session_are_voided(
    script: Script, worker: Script, play_with: PlayWith, bot: type[Voided]
) -> None:
    """The bot stays at the server, whatever a worker makes of it."""
    play_with(bot, games=0)
    await script.welcome(workers=[worker.server.address])
    await start(await worker.welcome(), [match(2)])
    worker.stream.end()
    assert await bot.voided.get() == (2, VoidReason.UNKNOWN)


async def test_games_of_a_bot_that_is_stopped_are_not_voided(
    script: Script, worker: Script, play_with: PlayWith, bot: type[Voided]
) -> None:
    """It says goodbye to each, so they are forfeited."""
    playing = play_with(bot, games=0)
    await script.welcome(workers=[worker.server.address])
    at_worker = await worker.welcome()
    await start(at_worker, [match(2)])
    playing.cancel()
    assert (await script.receive()).HasField("goodbye")
    script.stream.end()
    assert (await worker.receive()).HasField("goodbye")
    worker.stream.end()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert bot.voided.empty()
