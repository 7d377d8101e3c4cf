"""How processes of a server listen: options of gRPC, certificates, tokens, and who may reach them."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import grpc

from happycity import HappyCityError
from happycity.runtime.tokens import TokenError, TokenFile
from happycity.runtime.transport import is_loopback, is_unix
from happycity_server.config import ServerSettings
from happycity_server.process.tls import CertificateFiles

_OPTIONS = (
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


class ListenError(HappyCityError):
    """The address can't be listened on, or must not be in this way."""


def server_options(settings: ServerSettings) -> tuple[tuple[str, int], ...]:
    """Return the options of the gRPC server to which bots connect."""
    own = (
        ("grpc.max_receive_message_length", settings.message_bytes),
        # On each connection. Calls beyond it wait in the client, so refusals must come before it is reached.
        ("grpc.max_concurrent_streams", 2 * settings.streams_per_peer),
    )
    # A debugger may stop a whole process, for as long as its user likes.
    return (*_OPTIONS, *own) if settings.no_clock else (*_OPTIONS, *own, *_KEEPALIVE)


def tokens_of(settings: ServerSettings) -> TokenFile | None:
    """Open the tokens file; None if everybody may do everything."""
    if settings.open:
        return None
    try:
        return TokenFile(settings.tokens)
    except FileNotFoundError:
        if "tokens" not in settings.model_fields_set:
            return None
        raise TokenError(
            f"tokens: there is no file {settings.tokens}; create it with: "
            f"happycity token create --role organiser --name NAME --tokens {settings.tokens}"
        ) from None


def check_exposure(settings: ServerSettings, tokens: TokenFile | None) -> None:
    """Refuse to be reached from other machines without tokens or encryption, unless that was asked for."""
    addresses = {"listen": settings.listen, "web": settings.web}
    exposed = [name for name, address in addresses.items() if address and not is_loopback(address)]
    if settings.insecure or not exposed:
        return
    missing = []
    if tokens is None:
        missing.append("tokens (happycity token create --role organiser --name NAME)")
    if settings.tls_cert is None:
        missing.append("TLS (--tls-cert and --tls-key)")
    if missing:
        raise ListenError(
            f"{exposed[0]}: {addresses[exposed[0]]} can be reached from other machines, so the server needs "
            f"{' and '.join(missing)}; --insecure does without where the network is trusted"
        )


def bind(server: grpc.aio.Server, listen: str, certificate: CertificateFiles | None) -> str:
    """Let a server listen at an address; return that with the port that it got.

    Raises:
        ListenError: it can't be listened on.
    """
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
            f"listen: {listen} can't be listened on; another program may use the port "
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


def certificate_of(settings: ServerSettings) -> CertificateFiles | None:
    """Return the files by which a server encrypts; None if it doesn't.

    Raises:
        ConfigError: a certificate or key can't be used.
    """
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return CertificateFiles(settings.tls_cert, settings.tls_key, settings.client_ca)


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
