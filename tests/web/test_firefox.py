"""The table in Firefox, which is driven by WebDriver BiDi: it speaks that itself."""

import asyncio
import json
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import websockets
from tests.waiting import LIMIT
from tests.web.table import OVERFLOWING

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.nightly]

_SETTINGS = 'user_pref("ui.prefersReducedMotion", 1);\nuser_pref("remote.active-protocols", 1);\n'
_FOUND = """(selector) => new Promise((resolve) => {
  const look = () => {
    const found = document.querySelector(selector);
    if (!found) return;
    observer.disconnect();
    resolve(found.dataset.decision ?? "");
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true, attributes: true });
  look();
})"""
"""Waits for an element; returns the id of the decision that it asks for."""


class Firefox:
    """A tab, and what its console has said."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.errors: list[str] = []
        self.loaded: list[str] = []
        """The addresses of the pages that were loaded."""
        self.tab = ""
        self._socket = socket
        self._ids = count(1)

    async def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol; return its result."""
        number = next(self._ids)
        await self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        message: Any = {}
        while message.get("id") != number:
            message = await self._message()
        assert message["type"] == "success", message
        return message["result"]

    async def _message(self) -> Any:
        """Return the next message, and keep what an event says."""
        async with asyncio.timeout(LIMIT):
            message = json.loads(await self._socket.recv())
        values = message.get("params", {})
        if message.get("method") == "browsingContext.load":
            self.loaded.append(values["url"])
        elif message.get("method") == "log.entryAdded" and values["level"] == "error":
            self.errors.append(values["text"])
        return message

    async def until_loaded(self, path: str) -> None:
        """Wait until a page is loaded whose address has a path."""
        while path not in self.loaded[-1]:
            await self._message()

    async def goto(self, url: str) -> None:
        await self.call("browsingContext.navigate", context=self.tab, url=url, wait="complete")

    async def evaluate(self, function: str, *arguments: str) -> Any:
        """Call a function of JavaScript in the page; return what it returns, or its promise."""
        answer = await self.call(
            "script.callFunction",
            functionDeclaration=function,
            arguments=[{"type": "string", "value": one} for one in arguments],
            target={"context": self.tab},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    async def click(self, selector: str) -> None:
        """Press an element with the mouse, where it can be seen."""
        locator = {"type": "css", "value": selector}
        found = await self.call("browsingContext.locateNodes", context=self.tab, locator=locator)
        origin = {"type": "element", "element": {"sharedId": found["nodes"][0]["sharedId"]}}
        press: list[dict[str, Any]] = [{"type": "pointerMove", "x": 0, "y": 0, "origin": origin}]
        press += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        pointer = {"type": "pointer", "id": "mouse", "actions": press}
        await self.call("input.performActions", context=self.tab, actions=[pointer])

    async def keys(self, text: str) -> None:
        strokes = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keyboard", "actions": strokes}
        await self.call("input.performActions", context=self.tab, actions=[keyboard])


@asynccontextmanager
async def running_firefox(profile: Path) -> AsyncIterator[Firefox]:
    """Run a Firefox; skip the test where none is installed."""
    program = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
    if program is None:
        pytest.skip("no Firefox found; `python -m tools install firefox` installs one")
    (profile / "user.js").write_text(_SETTINGS)
    options = ("--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0")
    process = await asyncio.create_subprocess_exec(program, *options, stdout=DEVNULL, stderr=PIPE)
    assert process.stderr is not None
    try:
        async with asyncio.timeout(LIMIT):
            found = None
            while found is None:
                line = await process.stderr.readline()
                assert line, "Firefox has ended"
                found = re.search(r"BiDi listening on (ws\S+)", line.decode())
        async with websockets.connect(f"{found[1]}/session", max_size=None, open_timeout=LIMIT) as socket:
            firefox = Firefox(socket)
            await firefox.call("session.new", capabilities={})
            await firefox.call("session.subscribe", events=["log.entryAdded", "browsingContext.load"])
            firefox.tab = (await firefox.call("browsingContext.getTree"))["contexts"][0]["context"]
            viewport = {"width": 1440, "height": 1200}
            await firefox.call("browsingContext.setViewport", context=firefox.tab, viewport=viewport)
            yield firefox
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_whole_game_in_firefox(arena: str, tmp_path: Path) -> None:
    """By the form and the mouse to the result; nothing overflows, and no error is logged."""
    async with running_firefox(tmp_path) as firefox:
        await firefox.goto(f"{arena}/play?seat1=me&seat2=greedy&mode=expert")
        await firefox.click("#name")
        await firefox.keys("Fiona")
        await firefox.click("form.new-game .main-button")
        await firefox.until_loaded("/play/")
        state = asked = "#playing:not(.settling) #panel [data-decision]"
        while decision := await firefox.evaluate(_FOUND, state):
            assert not await firefox.evaluate(OVERFLOWING)
            await firefox.click('[data-number="1"]')
            state = f'{asked}:not([data-decision="{decision}"]), #panel .after'
        assert await firefox.evaluate("() => document.querySelectorAll('.podium .stand').length") == 2
        picture = await firefox.call("browsingContext.captureScreenshot", context=firefox.tab)
        assert len(picture["data"]) > 10_000
        assert not firefox.errors
