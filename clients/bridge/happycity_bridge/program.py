"""A program that plays: its process, the lines to it, and the lines from it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import IO

from happycity_bridge.answers import Answer, parse
from happycity_bridge.errors import AnswerError, ProgramEndedError, ProgramError
from happycity_bridge.lines import Line

CLOSE_SECONDS = 1.0
"""A program has so long to end by itself when its standard input ends, and as long again after SIGTERM."""
LAST_WORDS_SECONDS = 1.0
"""When a program has ended, what it wrote before is read for so long at most."""
LONGEST_LINE = 65_536
"""Bytes that a line of a program may have."""
STALLED_BYTES = 4 * 1024 * 1024
"""A program that leaves so much unread does not read at all."""

_log = logging.getLogger("happycity_bridge")


class Program:
    """A running program. It answers in the order in which it is asked, unless its answers have ids.

    Its methods return at once, so that a bot can be made and told of the end without waiting.
    """

    def __init__(self, process: subprocess.Popen[bytes], label: str) -> None:
        loop = asyncio.get_running_loop()
        self._process = process
        self._label = label
        self._ids = count(1)
        self._open: dict[int, asyncio.Future[Answer]] = {}  # the oldest first; cancelled ones are void
        self._backlog: list[bytes] = []  # what is said before the pipes are connected
        self._stdin: asyncio.WriteTransport | None = None
        self._pipes: list[asyncio.BaseTransport] = []
        self._failure: ProgramError | None = None
        self._closing = False
        self._said = ""  # the last line of its standard error
        self._ended: asyncio.Future[int] = loop.create_future()
        self._silent: asyncio.Future[None] = loop.create_future()
        self._speechless: asyncio.Future[None] = loop.create_future()
        self._connecting = asyncio.create_task(self._connect())
        self._watching = asyncio.create_task(self._watch())
        threading.Thread(target=self._wait, args=(loop,), daemon=True).start()

    @classmethod
    def start(cls, command: Sequence[str], label: str) -> Program:
        """Start a program; `label` stands before what it says on its standard error.

        Raises:
            ProgramEndedError: it can't be started.
        """
        try:
            # Not by asyncio: where its loop is uvloop, that forks, which gRPC doesn't like.
            process = subprocess.Popen(  # noqa: S603 - running it is what was asked for
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # The token is the bridge's business.
                env={name: value for name, value in os.environ.items() if name != "HAPPYCITY_TOKEN"},
                start_new_session=True,  # Ctrl-C is ours to deal with, and the whole group can be ended
            )
        except OSError as error:
            raise ProgramEndedError(f"{command[0]!r} can't be started: {error.strerror}") from None
        return cls(process, label)

    @property
    def failure(self) -> ProgramError | None:
        """Why it can't play on; None while it can."""
        return self._failure

    def tell(self, line: Line) -> None:
        """Write a line that asks for nothing."""
        self._write(line)

    def ask(self, line: Line) -> asyncio.Future[Answer]:
        """Write a decision, with an id; the future holds the answer, or why there is none.

        Raises:
            ProgramError: the program has failed before.
        """
        if self._failure is not None:
            raise self._failure
        number = next(self._ids)
        future = self._open[number] = asyncio.get_running_loop().create_future()
        self._write({"type": line["type"], "id": number, **line})
        return future

    async def close(self) -> None:
        """End the program: by the end of its input, else by SIGTERM, else by SIGKILL."""
        self._closing = True
        try:
            await asyncio.wait((self._connecting,))
            if self._stdin is not None:
                self._stdin.close()
            if not await self._ends():
                self._signal(signal.SIGTERM)
                await self._ends()
        finally:
            self._signal(signal.SIGKILL)  # the group: what the program has started ends with it
            await self._ended
            self._connecting.cancel()
            self._watching.cancel()
            for pipe in self._pipes:
                pipe.close()
            if self._stdin is not None and self._stdin.get_write_buffer_size():
                self._stdin.abort()  # closing it waits for what was written to be read, by a dead program

    # To the program --------------------------------------------------------------------------------------

    def _write(self, line: Line) -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        if self._stdin is None:
            self._backlog.append(data)
        elif not self._stdin.is_closing():
            self._stdin.write(data)
            if self._stdin.get_write_buffer_size() > STALLED_BYTES:
                self._fail(ProgramEndedError(f"the program has left {STALLED_BYTES:,} bytes unread"))

    # From the program ------------------------------------------------------------------------------------

    def _hear(self, text: str) -> None:
        """Take a line of the standard output."""
        line = text.strip()
        if not line or self._closing or self._failure is not None:
            return
        try:
            answer = parse(line)
        except AnswerError as error:
            self._settle(None, error, line)
        else:
            self._settle(answer.id, answer, line)

    def _settle(self, number: int | None, answer: Answer | AnswerError, line: str) -> None:
        """Hand an answer, or a complaint, to the decision that it is for."""
        number = next(iter(self._open), None) if number is None else number
        future = None if number is None else self._open.pop(number, None)
        if future is None:
            # It would be taken for the answer to the next decision, and then all would be out of step.
            self._fail(AnswerError(line, "but was not asked (remarks belong on the standard error)"))
        elif future.done():
            return  # the clock has settled this decision
        elif isinstance(answer, Answer):
            future.set_result(answer)
        else:
            future.set_exception(answer)

    def _show(self, text: str) -> None:
        """Take a line of the standard error."""
        if line := text.rstrip():
            self._said = line
            _log.info("%s: %s", self._label, line)

    def _babble(self) -> None:
        text = f"the program wrote more than {LONGEST_LINE:,} bytes without a new line"
        self._fail(ProgramEndedError(text))

    def _fail(self, error: ProgramError) -> None:
        if self._failure is not None:
            return
        self._failure = error
        for future in self._open.values():
            if not future.done():
                future.set_exception(error)
        self._open.clear()

    # The process -----------------------------------------------------------------------------------------

    async def _connect(self) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        await self._read(process.stdout, _Lines(self._hear, end=self._silent, too_long=self._babble))
        await self._read(process.stderr, _Lines(self._show, end=self._speechless))
        loop = asyncio.get_running_loop()
        self._stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        self._pipes.append(self._stdin)
        if self._backlog:
            self._stdin.write(b"".join(self._backlog))
            self._backlog.clear()

    async def _read(self, pipe: IO[bytes], lines: _Lines) -> None:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: lines, pipe)
        self._pipes.append(transport)

    async def _watch(self) -> None:
        """Notice that the program can't answer any more, after all that it did answer."""
        await asyncio.wait((self._ended, self._silent), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((self._ended, self._silent, self._speechless), timeout=LAST_WORDS_SECONDS)
        self._fail(ProgramEndedError(self._end()))

    def _end(self) -> str:
        said = f"; it said last: {self._said}" if self._said else ""
        if not self._ended.done():
            return f"the program has closed its standard output{said}"
        return f"the program ended with {_described(self._ended.result())}{said}"

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        status = self._process.wait()
        with suppress(RuntimeError):  # the loop is closed already
            loop.call_soon_threadsafe(self._note, status)

    def _note(self, status: int) -> None:
        if not self._ended.done():
            self._ended.set_result(status)

    async def _ends(self) -> bool:
        await asyncio.wait((self._ended,), timeout=CLOSE_SECONDS)
        return self._ended.done()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


class _Lines(asyncio.Protocol):
    """Splits what a pipe brings into lines."""

    def __init__(
        self,
        take: Callable[[str], None],
        *,
        end: asyncio.Future[None],
        too_long: Callable[[], None] | None = None,
    ) -> None:
        self._take = take
        self._end = end
        self._too_long = too_long
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line.decode(errors="replace"))
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
            if self._too_long is not None:
                self._too_long()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._rest:
            self._take(self._rest.decode(errors="replace"))
            self._rest = b""
        if not self._end.done():
            self._end.set_result(None)


def _described(status: int) -> str:
    return f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
