"""Whose address a call comes from, also behind reverse proxies, and what the limits of an address count."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import unquote

LOCAL = "unix"
"""The address of clients that connect by a socket in the file system."""
_NETWORK_BITS = 64
"""Of an IPv6 address, those that a provider assigns; its customer chooses the rest."""
_FORWARDED, FORWARDED_FOR = "forwarded", "x-forwarded-for"


def address_of_peer(peer: str) -> str:
    """Return the address of a peer as gRPC names it: that of `ipv6:%5B::1%5D:5` is `::1`."""
    if peer.startswith(LOCAL):
        return LOCAL
    return unquote(peer.partition(":")[2]).rpartition(":")[0].strip("[]")


def is_of_this_machine(address: str) -> bool:
    """Return whether the address of a caller is one of this machine alone."""
    ip = _parsed(address)
    return address == LOCAL if ip is None else ip.is_loopback


def network_of(address: str) -> str:
    """Return what limits are counted by: an IPv4 address, or the network that an IPv6 address belongs to."""
    ip = _parsed(address)
    if isinstance(ip, IPv6Address):
        return str(ip_network((int(ip), _NETWORK_BITS), strict=False))
    return address if ip is None else str(ip)


class TrustedProxies:
    """The reverse proxies that are believed whose requests they pass on."""

    def __init__(self, networks: str = "") -> None:
        """Trust the proxies of networks or addresses, separated by commas; ValueError if one is neither."""
        try:
            self._networks = [ip_network(one.strip()) for one in networks.split(",") if one.strip()]
        except ValueError as error:
            raise ValueError(f"{error}; name networks such as 10.1.2.0/24 or 127.0.0.1") from None

    def __contains__(self, address: str) -> bool:
        """Return whether an address is that of a proxy."""
        ip = _parsed(address)
        return ip is not None and any(ip in network for network in self._networks)

    def client(self, address: str, headers: Iterable[tuple[str, str]], *, is_trusted: bool = False) -> str:
        """Return the address of the client whose request has come from an address with some headers.

        `is_trusted` is for an address that is that of a proxy for another reason than its network.
        Each proxy appends the address from which it got the request, so these are read from the last to the
        first, as long as a trusted proxy has written them. Where one has written what is no address, or
        where both kinds of headers are there, of which a client may have written one, the proxy itself is
        taken for the client.
        """
        forwarded = [(name, value) for name, value in headers if name in (_FORWARDED, FORWARDED_FOR)]
        if len({name for name, _ in forwarded}) > 1:
            return address
        for name, value in reversed(forwarded):
            for entry in reversed(value.split(",")):
                ip = _parsed(_host_of(_for_of(entry) if name == _FORWARDED else entry))
                if ip is None or not (is_trusted or address in self):
                    return address
                address, is_trusted = str(ip), False
        return address


def _for_of(entry: str) -> str:
    """Return whom an entry of the header Forwarded names as the client (RFC 7239, section 4)."""
    pairs = (pair.partition("=") for pair in entry.split(";"))
    return next((value for name, _, value in pairs if name.strip().lower() == "for"), "")


def _host_of(node: str) -> str:
    """Return the host of an address that may have quotes, brackets and a port."""
    node = node.strip().strip('"')
    if node.startswith("["):
        return node[1:].partition("]")[0]
    return node.partition(":")[0] if node.count(":") == 1 else node


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    """Return an IP address, one of IPv4 also where IPv6 embeds it; None if it is none."""
    try:
        ip = ip_address(address)
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip
