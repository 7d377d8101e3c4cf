"""Addresses to listen on and to call: host:port, or a socket in the file system."""

from __future__ import annotations

import re
import socket
import sys
from ipaddress import ip_address


def is_unix(address: str) -> bool:
    """Tell whether an address is a socket in the file system."""
    return address.startswith(("unix:", "unix-abstract:"))


def host_and_port(address: str) -> tuple[str, int]:
    """Split host:port; an IPv6 host is in brackets, which are taken off.

    Raises:
        ValueError: the address is something else.
    """
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.%\w]+\]|[^:\[\]]+):(\d{1,5})", address)
    if match is None or int(match[2]) > 65535:
        raise ValueError(f"{address!r} is not host:port, such as 127.0.0.1:50051")
    return match[1].strip("[]"), int(match[2])


def is_loopback(address: str) -> bool:
    """Tell whether an address can be reached from this machine only. Names are not looked up."""
    if is_unix(address):
        return True
    try:
        host, _ = host_and_port(address)
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def socket_is_taken(address: str) -> bool:
    """Tell whether somebody listens on a socket in the file system; False for all other addresses."""
    if sys.platform == "win32" or not address.startswith("unix:"):
        return False
    path = address.removeprefix("unix:")
    with socket.socket(socket.AF_UNIX) as attempt:
        try:
            attempt.connect(path.removeprefix("//"))
        except OSError:
            return False
        return True
