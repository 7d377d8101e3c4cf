"""What a program tells of its choices goes with its answers, and into the records."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from happycity import Config
from happycity.records import loads, replay
from happycity.v1 import play_service_pb2 as play
from happycity_bridge import BridgedBot, Troupe
from happycity_check.peer import BotStream, Peer
from happycity_check.tables import Table
from happycity_client import Settings, play_games
from happycity_tournament.store import Store

PLAYER = Path(__file__).parent / "programs" / "player.py"
DEADLINE = 60.0


@asynccontextmanager
async def playing(peer: Peer, *arguments: str) -> AsyncIterator[None]:
    """Let a program play on a scripted server."""
    troupe = Troupe((sys.executable, str(PLAYER), *arguments), name="me", shared=False)
    factory = partial(BridgedBot, troupe=troupe)
    bot = asyncio.create_task(play_games(factory, Settings(name="me", server=peer.address)))
    try:
        yield
    finally:
        bot.cancel()
        await asyncio.gather(bot, return_exceptions=True)
        await troupe.close()


async def welcome(peer: Peer, *, resumed: bool = False) -> BotStream:
    """Take the bot in."""
    stream = await peer.accept(DEADLINE)
    received = await stream.receive(DEADLINE)
    assert received is not None
    assert received.request.HasField("hello")
    hello = play.Welcome(protocol_version=1, resume_token="token", resumed=resumed)
    await stream.send(play.PlayResponse(welcome=hello))
    return stream


async def answer(stream: BotStream, **batch: object) -> play.Answer:
    """Send a batch with one decision; return its answer."""
    await stream.send(play.PlayResponse(**batch))  # type: ignore[arg-type]
    received = await stream.receive(DEADLINE)
    assert received is not None
    (only,) = received.request.answers
    return only


async def test_metrics_go_with_their_answer_and_with_it_again() -> None:
    """After a lost connection the answer comes from memory and tells the same; the next one tells its own."""
    async with Peer.listening("127.0.0.1:0") as peer, playing(peer, "telling"):
        table = Table(1, Config(players=2), seed=1)
        stream = await welcome(peer)
        first = await answer(stream, games_started=[table.started()], decisions=[table.decision()])
        assert dict(first.metrics) == {"asked": 1.0, "value": -0.5}
        peer.cut()
        stream = await welcome(peer, resumed=True)
        assert await answer(stream, decisions=[table.decision()]) == first
        table.answer(first.move)
        second = await answer(stream, decisions=[table.decision()])
        assert dict(second.metrics) == {"asked": 2.0, "value": -0.5}


async def test_an_answer_without_metrics_has_none() -> None:
    """Nothing is sent for them."""
    async with Peer.listening("127.0.0.1:0") as peer, playing(peer, "quiet"):
        table = Table(1, Config(players=2), seed=1)
        stream = await welcome(peer)
        told = await answer(stream, games_started=[table.started()], decisions=[table.decision()])
        assert (told.game_id, len(told.metrics)) == (1, 0)


def test_metrics_are_in_the_records(tmp_path: Path) -> None:
    """Each of the program's decisions has its entry in the record of its game, and nobody else's has one."""
    bridged = shlex.join(
        [sys.executable, "-m", "happycity", "bridge", "--", sys.executable, str(PLAYER), "telling"]
    )
    done = subprocess.run(
        [
            sys.executable, "-m", "happycity_tournament", "run", "--rounds", "1", "--bots", "greedy",
            "--bot", f"mine={bridged}", "--store", "sqlite:///games.sqlite",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Store(f"sqlite:///{tmp_path / 'games.sqlite'}") as store:
        games = store.games(100)
        records = {game.id: loads(store.record(game.id) or "") for game in games}
    assert len(games) == 2
    for game in games:
        record = records[game.id]
        replay(record)
        mine = game.bots.index("mine")
        asked = [number for number, move in enumerate(record["moves"], 1) if move["seat"] == mine]
        expected = [
            {"decision": number, "told": {"asked": count, "value": -0.5}}
            for count, number in enumerate(asked, 1)
        ]
        assert record["metrics"] == expected
