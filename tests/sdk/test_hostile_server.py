"""What a broken or hostile server may send."""

from __future__ import annotations

import logging
import time

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from tests.game.wire.test_status import status_with

from happycity.match import MAX_REASON
from happycity.v1 import play_service_pb2 as play
from happycity.wire import DOMAIN, StatusDetails, encode_status
from happycity_check.conversation import play_on, play_out, start
from happycity_client import ConnectionFailedError

from .conftest import PlayWith, Script, match
from .test_liveness import FirstMove

NASTY = "\x1b[2J\x1b]0;owned\x07line\nfeed\r\x00\u202e\u2028" + "x" * 5000
"""Clears a terminal, renames its window, and goes on for long."""
REPLACED = encode_status(10, "text", StatusDetails(reason="REPLACED"))


def assert_printable(text: str) -> None:
    """Assert that a text is one line that does nothing to a terminal."""
    assert text.isprintable()
    assert len(text) <= MAX_REASON + 100


@pytest.mark.parametrize(
    "details",
    [b"\xff" * 100, b"not a status", REPLACED[:-3], REPLACED.replace(b".dev", b".xyz"), b""],
    ids=["noise", "text", "cut off", "other domain", "nothing"],
)
async def test_garbage_in_the_status_counts_for_nothing(
    script: Script, play_with: PlayWith, details: bytes
) -> None:
    """What can't be read, or is of another contract, leaves the status code to decide."""
    play_with(FirstMove)
    await script.welcome(token="mine")
    script.stream.end(grpc.StatusCode.UNAVAILABLE, "for a test", details=details)
    await script.await_hello()
    assert script.hello.resume_token == "mine"


async def test_garbage_in_the_status_of_a_refusal(script: Script, play_with: PlayWith) -> None:
    """A refusal stays one; its reason is unknown."""
    task = play_with(FirstMove)
    await script.welcome()
    script.stream.end(grpc.StatusCode.PERMISSION_DENIED, "for a test", details=b"\xff" * 10)
    with pytest.raises(ConnectionFailedError, match="for a test") as caught:
        await task
    assert caught.value.reason == ""


def limited(delay: Duration) -> bytes:
    """Return a status that asks to wait."""
    return status_with(ErrorInfo(reason="RATE_LIMITED", domain=DOMAIN), RetryInfo(retry_delay=delay))


@pytest.mark.parametrize("delay", [Duration(seconds=-(2**63)), Duration(nanos=-1), Duration()], ids=str)
async def test_a_negative_retry_delay_is_none(script: Script, play_with: PlayWith, delay: Duration) -> None:
    """The bot tries again after its own pause."""
    play_with(FirstMove)
    await script.welcome(token="mine")
    script.stream.end(grpc.StatusCode.RESOURCE_EXHAUSTED, "later", details=limited(delay))
    await script.await_hello()
    assert script.hello.resume_token == "mine"


@pytest.mark.parametrize(
    "delay", [Duration(seconds=2**63 - 1, nanos=2**31 - 1), Duration(seconds=3600)], ids=["huge", "an hour"]
)
async def test_a_retry_delay_beyond_the_bots_patience_ends_it(
    script: Script, play_with: PlayWith, delay: Duration
) -> None:
    """It neither sleeps for ages nor ignores the delay; the error has the server's own text."""
    task = play_with(FirstMove)
    await script.welcome()
    script.stream.end(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls", details=limited(delay))
    with pytest.raises(
        ConnectionFailedError, match=r"ended the session of 'anna': too many calls$"
    ) as caught:
        await task
    assert caught.value.reason == "RATE_LIMITED"


async def test_a_retry_delay_is_kept(script: Script, play_with: PlayWith) -> None:
    """The next attempt doesn't come before its time."""
    play_with(FirstMove)
    await script.welcome()
    began = time.monotonic()
    delay = limited(Duration(nanos=400_000_000))
    script.stream.end(grpc.StatusCode.RESOURCE_EXHAUSTED, "later", details=delay)
    await script.await_hello()
    assert time.monotonic() - began >= 0.4


async def test_notices_do_nothing_to_a_terminal(
    script: Script, play_with: PlayWith, caplog: pytest.LogCaptureFixture
) -> None:
    """Each is one short line without control characters, and the games go on."""
    caplog.set_level(logging.INFO)
    play_with(FirstMove)
    conversation = await script.welcome()
    game = match(5)
    await start(conversation, [game])
    notice = play.Notice(kind=play.NOTICE_KIND_TIMEOUT, match_id=5, text=NASTY)
    await conversation.send(play.PlayResponse(notices=[notice]))
    await play_on(conversation, [game])
    for message in caplog.messages:
        assert_printable(message)
    assert "anna: match 5: [2J ]0;owned line feed xxx" in caplog.text


async def test_a_status_text_that_is_logged_does_nothing_to_a_terminal(
    script: Script, play_with: PlayWith, caplog: pytest.LogCaptureFixture
) -> None:
    """A bot that tries again says why in one short line."""
    caplog.set_level(logging.INFO)
    play_with(FirstMove)
    await script.welcome()
    script.stream.end(grpc.StatusCode.UNAVAILABLE, NASTY)
    await script.await_hello()
    assert "trying again" in caplog.messages[-1]
    for message in caplog.messages:
        assert_printable(message)


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.PERMISSION_DENIED])
async def test_a_status_text_in_an_error_does_nothing_to_a_terminal(
    script: Script, play_with: PlayWith, code: grpc.StatusCode
) -> None:
    """A bot that gives up says why in one short line."""
    task = play_with(FirstMove, reconnect_seconds=0)
    await script.welcome()
    script.stream.end(code, NASTY)
    with pytest.raises(ConnectionFailedError, match="owned") as caught:
        await task
    assert_printable(str(caught.value))


async def test_a_status_without_a_text_shows_its_code(script: Script, play_with: PlayWith) -> None:
    """A line that ends in a colon helps nobody."""
    task = play_with(FirstMove)
    await script.welcome()
    script.stream.end(grpc.StatusCode.PERMISSION_DENIED)
    with pytest.raises(ConnectionFailedError, match=r"ended the session of 'anna': PERMISSION_DENIED$"):
        await task


@pytest.mark.parametrize("seconds", [-1, -(2**63), 2**63 - 1])
async def test_any_ping_interval_can_be_played_with(
    script: Script, play_with: PlayWith, seconds: int
) -> None:
    """A server that doesn't say sensibly how often it pings is not watched."""
    play_with(FirstMove)
    await script.await_hello()
    welcome = play.Welcome(resume_token="token", ping_interval=Duration(seconds=seconds))
    await script.stream.send(play.PlayResponse(welcome=welcome))
    await play_out(script.converse(), [match()])


async def test_messages_about_unknown_matches_do_no_harm(script: Script, play_with: PlayWith) -> None:
    """Decisions, ends and notices of matches that never began, or of seats that the bot doesn't have."""
    play_with(FirstMove)
    conversation = await script.welcome()
    stranger, game = match(99), match(5)
    await start(conversation, [game])
    elsewhere = game.decision()
    elsewhere.view.seat = 1
    await conversation.repeat(stranger.decision(), elsewhere)
    await conversation.send(play.PlayResponse(games_over=[stranger.over(), play.GameOver()]))
    while not game.is_over:
        await play_on(conversation, [game])
