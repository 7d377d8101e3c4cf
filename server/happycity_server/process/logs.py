"""Structured logs: a line per match and session, none per decision."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

from happycity.runtime.tokens import redacted
from happycity_server.config import LogFormat

MAX_TEXT = 400
"""Characters of one value of a log line."""

_TRACEBACK = "exception"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_Event = MutableMapping[str, Any]


def configure(log_format: LogFormat, **fields: object) -> None:
    """Send log lines to the standard error, each with some fields more.

    The standard output is for what programs read.
    """
    import structlog  # noqa: PLC0415 - `happycity --help` does without

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
            *([add_fields] if fields else []),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            sanitize,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


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
