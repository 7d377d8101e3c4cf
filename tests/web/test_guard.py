"""What every page refuses, whatever it shows."""

from __future__ import annotations

import pytest
from tests.web.conftest import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_only_games_can_be_shown_inside_another_site(site: Site, expert_match: int) -> None:
    """In a frame a visitor may be led to press what does something."""
    for path, framed in ((f"/matches/{expert_match}", True), ("/play", False), ("/", False)):
        headers = (await site.client.get(f"{path}?embed=1")).headers
        assert ("x-frame-options" not in headers) is framed, path


async def test_long_forms_are_refused(site: Site) -> None:
    """No form of a page has a kilobyte."""
    answer = await site.client.post("/play", content=b"name=" + b"x" * 2000)
    assert answer.status_code == 413


async def test_numbers_of_an_address_are_short_and_ascii(site: Site, expert_match: int) -> None:
    """What Python takes for a digit is more than what a number has."""
    for number in ("²", "٣", "9" * 5000, "-1", "1.5"):
        answer = await site.client.get(f"/matches/{expert_match}", params={"ply": number})
        assert answer.status_code == 400, number
