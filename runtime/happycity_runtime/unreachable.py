"""Why there is no connection to a server, in one line for a person."""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from happycity.match import one_line
from happycity.wire.status import details_of
from happycity_runtime.transport import Target, split_host_port, uses_proxy

if TYPE_CHECKING:
    import grpc

_NOBODY = "nothing listens on {0}; start a server there with: happycity serve"
_NO_HTTP_2 = "{0} does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://{0}"
_CAUSES = {
    "errors resolving": "the host name of {0} can't be resolved",
    "DNS resolution failed": "the host name of {0} can't be resolved",
    "Connection refused": _NOBODY,
    "No such file or directory": _NOBODY,
    "certificate has expired": "the certificate of {0} has expired{1}; its organiser has to renew it",
    "certificate is not yet valid": "the certificate of {0} is not yet valid{1}; set a clock that is wrong",
    "CERTIFICATE_VERIFY_FAILED": (
        "the certificate of {0} is not trusted; set HAPPYCITY_CA to the file of its CA"
    ),
    "Hostname Verification Check failed": "the certificate of {0} is for another name",
    "WRONG_VERSION_NUMBER": "{0} does not use TLS; write HAPPYCITY_SERVER=grpc://{0}",
    "missing selected ALPN": (
        "{0} uses TLS, but does not speak gRPC: if it is the port of the pages, the game has another one"
    ),
}
"""What it means that gRPC could not connect, by a part of its text."""
_CAUSES_WITHOUT_TLS = {
    "http1.x server": (
        "{0} speaks HTTP/1.1 without TLS: if it is the port of the pages, the game has another one"
    ),
    **dict.fromkeys(("Socket closed", "Connection reset", "SETTINGS frame"), _NO_HTTP_2),
}
_CAUSES_WITH_TLS = {
    "Socket closed": "{0} hangs up; if it asks for certificates, set HAPPYCITY_CERT and HAPPYCITY_KEY"
}
_NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL: a period that is over, or has not begun, is no error."""
_HANDSHAKE_SECONDS = 5.0


def is_lost(error: grpc.aio.AioRpcError) -> bool:
    """Return whether a call ended because its connection did, and not because of what the server says.

    gRPC makes these statuses of its own, the second one of calls that meet a server that closes.
    """
    return error.code().name in ("UNAVAILABLE", "CANCELLED") and not details_of(error).reason


def failure(target: Target, error: grpc.aio.AioRpcError, *, ca: Path | None = None) -> str:
    """Return why a call to a server failed: what the server says, or why there is no connection."""
    said = error.details() or error.code().name
    if is_lost(error):
        return unreachable(target, said, ca=ca)
    return f"{target.address}: {one_line(said)}"


def unreachable(target: Target, status: str, *, ca: Path | None = None) -> str:
    """Return why there is no connection to a server, from the text of gRPC's status.

    `ca` is the file of the certificates that are trusted: by it, the period of the server's certificate is
    read. A proxy through which the connection would go is named by its variable.
    """
    said = f"{target.address} can't be reached: {one_line(status)}"
    proxy = proxy_variable(target)
    if status.startswith(("failed to connect", "errors resolving", "DNS resolution failed")):
        for part, text in (_CAUSES | (_CAUSES_WITH_TLS if target.tls else _CAUSES_WITHOUT_TLS)).items():
            if part in status and not (proxy and "CERT" not in part.upper()):
                period = _period(target, ca) if "{1}" in text and not proxy else ""
                said = text.format(target.address, period)
                break
    if proxy:
        host = target.address.rpartition(":")[0]
        said += f"; the connection goes through the proxy of the variable {proxy}, unless no_proxy has {host}"
    return said


def proxy_variable(target: Target) -> str:
    """Return the variable of the proxy through which gRPC connects to a server; "" if it uses none."""
    if not uses_proxy(target):
        return ""
    host = target.address.rpartition(":")[0].strip("[]").casefold()
    first, second = map(os.environ.get, ("no_grpc_proxy", "no_proxy"))
    without = second or "" if first is None else first
    if any(host.endswith(end.casefold()) for end in filter(None, map(str.strip, without.split(",")))):
        return ""
    return next((name for name in ("grpc_proxy", "https_proxy", "http_proxy") if os.environ.get(name)), "")


def _period(target: Target, ca: Path | None) -> str:
    """Return when a server's certificate is valid, if that can be read, and this machine's time."""
    shown = ""
    with suppress(OSError, ValueError, KeyError):
        context = ssl.create_default_context(cafile=ca)
        context.check_hostname = False
        context.verify_flags |= _NO_CHECK_TIME
        address = split_host_port(target.address)
        with (
            socket.create_connection(address, _HANDSHAKE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=address[0]) as encrypted,
        ):
            certificate = encrypted.getpeercert() or {}
        ends = (ssl.cert_time_to_seconds(str(certificate[end])) for end in ("notBefore", "notAfter"))
        shown = "valid from {} to {}, ".format(*map(_utc, ends))
    return f" ({shown}and this machine's clock says {_utc(datetime.now(UTC).timestamp())})"


def _utc(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
