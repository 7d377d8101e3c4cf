"""Renders pages: the templates, and how numbers, times and names are written in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from happycity_tournament.report.charts import line_class
from happycity_viewer.templates import environment
from happycity_web import charts


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
    made.globals |= {"bot_path": bot_path, "charts": charts, "line_class": line_class}
    return made


_ENVIRONMENT = _environment()


class Part(NamedTuple):
    """A part of a page that changes by itself."""

    html: str
    seconds: float
    """How long it may be shown before it is made again."""


class _Parts:
    """Collects the parts of a page while it is rendered."""

    def __init__(self, known: Mapping[str, Part]) -> None:
        self.parts: dict[str, Part] = {}
        self._known = known

    def mark(self, name: str, *, seconds: float = 0.0, caller: Callable[[], str]) -> Markup:
        """Mark what a call block holds as a part, which viewers get anew when it has changed."""
        part = self.parts[name] = self._known.get(name) or Part(caller(), seconds)
        # What a call block returns is escaped already.
        return Markup('<div data-live="{}">{}</div>').format(name, Markup(part.html))  # noqa: S704


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a page."""
    return _ENVIRONMENT.get_template(template).render({**values, "part": _Parts({}).mark})


def render_parts(template: str, values: Mapping[str, Any], known: Mapping[str, Part]) -> Mapping[str, Part]:
    """Return the parts of a page by name; those that are known are taken over, not rendered."""
    parts = _Parts(known)
    _ENVIRONMENT.get_template(template).render({**values, "part": parts.mark})
    return parts.parts
