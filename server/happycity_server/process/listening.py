"""How a server and its workers listen: what bots use, options of gRPC, certificates, and who may connect."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import structlog

from happycity import ConfigError
from happycity_runtime.addresses import TrustedProxies
from happycity_runtime.tokens import TokenError
from happycity_runtime.transport import file_stamp, is_loopback, is_unix, read_authorities, read_certificate
from happycity_server.access.gate import Authenticator, Gate, RateLimits
from happycity_server.access.interceptor import AccessInterceptor
from happycity_server.access.token_file import TokenFile
from happycity_server.api.handlers import add_service
from happycity_server.api.play import CatalogueService, PlayService
from happycity_server.config import ServerSettings
from happycity_server.errors import ListenError
from happycity_server.play.lobby import Lobby
from happycity_server.process.programs import private_address

if TYPE_CHECKING:  # as in the interceptor
    from happycity_server.access.requests import Requests

MOST_WAITING = 100_000
"""Calls of a method that have come and are not looked at yet; each has some kilobytes."""
_OPTIONS = (
    # What gRPC receives ahead of a stream's reader: by default 4 MB, and more, without a limit, where the
    # machine is slow to answer.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 1024 * 1024),
    # Calls that wait for the event loop: of more than 1,000 of a method gRPC itself ends some as CANCELLED,
    # those of honest callers among them (grpc/grpc#34782).
    ("grpc.server.max_pending_requests", MOST_WAITING),
    ("grpc.server.max_pending_requests_hard_limit", MOST_WAITING),
    ("grpc.so_reuseport", 0),  # else a second server would share the port without a word
    ("grpc.max_send_message_length", 64 * 1024 * 1024),
    # Clients may ping as often as every 10 s without being disconnected, also while they have no call open.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # Connections without a call, or without even a handshake, are closed before they are many. A client's
    # channel connects again by itself.
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 30_000),
)
# A client whose machine has vanished is noticed. gRPC waits for the answer to a keepalive ping as long as to
# any ping, by default a minute.
_KEEPALIVE = (
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.ping_timeout_ms", 20_000),
)

_DAY_SECONDS = 86_400.0
_EXPIRES_SOON = timedelta(days=14)

_log = structlog.get_logger()

STREAM_CLOSE_SECONDS = 1.0
"""Grace period for open streams at the end."""
CONNECTIONS = 16
"""Connections of a program that has a socket of its own."""


class BotServer:
    """The gRPC server to which bots connect, with all that they use; a worker has one too."""

    def __init__(
        self,
        settings: ServerSettings,
        lobby: Lobby,
        authenticator: Authenticator,
        *,
        clock: Callable[[], float],
        requests: Requests | None = None,
        is_hosted: Callable[[str], bool] = lambda bot: False,
    ) -> None:
        """Prepare it for the bots of a lobby; `clock` returns seconds that never jump.

        `requests` answers calls that are repeated, where calls change anything, and `is_hosted` returns
        whether only the server itself may run the program of a bot.
        """
        self.gate = Gate(
            authenticator,
            rates=RateLimits(rate=settings.calls_per_second, burst=settings.calls_burst, clock=clock),
            streams_per_token=settings.streams_per_token,
            streams_per_peer=settings.streams_per_peer,
            proxies=TrustedProxies(settings.trusted_proxy),
        )
        self.play = PlayService(lobby, hello_seconds=settings.hello_time, is_hosted=is_hosted)
        self._started = asyncio.Event()
        self._settings, self._requests = settings, requests
        self._lobby = lobby
        self.grpc = self._listener()

    def _listener(self, *more: tuple[str, int]) -> grpc.aio.Server:
        """Return a server of gRPC that has what bots use, with more options."""
        interceptors = (AccessInterceptor(self.gate, self._requests),)
        server = grpc.aio.server(interceptors=interceptors, options=(*server_options(self._settings), *more))
        self.play.add_to(server)
        add_service(server, CatalogueService())
        return server

    @asynccontextmanager
    async def arena_of_one(self) -> AsyncIterator[str]:
        """Yield the address of a socket for one program, for what bots use, once that is served.

        ListenError if there can be none.
        """
        await self._started.wait()
        listener = self._listener(("grpc.max_allowed_incoming_connections", CONNECTIONS))
        with private_address() as private:
            address = bind(listener, private, None)
            await listener.start()
            try:
                yield address
            finally:
                await listener.stop(STREAM_CLOSE_SECONDS)

    async def start(self) -> None:
        """Serve, and notice what is due by the clock."""
        self._lobby.start_sweeping()
        self.gate.start_sweeping()
        await self.grpc.start()
        self._started.set()

    async def stop(self) -> None:
        """End all calls; sessions have been asked to end their streams by themselves."""
        self.gate.stop_sweeping()
        self._lobby.stop_sweeping()
        await self.grpc.stop(STREAM_CLOSE_SECONDS)


def server_options(settings: ServerSettings) -> tuple[tuple[str, int], ...]:
    """Return how gRPC serves bots."""
    own = (
        ("grpc.max_receive_message_length", settings.message_bytes),
        # On each connection. Calls beyond it wait in the client, so refusals must come before it is reached.
        ("grpc.max_concurrent_streams", 2 * settings.streams_per_peer),
    )
    # A debugger may stop a whole process, for as long as its user likes.
    return (*_OPTIONS, *own) if settings.no_clock else (*_OPTIONS, *own, *_KEEPALIVE)


def tokens_of(settings: ServerSettings) -> TokenFile | None:
    """Open the tokens file; None if every caller may do everything."""
    if settings.open:
        return None
    try:
        return TokenFile(settings.tokens)
    except FileNotFoundError:
        if "tokens" not in settings.model_fields_set and not settings.public:
            return None
        raise TokenError(
            f"--tokens: there is no file {settings.tokens}; create it with: "
            f"happycity token create --role organiser --name NAME --tokens {settings.tokens}"
        ) from None


def check_exposure(settings: ServerSettings, *, has_tokens: bool) -> None:
    """Refuse to be reached from other machines without tokens or encryption, unless that was asked for."""
    addresses = {"listen": settings.listen, "web": settings.web}
    exposed = [name for name, address in addresses.items() if address and not is_loopback(address)]
    if settings.insecure or not exposed:
        return
    missing = []
    if not has_tokens:
        missing.append("tokens (happycity token create --role organiser --name NAME)")
    if settings.tls_cert is None:
        missing.append("TLS (--tls-cert and --tls-key)")
    if missing:
        raise ListenError(
            f"{exposed[0]}: {addresses[exposed[0]]} can be reached from other machines, so the server needs "
            f"{' and '.join(missing)}; --insecure does without where the network is trusted"
        )


def bind(server: grpc.aio.Server, listen: str, certificate: CertificateFiles | None) -> str:
    """Let a server listen at an address; return that with the port that it got, else ListenError."""
    bound = 0
    # gRPC would take a socket in the file system away from the server that listens on it.
    if not _socket_is_taken(listen):
        with suppress(RuntimeError):
            if certificate is None:
                bound = server.add_insecure_port(listen)
            else:
                bound = server.add_secure_port(listen, certificate.grpc_credentials())
    if not bound:
        raise ListenError(
            f"--listen: {listen} can't be listened on; another program may use the port "
            "(choose another, or port 0 for any free one)"
        )
    return listen if is_unix(listen) else f"{listen.rpartition(':')[0]}:{bound}"


def _socket_is_taken(address: str) -> bool:
    """Return whether a program listens on a socket in the file system; False for all other addresses."""
    if sys.platform == "win32" or not address.startswith("unix:"):
        return False
    path = address.removeprefix("unix:")
    with socket.socket(socket.AF_UNIX) as attempt:
        try:
            attempt.connect(path.removeprefix("//"))
        except OSError:
            return False
        return True


def log_periods(path: Path, now: datetime) -> None:
    """Log which certificates of a file end soon, have ended or aren't valid yet."""
    from cryptography.x509 import load_pem_x509_certificates  # noqa: PLC0415 - servers without TLS do without

    try:
        certificates = load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError):  # it is being replaced, which `CertificateFiles` logs
        return
    for certificate in certificates:
        first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        details = {"path": str(path), "subject": certificate.subject.rfc4514_string()}
        if now < first:
            text = f"it is valid from {first:%Y-%m-%d %H:%M} UTC, and the clock of this machine says "
            _log.error("certificate_not_yet_valid", text=f"{text}{now:%Y-%m-%d %H:%M} UTC", **details)
        elif now > last:
            text = f"it ended on {last:%Y-%m-%d %H:%M} UTC: clients refuse it; renew it"
            _log.error("certificate_expired", text=text, **details)
        elif now > last - _EXPIRES_SOON:
            text = f"it ends on {last:%Y-%m-%d %H:%M} UTC; renew it before"
            _log.warning("certificate_expires_soon", text=text, **details)


