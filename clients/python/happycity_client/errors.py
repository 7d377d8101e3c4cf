"""The SDK's own error."""

from __future__ import annotations

from happycity import HappyCityError


class ConnectionFailedError(HappyCityError):
    """The server can't be reached, refused the bot, or went away for too long."""

    def __init__(self, text: str, *, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason
        """The server's reason as in the contract, such as "REPLACED"; "" if it gave none."""
