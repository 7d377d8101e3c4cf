"""What the log of a bot tells its author: places, crashes, forfeits, late answers."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from happycity import Ending, Move, SeatResult
from happycity.match import one_line
from happycity.runtime.child import child_environment
from happycity.v1 import play_service_pb2 as play
from happycity.wire import result_message
from happycity_check.conversation import play_on, play_out, start
from happycity_client import Bot, BotInfo, Decision, Settings, log_to_stderr
from happycity_client.crash import MOST_KINDS, CrashLog

from .conftest import PATIENCE, PlayWith, Script, match

_ERRORS = (IndexError("tuple index out of range"), KeyError("card"), ValueError("7 is too much"))


class Broken(Bot):
    def choose(self, decision: Decision) -> Move:
        raise _ERRORS[self.start.match_id % len(_ERRORS)]


class Willing(Bot):
    def choose(self, decision: Decision) -> Move:
        return decision.moves[0]


def crash(number: int) -> ValueError:
    """Return an error of the line below."""
    try:
        raise ValueError(f"game {number} has no moves")
    except ValueError as error:
        return error


def test_same_crash_is_logged_at_powers_of_ten_and_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """The first one has its traceback; numbers in the text don't make another kind."""
    log = CrashLog("mine")
    for number in range(1, 481):
        reason = log.add("given up", crash(number), match_id=number, where=f"match {number}")
        assert re.fullmatch(rf"ValueError: game {number} has no moves \(test_log\.py:\d+\)", reason)
    log.close()
    first, *others = caplog.records
    assert first.exc_info is not None
    assert first.getMessage() == "mine: match 1: given up"
    same = r"the same crash as in match 1 (%d so far): ValueError: game 1 has no moves (test_log.py:"
    starts = [f"mine: match {count}: {same % count}" for count in (10, 100)]
    starts.append("mine: the same crash in 480 games, first in match 1: ValueError: game 1 has no moves")
    assert len(others) == len(starts)
    for record, expected in zip(others, starts, strict=True):
        assert record.getMessage().startswith(expected)
        assert record.exc_info is None


def test_kinds_of_crashes_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """A bot whose errors are all different neither fills the memory nor the log."""
    log = CrashLog("mine")
    for number in range(10 * MOST_KINDS):
        log.add("given up", type(f"Error{number}", (Exception,), {})(), match_id=number, where="match")
    log.close()
    assert len(caplog.records) < MOST_KINDS + 5


async def test_crashes_have_their_place(
    script: Script, play_with: PlayWith, caplog: pytest.LogCaptureFixture
) -> None:
    """Each kind has its traceback once, with match, round and decision."""
    playing = play_with(Broken)
    conversation = await script.welcome()
    games = [match(number) for number in range(1, 7)]
    await start(conversation, games)
    decisions = [decision for game in games for decision in [game.decision()]]
    await conversation.send(play.PlayResponse(decisions=decisions))
    resigned: list[int] = []
    while len(resigned) < 6:
        resigned += [resign.match_id for resign in (await script.receive()).resigns]
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    crashes = [record for record in caplog.records if record.exc_info]
    assert {record.exc_info[0] for record in crashes if record.exc_info} == {IndexError, KeyError, ValueError}
    assert len(crashes) == len(_ERRORS)
    for record in crashes:
        assert re.match(r"anna: match \d, round 1, decision 1: the bot crashed", record.getMessage())
    assert sum("the same crash in 2 games" in message for message in caplog.messages) == len(_ERRORS)


async def test_forfeit_by_the_server_is_one_line(
    script: Script, play_with: PlayWith, caplog: pytest.LogCaptureFixture
) -> None:
    """It has ending and reason, without control characters; the notice of it is not logged too."""
    play_with(Willing)
    conversation = await script.welcome()
    game = match(7)
    await start(conversation, [game])
    await play_on(conversation, [game])
    kind = play.NOTICE_KIND_FORFEIT
    notice = play.Notice(kind=kind, match_id=7, decision_id=3, round=1, text="the seat is forfeited: timeout")
    own = SeatResult(
        points=0, inhabitants=0, hearts=0, coins=0, rank=1, place=2,
        ending=Ending.TIMEOUT, reason="no answer within 10 s\x1b",
    )  # fmt: skip
    over = play.GameOver(match_id=7, result=result_message([own]))
    await conversation.send(play.PlayResponse(notices=[notice]))
    await conversation.send(play.PlayResponse(games_over=[over]))
    await play_out(conversation, [match(8)])
    (line,) = [message for message in caplog.messages if "forfeit" in message]
    expected = "anna: match 7, round 1, decision 1: the seat was forfeited: timeout: no answer within 10 s"
    assert line == expected
    assert one_line(line) == line


async def test_late_answer_has_its_place(
    script: Script, play_with: PlayWith, caplog: pytest.LogCaptureFixture
) -> None:
    """The line has match, round and decision before what the server says."""
    play_with(Willing)
    conversation = await script.welcome()
    text = "your answer came 0.20 s too late and was ignored"
    notice = play.Notice(kind=play.NOTICE_KIND_LATE_ANSWER, match_id=7, decision_id=3, round=1, text=text)
    await conversation.send(play.PlayResponse(notices=[notice]))
    await play_out(conversation, [match(8)])
    assert f"anna: match 7, round 1, decision 3: {text}" in caplog.messages


async def test_hello_says_who_the_bot_is(script: Script, play_with: PlayWith) -> None:
    """What the author gave, and the language."""
    settings = Settings.from_env(
        default_name="anna", info=BotInfo(author="Ann", version="1.2", description="plays slowly")
    )
    play_with(Willing, info=settings.info)
    info = (await script.await_hello()).info
    assert (info.author, info.version, info.description) == ("Ann", "1.2", "plays slowly")
    assert info.language == f"Python {sys.version_info.major}.{sys.version_info.minor}"


async def test_lines_have_the_time_in_utc(tmp_path: Path) -> None:
    """Seconds in ISO form, whatever the machine's time zone is."""
    program = (
        "import logging; from happycity_client import log_to_stderr; log_to_stderr(); "
        "logging.getLogger('happycity_client').warning('x')"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env=child_environment(TZ="Asia/Tokyo"), cwd=tmp_path,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, errors = await asyncio.wait_for(process.communicate(), PATIENCE)
    time = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z WARNING x\n", errors.decode())
    assert time is not None
    age = datetime.now(UTC) - datetime.fromisoformat(f"{time[1]}+00:00")
    assert timedelta(seconds=-2) < age < timedelta(minutes=5)


def test_log_of_the_program_stays() -> None:
    """A program that logs already keeps its own form."""
    handlers = logging.getLogger().handlers
    assert handlers  # pytest's
    before = [*handlers]
    log_to_stderr()
    assert logging.getLogger().handlers == before
