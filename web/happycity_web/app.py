"""The pages as an application: which path shows what, who is admitted by it, and how refusals look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

import structlog
from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from uvicorn.protocols.utils import ClientDisconnected

from happycity_server.access.gate import StreamPlaces
from happycity_server.access.interceptor import api_error_of
from happycity_server.errors import ApiError, Reason
from happycity_server.frontends import Site
from happycity_web import access, challenges, games, home, hosting, ladder, matches, seats, tournaments
from happycity_web.answers import Answer, Follow, MakePage, form, page_changes, page_html, page_json
from happycity_web.bot_profile import bot_profile_page
from happycity_web.feed import results_feed
from happycity_web.guard import (
    FEED,
    HTTP_STATUS,
    SOCKET_CODE,
    AccessChecks,
    Admit,
    address_of,
    needs_token,
    passer_by,
    player,
    seated,
    token_holder,
    visitor,
)
from happycity_web.query import ListFilter, Query
from happycity_web.render import Page, chosen_language, keep_language, language_of, page_response
from happycity_web.watch import COMPRESSION, Feeds, follow_match

_PAGES: tuple[tuple[str, type[Query], MakePage], ...] = (
    ("/", Query, home.home_page),
    ("/matches", games.GameQuery, games.games_page),
    ("/tournaments", tournaments.TournamentQuery, tournaments.tournaments_page),
    ("/tournaments/{tournament_id:id}", games.GameQuery, tournaments.tournament_page),
    ("/tournaments/{tournament_id:id}/bots/{bot}", games.GameQuery, tournaments.bot_page),
    ("/bots/{bot}", Query, bot_profile_page),
    ("/access", Query, access.access_page),
    ("/hosted", Query, hosting.hosted_page),
    ("/ladder", ladder.LeaderboardQuery, ladder.leaderboard_page),
    ("/ladder/bots/{bot}", ladder.BotQuery, ladder.ladder_bot_page),
    ("/ladder/bots/{bot}/comparison", ladder.BotQuery, ladder.comparison_page),
    ("/ladder/deals", ladder.DealQuery, ladder.ladder_deals_page),
    ("/ladder/seasons", ListFilter, ladder.seasons_page),
    ("/ladder/challenges", challenges.ChallengeQuery, challenges.challenges_page),
    ("/acts", ListFilter, ladder.acts_page),
    ("/ladder/flags", ladder.LeaderboardQuery, ladder.flags_page),
)
"""Each page that visitors may open as HTML and JSON, and that follows by itself: its path, what its address
may ask for, and what makes it."""
_MATCH = "/matches/{match_id:id}"
_ANALYSIS = matches.MatchQuery, matches.analysis_page
_CHALLENGES = challenges.own_challenges
_SEAT_FORM = form(seats.offered_seat, seats.take_offered_seat)
_GET, _POST, _FORM = ["GET"], ["POST"], ["GET", "POST"]
_WAYS: tuple[tuple[str, list[str], Admit | None, Answer], ...] = (
    (FEED, _GET, visitor, page_html(Query, results_feed, media_type="application/atom+xml")),
    (_MATCH, _GET, visitor, page_html(matches.MatchQuery, matches.match_page)),
    (f"{_MATCH}/analysis.json", _GET, visitor, page_json(*_ANALYSIS)),
    (f"{_MATCH}/analysis", _GET, visitor, page_html(*_ANALYSIS)),
    ("/how-to-play", _GET, passer_by, page_html(Query, seats.how_to_play)),
    ("/play", _FORM, player, form(seats.new_game, seats.create_table)),
    ("/play/{table_id}", _GET, seated, seats.table_page),
    ("/tables/{table_id}", _FORM, player, _SEAT_FORM),
    ("/seats/{secret}", _FORM, passer_by, form(seats.own_seat, seats.take_own_seat)),
    ("/invitations/{token}", _FORM, passer_by, _SEAT_FORM),
    ("/join", _FORM, passer_by, form(access.join_form, access.join, most=access.JOIN_BYTES)),
    ("/access", _POST, needs_token(access.OWN_TOKENS), form(access.access_form, access.change_access)),
    ("/hosted.json", _POST, token_holder, hosting.submit),
    ("/ladder/challenges", _POST, token_holder, form(_CHALLENGES, challenges.create)),
    ("/ladder/challenges/{challenge_id:id}", _POST, token_holder, form(_CHALLENGES, challenges.answer)),
    ("/token", _GET, passer_by, access.sign_in),
    ("/token", _POST, None, access.take_token),  # it admits by the token in its form
)
"""All other ways in: paths, methods, who is admitted, and what answers."""
_FILES: tuple[tuple[str, Answer], ...] = (
    (f"{_MATCH}/record.json", matches.match_record),
    (f"{_MATCH}/picture.png", matches.match_picture),
    (f"{_MATCH}.json", matches.match_json),
)
"""What visitors may download, which no link to a page names."""
_SOCKETS: tuple[tuple[str, Admit, Follow], ...] = (
    (_MATCH, visitor, follow_match),
    ("/play/{table_id}", seated, seats.follow_table),
)
"""The WebSockets of what is not in `_PAGES`."""
_STATIC: list[str | tuple[str, str]] = [("happycity_web", "static"), ("happycity_viewer", "static")]
"""Packages and folders with the files below /static."""
_log = structlog.get_logger()


class _IdConvertor(IntegerConvertor):
    """An id in a path; there is no page for numbers that no store can hold."""

    regex = "[0-9]{1,18}"


register_url_convertor("id", _IdConvertor())


def application(feeds: Feeds, site: Site) -> Starlette:
    """Return the application that shows an arena."""
    handlers = _Handlers(feeds, site.viewers)
    http, socket = handlers.http, handlers.socket
    routes: list[BaseRoute] = []
    for path, query, make in _PAGES:
        # First, as the last ".json" of a path is always the format: a bot's name may end so too.
        json_path = "/index.json" if path == "/" else f"{path}.json"
        routes += [
            Route(json_path, http(visitor, page_json(query, make))),
            Route(path, http(visitor, page_html(query, make))),
            WebSocketRoute(path, socket(visitor, page_changes(query, make))),
        ]
    routes += [Route(path, http(visitor, answer, is_file=True)) for path, answer in _FILES]
    routes += [Route(path, http(admit, answer), methods=methods) for path, methods, admit, answer in _WAYS]
    routes += [WebSocketRoute(path, socket(admit, follow)) for path, admit, follow in _SOCKETS]
    made = Starlette(
        routes=[*routes, Mount("/static", app=StaticFiles(packages=_STATIC))],
        middleware=[
            Middleware(AccessChecks, site=site, gate=feeds.arena.gate),
            Middleware(
                GZipMiddleware, minimum_size=1000, compresslevel=COMPRESSION, thread_minimum_size=8192
            ),
        ],
        exception_handlers={HTTPException: handlers.http_problem},
    )
    made.state.has_ladder = feeds.arena.ladder.keeps_ladder
    made.state.has_tokens = not feeds.arena.gate.authenticator.is_open
    return made


class _Handlers:
    """Admits requests and sockets, has them answered, and answers what is refused."""

    def __init__(self, feeds: Feeds, most_viewers: int) -> None:
        self._feeds = feeds
        self._viewers = StreamPlaces(most_viewers)
        self._gate = feeds.arena.gate

    def http(
        self, admit: Admit | None, answer: Answer, *, is_file: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of a path. The address of what is no file may have a token, and a language."""

        async def handle(request: Request) -> Response:
            is_link = request.method != "POST" and not is_file
            try:
                await self._gate.authenticator.refresh()
                if is_link and (token := request.query_params.get("token")) is not None:
                    return access.enter_by_link(self._feeds, request, token)
                language = chosen_language(request) if is_link else None
                if admit is not None:
                    admit(self._feeds.arena, request)
                response = await answer(self._feeds, request)
                if language is not None:
                    keep_language(response, language)
                return response
            except HTTPException:
                raise
            except ClientDisconnect:
                return Response(status_code=400)  # that nobody reads
            except Exception as error:  # noqa: BLE001 - the boundary of a request
                return self._refused(error, request).response(request)

        return handle

    def socket(self, admit: Admit, follow: Follow) -> Callable[[WebSocket], Awaitable[None]]:
        """Return the handler of a socket, which counts as one of its caller's streams."""

        async def serve(socket: WebSocket) -> int:
            """Serve a socket to its end; return the code of that."""
            try:
                await self._gate.authenticator.refresh()
                caller = admit(self._feeds.arena, socket)
                await socket.accept()
                async with self._gate.stream(caller, self._viewers):
                    await follow(self._feeds, socket)
            except (WebSocketDisconnect, ClientDisconnected):
                raise
            except Exception as error:  # noqa: BLE001 - the boundary of a socket
                return SOCKET_CODE + self._refused(error, socket).status
            return 1000

        async def handle(socket: WebSocket) -> None:
            with suppress(WebSocketDisconnect, ClientDisconnected):
                code = await serve(socket)
                if socket.application_state is WebSocketState.CONNECTING:
                    await socket.accept()  # a script hears why only by the code of an open socket
                if socket.client_state is not WebSocketState.DISCONNECTED:
                    await socket.close(code)

        return handle

    async def http_problem(self, request: Request, error: Exception) -> Response:
        """Answer a request that no page is made for; it counts like any other."""
        try:
            passer_by(self._feeds.arena, request)
        except ApiError as too_often:
            error = too_often
        response = self._refused(error, request).response(request)
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    def _refused(self, error: Exception, connection: HTTPConnection) -> _Refusal:
        """Return how an error is shown; count and log it."""
        refusal = _Refusal.of(error, connection)
        is_missing = isinstance(error, HTTPException) and refusal.status == 404
        self._gate.refused["NOT_FOUND" if is_missing else refusal.reason] += 1
        # A caller that asks too often would fill the log too; a failure of the server is logged already.
        if refusal.reason not in (Reason.RATE_LIMITED.name, "INTERNAL"):
            # The path itself may have a secret in it.
            route = getattr(connection.scope.get("route"), "path", None)
            text, peer = refusal.text, address_of(connection)
            _log.info("page_refused", route=route, reason=refusal.reason, peer=peer, text=text)
        return refusal


