"""The pages as an application: which path shows what, and how refusals look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from uvicorn.protocols.utils import ClientDisconnected

from happycity_server.access.gate import Places
from happycity_server.access.interceptor import api_error_of
from happycity_server.access.roles import Principal
from happycity_server.errors import ApiError, Reason
from happycity_server.frontends import Site
from happycity_web import access, challenges, games, ladder, matches, tournaments
from happycity_web.characters import character_page
from happycity_web.feed import results_feed
from happycity_web.guard import (
    COOKIE,
    FEED,
    HTTP_STATUS,
    SOCKET_CODE,
    AccessChecks,
    address_of,
    admit,
    admit_visitor,
    keep_secret,
    read_form,
    shown_token,
)
from happycity_web.home import home_page
from happycity_web.hosting import hosted_page, submit
from happycity_web.query import ListQuery, Query
from happycity_web.render import Page, Reader, check_language, keep_language, language_of, page_response
from happycity_web.seats import Seats
from happycity_web.watch import COMPRESSION, Feeds, follow_match, follow_page, pack, packed_response

_MakePage = Callable[[Feeds, Request, Any], Awaitable[Page]]
_Make = Callable[[Feeds, Request], Awaitable[Response]]
_Answer = Callable[[Request], Awaitable[Response]]
_Follow = Callable[[WebSocket, Principal], Awaitable[None]]
_PAGES: tuple[tuple[str, type[Query], _MakePage], ...] = (
    ("/", Query, home_page),
    ("/matches", games.GameQuery, games.games_page),
    ("/tournaments", tournaments.TournamentQuery, tournaments.tournaments_page),
    ("/tournaments/{tournament_id:id}", games.GameQuery, tournaments.tournament_page),
    ("/tournaments/{tournament_id:id}/bots/{bot}", games.GameQuery, tournaments.bot_page),
    ("/bots/{bot}", Query, character_page),
    ("/access", Query, access.access_page),
    ("/hosted", Query, hosted_page),
    ("/ladder", ladder.LeaderboardQuery, ladder.leaderboard_page),
    ("/ladder/bots/{bot}", ladder.BotQuery, ladder.ladder_bot_page),
    ("/ladder/bots/{bot}/comparison", ladder.BotQuery, ladder.comparison_page),
    ("/ladder/deals", ladder.DealQuery, ladder.ladder_deals_page),
    ("/ladder/seasons", ListQuery, ladder.seasons_page),
    ("/ladder/challenges", challenges.ChallengeQuery, challenges.challenges_page),
    ("/acts", ListQuery, ladder.acts_page),
    ("/ladder/flags", ladder.LeaderboardQuery, ladder.flags_page),
)
"""Each page that follows by itself: its path, what its address may ask for, and what makes it."""
_STATIC: list[str | tuple[str, str]] = [("happycity_web", "static"), ("happycity_viewer", "static")]
"""Packages and folders with the files below /static."""
_log = structlog.get_logger()


class _IdConvertor(IntegerConvertor):
    """An id in a path; there is no page for numbers that no store can hold."""

    regex = "[0-9]{1,18}"


register_url_convertor("id", _IdConvertor())


def application(feeds: Feeds, site: Site) -> Starlette:
    """Return the application that shows an arena."""
    handlers, seats = _Handlers(feeds, site.viewers), Seats(feeds)
    routes: list[Route | WebSocketRoute | Mount] = []
    for path, query, make in _PAGES:
        # First, as the last ".json" of a path is always the format: a bot's name may end so too.
        json_path = "/index.json" if path == "/" else f"{path}.json"
        routes.append(Route(json_path, handlers.page(query, make, as_json=True)))
        routes.append(Route(path, handlers.page(query, make)))
        routes.append(WebSocketRoute(path, handlers.socket(handlers.follow_page(query, make))))
    routes += [
        Route("/matches/{match_id:id}/record.json", handlers.download(matches.match_record)),
        Route("/matches/{match_id:id}/picture.png", handlers.download(matches.match_picture)),
        Route(
            "/matches/{match_id:id}/analysis.json",
            handlers.page(matches.MatchQuery, matches.analysis_page, as_json=True),
        ),
        Route("/matches/{match_id:id}/analysis", handlers.page(matches.MatchQuery, matches.analysis_page)),
        Route("/matches/{match_id:id}.json", handlers.download(matches.match_json)),
        Route(FEED, handlers.page(Query, results_feed, media_type="application/atom+xml")),
        Route("/matches/{match_id:id}", handlers.page(matches.MatchQuery, matches.match_page)),
        WebSocketRoute("/matches/{match_id:id}", handlers.socket(handlers.follow_match)),
        Route("/how-to-play", handlers.shown(seats.how_to_play)),
        Route("/play", handlers.shown(seats.new_game), methods=["GET", "POST"]),
        Route("/play/{table_id}", handlers.shown(seats.table)),
        WebSocketRoute("/play/{table_id}", handlers.socket(seats.follow, seats.admit)),
        Route("/seats/{secret}", handlers.shown(seats.own_seat), methods=["GET", "POST"]),
        Route("/invitations/{token}", handlers.shown(seats.invitation), methods=["GET", "POST"]),
        Route("/join", handlers.shown(partial(access.join, feeds)), methods=["GET", "POST"]),
        Route("/access", handlers.form(access.act), methods=["POST"]),
        Route("/hosted.json", handlers.form(submit), methods=["POST"]),
        Route("/ladder/challenges", handlers.form(challenges.create), methods=["POST"]),
        Route("/ladder/challenges/{challenge_id:id}", handlers.form(challenges.answer), methods=["POST"]),
        Route("/token", handlers.answered(handlers.take_token), methods=["POST"]),
        Mount("/static", app=StaticFiles(packages=_STATIC)),
    ]
    made = Starlette(
        routes=routes,
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
    """Admits requests, has their pages made, and answers them."""

    def __init__(self, feeds: Feeds, most_viewers: int) -> None:
        self._feeds = feeds
        self._viewers = Places(most_viewers)
        self._gate = feeds.arena.gate
        self._admit = partial(admit_visitor, feeds.arena)

    def page(
        self, query: type[Query], make: _MakePage, *, as_json: bool = False, media_type: str = "text/html"
    ) -> _Answer:
        """Return the handler that answers with a page, or with the same as JSON."""

        async def answer(request: Request) -> Response:
            self._admit(request)
            page, feeds = await make(self._feeds, request, query.of(request.query_params)), self._feeds
            if as_json:
                return packed_response(request, await feeds.in_thread(pack, page.json), "application/json")
            reader = Reader.of(request)

            async def html() -> bytes:
                return await feeds.in_thread(pack, lambda: page.html(reader))

            if page.key is None:
                return packed_response(request, await html(), media_type)
            key = page.key, reader.language.code, reader.origin, reader.path
            return packed_response(request, await feeds.html.get(key, html), media_type)

        return self.shown(answer)

    def shown(self, answer: _Answer) -> _Answer:
        """Return the handler of a page, whose address may have a token and a language to keep."""

        async def show(request: Request) -> Response:
            token = request.query_params.get("token")
            if token is not None:
                return self._enter_by_link(request, token)
            chosen = None if request.url.path.endswith(".json") else check_language(request)
            response = await answer(request)
            if chosen is not None:
                keep_language(response, chosen)
            return response

        return self.answered(show)

    def download(self, make: _Make) -> _Answer:
        """Return the handler that answers with a file."""
        return self._admitted(make, self._admit)

    def form(self, act: _Make) -> _Answer:
        """Return the handler of what a page sends, by the token that its browser has."""
        arena = self._feeds.arena
        return self._admitted(act, lambda request: admit(arena, request, shown_token(request)))

    def _admitted(self, make: _Make, admit_caller: Callable[[Request], object]) -> _Answer:
        async def answer(request: Request) -> Response:
            admit_caller(request)
            return await make(self._feeds, request)

        return self.answered(answer)

    def answered(self, answer: _Answer) -> _Answer:
        """Return a handler that answers errors too."""

        async def handle(request: Request) -> Response:
            try:
                await self._gate.authenticator.refresh()
                return await answer(request)
            except HTTPException:
                raise
            except ClientDisconnect:
                return Response(status_code=400)  # that nobody reads
            except Exception as error:  # noqa: BLE001 - the boundary of a request
                return _problem_page(self._known(error, request), request)

        return handle

    def socket(
        self, follow: _Follow, admit_caller: Callable[[WebSocket], Principal] | None = None
    ) -> Callable[[WebSocket], Awaitable[None]]:
        """Return the handler of a socket, which counts as one of its caller's streams."""
        admit_caller = admit_caller or self._admit

        async def serve(socket: WebSocket) -> int:
            """Serve a socket to its end; return the code of that."""
            try:
                await self._gate.authenticator.refresh()
                caller = admit_caller(socket)
                await socket.accept()
                async with self._gate.stream(caller, self._viewers):
                    await follow(socket, caller)
            except (WebSocketDisconnect, ClientDisconnected):
                raise
            except Exception as error:  # noqa: BLE001 - the boundary of a socket
                known = self._known(error, socket)
                return SOCKET_CODE + (500 if known is None else HTTP_STATUS.get(known.reason.status, 500))
            return 1000

        async def handle(socket: WebSocket) -> None:
            with suppress(WebSocketDisconnect, ClientDisconnected):
                code = await serve(socket)
                if socket.application_state is WebSocketState.CONNECTING:
                    await socket.accept()  # a script hears why only by the code of an open socket
                if socket.client_state is not WebSocketState.DISCONNECTED:
                    await socket.close(code)

        return handle

    def follow_page(self, query: type[Query], make: _MakePage) -> _Follow:
        """Return what sends a page again whenever it changes."""

        async def follow(socket: WebSocket, caller: Principal) -> None:
            request = Request({**socket.scope, "type": "http", "method": "GET"})
            asked = query.of(socket.query_params)
            # Callers who may see different things share no page; what the address says besides is ignored.
            who = caller.own_bot, caller.roles
            what = make, tuple(sorted(socket.path_params.items())), asked
            await follow_page(
                socket,
                self._feeds,
                key=(who, language_of(socket).code, what),
                make=lambda: make(self._feeds, request, asked),
                reader=Reader.of(socket),
            )

        return follow

    async def follow_match(self, socket: WebSocket, _caller: Principal) -> None:
        """Send the positions of a match."""
        _, watched = await self._feeds.arena.matches.watch(socket.path_params["match_id"])
        await follow_match(socket, self._feeds, watched, language_of(socket))

    async def take_token(self, request: Request) -> Response:
        """Take a token that was typed, or that a link has and its reader accepts."""
        fields = await read_form(request)
        target = fields.get("to", "/")
        # A path of this server; "//" would begin the name of another one.
        is_path = target.startswith("/") and not target.startswith(("//", "/\\"))
        return self._enter(request, fields.get("token", "").strip(), target if is_path else "/")

    def _enter_by_link(self, request: Request, token: str) -> Response:
        """Check the token of a link, and let the browser keep it.

        A link of another site, or one that would replace a token that the browser has, may be a trap: its
        reader would act with another bot's token from then on, and is asked first.
        """
        url = request.url.remove_query_params("token")
        target = f"{url.path}?{url.query}" if url.query else url.path
        held = admit(self._feeds.arena, request, token).token
        is_direct = request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        if held is None or (is_direct and shown_token(request) in (None, token)):
            return self._enter(request, token, target)
        return page_response(
            request, "token_link.html", {"token": token, "target": target, "name": held.name}
        )

    def _enter(self, request: Request, token: str, target: str) -> Response:
        """Check a token, let the browser keep it, and go on to a page."""
        admit(self._feeds.arena, request, token)
        # A redirect would not do: to a browser that comes from another site it is still that site's
        # request, without the cookie.
        response = page_response(request, "entered.html", {"target": target})
        keep_secret(response, request, COOKIE, token)
        return response

    def _known(self, error: Exception, connection: HTTPConnection) -> ApiError | None:
        """Return an error as callers get it, None for a failure of the server; count and log it."""
        known = api_error_of(error)
        self._gate.refused[known.reason.name if known is not None else "INTERNAL"] += 1
        # A caller that asks too often would fill the log too.
        if known is not None and known.reason is not Reason.RATE_LIMITED:
            self._log_refusal(connection, known.reason.name, str(known))
        return known

    async def http_problem(self, request: Request, error: Exception) -> Response:
        """Answer a request that no page is made for; it counts like any other."""
        assert isinstance(error, HTTPException)
        try:
            self._gate.admit_anybody(address_of(request))
        except ApiError as refusal:
            return _problem_page(self._known(refusal, request), request)
        self._gate.refused["NOT_FOUND" if error.status_code == 404 else "HTTP"] += 1
        text = error.detail
        self._log_refusal(request, "HTTP", f"{error.status_code} {text}")
        if text == "Not Found":
            text = language_of(request).texts.gettext("There is no such page.")
        response = _refusal(request, error.status_code, "HTTP", text)
        response.headers.update(error.headers or {})
        return response

    def _log_refusal(self, connection: HTTPConnection, reason: str, text: str) -> None:
        # The path itself may have a secret in it.
        route = getattr(connection.scope.get("route"), "path", None)
        _log.info("page_refused", route=route, reason=reason, peer=address_of(connection), text=text)


