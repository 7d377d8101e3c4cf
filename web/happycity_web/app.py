"""The pages as an application: which path shows what, and how refusals look."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from happycity_server.errors import ApiError, Reason
from happycity_server.frontends import Arena, Principal, Site, api_error_of
from happycity_web.challenges import ChallengeForms, challenges_page
from happycity_web.doors import COOKIE, Doors, admit, http_status, secret_cookie, shown_seat, shown_token
from happycity_web.following import follow_match, follow_page
from happycity_web.forms import read_form
from happycity_web.ladder import flags_page, leaderboard_page, seasons_page
from happycity_web.ladder_bots import comparison_page, ladder_bot_page
from happycity_web.ladder_deals import ladder_deals_page
from happycity_web.live import Feeds
from happycity_web.matches import match_page, match_record
from happycity_web.pages import Page, games_page, lobby_page
from happycity_web.reader import Reader, check_language, language_cookie, language_of
from happycity_web.render import render
from happycity_web.seats import Seats
from happycity_web.tournaments import bot_page, tournament_page

SOCKET_CODE = 4000
"""Added to an HTTP status it is the code with which a WebSocket is closed."""

_GONE_AT_ONCE = 500  # sockets that have ended; those of so many hold some 10 MB
_GONE_SECONDS = 1.0  # until nothing of theirs is in use any more

_MakePage = Callable[[Feeds, Request], Awaitable[Page]]
_Answer = Callable[[Request], Awaitable[Response]]
_Follow = Callable[[WebSocket, Principal], Awaitable[None]]
_PAGES: tuple[tuple[str, str, _MakePage], ...] = (
    ("/", "/index.json", lobby_page),
    ("/matches", "/matches.json", games_page),
    ("/tournaments/{tournament_id:int}", "/tournaments/{tournament_id:int}.json", tournament_page),
    (
        "/tournaments/{tournament_id:int}/bots/{bot}",
        "/tournaments/{tournament_id:int}/bots/{bot}.json",
        bot_page,
    ),
    ("/matches/{match_id:int}", "/matches/{match_id:int}.json", match_page),
    ("/ladder", "/ladder.json", leaderboard_page),
    ("/ladder/bots/{bot}", "/ladder/bots/{bot}.json", ladder_bot_page),
    ("/ladder/bots/{bot}/comparison", "/ladder/bots/{bot}/comparison.json", comparison_page),
    ("/ladder/deals", "/ladder/deals.json", ladder_deals_page),
    ("/ladder/seasons", "/ladder/seasons.json", seasons_page),
    ("/ladder/challenges", "/ladder/challenges.json", challenges_page),
    ("/ladder/flags", "/ladder/flags.json", flags_page),
)
"""Each page's path, that of the same as JSON, and what makes it."""
_STATIC: list[str | tuple[str, str]] = [("happycity_web", "static"), ("happycity_viewer", "static")]
"""Packages and folders with the files below /static."""


def application(arena: Arena, site: Site) -> Starlette:
    """Return the application that shows an arena."""
    feeds = Feeds(arena)
    handlers, seats, challenges = _Handlers(feeds, site.viewers), Seats(feeds), ChallengeForms(feeds)
    routes: list[Route | WebSocketRoute | Mount] = []
    for path, json_path, make in _PAGES:
        # First, as the last ".json" of a path is always the format: a bot's name may end so too.
        routes.append(Route(json_path, handlers.page(make, as_json=True)))
        routes.append(Route(path, handlers.page(make)))
        if make is not match_page:
            routes.append(WebSocketRoute(path, handlers.socket(handlers.follow_page(make))))
    routes += [
        Route("/matches/{match_id:int}/record.json", handlers.download(match_record)),
        WebSocketRoute("/matches/{match_id:int}", handlers.socket(handlers.follow_match)),
        Route("/play", handlers.shown(seats.new_game), methods=["GET", "POST"]),
        Route("/play/{table_id}", handlers.shown(seats.table)),
        WebSocketRoute("/play/{table_id}", handlers.socket(seats.follow, seats.admit)),
        Route("/invitations/{token}", handlers.shown(seats.invitation), methods=["GET", "POST"]),
        Route("/ladder/challenges", handlers.answered(challenges.create), methods=["POST"]),
        Route(
            "/ladder/challenges/{challenge_id:int}", handlers.answered(challenges.answer), methods=["POST"]
        ),
        Route("/token", handlers.answered(handlers.take_token), methods=["POST"]),
        Mount("/static", app=StaticFiles(packages=_STATIC)),
    ]
    made = Starlette(
        routes=routes,
        middleware=[Middleware(Doors, site=site), Middleware(GZipMiddleware, minimum_size=1000)],
        exception_handlers={HTTPException: _http_problem},
    )
    made.state.has_ladder = arena.has_ladder
    return made


