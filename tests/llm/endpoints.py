"""Endpoints that fail, each in its own way, on real sockets."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-secret-of-the-test"


def completion(content: str | None, **message: object) -> bytes:
    message = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps({**body, "usage": usage}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Callable[[Handler, dict[str, Any]], None]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).answer(self, body)

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        """Handle a connection, which its other side may give up at any time."""
        with suppress(ConnectionError, json.JSONDecodeError):
            super().handle()

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


@contextmanager
def endpoint(answer: Callable[[Handler, dict[str, Any]], None]) -> Iterator[str]:
    """Serve while the context lasts; yield the base URL."""
    handler = type("TestHandler", (Handler,), {"answer": staticmethod(answer)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
