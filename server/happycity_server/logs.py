"""Structured logs: a line per match and session, none per decision."""

from __future__ import annotations

import logging
import re
import sys
from enum import Enum

import structlog

from happycity_server.bearer import redacted

LONGEST_TEXT = 400
"""Characters of one value of a log line; what a bot says of itself is no longer than that."""

_TRACEBACK = "exception"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class LogFormat(Enum):
    """How log lines look."""

    AUTO = "auto"
    """For people on a terminal, for programs elsewhere."""
    CONSOLE = "console"
    JSON = "json"


def configure(log_format: LogFormat) -> None:
    """Send log lines to the standard error; the standard output is for what programs read."""
    console = log_format is LogFormat.CONSOLE or (log_format is LogFormat.AUTO and sys.stderr.isatty())
    renderer = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if console
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            tame,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def tame(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    """Bound the values of a log line, and take secrets and control characters out of them.

    Much of a line may come from a stranger: a bot's name of its software, or why it resigned.
    """
    for key, value in event.items():
        if not isinstance(value, str):
            continue
        text = redacted(value)
        if key != _TRACEBACK:
            text = _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)
            if len(text) > LONGEST_TEXT:
                text = f"{text[:LONGEST_TEXT]}..."
        event[key] = text
    return event
