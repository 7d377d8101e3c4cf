"""A reader of feeds, as people have it, reads the newest results."""

import feedparser
import pytest
from tests.web.conftest import Site
from tests.web.ladders import LadderSite

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_feed_of_tournaments_is_read(site: Site, tournament: int) -> None:
    """It is well-formed Atom, and each entry leads to a page that is there."""
    read = feedparser.parse((await site.client.get("/feed.atom")).content)
    assert (read.bozo, read.version) == (False, "atom10")
    assert read.feed.title
    assert f"{site.url}/tournaments/{tournament}" in {entry.link for entry in read.entries}
    for entry in read.entries:
        assert entry.title
        assert entry.updated_parsed
        assert (await site.client.get(entry.link)).status_code == 200


async def test_feed_of_the_ladder_is_read(ladder: LadderSite) -> None:
    async with ladder.client("ivan") as client:
        read = feedparser.parse((await client.get("/feed.atom")).content)
    assert (read.bozo, read.version) == (False, "atom10")
    assert any(entry.title.startswith("Deal ") and entry.summary.startswith("1. ") for entry in read.entries)
