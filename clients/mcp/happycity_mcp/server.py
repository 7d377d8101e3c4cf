"""The MCP server, over the standard streams or over HTTP."""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from math import ceil
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from happycity import ConfigError
from happycity.errors import FieldError
from happycity_client import Settings
from happycity_mcp.agents import MAX_AGENTS, Agents
from happycity_mcp.standard_input import closable_stdin
from happycity_mcp.tools import INSTRUCTIONS, Tools
from happycity_runtime.addresses import TrustedProxies, network_of
from happycity_runtime.event_loop import running
from happycity_runtime.http import HttpLimits, http_served
from happycity_runtime.rates import TokenBuckets
from happycity_runtime.transport import is_loopback, join_host_port, split_host_port

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
TOKEN_VARIABLE = "HAPPYCITY_MCP_TOKEN"  # noqa: S105 - its name
"""Holds the bearer token that clients have to show over HTTP."""
REQUEST_BYTES = 64 * 1024
"""The largest request."""
MAX_CONNECTIONS = 8 * MAX_AGENTS
"""Connections that may be open; for a further one, an address with more of them loses one."""
CALLS_PER_SECOND, CALLS_AT_ONCE = 100.0, 1000
"""Calls of one address: its rate, and how many may come at once after a pause. As many as a server allows."""
STOP_SECONDS = 1

_log = logging.getLogger("happycity_mcp")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Where the server listens for HTTP, and who may call."""

    address: str
    """HOST:PORT."""
    token: str = ""
    """What clients have to show; "" asks for none."""
    allowed_hosts: Sequence[str] = ()
    """Names besides the address by which clients may reach it, such as a proxy's."""
    trusted_proxies: str = ""
    """Networks of the reverse proxies that say for whom they ask, CIDR, separated by commas."""

    def check(self) -> None:
        """Refuse, by a ConfigError, what can't be listened on, or would be open to the world."""
        flag = "--http"
        try:
            split_host_port(self.address)
            flag = "--trusted-proxy"
            TrustedProxies(self.trusted_proxies)
        except ValueError as error:
            raise FieldError(flag, f"{error}") from None
        if not self.token and not is_loopback(self.address):
            raise ConfigError(
                f"--http: {self.address} can be reached from other machines, so it needs a token: put one "
                f"into {TOKEN_VARIABLE}, or listen on 127.0.0.1"
            )


async def serve_stdio(settings_of: Callable[[str], Settings]) -> None:
    """Serve one agent over the standard streams, until its client closes them."""
    with closable_stdin() as close_stdin:
        async with _serving(settings_of, is_shared=False) as server:
            serving = asyncio.create_task(server.run_stdio_async())
            try:
                await asyncio.shield(serving)
            finally:
                close_stdin()
                await serving


async def serve_http(settings_of: Callable[[str], Settings], http: HttpSettings) -> None:
    """Serve agents over streamable HTTP until this is cancelled; ConfigError if it can't listen there."""
    async with serving_http(settings_of, http) as url:
        _log.info("MCP server: %s", url)
        await asyncio.Event().wait()


@asynccontextmanager
async def serving_http(settings_of: Callable[[str], Settings], http: HttpSettings) -> AsyncIterator[str]:
    """Serve agents over streamable HTTP while the context lasts; yield the URL.

    ConfigError if the address can't be listened on.
    """
    http.check()
    with _listener(http) as listener:
        async with (
            _serving(settings_of, is_shared=True) as server,
            http_served(
                _uvicorn_config(_application(server, http)),
                listener,
                HttpLimits(connections=MAX_CONNECTIONS, proxies=TrustedProxies(http.trusted_proxies)),
            ),
        ):
            host, _ = split_host_port(http.address)
            yield f"http://{join_host_port(host, listener.getsockname()[1])}{PATH}"


def _application(server: MCPServer[Any], http: HttpSettings) -> ASGIApp:
    application = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=REQUEST_BYTES,
        stateless_http=True,  # an agent shows its key, so nothing has to be kept for a session
        transport_security=_transport_security(http),
        host=split_host_port(http.address)[0],
    )
    return _Guarded(application, http.token)


@asynccontextmanager
async def _serving(
    settings_of: Callable[[str], Settings], *, is_shared: bool
) -> AsyncIterator[MCPServer[Any]]:
    """Yield a server with its tools; at the end all agents leave the arena."""
    agents = Agents(settings_of, asyncio.get_running_loop().time, is_shared=is_shared)
    server = mcp_server(agents)
    async with running(*([agents.sweep()] if is_shared else ())):
        try:
            yield server
        finally:
            await agents.close()


def mcp_server(agents: Agents) -> MCPServer[Any]:
    """Return a server with all tools."""
    server: MCPServer[Any] = MCPServer(
        "happycity",
        title="Happy City arena",
        instructions=INSTRUCTIONS,
        version=version("happycity"),
        log_level="WARNING",
    )
    Tools(agents).add_to(server)
    return server


def _transport_security(http: HttpSettings) -> TransportSecuritySettings:
    """Return which Host and Origin headers are served, so that no web page can call a server on loopback."""
    local = ("127.0.0.1", "localhost", "[::1]") if is_loopback(http.address) else ()
    hosts = [*local, *http.allowed_hosts]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts),
        allowed_hosts=[pattern for host in hosts for pattern in (host, f"{host}:*")],
        allowed_origins=[
            f"{scheme}://{pattern}"
            for scheme in ("http", "https")
            for host in hosts
            for pattern in (host, f"{host}:*")
        ],
    )


def _listener(http: HttpSettings) -> socket.socket:
    host, port = split_host_port(http.address)
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigError(f"--http: can't listen on {http.address}: {error.strerror or error}") from None


def _uvicorn_config(application: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws="none",
    )


class _Guarded:
    """Serves only those who show a bearer token, if there is one, and no caller more often than its rate."""

    def __init__(self, application: ASGIApp, token: str) -> None:
        self._application = application
        self._expected = f"Bearer {token}".encode() if token else b""
        self._rates = TokenBuckets(
            rate=CALLS_PER_SECOND, burst=CALLS_AT_ONCE, clock=asyncio.get_running_loop().time
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._refusal(scope) if scope["type"] == "http" else None
        await (answer or self._application)(scope, receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """Return what a caller hears that may not call, or not now; trying tokens is limited too."""
        client = scope.get("client") or ("",)
        if seconds := self._rates.wait(network_of(client[0])):
            text = f"more than {CALLS_PER_SECOND:g} calls a second; try again later\n"
            return PlainTextResponse(text, 429, headers={"Retry-After": str(ceil(seconds))})
        shown = Headers(scope=scope).get("authorization", "")
        if self._expected and not hmac.compare_digest(shown.encode(), self._expected):
            return PlainTextResponse(
                "a bearer token is needed\n", 401, headers={"WWW-Authenticate": "Bearer"}
            )
        return None
