"""Renders pages: the templates, and how times and names are written in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, NamedTuple
from urllib.parse import quote

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder_pb
from happycity.tournament.v1beta1 import rating_pb2
from happycity_tournament.ratings.results import interval_text
from happycity_tournament.report.charts import line_class
from happycity_viewer.languages import Language
from happycity_viewer.templates import environment
from happycity_web import charts
from happycity_web.deal_places import deal_places
from happycity_web.enums import enum_word
from happycity_web.reader import Reader


def share(part: float, total: float) -> float:
    """Return a part of a total in percent, 0 to 100."""
    return 0.0 if not total else min(100.0, 100.0 * part / total)


def moment(timestamp: Timestamp) -> str:
    """Return a moment as the attribute of a time element has it."""
    return datetime.fromtimestamp(timestamp.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shown_moment(timestamp: Timestamp) -> str:
    """Return a moment for people; a script turns it into their own time zone."""
    return datetime.fromtimestamp(timestamp.seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def duration(length: Duration, language: Language) -> str:
    """Return a length of time in words."""
    texts, seconds = language.texts, length.seconds + length.nanos / 1e9
    if seconds < 60:
        return texts.gettext("%(number)s s") % {"number": language.decimals(seconds, 1)}
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return texts.gettext("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": f"{minutes:02}"}
    return texts.gettext("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": f"{rest:02}"}


def signed(number: float, places: int, language: Language) -> str:
    """Return a difference with its sign, which nothing has that is rounded to nothing."""
    text = language.decimals(abs(number), places)
    sign = "" if not round(number, places) else "+" if number > 0 else "\N{MINUS SIGN}"
    return f"{sign}{text}"


def plus_minus(rating: rating_pb2.Rating) -> str:
    """Return a rating's 95% interval as in the terminal: `±13`, `≥1703`, or "-" without one."""
    low = rating.low if rating.HasField("low") else None
    high = rating.high if rating.HasField("high") else None
    return interval_text(low, high)


def bot_path(tournament_id: int, bot: str) -> str:
    """Return the path of a bot's page in a tournament."""
    return f"/tournaments/{tournament_id}/bots/{quote(bot, safe='')}"


def ladder_bot_path(bot: str) -> str:
    """Return the path of a bot's page in the ladder."""
    return f"/ladder/bots/{quote(bot, safe='')}"


@cache
def _environment(language: Language) -> Environment:
    made = environment(language, PackageLoader("happycity_web"))
    made.filters |= {
        "share": share,
        "moment": moment,
        "shown_moment": shown_moment,
        "duration": lambda length: duration(length, language),
        "plus_minus": plus_minus,
        "signed": lambda number, places: signed(number, places, language),
        "deal_kind": partial(enum_word, ladder_pb.DealKind),
        "challenge_state": partial(enum_word, ladder_pb.ChallengeState),
        "flag_kind": partial(enum_word, ladder_pb.FlagKind),
    }
    made.globals |= {
        "bot_path": bot_path,
        "charts": charts,
        "deal_places": deal_places,
        "ladder_bot_path": ladder_bot_path,
        "line_class": line_class,
    }
    return made


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
        """Mark what a call block holds as a part, which viewers get again when it has changed."""
        part = self.parts[name] = self._known.get(name) or Part(caller(), seconds)
        # What a call block returns is escaped already.
        return Markup('<div data-live="{}">{}</div>').format(name, Markup(part.html))  # noqa: S704


def render(template: str, values: Mapping[str, Any], reader: Reader) -> str:
    """Return a page as a reader gets it."""
    return _rendered(template, values, reader, _Parts({}))


def render_parts(
    template: str, values: Mapping[str, Any], reader: Reader, known: Mapping[str, Part]
) -> Mapping[str, Part]:
    """Return the parts of a page by name as a reader gets them; those that are known are taken over."""
    parts = _Parts(known)
    _rendered(template, values, reader, parts)
    return parts.parts


def _rendered(template: str, values: Mapping[str, Any], reader: Reader, parts: _Parts) -> str:
    page = _environment(reader.language).get_template(template)
    own = {"language_links": reader.links, "has_ladder": reader.has_ladder, "part": parts.mark}
    return page.render({**values, **own})
