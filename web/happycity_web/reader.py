"""Which language a reader of pages gets, and how he chooses another one."""

from __future__ import annotations

from dataclasses import dataclass
from http.cookies import SimpleCookie

from starlette.requests import HTTPConnection

from happycity_server.errors import ApiError, Reason
from happycity_viewer.languages import LANGUAGES, Language, language, preferred

COOKIE = "happycity-language"
"""The cookie that holds the language that a reader has chosen."""
_COOKIE_SECONDS = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Reader:
    """Who gets a page, as far as the page's words depend on it."""

    language: Language
    links: dict[str, str]
    """The same page in each language, by the languages' codes."""
    has_ladder: bool = False
    """Whether the server keeps a ladder, to which its pages link."""

    @classmethod
    def of(cls, connection: HTTPConnection) -> Reader:
        """Return who asks for a page."""
        url = connection.url.remove_query_params("token")
        queries = {code: url.include_query_params(lang=code).query for code in LANGUAGES}
        links = {code: f"?{query}" for code, query in queries.items()}
        return cls(language_of(connection), links, connection.app.state.has_ladder)


def language_of(connection: HTTPConnection) -> Language:
    """Return the language of an answer: that of `?lang=`, of the cookie, or of what the browser prefers.

    JSON is for programs, and always English.
    """
    if connection.url.path.endswith(".json"):
        return language("en")
    for code in (connection.query_params.get("lang"), connection.cookies.get(COOKIE)):
        if code in LANGUAGES:
            return language(code)
    return language(preferred(connection.headers.get("accept-language", "")))


def check_language(connection: HTTPConnection) -> str | None:
    """Return the language that the address names, None if it names none.

    Raises:
        ApiError: there is no such language.
    """
    code = connection.query_params.get("lang")
    if code is not None and code not in LANGUAGES:
        raise ApiError(Reason.INVALID_FIELD, f"lang: {code!r:.40} is not one of {', '.join(LANGUAGES)}")
    return code


def language_cookie(code: str) -> str:
    """Return the header that lets a browser keep a language."""
    cookie = SimpleCookie()
    cookie[COOKIE] = code
    cookie[COOKIE].update({"path": "/", "samesite": "Lax", "max-age": str(_COOKIE_SECONDS)})
    cookie[COOKIE]["httponly"] = True
    return cookie[COOKIE].OutputString()