def _problem_page(error: ApiError | None, request: Request) -> Response:
    """Return what is shown instead of a page that is refused; without an error the server failed."""
    if error is None:
        text = language_of(request).texts.gettext("The server failed; its log says why.")
        return _refusal(request, 500, "INTERNAL", text)
    status = 404 if error.reason is Reason.NO_LADDER else HTTP_STATUS.get(error.reason.status, 500)
    response = _refusal(
        request,
        status,
        error.reason.name,
        str(error),
        is_english=True,
        asks_token=error.reason in (Reason.UNAUTHENTICATED, Reason.WRONG_ROLE),
    )
    if status == 429:
        response.headers["retry-after"] = "1"
    return response


def _refusal(request: Request, status: int, reason: str, text: str, **shown: bool) -> Response:
    """Return the page, or the JSON, that says why a request is refused.

    `is_english`: the text is not translated. `asks_token`: the page has a form for a token.
    """
    if request.url.path.endswith(".json"):
        return JSONResponse({"reason": reason, "text": text}, status)
    if status == 429:  # to be as cheap as can be
        return PlainTextResponse(f"{text}\n", status)
    values = {"status": status, "text": text, "is_english": False, "asks_token": False, **shown}
    return page_response(request, "problem.html", values | {"target": request.url.path}, status)
