"""What log lines may hold."""

from __future__ import annotations

import json

import pytest
import structlog

from happycity_server.config import LogFormat
from happycity_server.process.logs import MAX_TEXT, configure, sanitize

CLEAR = "hc_01234567_" + "s" * 43


@pytest.fixture(autouse=True)
def _configuration() -> object:
    """Leave the logging of other tests alone."""
    before = structlog.get_config()
    structlog.reset_defaults()
    yield
    structlog.configure(**before)


def test_secrets_are_removed() -> None:
    """A token that got into a value keeps only its id, also within a traceback."""
    event = sanitize(None, "info", {"text": f"sent {CLEAR} here", "exception": f"ValueError: {CLEAR}\n  at"})
    assert event == {"text": "sent hc_01234567_*** here", "exception": "ValueError: hc_01234567_***\n  at"}


def test_values_are_bounded() -> None:
    """A value of a stranger is cut to a size."""
    event = sanitize(None, "info", {"software": "x" * 10_000, "games": 7})
    assert event == {"software": "x" * MAX_TEXT + "...", "games": 7}


def test_control_characters_are_written_out() -> None:
    """No value can begin a second line, or control the operator's terminal."""
    event = sanitize(None, "info", {"reason": "well\n\x1b[31mred\x9b\x7f, à bientôt"})
    assert event == {"reason": "well\\n\\x1b[31mred\\x9b\\x7f, à bientôt"}


@pytest.mark.parametrize("log_format", [LogFormat.CONSOLE, LogFormat.JSON])
def test_failures_keep_their_traceback(log_format: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    """In both forms an error is logged with where it happened, and without a warning."""
    configure(log_format)
    try:
        raise ValueError(CLEAR)
    except ValueError:
        structlog.get_logger().exception("failed", match=3)
    logged = capsys.readouterr().err
    assert "test_failures_keep_their_traceback" in logged
    assert "s" * 43 not in logged
    if log_format is LogFormat.JSON:
        assert json.loads(logged)["match"] == 3
