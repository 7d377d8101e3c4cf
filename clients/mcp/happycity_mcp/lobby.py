"""Who is connected to the arena, as an agent sees it."""

from __future__ import annotations

from typing import Any

import grpc
from pydantic import BaseModel, Field

from happycity.match import one_line
from happycity.runtime.unreachable import failure
from happycity.v1 import bot_service_pb2 as pb
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity_client import Settings
from happycity_mcp.agent import LONGEST_NAME, AgentError

MAX_BOTS = 200
"""Bots in a list: the server's longest page, and more than a model should read."""
CALL_SECONDS = 20.0


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

    What bots say of themselves is left out: a model must not read free text of strangers.

    Raises:
        AgentError: the server can't be reached or refuses.
    """
    async with settings.access.channel(settings.server) as channel:
        stub: Any = BotServiceStub(channel)
        request = pb.ListBotsRequest(page_size=MAX_BOTS)
        try:
            call = stub.ListBots(request, metadata=settings.access.metadata, timeout=CALL_SECONDS)
            listed = (await call).bots
        except grpc.aio.AioRpcError as error:
            raise AgentError(failure(settings.target, error, ca=settings.access.ca)) from None
    bots = [
        LobbyBot(
            name=one_line(bot.name)[:LONGEST_NAME],
            house=bot.house,
            connected=bot.connected,
            games=bot.games,
        )
        for bot in listed
    ]
    return sorted(bots, key=lambda bot: not bot.house)
