"""Who may open a page: host names, origins, tokens, forms, and headers that keep pages from other sites."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Callable
from typing import Final

import grpc
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from happycity_server.access.gate import Gate
from happycity_server.access.roles import SEATED, Principal, path_of, principal
from happycity_server.errors import ApiError, Reason
from happycity_server.frontends import Arena, Site
from happycity_server.people.table import TablePlace

CONTENT_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
    )
)
"""What a page may load: its own files, and nothing from elsewhere or written into it."""

HEADERS: Final = {
    "content-security-policy": f"{CONTENT_POLICY}; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

_FILE: Final = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""Of scripts, styles, fonts and icons, which load nothing by themselves: a page gets a dozen of them."""
_EMBEDDED: Final = {
    **{name: value for name, value in HEADERS.items() if name != "x-frame-options"},
    "content-security-policy": f"{CONTENT_POLICY}; frame-ancestors *",
}
"""Of a page that only shows a game and does nothing, so other sites may have it in a frame."""

FEED = "/feed.atom"
"""The path of the feed, of which readers keep what they have seen."""
COOKIE = "happycity"
"""The cookie that holds a token."""
SEAT_COOKIE = "happycity-seat"
"""The cookie that proves a person's seat."""
MAX_PORT = 65535

SOCKET_CODE = 4000
"""Added to an HTTP status it is the code with which a WebSocket is closed."""
REFUSAL_SECONDS = 1.0
"""How long who asks too often waits for the refusal: also refusals have a cost."""
_SENT = (200, 206, 304)
_TOO_OFTEN = (429, SOCKET_CODE + 429)

HTTP_STATUS: Final = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.FAILED_PRECONDITION: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNAVAILABLE: 503,
}
"""The HTTP status that means what a gRPC status does; all others are failures of the server, 500."""


class AccessChecks:
    """Lets only requests in that are meant for this server, and adds the headers to every response.

    A name of a host that isn't known may be one that a stranger's page has pointed at this machine (DNS
    rebinding): it could read what only this machine may. IP addresses can't be pointed anywhere.
    """

    def __init__(self, app: ASGIApp, *, site: Site, gate: Gate) -> None:
        self._app, self._gate = app, gate
        self._names = site.names | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            return
        problem = self._problem(Headers(scope=scope), acts=scope.get("method") not in ("GET", "HEAD"))
        status, is_file = 421, scope["path"].startswith("/static/")
        try:
            if is_file:
                self._gate.admit_anonymous(address_of(HTTPConnection(scope)))
            else:
                await self._gate.turn(address_of(HTTPConnection(scope)))
        except ApiError as error:
            self._gate.refused[error.reason.name] += 1
            problem, status = str(error), HTTP_STATUS[error.reason.status]

        async def send_with_headers(message: Message) -> None:
            if message.get("status", message.get("code")) in _TOO_OFTEN:
                await asyncio.sleep(REFUSAL_SECONDS)
            if message["type"] == "http.response.start":
                # A refusal has a form for a token, which no other site may frame.
                if message["status"] not in _SENT:
                    own = HEADERS
                else:
                    own = _FILE if is_file else _EMBEDDED if _is_embedded(scope) else HEADERS
                headers = MutableHeaders(scope=message)
                for name, value in own.items():
                    headers.setdefault(name, value)
                if is_file:
                    del headers["accept-ranges"]  # which no browser asks for of a small file, in each answer
                elif "cache-control" not in headers:
                    # What a page shows depends on who asks, so no cache on the way may keep it.
                    headers["cache-control"] = "private, no-cache" if scope["path"] == FEED else "no-store"
                    headers.add_vary_header("Cookie")
            await send(message)

        app: ASGIApp = self._app
        if problem and scope["type"] == "websocket":
            await send_with_headers({"type": "websocket.close", "code": SOCKET_CODE + status})
            return
        if problem:
            app = PlainTextResponse(f"{problem}\n", status)
        await app(scope, receive, send_with_headers)

    def _problem(self, headers: Headers, *, acts: bool) -> str:
        """Return why a request is refused; "" if it is not. `acts`: it does more than ask for a page."""
        host = headers.get("host", "")
        if not self._is_known(host):
            return "this server is not known by this name; its operator can add it by --web-name"
        origin = headers.get("origin")
        if acts and origin is not None and origin.partition("://")[2] != host:
            return "this page belongs to another site"
        return ""

    def _is_known(self, host: str) -> bool:
        name, _, port = (host, "", "0") if host.endswith("]") or ":" not in host else host.rpartition(":")
        if not re.fullmatch(r"\d{1,5}", port, re.ASCII) or int(port) > MAX_PORT:
            return False
        name = name.strip("[]").lower()
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _is_embedded(scope: Scope) -> bool:
    query = QueryParams(scope.get("query_string", b""))
    is_match: bool = scope["path"].startswith("/matches/")
    return is_match and query.get("embed") == "1" and "token" not in query


