"""Why a bot can't play, in one line for its author."""

from __future__ import annotations

import os

from happycity import HappyCityError
from happycity.match import one_line
from happycity.runtime.transport import Target

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC reads it when it is imported: its errors are said here

_NOBODY = "nothing listens on {0}; start a server there with: happycity serve"
_NO_HTTP_2 = "{0} does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://{0}"
_CAUSES = {
    "errors resolving": "the host name of {0} can't be resolved",
    "Connection refused": _NOBODY,
    "No such file or directory": _NOBODY,
    "CERTIFICATE_VERIFY_FAILED": (
        "the certificate of {0} is not trusted; set HAPPYCITY_CA to the file of its CA"
    ),
    "Hostname Verification Check failed": "the certificate of {0} is for another name",
    "WRONG_VERSION_NUMBER": "{0} does not use TLS; write HAPPYCITY_SERVER=grpc://{0}",
}
"""What it means that gRPC could not connect, by a part of its text."""
_CAUSES_WITHOUT_TLS = dict.fromkeys(("Socket closed", "Connection reset", "SETTINGS frame"), _NO_HTTP_2)
"""The same, where TLS is not used."""


class ConnectionFailedError(HappyCityError):
    """The server can't be reached, refused the bot, or went away for too long."""

    def __init__(self, text: str, *, reason: str = "", retry_seconds: float | None = None) -> None:
        super().__init__(text)
        self.reason = reason
        """The server's reason as in the contract, such as "REPLACED"; "" if it gave none."""
        self.retry_seconds = retry_seconds
        """How long to wait before another attempt, at least; None if another one is pointless."""


class ProtocolError(ConnectionFailedError):
    """The server sent what the protocol doesn't allow."""


def unreachable(target: Target, status: str) -> str:
    """Return why there is no connection to a server, from the text of gRPC's status."""
    if status.startswith(("failed to connect", "errors resolving")):
        for part, text in (_CAUSES if target.tls else _CAUSES | _CAUSES_WITHOUT_TLS).items():
            if part in status:
                return text.format(target.address)
    return f"{target.address} can't be reached: {one_line(status)}"
