"""Pages that are made for many viewers: what is made again, and what is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from happycity_viewer.languages import language
from happycity_web.pace import Pace
from happycity_web.page_feed import PageFeed
from happycity_web.reader import Reader
from happycity_web.render import Part

_READER = Reader(language("en"), {})


@dataclass
class _Numbers:
    """A page with a number that changes at once, and one that may be old."""

    made: list[str] = field(default_factory=list)
    is_final: bool = False

    def parts(self, known: Mapping[str, Part], reader: Reader) -> Mapping[str, Part]:
        parts = dict(known)
        for name, seconds in (("fast", 0.0), ("slow", 1000.0)):
            if name not in parts:
                self.made.append(name)
                parts[name] = Part(f"{name} {self.made.count(name)}", seconds)
        self.is_final = self.made.count("fast") == 3
        return parts


async def test_a_viewer_gets_the_parts_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are made when they are due, all at the end, and sent if they differ from before."""
    monkeypatch.setattr("happycity_web.page_feed.PAGE_SECONDS", 0.0)
    page = _Numbers()

    async def make() -> _Numbers:
        return page

    feed = PageFeed(make, _READER, Pace())
    messages = []
    version = 0
    while not (feed.is_final and version == feed.version):
        changed = feed.changed
        if feed.version > version:
            messages.append(json.loads(feed.message(version)))
            version = feed.version
        else:
            await changed.wait()
    await feed.task
    assert messages[0] == {"fast": "fast 1", "slow": "slow 1"}
    assert messages[1] == {"fast": "fast 2"}
    assert page.made.count("slow") == 1
    assert json.loads(feed.message(0)) == {"fast": "fast 3", "slow": "slow 1"}
    assert feed.message(0) is feed.message(0)


def test_many_viewers_are_written_to_less_often() -> None:
    """Time between messages grows with the number of viewers, and is never below what was asked for."""
    pace = Pace()
    assert pace.interval(1.0) == 1.0
    viewers = [pace.viewer() for _ in range(5000)]
    for viewer in viewers:
        viewer.__enter__()
    assert pace.interval(1.0) > 5.0
    for viewer in viewers:
        viewer.__exit__(None, None, None)
    assert pace.viewers == 0


async def test_a_page_that_fails_ends_its_feed() -> None:
    """If a page can't be made any more, its viewers get the reason."""

    async def make() -> _Numbers:
        raise ValueError("gone")

    feed = PageFeed(make, _READER, Pace())
    changed = feed.changed
    async with asyncio.timeout(30):
        await changed.wait()
    assert str(feed.failure) == "gone"
