"""The house: the server's own bots, reference bots in processes of their own that connect like anybody's."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import IO

import structlog

from happycity.match import one_line
from happycity.runtime.child import Child, ChildError, child_environment, describe_status

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
"""A bot that ran for longer than this starts again after the first pause; else each pause doubles."""
STOP_SECONDS = 5.0
NICENESS = 5
_LINE_BYTES = 2000

_log = structlog.get_logger()


def worker_socket(address: str, number: int) -> str:
    """Return where a worker listens for the bots of the house, by the server's own address for them."""
    return f"{address}-at-worker-{number}" if address else ""


class House:
    """Keeps the bots of the house running."""

    def __init__(self, bots: Mapping[str, str], secrets: Mapping[str, str] | None = None) -> None:
        """Prepare the reference bots `bots`, by the names under which they play.

        Without `secrets`, new ones are made.
        """
        self._bots = dict(bots)
        self.secrets = {name: token_urlsafe(32) for name in bots} if secrets is None else dict(secrets)
        """By name, the bearer token that proves that a stream is that of this bot of the house."""
        self._keepers: list[asyncio.Task[None]] = []

    @contextmanager
    def socket(self) -> Iterator[str]:
        """Yield an address for the bots that nobody else can reach; "" if there are no bots.

        Where the server listens otherwise, its certificate or a client's could be asked for.
        """
        if not self._bots:
            yield ""
            return
        with TemporaryDirectory(prefix="happycity-") as folder:
            yield f"unix:{folder}/house"

    def start(self, addresses: Iterable[str]) -> None:
        """Keep the bots connected to the server and its workers, a process for each address."""
        self._keepers = [
            asyncio.create_task(self._keep(name, address)) for address in addresses for name in self._bots
        ]

    async def stop(self) -> None:
        """End the bots."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    async def _keep(self, name: str, address: str) -> None:
        """Run a bot, and run it again whenever it ends."""
        clock = asyncio.get_running_loop().time
        pause = FIRST_PAUSE_SECONDS
        while True:
            started = clock()
            ended = await self._run(name, address)
            if clock() - started > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            _log.warning("house_bot_ended", bot=name, ended=ended, again_in=pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _run(self, name: str, address: str) -> str:
        """Run a bot to its end; return how it ended."""
        command = (sys.executable, "-m", "happycity", "bot", f"{name}={self._bots[name]}")
        environment = child_environment(HAPPYCITY_SERVER=address, HAPPYCITY_TOKEN=self.secrets[name])
        try:
            child = Child.start(
                command, environment=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except ChildError as error:
            return str(error)
        if sys.platform != "win32":
            with suppress(ProcessLookupError):  # it ended at once
                os.setpriority(os.PRIO_PGRP, child.pid, NICENESS)  # the server comes first
        _log.info("house_bot_started", bot=name, pid=child.pid)
        assert child.stdout is not None
        reader = threading.Thread(target=_log_output, args=(name, child.stdout), daemon=True)
        reader.start()
        try:
            status = await child.wait()
        finally:
            await child.stop(STOP_SECONDS)
            await asyncio.to_thread(reader.join)  # its output ends with the last of its processes
        assert status is not None
        return describe_status(status)


def _log_output(name: str, output: IO[bytes]) -> None:
    """Write what a bot prints to the server's log, in a thread of its own."""
    with output:
        while line := output.readline(_LINE_BYTES):
            if text := one_line(line.decode(errors="replace")):
                _log.info("house_bot_says", bot=name, text=text)
