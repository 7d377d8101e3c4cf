"""Addresses to listen on: host:port, or a socket in the file system."""

from __future__ import annotations

import re
import socket
import sys


def host_and_port(address: str) -> tuple[str, int]:
    """Split host:port; the brackets of an IPv6 host are removed.

    Raises:
        ValueError: the address is something else.
    """
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.%\w]+\]|[^:\[\]]+):(\d{1,5})", address)
    if match is None or int(match[2]) > 65535:
        raise ValueError(f"{address!r} is not host:port, such as 127.0.0.1:50051")
    return match[1].strip("[]"), int(match[2])


def joined(host: str, port: int) -> str:
    """Return host:port; an IPv6 host gets its brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def socket_is_taken(address: str) -> bool:
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
