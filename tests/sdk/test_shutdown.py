"""How a bot gets to know that its server shuts down."""

from __future__ import annotations

import logging
from typing import NoReturn

import grpc
import pytest
from tests.sdk.conftest import PlayWith, Script

from happycity.v1 import play_service_pb2 as play
from happycity_check.scripted_server import ScriptedServer
from happycity_client import Bot, Decision


class Idle(Bot):
    """Is never asked."""

    def choose(self, decision: Decision) -> NoReturn:
        raise AssertionError


async def test_an_announced_shutdown_is_one_also_if_its_reason_gets_lost(
    play_with: PlayWith, caplog: pytest.LogCaptureFixture
) -> None:
    """A bot that writes while its stream ends gets a status without a reason; it returns all the same."""
    caplog.set_level(logging.INFO)
    async with ScriptedServer.listening() as server:
        # Long enough for another attempt, however slow the machine is.
        task = play_with(Idle, address=server.address, reconnect_seconds=5.0)
        script = Script(server)
        conversation = await script.welcome()
        notice = play.Notice(kind=play.NOTICE_KIND_SHUTDOWN, text="the server is shutting down")
        await conversation.send(play.PlayResponse(notices=[notice]))
        script.stream.end(grpc.StatusCode.INTERNAL, "Internal error from Core")
        await script.await_hello()  # so the status has arrived
    await task
    assert "anna: the server has shut down" in caplog.messages
