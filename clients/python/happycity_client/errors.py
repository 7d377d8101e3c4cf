"""Why a bot can't play, in one line for its author."""

from __future__ import annotations

import os
import socket

from happycity import HappyCityError
from happycity.runtime.transport import Target, is_unix

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC reads it when it is imported: its errors are said here

PROBE_SECONDS = 2.0
"""How long a server may take for each step of a probe."""

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The beginning of a connection of HTTP/2, with an empty SETTINGS frame."""
_SETTINGS = b"\x04"
"""The type of such a frame, the fourth byte of a server's answer."""
_TLS = {
    "CERTIFICATE_VERIFY_FAILED": (
        "the certificate of {} is not trusted; set HAPPYCITY_CA to the file of its CA"
    ),
    "Hostname Verification Check failed": "the certificate of {} is for another name",
    "WRONG_VERSION_NUMBER": "{0} does not use TLS; write HAPPYCITY_SERVER=grpc://{0}",
}
"""What an error of TLS in gRPC's status means."""


class ConnectionFailedError(HappyCityError):
    """The server can't be reached, refused the bot, or went away for too long."""

    def __init__(self, text: str, *, reason: str = "", retry_seconds: float | None = None) -> None:
        super().__init__(text)
        self.reason = reason
        """The server's reason as in the contract, such as "REPLACED"; "" if it gave none."""
        self.retry_seconds = retry_seconds
        """How long to wait before another attempt, at least; None if another one is pointless."""


class TlsError(ConnectionFailedError):
    """One side uses TLS and the other one does not, or the server's certificate can't be verified."""


class ProtocolError(ConnectionFailedError):
    """The server sent what the protocol doesn't allow."""


def find_cause(target: Target, status: str) -> ConnectionFailedError | None:
    """Find out why a server can't be reached, from the text of gRPC's status and by a connection of its own.

    It blocks for some seconds at most, and returns None if nothing is wrong with that connection.
    """
    server = target.address
    for error, text in _TLS.items():
        if error in status:
            return TlsError(text.format(server))
    try:
        with _dial(server) as connection:
            if target.tls or _speaks_http2(connection):
                return None
    except socket.gaierror:
        text = f"the host name of {server} can't be resolved"
    except (ConnectionRefusedError, FileNotFoundError):
        text = f"nothing listens on {server}; start a server there with: happycity serve"
    except OSError as error:
        text = f"{server} can't be reached: {error.strerror or error}"
    else:
        text = (
            f"{server} does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://{server}"
        )
        return TlsError(text, retry_seconds=0.0)
    return ConnectionFailedError(text, retry_seconds=0.0)


def _dial(server: str) -> socket.socket:
    if not is_unix(server):
        host, _, port = server.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), PROBE_SECONDS)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(PROBE_SECONDS)
        connection.connect(server.removeprefix("unix:").removeprefix("//"))
    except OSError:
        connection.close()
        raise
    return connection


def _speaks_http2(connection: socket.socket) -> bool:
    """Return whether the server's first frame is that of HTTP/2."""
    received = b""
    try:
        connection.sendall(_PREFACE)
        while len(received) < 4 and (more := connection.recv(4 - len(received))):
            received += more
    except OSError:
        return False
    return received[3:] == _SETTINGS