class _Handlers:
    """Admits requests, has their pages made, and answers them."""

    def __init__(self, feeds: Feeds, most_viewers: int) -> None:
        self._feeds = feeds
        self._most_viewers = most_viewers
        self._gone = 0
        self._gate = feeds.arena.gate

    def page(self, make: _MakePage, *, as_json: bool = False) -> _Answer:
        """Return the handler that answers with a page, or with the same as JSON."""

        async def answer(request: Request) -> Response:
            self._admit(request)
            if as_json:
                return JSONResponse((await make(self._feeds, request)).data())
            page = await make(self._feeds, request)
            return HTMLResponse(await asyncio.to_thread(page.html, Reader.of(request)))

        return self.shown(answer)

    def shown(self, answer: _Answer) -> _Answer:
        """Return the handler of a page, whose address may have a token and a language to keep."""

        async def show(request: Request) -> Response:
            token = request.query_params.get("token")
            if token is not None:
                url = request.url.remove_query_params("token")
                return self._enter(request, token, f"{url.path}?{url.query}" if url.query else url.path)
            chosen = None if request.url.path.endswith(".json") else check_language(request)
            response = await answer(request)
            if chosen is not None:
                response.headers.append("set-cookie", language_cookie(chosen))
            return response

        return self.answered(show)

    def download(self, make: Callable[[Feeds, Request], Awaitable[Response]]) -> _Answer:
        """Return the handler that answers with a file."""

        async def answer(request: Request) -> Response:
            self._admit(request)
            return await make(self._feeds, request)

        return self.answered(answer)

    def answered(self, answer: _Answer) -> _Answer:
        """Return a handler that answers errors too."""

        async def handle(request: Request) -> Response:
            try:
                return await answer(request)
            except HTTPException:
                raise
            except Exception as error:  # noqa: BLE001 - the boundary of a request
                return _problem_page(self._known(error), request)

        return handle

    def socket(
        self, follow: _Follow, admit_caller: Callable[[WebSocket], Principal] | None = None
    ) -> Callable[[WebSocket], Awaitable[None]]:
        """Return the handler of a socket, which counts as one of its caller's streams."""
        admit_caller = admit_caller or self._admit

        async def handle(socket: WebSocket) -> None:
            await socket.accept()
            try:
                caller = admit_caller(socket)
                if self._feeds.pace.viewers >= self._most_viewers:
                    text = f"{self._most_viewers} pages are open already, and no more are allowed"
                    raise ApiError(Reason.TOO_MANY_STREAMS, text, limit=str(self._most_viewers))
                async with self._gate.stream(caller):
                    await follow(socket, caller)
            except WebSocketDisconnect:
                return
            except Exception as error:  # noqa: BLE001 - the boundary of a socket
                known = self._known(error)
                status = 500 if known is None else http_status(known.reason.status)
                await socket.close(SOCKET_CODE + status)
            else:
                await socket.close()
            finally:
                self._note_gone()

        return handle

    def _note_gone(self) -> None:
        """Free the memory of sockets now and then: they are cycles, and the server seldom looks for those."""
        self._gone += 1
        if self._gone % _GONE_AT_ONCE == 0:
            asyncio.get_running_loop().call_later(_GONE_SECONDS, gc.collect)

    def follow_page(self, make: _MakePage) -> _Follow:
        """Return what sends a page again whenever it changes."""

        async def follow(socket: WebSocket, caller: Principal) -> None:
            request = Request({**socket.scope, "type": "http", "method": "GET"})
            # Callers who may see different things share no page.
            who = f"{caller.own_bot} {','.join(sorted(role.value for role in caller.roles))}"
            key = f"{who} {language_of(socket).code} {socket.url.path}?{socket.url.query}"
            await follow_page(
                socket,
                self._feeds,
                key=key,
                make=lambda: make(self._feeds, request),
                reader=Reader.of(socket),
            )

        return follow

    async def follow_match(self, socket: WebSocket, _: Principal) -> None:
        """Send the positions of a match."""
        match_id = socket.path_params["match_id"]
        plies = await self._feeds.of_match(match_id, language_of(socket))
        await follow_match(socket, plies, self._feeds.pace)

    async def take_token(self, request: Request) -> Response:
        """Take a token that somebody has typed."""
        fields = await read_form(request)
        target = fields.get("to", "/")
        # A path of this server; "//" would begin the name of another one.
        is_path = target.startswith("/") and not target.startswith(("//", "/\\"))
        return self._enter(request, fields.get("token", "").strip(), target if is_path else "/")

    def _enter(self, request: Request, token: str, target: str) -> Response:
        """Check a token, let the browser keep it, and go on to a page."""
        admit(self._feeds.arena, request, token)
        # A redirect would not do: to a browser that comes from another site it is still that site's
        # request, without the cookie.
        response = HTMLResponse(render("entered.html", {"target": target}, Reader.of(request)))
        response.headers["set-cookie"] = secret_cookie(request, COOKIE, token)
        return response

    def _admit(self, connection: HTTPConnection) -> Principal:
        return admit(self._feeds.arena, connection, shown_token(connection) or shown_seat(connection) or None)

    def _known(self, error: Exception) -> ApiError | None:
        """Return an error as callers get it, None for a failure of the server, and count it."""
        known = api_error_of(error)
        self._gate.refused[known.reason.name if known is not None else "INTERNAL"] += 1
        return known


def _problem_page(error: ApiError | None, request: Request) -> Response:
    """Return what is shown instead of a page that is refused; without an error the server failed."""
    if error is None:
        text = language_of(request).texts.gettext("The server failed; its log says why.")
        return _refusal(request, 500, "INTERNAL", text)
    status = 404 if error.reason is Reason.NO_LADDER else http_status(error.reason.status)
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


async def _http_problem(request: Request, error: Exception) -> Response:
    """Answer a request that no page is made for."""
    assert isinstance(error, HTTPException)
    text = error.detail
    if text == "Not Found":
        text = language_of(request).texts.gettext("There is no such page.")
    response = _refusal(request, error.status_code, "HTTP", text)
    response.headers.update(error.headers or {})
    return response


def _refusal(
    request: Request,
    status: int,
    reason: str,
    text: str,
    *,
    is_english: bool = False,
    asks_token: bool = False,
) -> Response:
    """Return the page, or the JSON, that says why a request is refused.

    `is_english`: the text is not translated. `asks_token`: the page has a form for a token.
    """
    if request.url.path.endswith(".json"):
        return JSONResponse({"reason": reason, "text": text}, status)
    values = {
        "status": status,
        "text": text,
        "is_english": is_english,
        "asks_token": asks_token,
        "target": request.url.path,
    }
    return HTMLResponse(render("problem.html", values, Reader.of(request)), status)
