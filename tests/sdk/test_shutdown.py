"""How a bot hears that its server shuts down."""

from __future__ import annotations

import logging
from typing import NoReturn

import grpc
import pytest
from tests.sdk.conftest import Playing, Script

from happycity.v1 import play_service_pb2 as play
from happycity_check.peer import Peer
from happycity_client import Bot, Decision


class Idle(Bot):
    """Is never asked."""

    def choose(self, decision: Decision) -> NoReturn:
        raise AssertionError


async def test_an_announced_shutdown_is_one_also_if_its_reason_gets_lost(
    play_with: Playing, caplog: pytest.LogCaptureFixture
) -> None:
    """A bot that writes while its stream ends gets a status without a reason; it returns all the same."""
    caplog.set_level(logging.INFO)
    async with Peer.listening("127.0.0.1:0") as peer:
        # Long enough for one more attempt, however slow the machine is.
        task = play_with(Idle, server=peer.address, reconnect_seconds=5.0)
        script = Script(peer)
        dialogue = await script.welcome()
        notice = play.Notice(kind=play.NOTICE_KIND_SHUTDOWN, text="the server is shutting down")
        await dialogue.send(play.PlayResponse(notices=[notice]))
        assert script.stream is not None
        script.stream.end(grpc.StatusCode.INTERNAL, text="Internal error from Core")
        await script.meet()  # so it has heard that
    await task
    assert "anna: the server has shut down" in caplog.messages