class _Refusal(NamedTuple):
    """What is shown instead of a page that is refused."""

    status: int
    reason: str
    text: str
    is_english: bool = False
    """Whether the text is not translated."""

    @classmethod
    def of(cls, error: Exception, connection: HTTPConnection) -> _Refusal:
        """Return how an error is shown; one that is not known is a failure of the server."""
        gettext = language_of(connection).texts.gettext
        if isinstance(error, HTTPException):
            text = gettext("There is no such page.") if error.detail == "Not Found" else error.detail
            return cls(error.status_code, "HTTP", text)
        known = api_error_of(error)
        if known is None:
            return cls(500, "INTERNAL", gettext("The server failed; its log says why."))
        status = 404 if known.reason is Reason.NO_LADDER else HTTP_STATUS.get(known.reason.status, 500)
        return cls(status, known.reason.name, str(known), is_english=True)

    def response(self, request: Request) -> Response:
        """Return the page, or the JSON, that says why a request is refused."""
        headers = {"retry-after": "1"} if self.status == 429 else {}
        if request.url.path.endswith(".json"):
            return JSONResponse({"reason": self.reason, "text": self.text}, self.status, headers)
        if self.status == 429:  # to be as cheap as can be
            return PlainTextResponse(f"{self.text}\n", self.status, headers)
        asks_token = self.reason in (Reason.UNAUTHENTICATED.name, Reason.WRONG_ROLE.name)
        values = {**self._asdict(), "asks_token": asks_token, "target": request.url.path}
        return page_response(request, Page("problem.html", values), self.status)
