"""A program that plays: its process, the lines to it, and the lines from it."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
from collections.abc import Callable, Sequence
from itertools import count
from typing import IO

from happycity.match import one_line
from happycity_bridge import encode
from happycity_bridge.decode import ProgramAnswer, SearchRequest, parse_answer
from happycity_bridge.encode import Line
from happycity_bridge.errors import AnswerError, ProgramEndedError, ProgramError
from happycity_bridge.search import search_reply
from happycity_client import Decision
from happycity_runtime.child import Child, ChildError, child_environment, describe_status
from happycity_runtime.event_loop import end_tasks, loops_own
from happycity_runtime.output import LogAllowance

CLOSE_SECONDS = 1.0
"""Seconds for a program to end after its standard input ends, and again after SIGTERM."""
DRAIN_SECONDS = 1.0
"""Seconds for which the remaining output of a program that has ended is read, at most."""
LONGEST_LINE = 65_536
"""Bytes that a line of a program may have."""
STALLED_BYTES = 4 * 1024 * 1024
"""Unread bytes at which a program counts as one that does not read at all."""

_log = logging.getLogger("happycity_bridge")


class BridgedProgram:
    """A running program. It answers decisions in their order, unless its answers have ids.

    Its methods return at once, so that a bot can be made and ended without waiting.
    """

    def __init__(self, child: Child, label: str) -> None:
        self._child = child
        self._label = label
        self._ids = count(1)
        self._open: dict[int, tuple[Decision, asyncio.Future[ProgramAnswer]]] = {}
        """The oldest first; those whose future is cancelled are void."""
        self._backlog: list[bytes] = []  # written before the pipes are connected
        self._stdin: asyncio.WriteTransport | None = None
        self._pipes: list[asyncio.BaseTransport] = []
        self.failure: ProgramError | None = None
        """Why it can't play on; None while it can."""
        self._closing = False
        self._last_error_line = ""
        self._allowance = LogAllowance()
        self._connecting = asyncio.create_task(self._connect())
        self._output = asyncio.create_task(self._read(child.stdout, self._on_output_line))
        self._errors = asyncio.create_task(self._read(child.stderr, self._on_error_line))
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    def start(cls, command: Sequence[str], label: str) -> BridgedProgram:
        """Start a program; `label` stands before the lines of its standard error in the log.

        ProgramEndedError if it can't be started.
        """
        pipe = subprocess.PIPE
        try:
            child = Child.start(
                command, environment=child_environment(), stdin=pipe, stdout=pipe, stderr=pipe
            )
        except ChildError as error:
            raise ProgramEndedError(str(error)) from None
        return cls(child, label)

    def ask(self, decision: Decision) -> asyncio.Future[ProgramAnswer]:
        """Write a decision, with an id; the future holds the answer, or why there is none.

        ProgramError if the program has failed before.
        """
        if self.failure is not None:
            raise self.failure
        number = next(self._ids)
        future: asyncio.Future[ProgramAnswer] = asyncio.get_running_loop().create_future()
        self._open[number] = decision, future
        line = encode.decision(decision)
        self.send({"type": line["type"], "id": number, **line})
        return future

    async def close(self) -> None:
        """End the program: by the end of its input, else by SIGTERM, else by SIGKILL."""
        self._closing = True
        try:
            await asyncio.wait((self._connecting,))
            if self._stdin is not None:
                self._stdin.close()
            await self._child.wait(CLOSE_SECONDS)
        finally:
            await self._child.stop(CLOSE_SECONDS)
            await end_tasks(self._connecting, self._watching, self._output, self._errors)
            self._say(self._allowance.rest())
            for pipe in self._pipes:
                pipe.close()
            if self._stdin is not None and self._stdin.get_write_buffer_size():
                self._stdin.abort()  # closing it waits for a dead program to read

    def send(self, line: Line) -> None:
        """Write a line."""
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        if self._stdin is None:
            self._backlog.append(data)
        elif not self._stdin.is_closing():
            self._stdin.write(data)
            if self._stdin.get_write_buffer_size() > STALLED_BYTES:
                self._fail(ProgramEndedError(f"the program has left {STALLED_BYTES:,} bytes unread"))

    def _on_output_line(self, text: str) -> None:
        line = text.strip()
        if not line or self._closing or self.failure is not None:
            return
        try:
            answer = parse_answer(line)
        except AnswerError as error:
            self._settle(None, error, line)
        else:
            self._settle(answer.id, answer, line)

    def _settle(
        self, number: int | None, answer: ProgramAnswer | SearchRequest | AnswerError, line: str
    ) -> None:
        """Hand an answer, or a complaint, to the decision that it is for; a request is answered at once."""
        number = next(iter(self._open), -1) if number is None else number
        decision, future = self._open.get(number, (None, None))
        if decision is not None and isinstance(answer, SearchRequest):
            try:
                self.send({**search_reply(answer, decision), "id": number})
                return
            except AnswerError as error:
                answer = error
        self._open.pop(number, None)
        if future is None:
            # It would be taken for the answer to the next decision, and then all would be out of step.
            complaint = "but no such decision is open (messages for people belong on the standard error)"
            self._fail(AnswerError(line, complaint))
        elif future.done():
            return  # the clock has settled this decision
        elif isinstance(answer, ProgramAnswer):
            future.set_result(answer)
        elif isinstance(answer, AnswerError):
            future.set_exception(answer)

    def _on_error_line(self, text: str) -> None:
        if line := text.rstrip():
            self._last_error_line = one_line(line)
            self._say(self._allowance.passed(line))

    def _say(self, lines: Sequence[str]) -> None:
        for line in lines:
            _log.info("%s: %s", self._label, line)

    def _fail(self, error: ProgramError) -> None:
        if self.failure is not None:
            return
        self.failure = error
        for _, future in self._open.values():
            if not future.done():
                future.set_exception(error)
        self._open.clear()

    async def _connect(self) -> None:
        loop, pipe = asyncio.get_running_loop(), self._child.stdin
        assert pipe is not None
        self._stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, loops_own(pipe))
        self._pipes.append(self._stdin)
        if self._backlog:
            self._stdin.write(b"".join(self._backlog))
            self._backlog.clear()

    async def _read(self, pipe: IO[bytes] | None, on_line: Callable[[str], None]) -> None:
        """Read lines until the pipe is closed."""
        loop, reader, line = asyncio.get_running_loop(), asyncio.StreamReader(LONGEST_LINE), b"\n"
        assert pipe is not None
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, loops_own(pipe))
        self._pipes.append(transport)
        while line:
            try:
                line = await reader.readline()
            except ValueError:  # the line is too long
                if pipe is self._child.stdout:
                    text = f"the program wrote more than {LONGEST_LINE:,} bytes without a new line"
                    self._fail(ProgramEndedError(text))
            else:
                on_line(line.decode(errors="replace"))

    async def _watch(self) -> None:
        """Notice that the program can no longer answer, after all answers that it gave."""
        ended = asyncio.create_task(self._child.wait())
        await asyncio.wait((ended, self._output), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((ended, self._output, self._errors), timeout=DRAIN_SECONDS)
        self._fail(ProgramEndedError(self._end_report()))

    def _end_report(self) -> str:
        last = f"; its last line: {self._last_error_line}" if self._last_error_line else ""
        if self._child.status is None:
            return f"the program has closed its standard output{last}"
        return f"the program ended with {describe_status(self._child.status)}{last}"
