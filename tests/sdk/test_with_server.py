"""The SDK and the real server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from happycity import Config, Move
from happycity.records import replay
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire import config_message
from happycity_check.relay import Relay
from happycity_client import Bot, ConnectionFailedError, Decision, GameOver, Settings, play_games
from happycity_server.app import serving
from happycity_server.config import ServerSettings


class RandomMove(Bot):
    """Plays any move."""

    def choose(self, decision: Decision) -> Move:
        """Return a legal move by chance."""
        return self.rng.choice(decision.moves)


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """Give the address of a server."""
    store = f"sqlite:///{tmp_path}/games.sqlite"
    async with serving(
        ServerSettings(open=True, listen="127.0.0.1:0", store=store, grace_seconds=0)
    ) as listening:
        yield listening


async def create(channel: grpc.aio.Channel, *bots: str, seed: int) -> int:
    request = pb.CreateMatchRequest(config=config_message(Config(players=len(bots))), bots=bots, seed=seed)
    return int((await MatchServiceStub(channel).CreateMatch(request)).match.match_id)


async def moves(channel: grpc.aio.Channel, match_id: int) -> list[Any]:
    """Wait for the match's end; return the moves of its record, in which nobody may have failed."""
    stub = MatchServiceStub(channel)
    async for _ in stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id)):
        pass
    answer = await stub.GetMatchRecord(pb.GetMatchRecordRequest(match_id=match_id))
    record = json.loads(answer.record_json)
    assert record["endings"] == ["finished", "finished"]
    return list(record["moves"])


async def test_a_refused_name_is_told(address: str) -> None:
    """The server's words reach the bot's author, its reason the program."""
    with pytest.raises(ConnectionFailedError, match="'not a name'") as caught:
        await play_games(RandomMove, Settings(name="not a name", server=address))
    assert caught.value.reason == "INVALID_FIELD"


async def test_a_game_is_the_same_however_often_its_connections_are_cut(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Two bots that lose their connection at every tenth decision play as they would without."""
    caplog.set_level(logging.INFO, "happycity_client")
    host, _, port = address.rpartition(":")
    async with Relay.listening("127.0.0.1:0", (host, int(port))) as relay:
        decisions = 0
        cutting = False

        class Unlucky(RandomMove):
            def choose(self, decision: Decision) -> Move:
                nonlocal decisions
                decisions += 1
                if cutting and decisions % 10 == 0:
                    relay.cut()
                return super().choose(decision)

        bots = [
            asyncio.create_task(play_games(Unlucky, Settings(name=name, server=relay.address)))
            for name in ("anna", "ben")
        ]
        async with grpc.aio.insecure_channel(address) as channel:
            quiet = await moves(channel, await create(channel, "anna", "ben", seed=5))
            cutting = True
            assert await moves(channel, await create(channel, "anna", "ben", seed=5)) == quiet
        for bot in bots:
            bot.cancel()
        await asyncio.gather(*bots, return_exceptions=True)
    assert decisions == 2 * len(quiet)
    assert "the games go on" in caplog.text


async def test_a_bot_tells_of_its_choices(address: str) -> None:
    """What a bot notes about a decision is in the game's record, at the place of its move."""

    class Telling(RandomMove):
        def choose(self, decision: Decision) -> Move:
            decision.note(moves=len(decision.moves))
            decision.note(seat=decision.seat, value=0.5)
            return super().choose(decision)

    bots = [
        asyncio.create_task(play_games(bot, Settings(name=name, server=address)))
        for name, bot in (("anna", Telling), ("ben", RandomMove))
    ]
    async with grpc.aio.insecure_channel(address) as channel:
        match_id = await create(channel, "anna", "ben", seed=5)
        played = await moves(channel, match_id)
        answer = await MatchServiceStub(channel).GetMatchRecord(pb.GetMatchRecordRequest(match_id=match_id))
    for bot in bots:
        bot.cancel()
    await asyncio.gather(*bots, return_exceptions=True)
    record = json.loads(answer.record_json)
    replay(record)
    told = {entry["decision"]: entry["told"] for entry in record["metrics"]}
    assert [number for number, move in enumerate(played, 1) if move["seat"] == 0] == list(told)
    assert all(
        notes["seat"] == 0 and notes["value"] == 0.5 and notes["moves"] >= 2 for notes in told.values()
    )


async def test_asynchronous_bot_thinks_about_many_games_at_once(address: str) -> None:
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

    tasks = [
        asyncio.create_task(play_games(factory, Settings(name=name, server=address)))
        for name, factory in (("patient", Patient), ("ben", RandomMove))
    ]
    async with grpc.aio.insecure_channel(address) as channel:
        for seed in range(3):
            await create(channel, "patient", "ben", seed=seed)
        await done.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(over) == sorted(pending)


async def test_bots_of_a_server_that_shut_down_end_well(reserved: str, tmp_path: Path) -> None:
    """They look for it for a while, then return."""
    settings = ServerSettings(
        open=True, listen=reserved, store=f"sqlite:///{tmp_path}/games.sqlite", grace_seconds=0
    )
    playing = asyncio.Event()

    class Playing(RandomMove):
        def choose(self, decision: Decision) -> Move:
            playing.set()
            return super().choose(decision)

    async with serving(settings) as address:
        bots = [
            asyncio.create_task(
                play_games(Playing, Settings(name=name, server=address, reconnect_seconds=0.3))
            )
            for name in ("anna", "ben")
        ]
        async with grpc.aio.insecure_channel(address) as channel:
            await create(channel, "anna", "ben", seed=1)
            await playing.wait()
    await asyncio.gather(*bots)
