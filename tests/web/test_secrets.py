"""No secret that a caller shows, or has in an address, is in the log: not of any page, nor of any method."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio
import websockets
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from starlette.routing import Mount, Route, WebSocketRoute
from structlog.testing import capture_logs
from tests.server import harness as h
from tests.waiting import LIMIT
from tests.web.sockets import socket_of

from happycity_runtime.tokens import Role
from happycity_server.access.roles import ROLES
from happycity_server.access.token_file import SecretCall, add_invitation
from happycity_server.process.logs import sanitize
from happycity_web import app, serve

pytestmark = [pytest.mark.level(3), pytest.mark.asyncio(loop_scope="session")]

METHODS = ("GET", "POST", "PUT", "OPTIONS", "SEEK")
NUMBERS = {"tournament_id", "match_id", "challenge_id"}
"""Parts of paths that hold a number."""


@dataclass
class Arena:
    channel: grpc.aio.Channel
    client: httpx.AsyncClient
    metadata: h.Metadata
    routes: list[Any]
    secrets: dict[str, str]
    """By what they are."""


@pytest_asyncio.fixture(loop_scope="session")
async def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Arena]:
    """Yield a server with pages, at which one secret of each kind is valid, but for an invitation used up."""
    made: list[Any] = []
    application = app.application

    def kept(*args: Any) -> Any:
        made.append(application(*args))
        return made[-1]

    monkeypatch.setattr(serve, "application", kept)
    tokens, now = tmp_path / "tokens.json", datetime.now(UTC)
    token = h.issued_token(tokens, Role.ORGANISER, "olga")
    invitation = add_invitation(tokens, "Team 1", 1, seconds=int(LIMIT), call=SecretCall(now))[0]
    limits: dict[str, Any] = {"calls_burst": 1_000_000, "streams_per_token": 1000, "streams_per_peer": 1000}
    async with (
        h.serving(tmp_path, web="127.0.0.1:0", tokens=tokens, **limits) as (server, channel),
        httpx.AsyncClient(timeout=LIMIT, base_url=server.web or "") as client,
    ):
        secrets = {"token": token, "invitation": invitation, **await taken_seats(client, token)}
        client.cookies.clear()
        yield Arena(channel, client, h.bearer(token), made[0].routes, secrets)


async def taken_seats(client: httpx.AsyncClient, token: str) -> dict[str, str]:
    """Set up a table and take a seat there; return the secrets of both seats, and of the link to the second.

    The link is used up by then.
    """
    form = {"name": "Ann", "seat1": "me", "seat2": "invite"}
    own = await client.post("/play", data=form, headers={"authorization": f"Bearer {token}"})
    (host,) = client.cookies.values()
    address = f"{client.base_url}".rstrip("/") + own.headers["location"]
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    async with socket_of(address, additional_headers={"cookie": cookie}) as socket:
        await socket.send('{"invite": 1}')
        links = (said["link"] async for text in socket if "link" in (said := json.loads(text)))
        link = await anext(links)
    client.cookies.clear()
    await client.post(link, data={"name": "Ben"})
    (guest,) = client.cookies.values()
    return {"seat": host, "other seat": guest, "link": link.rpartition("/")[2]}


def addresses(routes: list[Any], secrets: dict[str, str]) -> Iterator[str]:
    """Yield an address of each route for each secret, and some that have none."""
    for route in routes:
        if isinstance(route, Mount):
            yield from (f"{route.path}/{secret}" for secret in secrets.values())
            continue
        assert isinstance(route, Route | WebSocketRoute)
        for secret in secrets.values():
            if "bot" in route.param_convertors and not secret.startswith("hc"):
                continue  # what has no form of a secret is taken for a name
            path = route.path_format
            for name in route.param_convertors:
                path = path.replace(f"{{{name}}}", "1" if name in NUMBERS else secret)
            yield path
            if not route.param_convertors:
                break
    for secret in secrets.values():
        yield from (f"/{secret}", f"/seats/{secret}/more", f"/seats//{secret}", f"/seats/{secret}.json")
        yield from (f"/invitations/{secret}%0A", f"/nothing/{secret}", f"//{secret}", f"/Seats/{secret}")


class Log:
    """All that is logged while it is open, as it is written."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        self._entries: list[Any] = []

    def leaks(self, secrets: dict[str, str]) -> dict[str, list[str]]:
        """Return the lines that have a secret in them, by what it is."""
        lines = [str(sanitize(None, "", dict(entry))) for entry in self._entries]
        lines += [str(sanitize(None, "", {"text": record.getMessage()})) for record in self._caplog.records]
        lines += [
            str(sanitize(None, "", {"exception": record.exc_text or ""})) for record in self._caplog.records
        ]
        found = {what: [line for line in lines if secret in line] for what, secret in secrets.items()}
        assert any(lines)
        return {what: lines for what, lines in found.items() if lines}

    def __enter__(self) -> "Log":
        self._capture = capture_logs()
        self._entries = self._capture.__enter__()
        self._caplog.set_level(logging.WARNING)  # as `configure` has it
        return self

    def __exit__(self, *args: Any) -> None:
        self._capture.__exit__(*args)


