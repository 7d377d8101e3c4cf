"""Structured logs: a line per match and session, none per decision."""

from __future__ import annotations

import atexit
import io
import logging
import queue
import re
import sys
import threading
import time
from collections.abc import MutableMapping
from importlib import import_module
from types import ModuleType
from typing import Any, Self, TextIO

from happycity_server.access.token_file import redacted
from happycity_server.config import LogFormat

MAX_TEXT = 400
"""Characters of one value of a log line."""

LINES_WAITING = 10_000
"""Log lines that may wait to be written; further ones are dropped and counted."""
DRAIN_SECONDS = 1.0
"""How long the lines that wait may take to be written when the process ends."""

_TRACEBACK = "exception"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_Event = MutableMapping[str, Any]


def _structlog_without_rich() -> ModuleType:
    """Import structlog, which would import rich for tracebacks that no log here has."""
    had, sys.modules["rich"] = sys.modules.get("rich"), None  # type: ignore[assignment]  # None: not there
    try:
        return import_module("structlog")
    finally:
        del sys.modules["rich"]
        if had is not None:
            sys.modules["rich"] = had


def configure(log_format: LogFormat, **fields: object) -> QueuedOutput:
    """Send log lines to the standard error, each with some fields more; return what writes them.

    The standard output is for what programs read.
    """
    structlog = _structlog_without_rich()

    output = QueuedOutput(_own_standard_error())
    console = log_format is LogFormat.CONSOLE or (log_format is LogFormat.AUTO and sys.stderr.isatty())
    renderer = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if console
        else structlog.processors.JSONRenderer()
    )

    def add_fields(_logger: object, _method: str, event: _Event) -> _Event:
        return {**event, **fields}

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            *([add_fields] if fields else []),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            sanitize,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=output,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_Forwarding()], level=logging.WARNING, force=True)
    return output


def _own_standard_error() -> TextIO:
    """Open the standard error again, as who flushes sys.stderr while a thread writes waits for its reader."""
    try:
        descriptor = sys.stderr.fileno()
    except io.UnsupportedOperation:  # who called this captures it
        return sys.stderr
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


class _Forwarding(logging.Handler):
    """Writes what libraries log by `logging`, such as uvicorn, as lines of the same log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        import structlog  # noqa: PLC0415 - as in `configure`

        logger = structlog.get_logger()
        text = record.getMessage().strip()
        logger.log(record.levelno, "library", logger=record.name, text=text, exc_info=record.exc_info)


class QueuedOutput:
    """Writes log lines in a thread of its own, as structlog's logger factory and logger.

    Nothing that logs waits for the reader of the file: it may be a pipe that is not read.
    """

    def __init__(self, file: TextIO, *, most: int = LINES_WAITING) -> None:
        self.dropped = 0
        """Lines that were not written, as too many waited."""
        self._file = file
        self._lines = queue.Queue[str](most)
        threading.Thread(target=self._write, name="log", daemon=True).start()
        atexit.register(self.drain)

    def __call__(self, *_: object) -> Self:
        """Return the logger, which is the same for all."""
        return self

    def write(self, line: str) -> None:
        """Write a line soon."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    debug = info = warning = error = critical = exception = write

    def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait until all lines are written, but no longer than some seconds."""
        deadline = time.monotonic() + seconds
        with self._lines.all_tasks_done:
            while self._lines.unfinished_tasks and (left := deadline - time.monotonic()) > 0:
                self._lines.all_tasks_done.wait(left)

    def _write(self) -> None:
        import structlog  # noqa: PLC0415 - as in `configure`

        reported = 0
        while True:
            line = self._lines.get()
            try:
                self._file.write(f"{line}\n")
                self._file.flush()
            except (OSError, ValueError):  # the reader has left, or the file is closed
                self.dropped += 1
            else:
                if self.dropped > reported and self._lines.empty():
                    lines, reported = self.dropped - reported, self.dropped
                    structlog.get_logger().warning("log_lines_dropped", lines=lines)
            self._lines.task_done()


def sanitize(_logger: object, _method: str, event: _Event) -> _Event:
    """Cut the values of a log line to a size, and remove secrets and control characters.

    Much of a line may come from strangers, such as a bot's reason for resigning.
    """
    for key, value in event.items():
        if not isinstance(value, str):
            continue
        text = redacted(value)
        if key != _TRACEBACK:
            text = _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)
            if len(text) > MAX_TEXT:
                text = f"{text[:MAX_TEXT]}..."
        event[key] = text
    return event
