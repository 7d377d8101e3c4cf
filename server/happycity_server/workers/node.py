"""Run a worker with its bots on a node of a cluster: `python -m happycity_server.workers.node`.

What starts it writes one line with the task, further ones when files of the server change, and keeps the
standard input open for as long as the worker is wanted. Everything ends with that, so nothing stays behind
where the starter is killed. The standard output has one line of JSON for each `Report`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from happycity import HappyCityError
from happycity.runtime.event_loop import on_stop_signal, run
from happycity.runtime.program import collect_garbage_rarely
from happycity_server.config import ServerSettings
from happycity_server.process.house import House
from happycity_server.process.listening import raise_file_limit
from happycity_server.process.logs import configure
from happycity_server.workers.local import LocalLauncher, WorkerSettingsError
from happycity_server.workers.task import NodeTask, Report
from happycity_tournament.bots.cluster import LocalBots
from happycity_tournament.bots.lineup import Lineup
from happycity_tournament.bots.processes import Process, start_all_bots

START_SECONDS = 90.0
"""How long the worker may take to listen: what it imports is new to its node, and is compiled there first."""
OUTPUT_BYTES = 16 * 1024
"""The end of a bot's output that is sent back."""


async def run_node(
    task: NodeTask, folder: Path, report: Callable[[Report], None], stop: asyncio.Event
) -> None:
    """Run a worker with its bots until it ends, or until `stop`; report what happens.

    Nobody else may read the folder, which gets the files of the task and the output of bots.

    Raises:
        HappyCityError: the worker or a bot can't be started.
    """
    wanted = task.bots or LocalBots(lineup=Lineup())
    wanted.lineup.check()
    write_files(folder, task.files)
    async with AsyncExitStack() as cleanup:
        launcher = LocalLauncher(start_seconds=START_SECONDS)
        bots: list[Process] = []
        cleanup.push_async_callback(_stop_bots, bots, report)
        house = House(task.worker.settings.house_bots, task.worker.house)
        house_address = cleanup.enter_context(house.socket())
        cleanup.push_async_callback(house.stop)
        own = {"settings": _settings(task, folder), "house_listen": house_address}
        worker = await launcher.start(task.worker.model_copy(update=own))
        # It ends before the bots do, and at once: else their goodbyes would count as forfeits.
        cleanup.push_async_callback(worker.stop)
        cleanup.callback(worker.child.kill)
        for bot in start_all_bots(
            wanted.lineup,
            worker=task.worker.number,
            tokens=wanted.tokens,
            address=worker.address,
            folder=folder,
        ):
            bots.append(bot)  # noqa: PERF402 - at once, as the next one may fail to start
        house.start([house_address])
        report(Report(listening=worker.address, control=worker.control))
        watching = [asyncio.create_task(_watch(bot, report)) for bot in bots]
        end, stopping = asyncio.create_task(worker.wait()), asyncio.create_task(stop.wait())
        await asyncio.wait((end, stopping), return_when=asyncio.FIRST_COMPLETED)
        if end.done():
            report(Report(ended=end.result()))
        for waiting in (*watching, end, stopping):
            waiting.cancel()


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files of the server into a folder, by their settings; each replaces the one before it at once."""
    for name, content in files.items():
        new = folder / f"{name}.new"
        new.write_text(content, encoding="utf-8")
        new.replace(folder / name)


def _settings(task: NodeTask, folder: Path) -> ServerSettings:
    """Return the settings of a worker, with its files in a folder."""
    return task.worker.settings.model_copy(update={name: folder / name for name in task.files})


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
    # Unbuffered, as a process can't end while one of its threads waits with the lock of a buffer.
    lines = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - to the end of the process
    line = lines.readline()
    if not line:
        return  # what started this has ended
    task = NodeTask.model_validate_json(line)
    configure(task.worker.settings.log, worker=task.worker.number)
    raise_file_limit()
    collect_garbage_rarely()
    try:
        run(_run_until_unwanted(task, lines))
    except HappyCityError as error:
        _write(Report(failed=str(error), refused=isinstance(error, WorkerSettingsError)))
        sys.exit(2)


async def _run_until_unwanted(task: NodeTask, lines: Iterable[bytes]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    with TemporaryDirectory(prefix="happycity-") as name, on_stop_signal(stop.set):
        folder = Path(name)

        def read_lines() -> None:
            for line in lines:
                if not line.endswith(b"\n"):
                    break  # what started this was killed while it wrote
                write_files(folder, json.loads(line))
            loop.call_soon_threadsafe(stop.set)

        threading.Thread(target=read_lines, name="stdin", daemon=True).start()
        await run_node(task, folder, _write, stop)


def _write(report: Report) -> None:
    sys.stdout.write(f"{report.model_dump_json(exclude_defaults=True)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
