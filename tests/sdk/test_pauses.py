"""How long a bot waits before it connects again: a lost server is neither hammered nor forgotten."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from tools import ROOT

from happycity.v1 import play_service_pb2 as play
from happycity_client import Bot, Decision, Settings, client
from happycity_client.errors import ConnectionFailedError
from happycity_client.pauses import Pauses

CASES = [
    json.loads(line) for line in (ROOT / "clients/conformance/pauses.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_of_all_sdks(case: dict[str, Any]) -> None:
    """Streams take no time; None gives the server up."""
    now, found = 100.0, []
    pauses = Pauses(case["reconnect"] / 1000)
    for stream in case["streams"]:
        pause = pauses.next(
            now, messages=stream["messages"], delay=stream["delay"] / 1000, share=case["share"]
        )
        found.append(None if pause is None else round(1000 * pause))
        now += pause or 0.0
    assert found == case["pauses"]


class Idle(Bot):
    def choose(self, decision: Decision) -> int:
        return 0


class Stream:
    """A connection that is lost after some messages, the welcome among them."""

    shutting_down = False

    def __init__(self, handled: int, retry_seconds: float | None = 0.0) -> None:
        self.welcome = play.Welcome(resume_token="token") if handled else None
        self.handled = handled
        self._error = ConnectionFailedError("lost", retry_seconds=retry_seconds)

    async def run(self, token: str | None) -> None:
        raise self._error


async def lose(monkeypatch: pytest.MonkeyPatch, *streams: Stream) -> list[float]:
    """Lose streams one after the other, until the bot gives up; return the pauses, which take no time."""
    waited: list[float] = []
    left = iter(streams)

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(client, "ClientSession", lambda *_: next(left))
    monkeypatch.setattr(client, "asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: 100.0 + sum(waited)))
    monkeypatch.setattr(client, "random", SimpleNamespace(random=lambda: 1.0))
    try:
        await client.play(Idle, Settings(name="ann", server="grpc://127.0.0.1:1", reconnect=1.0))
    except ConnectionFailedError as error:
        waited.append(float(str(error) == "no connection to 127.0.0.1:1 for 1 s: lost"))
    return waited


async def test_a_bot_looks_for_its_server_with_these_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end it says for how long it has looked."""
    streams = (2, 2, 1, 0, 0, 0)
    pauses = await lose(monkeypatch, *map(Stream, streams))
    assert pauses == pytest.approx([0.1, 0.1, 0.2, 0.4, 0.4, 1.0])


@pytest.mark.parametrize("stream", [Stream(1, None), Stream(0)])
async def test_where_another_attempt_is_pointless_there_is_none(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says so, or never welcomed the bot."""
    assert await lose(monkeypatch, stream) == [0.0]
