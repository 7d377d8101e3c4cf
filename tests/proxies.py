"""A proxy of the environment that only counts who connects to it."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

KINDS = ("http", "https", "grpc", "all")
VARIABLES = tuple(name for kind in KINDS for name in (f"{kind}_proxy", f"{kind}_proxy".upper()))
"""The environment variables that name a proxy."""
WITHOUT = ("no_proxy", "NO_PROXY")
"""Those that name the hosts without one."""


class CountingProxy:
    """Refuses every request, and keeps what was asked."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[str] = []
        """The first line of each connection."""

    @property
    def environment(self) -> dict[str, str]:
        """All variables that name a proxy, with this one."""
        return dict.fromkeys(VARIABLES, f"http://user:geheim@{self.address}") | dict.fromkeys(WITHOUT, "")


@contextmanager
def counting_proxy() -> Iterator[CountingProxy]:
    """Give a proxy while the context lasts; at its end all its connections were counted."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = CountingProxy("{}:{}".format(*server.getsockname()))

        def accept() -> None:
            while True:
                connection, _ = server.accept()
                with connection, connection.makefile("rb") as file:
                    if (line := file.readline().decode().strip()) == "end":
                        return
                    proxy.requests.append(line)
                    connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield proxy
        finally:
            with socket.create_connection(server.getsockname()) as last:
                last.sendall(b"end\n")
            thread.join()


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingProxy]:
    """Give a proxy to which all variables of the environment lead."""
    with counting_proxy() as counting:
        for name in [name for name in os.environ if "proxy" in name.lower()]:
            monkeypatch.delenv(name)
        for name, value in counting.environment.items():
            monkeypatch.setenv(name, value)
        yield counting
