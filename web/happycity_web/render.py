"""Renders pages: the templates, and how numbers, times and names are written in them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from jinja2 import Environment, PackageLoader

from happycity_viewer.templates import environment


def whole(number: float) -> str:
    """Return a number without decimals, in groups of three digits."""
    return f"{number:,.0f}"


def share(part: float, total: float) -> float:
    """Return a part of a total in percent, 0 to 100."""
    return 0.0 if not total else min(100.0, 100.0 * part / total)


def moment(timestamp: Timestamp) -> str:
    """Return a moment as the attribute of a time element has it."""
    return datetime.fromtimestamp(timestamp.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shown_moment(timestamp: Timestamp) -> str:
    """Return a moment for people; a script turns it into their own time zone."""
    return datetime.fromtimestamp(timestamp.seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def duration(length: Duration) -> str:
    """Return a length of time in words."""
    seconds = length.seconds + length.nanos / 1e9
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def plus_minus(standing: Any) -> str:
    """Return the half width of a rating's 95% interval, "-" without one."""
    if not standing.HasField("elo_low"):
        return "-"
    return f"±{(standing.elo_high - standing.elo_low) / 2:.0f}"


def bot_path(tournament_id: int, bot: str) -> str:
    """Return the path of a bot's page in a tournament."""
    return f"/tournaments/{tournament_id}/bots/{quote(bot, safe='')}"


def _environment() -> Environment:
    made = environment(PackageLoader("happycity_web"))
    made.filters |= {
        "whole": whole,
        "share": share,
        "moment": moment,
        "shown_moment": shown_moment,
        "duration": duration,
        "plus_minus": plus_minus,
    }
    made.globals["bot_path"] = bot_path
    return made


_ENVIRONMENT = _environment()


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a page."""
    return _ENVIRONMENT.get_template(template).render(values)