def shown_token(connection: HTTPConnection) -> str | None:
    """Return the token that a request shows, in its header or cookie; None if it shows none."""
    scheme, _, clear = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return clear.strip()
    return connection.cookies.get(_cookie_name(connection, COOKIE))


def shown_seat(connection: HTTPConnection) -> str:
    """Return the secret of a seat that a request shows; "" if it shows none."""
    return connection.cookies.get(_cookie_name(connection, SEAT_COOKIE), "")


def keep_secret(response: Response, connection: HTTPConnection, kind: str, secret: str) -> None:
    """Let a browser keep a secret, out of reach of scripts and of other sites.

    `kind` is `COOKIE` or `SEAT_COOKIE`.
    """
    response.set_cookie(
        _cookie_name(connection, kind),
        secret,
        httponly=True,
        samesite="strict",
        secure=connection.url.scheme == "https",
    )


def admit(arena: Arena, connection: HTTPConnection, secret: str | None) -> Principal:
    """Admit a caller, who shows a token or the secret of a seat, to what those who list games may see."""
    is_stream = isinstance(connection, WebSocket)
    return arena.gate.admit(
        path_of(arena.matches.ListMatches), secret, address_of(connection), is_stream=is_stream
    )


Admit = Callable[[Arena, HTTPConnection], Principal]
"""Admits the caller of a page, or refuses it by an ApiError."""


def token_holder(arena: Arena, connection: HTTPConnection) -> Principal:
    """Admit a caller by the token that its browser has."""
    return admit(arena, connection, shown_token(connection))


def passer_by(arena: Arena, connection: HTTPConnection) -> Principal:
    """Admit every caller, by what its browser keeps if that is good for anything; the rate is limited."""
    try:
        return visitor(arena, connection)
    except ApiError as error:
        if error.reason is not Reason.UNAUTHENTICATED:
            raise
        return arena.gate.admit_anonymous(address_of(connection))


def player(arena: Arena, connection: HTTPConnection) -> Principal:
    """Admit a caller to setting up tables and to open seats, by the token of its browser if it has one."""
    caller = _admit_or_public(arena, connection, shown_token(connection))
    caller.require(SEATED)
    return caller


def needs_token(what: str) -> Admit:
    """Return what admits callers by the token that their browser has to `what`, which needs one."""

    def admit_holder(arena: Arena, connection: HTTPConnection) -> Principal:
        caller = token_holder(arena, connection)
        principal().require_token(what)
        return caller

    return admit_holder


def visitor(arena: Arena, connection: HTTPConnection) -> Principal:
    """Admit a caller by what its browser keeps."""
    return _admit_or_public(arena, connection, shown_token(connection) or shown_seat(connection) or None)


def _admit_or_public(arena: Arena, connection: HTTPConnection, secret: str | None) -> Principal:
    """Admit a caller by a token or the secret of a seat.

    A cookie that is no longer valid must not keep a visitor from what the public may do.
    """
    try:
        return admit(arena, connection, secret)
    except ApiError as error:
        is_kept = secret is not None and "authorization" not in connection.headers
        if error.reason is not Reason.UNAUTHENTICATED or not is_kept or not arena.gate.authenticator.public:
            raise
        return admit(arena, connection, None)


def kept_place(arena: Arena, connection: HTTPConnection) -> TablePlace | None:
    """Return the place at a table that the caller's browser proves; None if it proves none."""
    return arena.tables.place_of(shown_seat(connection))


def seated(arena: Arena, connection: HTTPConnection) -> Principal:
    """Admit a person to the table that an address names."""
    place = kept_place(arena, connection)
    if place is None or place.table.table_id != connection.path_params["table_id"]:
        passer_by(arena, connection)
        raise ApiError(
            Reason.UNKNOWN_MATCH,
            "you have no seat at this table: it is over, or the seat was taken with another browser, which "
            "shows the link to it",
        )
    return admit(arena, connection, shown_seat(connection))


def address_of(connection: HTTPConnection) -> str:
    """Return the caller's address."""
    return connection.client.host if connection.client else ""


def _cookie_name(connection: HTTPConnection, kind: str) -> str:
    # Browsers send the cookies of one port of a host to all its ports, so servers on one host would
    # overwrite each other's.
    return f"{kind}-{connection.url.port or connection.url.scheme}"
