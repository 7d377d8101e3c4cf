"""A real nginx before a server, as the documentation configures it."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.readers.conftest import tool
from tests.waiting import LIMIT

_DOCUMENT = Path(__file__).parents[2] / "docs" / "operations.md"
_MAIN = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
user root;
worker_processes 1;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {folder};
    proxy_temp_path {folder};
    fastcgi_temp_path {folder};
    uwsgi_temp_path {folder};
    scgi_temp_path {folder};
    {server}
}}
"""


@dataclass(frozen=True)
class Proxy:
    url: str
    """Where it serves pages and agents."""
    address: str
    """Where bots connect."""


def _documented() -> str:
    """Return the configuration of the documentation."""
    (found,) = [part for part in _DOCUMENT.read_text().split("```") if part.startswith("text\nserver {")]
    return found.removeprefix("text\n")


def _free_ports(count: int) -> list[int]:
    with socket.create_server(("127.0.0.1", 0)) as first:
        others = _free_ports(count - 1) if count > 1 else []
        return [first.getsockname()[1], *others]


@contextmanager
def before(folder: Path, *, web: str, listen: str, mcp: str = "") -> Iterator[Proxy]:
    """Run nginx before a server, without TLS, while the context lasts; skip the test where there is none.

    `web`, `listen` and `mcp` are where the server and the agents' server are, the first and last as URLs.
    """
    nginx = tool("nginx", "nginx")
    http, grpc = _free_ports(2)
    server = _documented()
    for documented, ours in {
        "listen 443 ssl http2;": f"listen 127.0.0.1:{http}; listen 127.0.0.1:{grpc} http2;",
        "    ssl_certificate     /etc/ssl/arena.pem;\n": "",
        "    ssl_certificate_key /etc/ssl/arena.key;\n": "",
        "http://127.0.0.1:8080": web,
        "grpc://127.0.0.1:50051": f"grpc://{listen}",
        "http://127.0.0.1:8642": mcp or web,
    }.items():
        assert server.count(documented) == 1
        server = server.replace(documented, ours)
    file = folder / "nginx.conf"
    file.write_text(_MAIN.format(folder=folder, server=server))
    # It returns when it listens; the process that serves goes on.
    subprocess.run([nginx, "-p", folder, "-c", file], timeout=LIMIT, check=True)
    process = int((folder / "nginx.pid").read_text())
    try:
        yield Proxy(f"http://127.0.0.1:{http}", f"127.0.0.1:{grpc}")
    finally:
        os.kill(process, signal.SIGTERM)
