"""A headless Chromium, spoken to by the DevTools protocol over two pipes: enough to look at one page."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from tests.browser import chromium_program

Message = dict[str, Any]

_DEADLINE = 60.0


class Page:
    """The one page of a browser, and the browser's events about it."""

    def __init__(self, commands: FileIO, answers: FileIO) -> None:
        self._commands = commands
        self._answers = answers
        self._buffer = b""
        self._sent = 0
        self._session: str | None = None
        self.events: list[Message] = []

    def attach(self) -> None:
        """Take the browser's first page, and listen to all that could go wrong in it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def open(self, path: Path, *, width: int = 1200, height: int = 800, dark: bool = False) -> None:
        """Show a file and wait until it is loaded."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        loader = self.call("Page.navigate", url=path.absolute().as_uri())["loaderId"]
        while not self._loaded(loader):
            self.events.append(self._receive())

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page, for a person to look at."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Ask the browser to end, and read until it does: it may be gone before it answers."""
        self._session = None
        self._send("Browser.close", {})
        while self._read():
            pass

    def forget(self) -> None:
        """Leave the page that is shown, and forget all events."""
        self.call("Page.navigate", url="about:blank")
        self.evaluate("1")
        self.events.clear()

    def events_of(self, method: str) -> list[Message]:
        """Return the parameters of all events of one kind."""
        return [event["params"] for event in self.events if event["method"] == method]

    def call(self, method: str, **parameters: Any) -> Message:
        """Send a command and return its answer; events that come in between are kept."""
        self._send(method, parameters)
        while True:
            message = self._receive()
            if message.get("id") == self._sent:
                assert "error" not in message, message["error"]
                result: Message = message["result"]
                return result
            if "method" in message:
                self.events.append(message)

    def _loaded(self, loader: str) -> bool:
        # Not any load event: that of the page before may come late.
        return any(
            event["loaderId"] == loader and event["name"] == "load"
            for event in self.events_of("Page.lifecycleEvent")
        )

    def _send(self, method: str, parameters: Message) -> None:
        self._sent += 1
        command = {"id": self._sent, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        self._commands.write(json.dumps(command).encode() + b"\0")

    def _read(self) -> bytes:
        """Return what the browser writes next, in any pieces; nothing at its end."""
        ready, _, _ = select.select([self._answers], [], [], _DEADLINE)
        assert ready, "Chromium doesn't answer"
        return self._answers.read(1 << 16) or b""

    def _receive(self) -> Message:
        while b"\0" not in self._buffer:
            read = self._read()
            assert read, "Chromium has ended"
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: Message = json.loads(text)
        return message


@contextmanager
def chromium(profile: Path) -> Iterator[Page]:
    """Start a browser with a new profile; skip the test without one (`python -m tools install browser`)."""
    program = chromium_program()
    commands_read, commands = os.pipe()
    answers, answers_write = os.pipe()
    # Chromium reads commands from its descriptor 3 and answers on 4; sh knows no numbers above 9 here.
    pipes = f'exec {program} "$@" 3<&{commands_read} 4>&{answers_write}'
    process = subprocess.Popen(
        [
            "bash", "-c", pipes, "bash", "--headless", "--remote-debugging-pipe", "--no-sandbox",
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
            f"--user-data-dir={profile}",
        ],
        pass_fds=(commands_read, answers_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(commands_read)
    os.close(answers_write)
    try:
        with FileIO(commands, "wb") as sending, FileIO(answers, "rb") as receiving:
            browser = Page(sending, receiving)
            browser.attach()
            yield browser
            browser.close()
            process.wait(_DEADLINE)
    finally:
        process.kill()
        process.wait()
