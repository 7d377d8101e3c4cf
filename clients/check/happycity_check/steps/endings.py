"""How a bot ends. Each of these steps may end its process."""

from __future__ import annotations

import signal

import grpc

from happycity.runtime.child import describe_status
from happycity.v1 import play_service_pb2 as play
from happycity.wire import StatusDetails
from happycity_check.conversation import play_on, start
from happycity_check.errors import SkippedError, UnexpectedError
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

QUIET_SECONDS = 3.0
_TERMINATED = (0, 128 + signal.SIGTERM, -signal.SIGTERM)


@step(
    demand="after UNAVAILABLE with reason SHUTTING_DOWN a bot tries again, or ends with status 0",
    advice="treat it like a lost connection: the server may be restarted; it is no error of the bot",
    needs=("hello",),
)
async def _shutting_down(bot: TrialBot) -> str:
    conversation = await bot.conversation()
    notice = play.Notice(kind=play.NOTICE_KIND_SHUTDOWN, text="this is only a test of a shutdown")
    await conversation.send(play.PlayResponse(notices=[notice]))
    await _end(bot, grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN", "the server is shutting down")
    if not await bot.stays_disconnected(bot.options.timeout):
        return "it tries again"
    if bot.process is None:
        return "it did not connect again; its exit status can't be seen from here"
    status = await bot.process.wait(1.0)
    if status is None:
        raise UnexpectedError(f"it neither connected again nor ended within {bot.options.timeout:g} s")
    if status:
        raise UnexpectedError("it did not try again")
    return "it ended with status 0"


@step(
    demand="a bot whose stream ended with reason REPLACED stays away: another program has its place",
    advice="read google.rpc.ErrorInfo.reason from the status details, and end on REPLACED",
    needs=("hello",),
)
async def _replaced(bot: TrialBot) -> str:
    await bot.conversation()
    await _end(bot, grpc.StatusCode.ABORTED, "REPLACED", "another bot connected with the same name")
    if not await bot.stays_disconnected(QUIET_SECONDS):
        raise UnexpectedError("it connected again")
    if bot.process is not None and (status := bot.process.status) is not None:
        return f"it stayed away and ended with {describe_status(status)}"
    await bot.stop_bot()  # it won't connect again for the next step
    return f"it stayed away for {QUIET_SECONDS:g} s"


async def _end(bot: TrialBot, code: grpc.StatusCode, reason: str, text: str) -> None:
    stream = await bot.release_stream()
    assert stream is not None
    stream.end(code, text, details=StatusDetails(reason=reason))


@step(
    demand="on SIGTERM a bot says goodbye and ends soon, with status 0 or 143",
    advice="catch SIGTERM, send PlayRequest{goodbye}, close the sending side, and exit",
    needs=("first-decision",),
)
async def _clean_exit(bot: TrialBot) -> str:
    if not bot.starts_bot:
        raise SkippedError("the bot is no process of this check (--bot)")
    conversation = await bot.conversation()
    match = bot.match()
    await start(conversation, [match])
    await play_on(conversation, [match])
    assert bot.process is not None
    bot.process.terminate()
    status = await bot.process.wait(bot.options.timeout)
    if status is None:
        raise UnexpectedError(f"its process still ran {bot.options.timeout:g} s after SIGTERM")
    if status not in _TERMINATED:
        raise UnexpectedError("it did not end in good order after SIGTERM")
    # Its goodbye may arrive after its process has ended.
    if not await conversation.receive_goodbye(bot.options.timeout):
        raise UnexpectedError("it ended without a goodbye after SIGTERM")
    return f"goodbye, then {describe_status(status)}"


STEPS = (_shutting_down, _replaced, _clean_exit)
