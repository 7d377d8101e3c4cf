"""How long a bot waits before it connects again: a lost server is neither hammered nor forgotten."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from happycity.v1 import play_service_pb2 as play
from happycity_client import Bot, Decision, Settings, client
from happycity_client.errors import ConnectionFailedError

RECONNECT = 60.0


class Idle(Bot):
    def choose(self, decision: Decision) -> int:
        return 0


class Stream:
    """A connection that is lost after some messages, the welcome among them."""

    shutting_down = False

    def __init__(self, handled: int, retry_seconds: float | None = 0.0, reason: str = "") -> None:
        self.welcome = play.Welcome(resume_token="token") if handled else None
        self.handled = handled
        self._error = ConnectionFailedError("lost", reason=reason, retry_seconds=retry_seconds)

    async def run(self, token: str | None) -> None:
        raise self._error


class OverError(Exception):
    """No more streams."""


class Losing:
    """Loses connections one after the other, and notes the pauses after them, which take no time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.share = 1.0
        """What chance takes of each bound."""
        self._streams: Iterator[Stream] = iter(())
        self._now = 100.0
        self.waited: list[float] = []
        """Seconds of each pause so far."""
        monkeypatch.setattr(client, "Session", self._session)
        monkeypatch.setattr(client, "asyncio", SimpleNamespace(sleep=self._sleep))
        monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: self._now))
        monkeypatch.setattr(client, "random", SimpleNamespace(uniform=self._uniform))

    async def pauses(self, *streams: Stream) -> list[float]:
        self._streams = iter(streams)
        with pytest.raises(OverError):
            await client.play(Idle, Settings(name="ann", server="grpc://127.0.0.1:1", reconnect=RECONNECT))
        return self.waited

    def _session(self, *_: object) -> Stream:
        stream = next(self._streams, None)
        if stream is None:
            raise OverError
        return stream

    async def _sleep(self, seconds: float) -> None:
        self.waited.append(round(seconds, 9))
        self._now += seconds

    def _uniform(self, low: float, high: float) -> float:
        return low + self.share * (high - low)


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> Losing:
    return Losing(monkeypatch)


DOUBLING = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
"""The bounds of the pauses between attempts: no server waits for longer than the last one."""


async def test_a_server_that_only_welcomes_is_not_hammered(losing: Losing) -> None:
    """Each pause may be twice as long as the one before, up to a limit, although each attempt is welcomed."""
    assert await losing.pauses(*(Stream(1) for _ in DOUBLING)) == DOUBLING


async def test_a_server_that_can_not_be_reached_is_not_hammered(losing: Losing) -> None:
    assert await losing.pauses(Stream(9), *(Stream(0) for _ in DOUBLING[1:])) == DOUBLING


async def test_a_server_that_plays_is_found_again_soon(losing: Losing) -> None:
    """More than a welcome ends the doubling."""
    handled = (2, 1, 1, 2, 1, 9)
    assert await losing.pauses(*map(Stream, handled)) == [0.1, 0.2, 0.4, 0.1, 0.2, 0.1]


async def test_bots_of_one_server_come_back_at_different_times(losing: Losing) -> None:
    """Chance takes a share of each bound, from nothing to all of it."""
    losing.share = 0.25
    assert await losing.pauses(*(Stream(1) for _ in range(3))) == [0.025, 0.05, 0.1]
    losing.share = 0.0
    assert await losing.pauses(Stream(1)) == [0.025, 0.05, 0.1, 0.0]


async def test_no_attempt_comes_before_the_delay_of_the_server(losing: Losing) -> None:
    streams = [Stream(1, seconds, "LATER") for seconds in (7.0, 0.05, 0.3)]
    assert await losing.pauses(*streams) == [7.0, 0.2, 0.4]


async def test_a_server_is_looked_for_as_long_as_agreed(losing: Losing) -> None:
    """The last attempt is at the end of that time, and none after it; a welcome starts the time again."""
    with pytest.raises(ConnectionFailedError, match=r"no connection to 127\.0\.0\.1:1 for 60 s: lost"):
        await losing.pauses(Stream(2), *(Stream(0) for _ in range(100)))
    count = len(losing.waited)
    assert losing.waited[: len(DOUBLING)] == DOUBLING
    assert sum(losing.waited) == pytest.approx(RECONNECT)
    assert len(await losing.pauses(*(Stream(1) for _ in range(100)))) == count + 100


async def test_where_another_attempt_is_pointless_there_is_none(losing: Losing) -> None:
    """The server says so, or never welcomed the bot."""
    for stream in (Stream(1, None, "REPLACED"), Stream(0)):
        with pytest.raises(ConnectionFailedError, match="lost"):
            await losing.pauses(stream, Stream(1))
    assert losing.waited == []
