"""Run a worker with its bots on a node of a cluster: `python -m happycity_server.workers.node`.

What starts it writes one line with the task, and keeps the standard input open for as long as the worker
is wanted. Everything ends with that, so nothing stays behind where the starter is killed. The standard output
has one line of JSON for each `Report`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from happycity import HappyCityError
from happycity.runtime.event_loop import on_stop_signal, run
from happycity.runtime.program import collect_garbage_seldom
from happycity_server.config import ServerSettings
from happycity_server.listening import on_stdin_end, raise_file_limit
from happycity_server.ops.logs import configure
from happycity_server.workers.local import LocalLauncher, WorkerSettingsError
from happycity_server.workers.task import NodeTask, Report
from happycity_tournament.bots.processes import Process, start_all_bots

START_SECONDS = 90.0
"""How long the worker may take to listen: what it imports is new to its node, and is compiled there first."""
OUTPUT_BYTES = 16 * 1024
"""The end of a bot's output that is sent back."""


async def run_node(task: NodeTask, report: Callable[[Report], None], stop: asyncio.Event) -> None:
    """Run a worker with its bots until it ends, or until `stop`; report what happens.

    Raises:
        HappyCityError: the worker or a bot can't be started.
    """
    task.bots.lineup.check()
    with TemporaryDirectory(prefix="happycity-") as name:
        folder = Path(name)  # nobody else may read it
        settings = _with_tokens(task, folder / "tokens.json")
        async with AsyncExitStack() as cleanup:
            launcher = LocalLauncher(start_seconds=START_SECONDS)
            bots: list[Process] = []
            cleanup.push_async_callback(_stop_bots, bots, report)
            worker = await launcher.start(task.worker.model_copy(update={"settings": settings}))
            # It ends before the bots do, and at once: else their goodbyes would count as forfeits.
            cleanup.push_async_callback(worker.stop)
            cleanup.callback(worker.child.kill)
            for bot in start_all_bots(
                task.bots.lineup,
                worker=task.worker.number,
                tokens=task.bots.tokens,
                address=worker.address,
                folder=folder,
            ):
                bots.append(bot)  # noqa: PERF402 - at once, as the next one may fail to start
            report(Report(listening=worker.address, control=worker.control))
            watching = [asyncio.create_task(_watch(bot, report)) for bot in bots]
            end, stopping = asyncio.create_task(worker.wait()), asyncio.create_task(stop.wait())
            await asyncio.wait((end, stopping), return_when=asyncio.FIRST_COMPLETED)
            if end.done():
                report(Report(ended=end.result()))
            for waiting in (*watching, end, stopping):
                waiting.cancel()


def _with_tokens(task: NodeTask, path: Path) -> ServerSettings:
    """Write the tokens of the server to a file; return its settings with that."""
    path.write_text(task.tokens, encoding="utf-8")
    return task.worker.settings.model_copy(update={"tokens": path})


async def _watch(bot: Process, report: Callable[[Report], None]) -> None:
    """Report the end of a bot's process."""
    await bot.wait()
    report(Report(bot_ended=bot.ending(), log=bot.log.name))


async def _stop_bots(bots: list[Process], report: Callable[[Report], None]) -> None:
    """End the bots, and send the end of their output."""
    await asyncio.gather(*(bot.stop() for bot in bots))
    for bot in bots:
        output = bot.log.read_bytes()[-OUTPUT_BYTES:]
        if output:
            report(Report(log=bot.log.name, output=output.decode(errors="replace")))


def main() -> None:
    """Read the task from the standard input, and work."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    line = sys.stdin.readline()
    if not line:
        return  # what started this has ended
    task = NodeTask.model_validate_json(line)
    configure(task.worker.settings.log, worker=task.worker.number)
    raise_file_limit()
    collect_garbage_seldom()
    try:
        run(_run_until_unwanted(task))
    except HappyCityError as error:
        _write(Report(failed=str(error), refused=isinstance(error, WorkerSettingsError)))
        sys.exit(2)


async def _run_until_unwanted(task: NodeTask) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_stdin_end(lambda: loop.call_soon_threadsafe(stop.set))
    with on_stop_signal(stop.set):
        await run_node(task, _write, stop)


def _write(report: Report) -> None:
    sys.stdout.write(f"{report.model_dump_json(exclude_defaults=True)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
