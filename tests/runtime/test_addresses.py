"""Whose address a call comes from: directly, or by what trusted proxies say."""

import random

import pytest

from happycity_runtime.addresses import (
    TrustedProxies,
    address_of_peer,
    is_of_this_machine,
    network_of,
)

PROXIES = "127.0.0.1, 10.0.0.0/8, ::1"
FOR = "x-forwarded-for"
NEW = "forwarded"


@pytest.mark.parametrize(
    ("address", "headers", "client"),
    [
        pytest.param("9.9.9.9", [(FOR, "1.1.1.1")], "9.9.9.9", id="no proxy is asked for nothing"),
        pytest.param("127.0.0.1", [], "127.0.0.1", id="a proxy by itself"),
        pytest.param("127.0.0.1", [(FOR, "1.1.1.1")], "1.1.1.1", id="one hop"),
        pytest.param("127.0.0.1", [(FOR, "6.6.6.6, 1.1.1.1")], "1.1.1.1", id="what a client has invented"),
        pytest.param("127.0.0.1", [(FOR, "6.6.6.6"), (FOR, "1.1.1.1")], "1.1.1.1", id="in two lines"),
        pytest.param("127.0.0.1", [(FOR, "6.6.6.6, 1.1.1.1, 10.9.9.9")], "1.1.1.1", id="two hops"),
        pytest.param("127.0.0.1", [(FOR, "10.0.0.7")], "10.0.0.7", id="a proxy that asks for itself"),
        pytest.param("::ffff:127.0.0.1", [(FOR, "1.1.1.1")], "1.1.1.1", id="IPv4 in IPv6"),
        pytest.param("127.0.0.1", [(FOR, "1.1.1.1:4711")], "1.1.1.1", id="with a port"),
        pytest.param("::1", [(FOR, "[2001:db8::7]:4711")], "2001:db8::7", id="IPv6 with a port"),
        pytest.param("::1", [(FOR, "2001:db8::7")], "2001:db8::7", id="IPv6"),
        pytest.param(
            "127.0.0.1", [(NEW, "for=1.1.1.1;proto=https, for=10.1.1.1")], "1.1.1.1", id="Forwarded"
        ),
        pytest.param(
            "127.0.0.1", [(NEW, 'proto=http; For="[2001:db8::7]:4711"')], "2001:db8::7", id="quoted"
        ),
        pytest.param("127.0.0.1", [(NEW, "for=_hidden")], "127.0.0.1", id="hidden"),
        pytest.param("127.0.0.1", [(NEW, "by=1.1.1.1")], "127.0.0.1", id="for nobody"),
        pytest.param("127.0.0.1", [(NEW, 'for="1.1.1.1, for=2.2.2.2')], "2.2.2.2", id="an open quote"),
        pytest.param("127.0.0.1", [(FOR, "1.1.1.1, unknown")], "127.0.0.1", id="no address"),
        pytest.param("127.0.0.1", [(FOR, "")], "127.0.0.1", id="empty"),
        pytest.param("127.0.0.1", [(FOR, "1.1.1.1"), (NEW, "for=6.6.6.6")], "127.0.0.1", id="two kinds"),
        pytest.param("unix", [(FOR, "1.1.1.1")], "unix", id="a socket in the file system"),
    ],
)
def test_a_client_is_who_the_last_trusted_hop_says(
    address: str, headers: list[tuple[str, str]], client: str
) -> None:
    assert TrustedProxies(PROXIES).client(address, headers) == client
    assert TrustedProxies().client(address, headers) == address  # without the setting none is believed


def test_nothing_that_a_client_sends_changes_its_address() -> None:
    """Where a proxy appends to the headers that it sends, it counts as its own address, or as the proxy."""
    rng, proxies = random.Random(1), TrustedProxies(PROXIES)
    pieces = [
        "6.6.6.6",
        "for=",
        "10.0.0.1",
        ",",
        ";",
        '"',
        "[",
        "]",
        ":",
        "::1",
        "%",
        " ",
        "unknown",
        "\x00",
        "for",
    ]
    for _ in range(3000):
        sent = "".join(rng.choices(pieces, k=rng.randrange(8)))
        name, other = rng.sample((FOR, NEW), 2)
        own = "7.7.7.7" if name == FOR else "for=7.7.7.7"
        headers = [(name, f"{sent}, {own}")] if rng.random() < 0.5 else [(name, sent), (name, own)]
        assert proxies.client("127.0.0.1", headers) == "7.7.7.7"
        assert proxies.client("127.0.0.1", [(other, sent), *headers]) == "127.0.0.1"


def test_what_is_no_network_is_named() -> None:
    for text in ("10.0.0.1/8", "nginx", "1.2.3.4, x", "::1/200"):
        with pytest.raises(ValueError, match="name networks such as"):
            TrustedProxies(text)


def test_peers_and_what_their_limits_count() -> None:
    """An IPv6 address counts with all of its network, as its owner has as many as it wants."""
    for peer, address, network, is_own in [
        ("ipv4:127.0.0.1:4000", "127.0.0.1", "127.0.0.1", True),
        ("ipv6:%5B::1%5D:4000", "::1", "::/64", True),
        ("ipv6:[2001:db8:1:2:3:4:5:6]:4000", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", False),
        ("ipv6:%5Bfe80::1%25eth0%5D:4000", "fe80::1%eth0", "fe80::/64", False),
        ("ipv6:[::ffff:10.0.0.7]:4000", "::ffff:10.0.0.7", "10.0.0.7", False),
        ("unix:/tmp/own", "unix", "unix", True),
        ("unix:", "unix", "unix", True),
    ]:
        assert address_of_peer(peer) == address
        assert (network_of(address), is_of_this_machine(address)) == (network, is_own)
