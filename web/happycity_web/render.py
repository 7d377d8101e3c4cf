"""Renders pages: the languages of readers, the templates, and how times and names are written in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import metadata
from typing import Any, NamedTuple
from urllib.parse import quote

from google.protobuf.duration_pb2 import Duration
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, Response

from happycity import Card, HappyCityError
from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder_pb
from happycity.text.board import deck_prices
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import game_pb2 as game_pb
from happycity.v1 import match_pb2, rating_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.enums import enum_word
from happycity.wire.fields import present_fields
from happycity.wire.messages import config_of
from happycity_server.access.roles import principal_variable
from happycity_tournament.config import MEAN_ELO
from happycity_tournament.plain_json import plain_json
from happycity_tournament.ratings.results import Interval, ranks_text
from happycity_tournament.report.charts import line_class
from happycity_viewer.languages import LANGUAGES, Language, language, preferred
from happycity_viewer.plies import encode
from happycity_viewer.templates import environment
from happycity_web import charts
from happycity_web.guard import shown_token
from happycity_web.query import word_of

LANGUAGE_COOKIE = "happycity-language"
"""The cookie that holds the language that a reader has chosen."""


class NoSuchPageError(HTTPException, HappyCityError):
    """There is nothing at an address; the text, if there is one, is in the reader's language."""

    def __init__(self, text: str | None = None) -> None:
        super().__init__(404, text)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who gets a page, as far as the page depends on it."""

    language: Language
    address: str = ""
    """The address of the page, as other sites may link to it."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What all templates get: the same page in each language, by its code, how the server is reached, and to
    what pages may link."""

    @classmethod
    def of(cls, connection: HTTPConnection) -> Reader:
        """Return who asks for a page."""
        url, origin = connection.url.remove_query_params("token"), origin_of(connection)
        queries = {code: url.include_query_params(lang=code).query for code in LANGUAGES}
        address = f"{origin}{url.path}?{url.query}".removesuffix("?")
        values = {
            "language_links": {code: f"?{query}" for code, query in queries.items()},
            "has_ladder": connection.app.state.has_ladder,
            **offers_of(connection),
            "origin": origin,
            "address": address,
        }
        return cls(language_of(connection), address, values)


def offers_of(connection: HTTPConnection) -> dict[str, bool]:
    """Return what pages offer: only what the caller may have, and commands to who runs programs here.

    The page of a refusal may have no caller.
    """
    caller, has_tokens = principal_variable.get(None), connection.app.state.has_tokens
    # A person at a table is known by the seat, whether or not the browser has a token too.
    has_token = caller is not None and (
        caller.token is not None or (bool(caller.person) and shown_token(connection) is not None)
    )
    return {
        "has_tokens": has_tokens,
        "runs_programs": caller is not None and not caller.is_guest,
        "may_play": caller is not None and (caller.may_play or (bool(caller.person) and has_token)),
        "has_access": has_tokens and has_token,
        "may_sign_in": has_tokens and not has_token,
    }


def origin_of(connection: HTTPConnection) -> str:
    """Return how a browser reaches the server, such as https://arena.example.org.

    A name without a port is that of a proxy, which encrypts, unless this server listens on HTTP's own port.
    """
    url, (_, port) = connection.url, connection.scope.get("server") or ("", 80)
    is_proxied = url.port is None and port != 80
    return f"{'https' if is_proxied else url.scheme}://{url.netloc}"


def language_of(connection: HTTPConnection) -> Language:
    """Return the language of an answer: that of `?lang=`, of the cookie, or of what the browser prefers.

    JSON and the feed are for programs, and always English.
    """
    if connection.url.path.endswith((".json", ".atom")):
        return language("en")
    for code in (connection.query_params.get("lang"), connection.cookies.get(LANGUAGE_COOKIE)):
        if code in LANGUAGES:
            return language(code)
    return language(preferred(connection.headers.get("accept-language", "")))


def chosen_language(connection: HTTPConnection) -> str | None:
    """Return the language that the address names, None if it names none; ApiError if there is no such.

    That of JSON is always English.
    """
    code = connection.query_params.get("lang")
    if code is None or connection.url.path.endswith(".json"):
        return None
    return word_of("lang", code, LANGUAGES)


def keep_language(response: Response, code: str) -> None:
    """Let a browser keep a language."""
    response.set_cookie(LANGUAGE_COOKIE, code, max_age=365 * 24 * 3600, httponly=True, samesite="lax")


def words_of_enum(enum: Any) -> dict[str, Any]:
    """Return the values of one of the contract's enums by their words, without UNSPECIFIED."""
    return {enum_word(enum, number): number for number in enum.values()[1:]}


def share(part: float, total: float) -> float:
    """Return a part of a total in percent, 0 to 100."""
    return 0.0 if not total else min(100.0, 100.0 * part / total)


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
    return Interval(**present_fields(rating, "low", "high")).interval_text


def bot_path(bot: str, under: str = "") -> str:
    """Return the path of a bot's page over all its games, or of that `under` /ladder or a tournament's."""
    return f"{under}/bots/{quote(bot, safe='')}"


def mode_of(game: game_pb.GameConfig) -> str:
    """Return the mode of a kind of game, in a word."""
    return config_of(game).mode.value


def state_word(tournament: tournament_pb.Tournament) -> str:
    """Return where a tournament stands, in a word."""
    return enum_word(tournament_pb.TournamentState, tournament.progress.state)


