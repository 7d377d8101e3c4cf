"""How a bot takes its leave. Each of these steps may end the bot."""

from __future__ import annotations

import signal

import grpc

from happycity.v1 import play_service_pb2 as play
from happycity_check.bench import Bench
from happycity_check.dialogue import UnexpectedError, play_on, start
from happycity_check.process import describe_status
from happycity_check.step import SkippedError, Step

QUIET_SECONDS = 3.0
_TERMINATED = (0, 128 + signal.SIGTERM, -signal.SIGTERM)


async def _shutting_down(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    notice = play.Notice(kind=play.NOTICE_KIND_SHUTDOWN, text="this is only a test of a shutdown")
    await dialogue.send(play.PlayResponse(notices=[notice]))
    await _end(bench, grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN", "the server is shutting down")
    if not await bench.stays_away(bench.options.timeout):
        return "it tries again"
    if bench.process is None:
        return "it did not come back; its exit status can't be seen from here"
    status = await bench.process.wait(1.0)
    if status is None:
        raise UnexpectedError(f"it neither came back nor ended within {bench.options.timeout:g} s")
    if status:
        raise UnexpectedError(f"its process ended with {describe_status(status)}")
    return "it ended with status 0"


async def _replaced(bench: Bench) -> str:
    await bench.dialogue()
    await _end(bench, grpc.StatusCode.ABORTED, "REPLACED", "another bot connected with the same name")
    if not await bench.stays_away(QUIET_SECONDS):
        raise UnexpectedError("it connected again")
    if bench.process is not None and (status := bench.process.status) is not None:
        return f"it stayed away and ended with {describe_status(status)}"
    await bench.stop_bot()  # it won't come back for the next step
    return f"it stayed away for {QUIET_SECONDS:g} s"


async def _end(bench: Bench, code: grpc.StatusCode, reason: str, text: str) -> None:
    stream = await bench.hang_up()
    assert stream is not None
    stream.end(code, reason=reason, text=text)


async def _clean_exit(bench: Bench) -> str:
    if not bench.starts_bot:
        raise SkippedError("the bot is no process of this check (--bot)")
    dialogue = await bench.dialogue()
    table = bench.table()
    await start(dialogue, [table])
    await play_on(dialogue, [table])
    assert bench.process is not None
    bench.process.terminate()
    status = await bench.process.wait(bench.options.timeout)
    if status is None:
        raise UnexpectedError(f"its process still ran {bench.options.timeout:g} s after SIGTERM")
    if status not in _TERMINATED:
        raise UnexpectedError(f"its process ended with {describe_status(status)} after SIGTERM")
    # What it said may arrive after its process has ended.
    if not await dialogue.last_words(bench.options.timeout):
        raise UnexpectedError("it left without a goodbye after SIGTERM")
    return f"goodbye, then {describe_status(status)}"


STEPS = (
    Step(
        name="shutting-down",
        demand="after UNAVAILABLE with reason SHUTTING_DOWN a bot tries again, or ends with status 0",
        advice="treat it like a lost connection: the server may be restarted; it is no error of the bot",
        run=_shutting_down,
        needs=("hello",),
    ),
    Step(
        name="replaced",
        demand="a bot whose stream ended with reason REPLACED does not connect again: another one took over",
        advice="read google.rpc.ErrorInfo.reason from the status details, and end on REPLACED",
        run=_replaced,
        needs=("hello",),
    ),
    Step(
        name="clean-exit",
        demand="on SIGTERM a bot says goodbye and ends soon, with status 0 or 143",
        advice="catch SIGTERM, send PlayRequest{goodbye}, close the sending side, and exit",
        run=_clean_exit,
        needs=("first-decision",),
    ),
)
