"""The SDK and the real server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import FirstMove, RandomMove
from tests.server.harness import between, serving

from happycity import Ending, Move
from happycity.records import Json, loads, replay
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity_check.relay import Relay
from happycity_client import Bot, BotFactory, ConnectionFailedError, Decision, GameOver, Settings, play


class Arena:
    """A server, and bots of the SDK that play on it."""

    def __init__(self, address: str, channel: grpc.aio.Channel) -> None:
        self.address = address
        self.bots: list[asyncio.Task[None]] = []
        self._matches: Any = MatchServiceStub(channel)

    def play(self, name: str, bot: BotFactory, **fields: Any) -> None:
        """Let a bot play in the background."""
        settings = Settings(**{"name": name, "server": self.address, **fields})
        self.bots.append(asyncio.create_task(play(bot, settings)))

    async def create(self, *bots: str, seed: int = 5) -> int:
        """Set up a match; return its id."""
        response: pb.CreateMatchResponse = await self._matches.CreateMatch(between(*bots, seed=seed))
        return response.match.match_id

    async def record(self, match_id: int) -> Json:
        """Wait for the end of a match; return its record, in which nobody failed."""
        async for _ in self._matches.WatchMatch(pb.WatchMatchRequest(match_id=match_id, end_only=True)):
            pass
        response = await self._matches.GetMatchRecord(pb.GetMatchRecordRequest(match_id=match_id))
        record = loads(response.record_json)
        replay(record)
        assert record["endings"] == ["finished", "finished"]
        return record


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    """Yield a server; bots are ended with the test."""
    async with serving(tmp_path) as (server, channel):
        opened = Arena(server.address, channel)
        yield opened
        for bot in opened.bots:
            bot.cancel()
        await asyncio.gather(*opened.bots, return_exceptions=True)


async def test_a_refused_name_is_reported(arena: Arena) -> None:
    """The server's text reaches the bot's author, its reason the program."""
    with pytest.raises(ConnectionFailedError, match="'not a name'") as caught:
        await play(RandomMove, Settings(name="not a name", server=arena.address))
    assert caught.value.reason == "INVALID_FIELD"


async def test_a_game_is_the_same_however_often_its_connections_are_cut(
    arena: Arena, caplog: pytest.LogCaptureFixture
) -> None:
    """Two bots that lose their connection at every tenth decision play as they would without."""
    caplog.set_level(logging.INFO, "happycity_client")
    host, _, port = arena.address.rpartition(":")
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

        for name in ("anna", "ben"):
            arena.play(name, Unlucky, server=relay.address)
        quiet = await arena.record(await arena.create("anna", "ben"))
        cutting = True
        cut = await arena.record(await arena.create("anna", "ben"))
        for bot in arena.bots:
            bot.cancel()
        await asyncio.gather(*arena.bots, return_exceptions=True)
    assert cut["moves"] == quiet["moves"]
    assert decisions == 2 * len(quiet["moves"])
    assert "the games go on" in caplog.text


async def test_a_bot_notes_numbers_about_its_choices(arena: Arena) -> None:
    """What a bot notes about a decision is in the game's record, at the place of its move."""

    class Noting(RandomMove):
        def choose(self, decision: Decision) -> Move:
            decision.note(moves=len(decision.moves))
            decision.note(seat=decision.seat, value=0.5)
            return super().choose(decision)

    arena.play("anna", Noting)
    arena.play("ben", RandomMove)
    record = await arena.record(await arena.create("anna", "ben"))
    numbers = {entry["decision"]: entry["values"] for entry in record["metrics"]}
    assert list(numbers) == [number for number, move in enumerate(record["moves"], 1) if move["seat"] == 0]
    for values in numbers.values():
        assert values == {"moves": values["moves"], "seat": 0, "value": 0.5}
        assert values["moves"] >= 2


async def test_one_bot_fills_several_seats(arena: Arena) -> None:
    """Each seat has an instance of its own, which gets the decisions of this seat and the result of all."""
    seats: dict[Bot, set[int]] = {}
    results: asyncio.Queue[GameOver] = asyncio.Queue()

    class Twin(FirstMove):
        def choose(self, decision: Decision) -> Move:
            seats.setdefault(self, set()).add(decision.seat)
            return super().choose(decision)

        def game_over(self, result: GameOver) -> None:
            results.put_nowait(result)

    arena.play("twin", Twin)
    match_id = await arena.create("twin", "twin")
    await arena.record(match_id)
    one, other = await results.get(), await results.get()
    assert one == other
    assert one.match_id == match_id
    assert sorted(map(sorted, seats.values())) == [[0], [1]]


async def test_asynchronous_bot_thinks_about_many_games_at_once(arena: Arena) -> None:
    """While one game's decision is pending, the others go on."""
    pending: set[int] = set()
    all_pending = asyncio.Event()
    results: asyncio.Queue[GameOver] = asyncio.Queue()

    class Patient(Bot):
        """Answers its first decisions only once all three games wait for it."""

        async def choose(self, decision: Decision) -> Move:
            """Wait, then return the first legal move."""
            pending.add(decision.match_id)
            if len(pending) == 3:
                all_pending.set()
            await all_pending.wait()
            return decision.moves[0]

        def game_over(self, result: GameOver) -> None:
            """Keep the result."""
            results.put_nowait(result)

    arena.play("patient", Patient)
    arena.play("ben", RandomMove)
    match_ids = {await arena.create("patient", "ben", seed=seed) for seed in range(3)}
    over = [await results.get() for _ in match_ids]
    assert {result.match_id for result in over} == pending == match_ids
    assert {seat.ending for result in over for seat in result.seats} == {Ending.FINISHED}


async def test_bots_of_a_server_that_shut_down_end_well(reserved: str, tmp_path: Path) -> None:
    """They look for it for a while, then return."""
    playing = asyncio.Event()

    class Playing(RandomMove):
        def choose(self, decision: Decision) -> Move:
            playing.set()
            return super().choose(decision)

    async with serving(tmp_path, listen=reserved, grace=0) as (server, channel):
        arena = Arena(server.address, channel)
        for name in ("anna", "ben"):
            arena.play(name, Playing, reconnect_seconds=0.3)
        await arena.create("anna", "ben")
        await playing.wait()
    await asyncio.gather(*arena.bots)