def colour_name(card: Card) -> str:
    """Return the name of a card's colour in pages: its own, that of its set of specials, or `plain`."""
    return str(card.colour) if card.colour else card.special_set.value if card.special_set else "plain"


def by_place(match: match_pb.Match) -> list[tuple[int, str, match_pb2.SeatResult | None]]:
    """Return seats, bots and results of a match, best first; in the order of seats before its end."""
    if not match.outcome.HasField("result"):
        return [(number, bot, None) for number, bot in enumerate(match.bots)]
    order = sorted(enumerate(match.outcome.result.seats), key=lambda entry: (entry[1].place, entry[1].rank))
    return [(number, match.bots[number], seat) for number, seat in order]


@cache
def documentation() -> str:
    """Return the address of the documentation, as the package names it; empty if it names none."""
    addresses = (address.split(", ") for address in metadata("happycity").get_all("Project-URL") or [])
    return next((address for name, address in addresses if name == "Documentation"), "")


@cache
def _environment(language: Language) -> Environment:
    made = environment(language, PackageLoader("happycity_web"))
    made.filters |= {
        "share": share,
        "moment": lambda timestamp: timestamp.ToDatetime().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "shown_moment": lambda timestamp: f"{language.moment(timestamp.seconds)} UTC",
        "duration": lambda length: duration(length, language),
        "plus_minus": plus_minus,
        "signed": lambda number, places: signed(number, places, language),
        "deal_kind": partial(enum_word, ladder_pb.DealKind),
        "challenge_state": partial(enum_word, ladder_pb.ChallengeState),
        "act_kind": partial(enum_word, ladder_pb.ActKind),
        "flag_kind": partial(enum_word, ladder_pb.FlagKind),
    }
    made.globals |= {
        "MEAN_ELO": MEAN_ELO,
        "ranks_text": ranks_text,
        "bot_path": bot_path,
        "by_place": by_place,
        "charts": charts,
        "deal_results": deal_results,
        "deck_prices": deck_prices,
        "documentation": documentation(),
        "line_class": line_class,
        "mode_of": mode_of,
        "state_word": state_word,
    }
    return made


class Part(NamedTuple):
    """A part of a page that changes by itself."""

    html: str
    version: int
    """The version of the page in which it changed last."""
    due: float
    """When it is to be made again, in seconds of `time.monotonic`."""


class _Parts:
    """Makes the parts of a page that are due while it is rendered."""

    def __init__(self, before: Mapping[str, Part], *, version: int, now: float) -> None:
        self.parts: dict[str, Part] = {}
        self._before, self._version, self._now = before, version, now

    def mark(self, name: str, *, seconds: float = 0.0, caller: Callable[[], str]) -> Markup:
        """Mark what a call block holds as a part, which viewers get again when it has changed.

        It may be shown for some seconds before it is made again.
        """
        part = self._before.get(name)
        if part is None or part.due <= self._now:
            html = caller()
            changed = self._version if part is None or part.html != html else part.version
            part = Part(html, changed, self._now + seconds)
        self.parts[name] = part
        # What a call block returns is escaped already.
        return Markup('<div data-live="{}">{}</div>').format(name, Markup(part.html))  # noqa: S704


@dataclass(frozen=True, slots=True)
class Page:
    """A page: a template, what it shows, and the same as JSON."""

    template: str
    values: Mapping[str, Any]
    json_names: Sequence[str] = ()
    """The names of the values that its JSON has."""
    is_final: bool = False
    """Whether nothing of it will change any more."""
    key: Hashable = None
    """Of a page that is rendered once for all who ask for it with the same address and language."""

    def html(self, reader: Reader) -> str:
        """Return the page as a reader gets it."""
        return self._rendered(reader, _Parts({}, version=0, now=0.0))

    def parts(
        self, before: Mapping[str, Part], reader: Reader, *, version: int, now: float
    ) -> Mapping[str, Part]:
        """Return its changing parts by name as a reader gets them; of those before, what isn't due stays."""
        parts = _Parts(before, version=version, now=now)
        self._rendered(reader, parts)
        return parts.parts

    def _rendered(self, reader: Reader, parts: _Parts) -> str:
        template = _environment(reader.language).get_template(self.template)
        return template.render({**self.values, **reader.values, "part": parts.mark})

    def json(self) -> str:
        """Return what the page shows as JSON, as commands with `--json` print it."""
        return encode(plain_json({name: self.values[name] for name in self.json_names}))


def page_response(request: Request, page: Page, status: int = 200) -> Response:
    """Return the response with a page that is rendered at once."""
    return HTMLResponse(page.html(Reader.of(request)), status)


class DealResult(NamedTuple):
    """How a version did in a deal."""

    version: ladder_pb.BotVersion
    place: int
    """By the mean place, shared by those who have the same; 0 before the first game is over."""
    mean_place: float
    """Over the finished games."""


def deal_results(deal: ladder_pb.LadderDeal) -> list[DealResult]:
    """Return how the versions of a deal did, best first; in the order of seats before a game is over."""
    games = len(deal.match_ids)
    if not games:
        return [DealResult(version, 0, 0.0) for version in deal.versions]
    sums = sorted(deal.places)
    places = [
        DealResult(version, 1 + sums.index(total), total / games)
        for version, total in zip(deal.versions, deal.places, strict=True)
    ]
    return sorted(places, key=lambda entry: entry.place)
