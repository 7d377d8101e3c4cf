"""Structured logs: a line per match and session, none per decision."""

from __future__ import annotations

import logging
import sys
from enum import Enum

import structlog


class LogFormat(Enum):
    """How log lines look."""

    AUTO = "auto"
    """For people on a terminal, for programs elsewhere."""
    CONSOLE = "console"
    JSON = "json"


def configure(log_format: LogFormat) -> None:
    """Send log lines to the standard error; the standard output is for what programs read."""
    console = log_format is LogFormat.CONSOLE or (log_format is LogFormat.AUTO and sys.stderr.isatty())
    renderer: list[structlog.types.Processor] = (
        [structlog.dev.ConsoleRenderer()]
        if console
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
