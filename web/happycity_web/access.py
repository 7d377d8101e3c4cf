"""Access in the browser: tokens that it keeps, joining by an invitation, and who owns which tokens."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from google.protobuf.duration_pb2 import Duration
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from happycity.access.v1beta1 import access_service_pb2 as pb
from happycity_runtime.environment import SETTINGS_FILE
from happycity_runtime.guests import CA_FILE, Link, settings_text
from happycity_runtime.tokens import MAX_INVITED
from happycity_server.access.roles import principal
from happycity_web.answers import Fields, read_form
from happycity_web.guard import COOKIE, admit, keep_secret, shown_token
from happycity_web.query import Query, number_of, word_of
from happycity_web.render import Page, page_response
from happycity_web.watch import Feeds

JOIN_BYTES = 16 * 1024
"""The largest form of joining: a link has a certificate."""
OWN_TOKENS = "the page of an owner's tokens"


async def access_page(feeds: Feeds, request: Request, _: Query) -> Page:
    """Show the tokens of the caller's owner, and the invitations to an organiser."""
    principal().require_token(OWN_TOKENS)
    return await access_form(feeds, request, {}, "")


async def access_form(
    feeds: Feeds, _request: Request, fields: Fields, problem: str, *, link: str = ""
) -> Page:
    """Return the page, whose form is filled with fields; `link` is that of a new invitation."""
    arena, token = feeds.arena, principal().token
    values: dict[str, Any] = {"token": token, "fields": fields, "problem": problem, "link": link}
    values |= {"tokens": None, "invitations": None, "hosts": arena.hosting is not None}
    if token is not None and arena.may_call(arena.access.ListTokens):
        values["tokens"] = await arena.list_all(arena.access.ListTokens, "tokens")
    if token is not None and arena.may_call(arena.access.ListInvitations):
        values["invitations"] = await arena.list_all(arena.access.ListInvitations, "invitations")
    values |= {"role": token.role.value if token else "", "owner": token.owner if token else ""}
    return Page("access.html", values, ("owner", "role", "tokens", "invitations"))


async def join_form(_feeds: Feeds, _request: Request, fields: Fields, problem: str) -> Page:
    """Show the form of an invitation."""
    return Page("join.html", {"fields": fields, "problem": problem})


async def join(feeds: Feeds, request: Request, fields: Fields) -> Response:
    """Exchange an invitation for files of settings.

    A browser without a token acts with that of the first bot from then on.
    """
    bots = fields.get("bots", "").replace(",", " ").split()
    link = Link.parse(fields.get("link", ""))
    joined = await feeds.arena.access.Join(principal(), pb.JoinRequest(invitation=link.secret, bots=bots))
    tokens = {token.name: token.token for token in joined.tokens}
    response = _settings_page(request, link, joined.owner, tokens)
    if shown_token(request) is None:
        keep_secret(response, request, COOKIE, next(iter(tokens.values())))
    return response


async def change_access(feeds: Feeds, request: Request, fields: Fields) -> Response:
    """Renew or revoke tokens, or create or revoke an invitation, by the token that the browser has."""
    arena = feeds.arena
    revocations: dict[str, Any] = {
        "revoke": arena.access.RevokeToken,
        "withdraw": arena.access.RevokeInvitation,
    }
    act = word_of("act", fields.get("act", ""), ("renew", "invite", *revocations))
    if act == "renew":
        return await _renew(feeds, request)
    if act == "invite":
        return await _invite(feeds, request, fields)
    await arena.call(revocations[act], id=fields.get("id", ""))
    return RedirectResponse("/access", 303)


async def _renew(feeds: Feeds, request: Request) -> Response:
    """Replace all tokens of the owner; those before them are valid until the new ones are shown."""
    arena, caller = feeds.arena, principal().token
    assert caller is not None  # or there is no role for the calls
    tokens = {}
    for token in await arena.list_all(arena.access.ListTokens, "tokens"):
        renewed = await arena.call(arena.access.RenewToken, id=token.id)
        tokens[token.name] = renewed.token
    response = _settings_page(request, arena.access.link(), caller.owner, tokens)
    keep_secret(response, request, COOKIE, tokens[caller.name])
    return response


async def _invite(feeds: Feeds, request: Request, fields: Fields) -> Response:
    days = number_of("days", fields.get("days", ""), 1, 3650)
    made = await feeds.arena.call(
        feeds.arena.access.CreateInvitation,
        owner=fields.get("owner", "").strip(),
        bots=number_of("bots", fields.get("bots", ""), 1, MAX_INVITED),
        lifetime=Duration(seconds=days * 86400),
    )
    # The page's own address: a browser sends it with each form, also through a proxy.
    page = request.headers.get("origin") or str(request.base_url)
    link = str(replace(Link.parse(made.link), page=page))
    return page_response(request, await access_form(feeds, request, {}, "", link=link))


def _settings_page(request: Request, link: Link | None, owner: str, tokens: Mapping[str, str]) -> Response:
    """Return the page with an owner's new settings, which are kept nowhere.

    The files are part of it, so no script and no second request is needed to save them. Without a link to
    the server only the tokens are known.
    """
    server, ca = ("", "") if link is None else (str(link.server), link.ca)
    files = {SETTINGS_FILE: settings_text(server, CA_FILE if ca else "", tokens)}
    files |= {CA_FILE: ca} if ca else {}
    links = {name: b64encode(text.encode()).decode() for name, text in files.items()}
    values = {
        "owner": owner,
        "bots": list(tokens),
        "is_whole": link is not None,
        "files": files,
        "links": {name: f"data:text/plain;base64,{content}" for name, content in links.items()},
    }
    return page_response(request, Page("settings_file.html", values))


async def sign_in(_feeds: Feeds, request: Request) -> Response:
    """Show the form for a token."""
    return page_response(request, Page("sign_in.html", {"target": "/"}))


async def take_token(feeds: Feeds, request: Request) -> Response:
    """Take a token that was typed, or that a link has and its reader accepts."""
    fields = await read_form(request)
    target = fields.get("to", "/")
    # A path of this server; "//" would begin the name of another one.
    is_path = target.startswith("/") and not target.startswith(("//", "/\\"))
    return _enter(feeds, request, fields.get("token", "").strip(), target if is_path else "/")


def enter_by_link(feeds: Feeds, request: Request, token: str) -> Response:
    """Check the token of a link, and let the browser keep it.

    A link of another site, or one that would replace a token that the browser has, may be a trap: its
    reader would act with another bot's token from then on, and is asked first.
    """
    url = request.url.remove_query_params("token")
    target = f"{url.path}?{url.query}" if url.query else url.path
    held = admit(feeds.arena, request, token).token
    is_direct = request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    if held is None or (is_direct and shown_token(request) in (None, token)):
        return _enter(feeds, request, token, target)
    return page_response(
        request, Page("token_link.html", {"token": token, "target": target, "name": held.name})
    )


def _enter(feeds: Feeds, request: Request, token: str, target: str) -> Response:
    """Check a token, let the browser keep it, and go on to a page."""
    admit(feeds.arena, request, token)
    # A redirect would not do: to a browser that comes from another site it is still that site's
    # request, without the cookie.
    response = page_response(request, Page("entered.html", {"target": target}))
    keep_secret(response, request, COOKIE, token)
    return response