async def test_no_page_logs_a_secret(arena: Arena, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is done with an address: the log has its route, which is enough to find what is wrong."""
    port = arena.client.base_url.port
    cookies = {f"happycity-{port}": "token", f"happycity-seat-{port}": "seat"}
    cookie = {"cookie": "; ".join(f"{name}={arena.secrets[what]}" for name, what in cookies.items())}
    form = dict.fromkeys(("name", "to", "id", "act", "bots", "seat1"), arena.secrets["seat"])
    form |= {"token": arena.secrets["other seat"], "link": arena.secrets["link"]}
    # What is known by its form is left out anywhere; an address has no secret even without that.
    shown = {"without a form": "u_O0Pi4gvbVvWCvzx9GdWdC9pAk9Vyo8shP5eonrCtE", "seat": arena.secrets["seat"]}

    async def try_all(address: str) -> None:
        for method in METHODS:
            kind: dict[str, Any] = {"data": form} if method == "POST" else {}
            with suppress(httpx.InvalidURL):
                await arena.client.request(method, address, headers=cookie, **kind)
        with suppress(websockets.InvalidStatus, websockets.ConnectionClosed, websockets.InvalidURI):
            url = f"{arena.client.base_url}".rstrip("/") + address
            async with socket_of(url, additional_headers=cookie) as socket:
                await socket.send(json.dumps({"answer": arena.secrets["seat"]}))

    with Log(caplog) as log:
        await asyncio.gather(*map(try_all, addresses(arena.routes, shown)))
        for secret in arena.secrets.values():
            await arena.client.get("/", params={"token": secret})
    assert not log.leaks(shown)


def filled(described: Descriptor, secret: str, depth: int = 3) -> Any:
    """Return a message that has a secret in all its texts."""
    message = GetMessageClass(described)()
    for part in described.fields:
        if part.type == FieldDescriptor.TYPE_STRING:
            value: Any = secret
        elif depth and part.message_type is not None and not part.message_type.GetOptions().map_entry:
            value = filled(part.message_type, secret, depth - 1)
        else:
            continue
        message.MergeFrom(type(message)(**{part.name: [value] if part.is_repeated else value}))
    return message


async def test_no_method_logs_a_secret(arena: Arena, caplog: pytest.LogCaptureFixture) -> None:
    """In whatever field of a request it is, for a caller with a token and without, and in the metadata."""
    with Log(caplog) as log:
        for path in [*ROLES, "/happycity.v1.Nothing/Nothing"]:
            for secret in arena.secrets.values():
                request = b""
                if "Nothing" not in path:
                    request = filled(h.method_named(path).input_type, secret).SerializeToString()
                for metadata in (arena.metadata, h.bearer(secret), ()):
                    with suppress(grpc.aio.AioRpcError, KeyError):
                        await h.called(arena.channel, path, metadata, request)
    assert not log.leaks(arena.secrets)
