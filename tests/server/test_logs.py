"""What log lines may hold."""

from __future__ import annotations

import json

import pytest
import structlog

from happycity_server.logs import LONGEST_TEXT, LogFormat, configure, tame

CLEAR = "hc_01234567_" + "s" * 43


@pytest.fixture(autouse=True)
def _configuration() -> object:
    """Leave the logging of other tests alone."""
    yield
    structlog.reset_defaults()


def test_secrets_are_taken_out() -> None:
    """A token that got into a value keeps only its id, also within a traceback."""
    event = tame(None, "info", {"text": f"sent {CLEAR} here", "exception": f"ValueError: {CLEAR}\n  at"})
    assert event == {"text": "sent hc_01234567_*** here", "exception": "ValueError: hc_01234567_***\n  at"}


def test_values_are_bounded() -> None:
    """However much a stranger says, a line stays a line."""
    event = tame(None, "info", {"software": "x" * 10_000, "games": 7})
    assert event == {"software": "x" * LONGEST_TEXT + "...", "games": 7}


def test_control_characters_are_written_out() -> None:
    """Nobody can write a second line, or paint on the operator's terminal."""
    event = tame(None, "info", {"reason": "well\n\x1b[31mred\x9b\x7f, à bientôt"})
    assert event == {"reason": "well\\n\\x1b[31mred\\x9b\\x7f, à bientôt"}


@pytest.mark.parametrize("log_format", [LogFormat.CONSOLE, LogFormat.JSON])
def test_failures_keep_their_traceback(log_format: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    """In both forms an error is logged with where it happened, and without a warning."""
    configure(log_format)
    try:
        raise ValueError(CLEAR)
    except ValueError:
        structlog.get_logger().exception("failed", match=3)
    told = capsys.readouterr().err
    assert "test_failures_keep_their_traceback" in told
    assert "s" * 43 not in told
    if log_format is LogFormat.JSON:
        assert json.loads(told)["match"] == 3
