"""Practice matches of an agent, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import grpc

from happycity import Config, HappyCityError, Mode
from happycity.runtime.unreachable import failure
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import config_message
from happycity.wire.status import details_of
from happycity_client import Settings

PAUSE_SECONDS = 0.1
"""The pause between two attempts where the server names none."""


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
            request = pb.CreatePracticeMatchRequest(
                config=config,
                bots=bots[turn:] + bots[:turn],
                decision_time=duration_message(decision_seconds),
            )
            match = await _call(stub.CreatePracticeMatch, request, settings)
            match = await _call(stub.WaitMatch, pb.WaitMatchRequest(match_id=match.match_id), settings)
            if not match.HasField("result"):
                raise HappyCityError(f"{settings.target.address} aborted match {match.match_id}")


async def _call(method: Any, request: object, settings: Settings) -> pb.Match:
    """Return what a method returns, as soon as the server's quota allows it."""
    while True:
        try:
            match: pb.Match = await method(request, metadata=settings.access.metadata)
            return match
        except grpc.aio.AioRpcError as error:
            details = details_of(error)
            if details.reason not in ("RATE_LIMITED", "TOO_MANY_OPEN"):
                raise HappyCityError(failure(settings.target, error, ca=settings.access.ca)) from None
            await asyncio.sleep(details.retry_seconds or PAUSE_SECONDS)
