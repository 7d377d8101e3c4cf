"""Why a bot can't play, or not on, in one line for its author."""

from __future__ import annotations

import happycity_runtime.transport  # noqa: F401 - before gRPC, which reads what this sets when it is imported
from happycity import HappyCityError


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


class IllegalChoiceError(HappyCityError):
    """What `choose` returned is not one of the moves."""
