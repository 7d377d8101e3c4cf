"""What an agent's bot asks of the arena: who is connected, and practice matches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import grpc
from pydantic import BaseModel, Field

from happycity import Config, HappyCityError, Mode
from happycity.match import one_line
from happycity.v1 import bot_service_pb2, match_service_pb2
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import config_message
from happycity.wire.status import details_of
from happycity_client import Settings
from happycity_client.matches import match_at_end
from happycity_runtime.calls import call_method
from happycity_runtime.unreachable import failure

LONGEST_NAME = 64
"""Characters of another seat's name that an agent is shown."""
MAX_BOTS = 200
"""Bots in a list: the server's longest page, and more than a model should read."""
CALL_SECONDS = 20.0
PAUSE_SECONDS = 0.1
"""The pause between two attempts where the server names none."""

_T = TypeVar("_T")


class LobbyBot(BaseModel):
    """A bot that is connected, or was a moment ago."""

    name: str
    house: bool = Field(description="Whether it is one of the arena's own, for practice.")
    connected: bool
    games: int = Field(description="Seats that it fills at present.")


class ConnectedBots(BaseModel):
    """Who is there."""

    you: str
    bots: list[LobbyBot]


async def connected_bots(settings: Settings) -> list[LobbyBot]:
    """Return up to `MAX_BOTS` bots of the server, those of the house first.

    What bots say of themselves is left out: a model must not read free text of strangers. HappyCityError if
    the server can't be reached or refuses.
    """
    async with settings.access.channel(settings.target) as channel:
        request = bot_service_pb2.ListBotsRequest(page_size=MAX_BOTS)
        stub: Any = BotServiceStub(channel)
        listed = (await _call(settings, stub.ListBots, request, timeout=CALL_SECONDS)).bots
    bots = [
        LobbyBot(
            name=one_line(bot.name)[:LONGEST_NAME], house=bot.house, connected=bot.connected, games=bot.games
        )
        for bot in listed
    ]
    return sorted(bots, key=lambda bot: not bot.house)


async def practise(
    settings: Settings, *, against: Sequence[str], games: int, mode: Mode, decision_seconds: float
) -> None:
    """Let a bot that is connected play practice matches against the server's own bots, or against itself.

    The bots change seats from game to game. Where the server's quota is used up, the next match waits.

    Raises:
        ConfigError: there can't be that many players.
        HappyCityError: the server refuses, can't be reached, or aborted a match.
    """
    bots = [settings.name, *against]
    config = config_message(Config(players=len(bots), mode=mode))
    async with settings.access.channel(settings.target) as channel:
        stub: Any = MatchServiceStub(channel)
        for number in range(games):
            turn = number % len(bots)
            request = match_service_pb2.CreatePracticeMatchRequest(
                config=config,
                bots=bots[turn:] + bots[:turn],
                decision_time=duration_message(decision_seconds),
            )
            match = await _call(settings, stub.CreatePracticeMatch, request)
            match = await match_at_end(partial(_call, settings, stub.GetMatch), match.match_id)
            if not match.outcome.HasField("result"):
                raise HappyCityError(f"{settings.target.address} aborted match {match.match_id}")


async def _call(settings: Settings, method: Callable[..., Awaitable[_T]], request: Any, **options: Any) -> _T:
    """Return what a method returns, as soon as the server's quota allows it."""
    while True:
        try:
            return await call_method(method, request, settings.access, **options)
        except grpc.aio.AioRpcError as error:
            details = details_of(error)
            if details.reason not in ("RATE_LIMITED", "TOO_MANY_OPEN"):
                raise HappyCityError(failure(settings.target, error, ca=settings.access.ca)) from None
            await asyncio.sleep(details.retry_seconds or PAUSE_SECONDS)