class CertificateFiles:
    """A server's certificate, its key and perhaps the CA of its clients, as their files are at the moment.

    Each new connection looks whether the files changed; connections that stand go on. Threads may share it.
    Files that can't be used at the start are a ConfigError.
    """

    def __init__(self, cert: Path, key: Path, client_ca: Path | None = None) -> None:
        """Read the files, in PEM; with `client_ca`, clients must show a certificate that it has signed."""
        self._cert, self._key, self._client_ca = cert, key, client_ca
        self._certificates = (cert,) if client_ca is None else (cert, client_ca)
        self._lock = threading.Lock()
        self._stamp = self._now()
        self._configuration, self._context = self._read()

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Return what a gRPC server encrypts with, which takes up renewed files by itself."""
        used = self._configuration

        def renewed() -> grpc.ServerCertificateConfiguration | None:
            """Return what a connection that begins is to use; None if that didn't change."""
            nonlocal used
            self._refresh()
            if used is self._configuration:
                return None
            used = self._configuration
            return used

        return grpc.dynamic_ssl_server_credentials(
            used,
            renewed,  # type: ignore[arg-type]  # the stubs don't know that it may return None
            require_client_authentication=self._client_ca is not None,
        )

    def context(self) -> ssl.SSLContext:
        """Return a context with the current certificate, for other servers; it demands none of clients."""
        self._refresh()
        return self._context

    def _refresh(self) -> None:
        """Read the files if they changed. Files that can't be used are logged once, and change nothing."""
        with self._lock:
            stamp = self._now()
            if stamp == self._stamp:
                return
            try:
                renewed = self._read()
                if self._now() != stamp:  # they were written meanwhile: the next connection reads them
                    return
                self._configuration, self._context = renewed
                _log.info("certificate_read", path=str(self._cert))
            except ConfigError as error:
                _log.error("certificate_unusable", text=f"{error}; the certificate read before stays in use")
            self._stamp = stamp

    async def watch(self, now: Callable[[], float]) -> None:
        """Log at once and then daily which certificates end soon, have ended or aren't valid yet.

        `now` returns Unix time in seconds.
        """
        while True:
            for path in self._certificates:
                log_periods(path, datetime.fromtimestamp(now(), UTC))
            await asyncio.sleep(_DAY_SECONDS)

    def _read(self) -> tuple[grpc.ServerCertificateConfiguration, ssl.SSLContext]:
        chain, key = read_certificate(self._cert, self._key, settings=("--tls-cert", "--tls-key"))
        authorities = None if self._client_ca is None else read_authorities(self._client_ca, "--client-ca")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self._cert, self._key)
        except (OSError, ssl.SSLError):  # replaced since it was checked
            raise ConfigError(
                f"--tls-cert, --tls-key: {self._cert} and {self._key} are being written"
            ) from None
        return grpc.ssl_server_certificate_configuration([(key, chain)], authorities), context

    def _now(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(map(file_stamp, (self._key, *self._certificates)))


def certificate_of(settings: ServerSettings) -> CertificateFiles | None:
    """Return the files by which a server encrypts; None if it doesn't."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return CertificateFiles(settings.tls_cert, settings.tls_key, settings.client_ca)


def print_line(content: Mapping[str, object]) -> None:
    """Print a line of JSON, which programs read."""
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


def on_stdin_end(handler: Callable[[], object]) -> None:
    """Call `handler` from another thread when the standard input ends."""

    def watch() -> None:
        with suppress(OSError):
            while os.read(0, 4096):
                pass
        handler()

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def raise_file_limit() -> None:
    """Allow as many open connections as the system lets this process have."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not everywhere

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems have limits beside the one that they report
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
