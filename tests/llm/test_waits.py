"""How long the bot waits before it asks an endpoint again that is busy or failed."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.llm.endpoints import KEY, Handler, completion, endpoint

from happycity_llm import endpoint as module
from happycity_llm.endpoint import Endpoint

BUSY, FAILED = 429, 503


async def waits(monkeypatch: pytest.MonkeyPatch, *refusals: tuple[int, str | None]) -> list[float]:
    """Refuse a question with these statuses and `retry-after`; return the waits, which take no time."""
    found: list[float] = []
    left = list(refusals)

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        if not left:
            return handler.send(200, completion("keep"))
        status, after = left.pop(0)
        return handler.send(status, b"{}", **({} if after is None else {"retry_after": after}))

    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=sleep))
    with endpoint(answer) as url:
        asked = Endpoint(model="m", base_url=url, api_key=KEY, max_tokens=50)
        assert (await asked.ask([{"role": "user", "content": "?"}], None)).text == "keep"
        await asked.close()
    return found


async def test_a_busy_endpoint_is_given_the_time_that_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `retry-after` counts where it is longer than the own wait."""
    refusals = [(BUSY, "7"), (BUSY, "2.5"), (BUSY, "0.1"), (BUSY, "30")]
    assert await waits(monkeypatch, *refusals) == [7.0, 2.5, 2.0, 30.0]


@pytest.mark.parametrize("after", [None, "", "soon", "-5", "nan", "Wed, 21 Oct 2026 07:28:00 GMT"])
async def test_a_busy_endpoint_that_names_no_time_is_asked_after_doubling_waits(
    after: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await waits(monkeypatch, *[(BUSY, after)] * 4) == [0.5, 1.0, 2.0, 4.0]


async def test_an_endpoint_that_fails_is_asked_again_after_doubling_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await waits(monkeypatch, (FAILED, None), (BUSY, None), (500, None)) == [0.5, 1.0, 2.0]
