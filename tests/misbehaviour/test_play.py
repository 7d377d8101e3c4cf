"""Bots that play badly: each loses by its own fault alone, and the others' games go on to their end."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.misbehaviour import bots
from tests.misbehaviour.arena import GAMES, Arena
from tests.misbehaviour.bots import BadBot, playing

from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play

SHORT = 3.0
"""Seconds for decisions that a bad bot misses; the good ones must keep them on a busy machine too."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("play_badly", "ending", "notices"),
    [
        (bots.silent, match_pb2.ENDING_TIMEOUT, {play.NOTICE_KIND_TIMEOUT}),
        (bots.slow, match_pb2.ENDING_TIMEOUT, {play.NOTICE_KIND_TIMEOUT, play.NOTICE_KIND_LATE_ANSWER}),
        (bots.illegal, match_pb2.ENDING_ILLEGAL, {play.NOTICE_KIND_ILLEGAL_ANSWER}),
    ],
    ids=["silent", "slow", "illegal"],
)
async def test_bot_that_makes_no_move_in_time_forfeits(
    arena: Arena,
    play_badly: BadBot,
    ending: match_pb2.Ending.ValueType,
    notices: set[play.NoticeKind.ValueType],
) -> None:
    """It has its strikes, each with a notice, and then no seat; the reason is in standings and records."""
    bot = await arena.connect("bad")
    async with playing(bot, play_badly):
        trouble = await arena.trouble("bad", decision_seconds=SHORT, max_strikes=1)
    await bot.until(lambda received: len(received.games_over) == GAMES)
    trouble.check_forfeited(ending)
    seen = set(bot.notices) - {play.NOTICE_KIND_SERVER_LATE, play.NOTICE_KIND_UNKNOWN_MATCH}
    assert seen == {*notices, play.NOTICE_KIND_FORFEIT}


@contextmanager
def doomed(arena: Arena, kind: str) -> Iterator[None]:
    """Run a bot as a process that stops or dies; its name is how it ends."""
    command = [sys.executable, "-m", "tests.misbehaviour.doomed", arena.server.address, kind, kind]
    with subprocess.Popen(command) as process:
        yield
        process.kill()


@pytest.mark.parametrize(
    ("kind", "limits", "ending"),
    [
        ("dies", {"grace_seconds": 0.2}, match_pb2.ENDING_DISCONNECTED),
        pytest.param(
            *("dies-later", {"grace_seconds": 0.2}, match_pb2.ENDING_DISCONNECTED), marks=pytest.mark.thorough
        ),
        pytest.param(
            *("freezes", {"decision_seconds": SHORT, "max_strikes": 1}, match_pb2.ENDING_TIMEOUT),
            marks=pytest.mark.thorough,
        ),
    ],
)
async def test_bot_that_dies_or_hangs_forfeits(
    arena: Arena, kind: str, limits: dict[str, Any], ending: match_pb2.Ending.ValueType
) -> None:
    """After the grace time or by its clocks, in games where it had played before too."""
    with doomed(arena, kind):
        trouble = await arena.trouble(kind, **limits)
    trouble.check_forfeited(ending)
