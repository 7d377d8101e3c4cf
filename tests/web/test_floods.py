"""What one caller may cost: little at once, and only its own turn. Shown by counts, and by CPU time."""

import asyncio
import select
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import websockets
from structlog.testing import capture_logs
from tests.server.harness import alarms, pages
from tests.waiting import LIMIT
from tests.web.floods import RUSH, answered, answered_before_a_visitor, ask, connection, flood, least, upgrade
from tests.web.sockets import close_code, closed_with, socket_of
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from happycity_runtime import http
from happycity_runtime.addresses import TrustedProxies
from happycity_server.access import gate as gate_module
from happycity_server.access.gate import Authenticator, Gate, RateLimits
from happycity_server.errors import ApiError
from happycity_server.process.certificates import make_certificates
from happycity_web import guard, serve

TIMES = 10
"""The longest callback of a flood, in those of an ordinary call."""
PAGE = b"GET /index.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
HEAD = b" HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
CLOSE = b"\x88\x82\0\0\0\0\x03\xe8"
FRAMES = {
    "texts": b"\x81\x81\0\0\0\0a",
    "empty texts": b"\x81\x80\0\0\0\0",
    "pings": b"\x89\x80\0\0\0\0",
    "pongs": b"\x8a\x80\0\0\0\0",
    "parts of one message": b"\x00\x80\0\0\0\0",
}


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """Yield the pages of a server that needs tokens, and shows the public a part."""
    (tmp_path / "tokens.json").write_text('{"format": "happycity-tokens/1", "tokens": []}')
    async with pages(tmp_path, tokens=tmp_path / "tokens.json", public=True) as url:
        yield url


@pytest.mark.parametrize("unit", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(upgrade(), id="admitted"),
        pytest.param(upgrade("/hosted"), id="refused"),
        pytest.param(upgrade("/play/1"), id="no seat"),
        pytest.param(upgrade("/nothing"), id="not found"),
        pytest.param(upgrade(Host="evil.example"), id="not accepted"),
        pytest.param(upgrade() + CLOSE, id="closed by the client"),
        pytest.param(upgrade() + b"\x01\x80\0\0\0\0", id="in a message"),
    ],
)
async def test_a_socket_is_cut_off_after_some_frames(
    url: str, frames: asyncio.Queue[int], begin: bytes, unit: bytes
) -> None:
    """Whatever it sends, in whatever state it is: of tens of thousands of frames, few are worked on."""
    for reads_answer in (True, False):
        await asyncio.to_thread(flood, url, begin, unit, reads_answer=reads_answer)
        async with asyncio.timeout(LIMIT):
            assert await frames.get() <= serve.FRAMES_AT_ONCE


async def test_frames_are_taken_little_by_little(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many come at once, they are counted after a few, so that no more are worked on."""
    monkeypatch.setattr(serve, "FRAMES_PER_SECOND", 1e9)
    taken: list[int] = []
    handle = WebSocketsSansIOProtocol.handle_events

    def count(protocol: WebSocketsSansIOProtocol) -> None:
        taken.append(len(protocol.conn.events))
        handle(protocol)

    monkeypatch.setattr(WebSocketsSansIOProtocol, "handle_events", count)
    await asyncio.to_thread(flood, url, upgrade(), FRAMES["pongs"])
    assert sum(taken) > 100 * serve.FRAMES_AT_ONCE
    assert max(taken) <= serve.FRAMES_AT_ONCE


async def test_a_person_is_not_cut_off(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a browser that answers pings for days: what is not used up comes back with time."""
    monkeypatch.setattr(serve, "FRAMES_PER_SECOND", 1e6)
    async with socket_of(url) as page:
        assert await page.recv()
        for _ in range(3 * serve.FRAMES_AT_ONCE):
            await (await page.ping())
        await page.close()
        assert page.close_code == 1000


@pytest.mark.parametrize(
    ("begin", "unit"),
    [
        *((upgrade(), unit) for unit in FRAMES.values()),
        (b"GET /static/icon.svg" + CHUNKED, b"1\r\na\r\n"),
        (b"GET /nothing" + CHUNKED, b"1\r\na\r\n"),
        (b"POST /token" + CHUNKED, b"1;x\r\na\r\n"),
        (b"POST /token" + CHUNKED + b"0\r\n", b"x:\r\n"),
        (b"GET /" + HEAD, b"x:\r\n"),
        (b"GET /nothing" + HEAD + b"Content-Length: 1\r\n\r\n", b"x"),
        (b"GET /nothing" + HEAD + b"Content-Length: 1\r\n\r\nxGET /" + HEAD, b"x:\r\n"),
        (b"GET /nothing" + HEAD + b"Content-Length: 999999999\r\n\r\n", b"x"),
        (b"GET /nothing" + HEAD + b"\r\n", b"GET /nothing" + HEAD + b"\r\n"),
        (b"GET /" + HEAD + b"Cookie: ", b"a=b; "),
        (b"", b"\r\n"),
    ],
    ids=[
        *FRAMES,
        "chunks for a file",
        "chunks for nothing",
        "chunks of a form",
        "trailers",
        "lines of a head",
        "bytes after a body",
        "lines of a second head",
        "a body that isn't read",
        "requests at once",
        "cookies",
        "empty lines",
    ],
)
async def test_no_flood_holds_the_event_loop(url: str, begin: bytes, unit: bytes) -> None:
    """What comes at once is worked on for `TIMES` as long as an ordinary call at most, at once."""
    ordinary = await least(2, lambda: flood(url, PAGE, b" "))
    flooded = await least(2, lambda: flood(url, begin, unit, reads_answer=False))
    assert flooded < TIMES * ordinary


@pytest.fixture
def gate() -> Gate:
    return Gate(
        Authenticator(None, now=lambda: datetime.now(UTC), is_open=True),
        rates=RateLimits(rate=1.0, burst=1, clock=lambda: 0.0),
        streams_per_token=1,
        streams_per_peer=1,
        proxies=TrustedProxies(),
    )


async def test_addresses_take_turns(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many requests of an address wait, one of another address is next but one; so is its network."""
    monkeypatch.setattr(gate_module, "TURN_SECONDS", 0)
    begun: list[str] = []

    async def ask(address: str) -> None:
        await gate.turn(address)
        begun.append(address)

    async with asyncio.TaskGroup() as asking:
        for number in range(gate_module.MAX_WAITING):
            asking.create_task(ask(f"2001:db8::{number:x}"))
        for _ in range(3):
            asking.create_task(ask("7.7.7.7"))
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="256 requests of your address are open already"):
            await gate.turn("2001:db8::ffff")
    assert [number for number, address in enumerate(begun) if address == "7.7.7.7"] == [1, 3, 5]
    assert len(begun) == gate_module.MAX_WAITING + 3
    await gate.turn("2001:db8::ffff")
    assert not gate._waiting
    assert not gate._turns


async def test_a_caller_that_leaves_while_it_waits_holds_nobody_up(gate: Gate) -> None:
    asking = [asyncio.create_task(gate.turn("6.6.6.6")) for _ in range(5)]
    await asyncio.sleep(0)
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)
    await gate.turn("6.6.6.6")
    assert not gate._turns


@pytest.mark.level(2)
async def test_a_visitor_waits_for_no_other_address(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one address asks for hundreds of pages at once, another one's answer comes among the first.

    Files that no page is made for don't even wait for that.
    """
    monkeypatch.setattr(gate_module, "TURN_SECONDS", 0.01)
    static, page = await asyncio.to_thread(answered_before_a_visitor, url)
    assert static <= page < RUSH / 2


async def test_no_address_keeps_another_one_from_connecting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all connections are in use, the address with the most loses its oldest."""
    monkeypatch.setattr(serve, "SPARE_CONNECTIONS", 18)
    async with pages(tmp_path, web_viewers=2) as url:

        def visit() -> None:
            first = [connection(url, "127.0.0.2") for _ in range(10)]
            other = [connection(url, "127.0.0.3") for _ in range(10)]
            visiting = [one for _ in range(3) for one in ask(url, "/index.json", "127.0.0.4")]
            assert all(b" 200 OK" in one.recv(65536) for one in visiting)
            more = connection(url, "127.0.0.2")
            assert b" 503 " in more.recv(65536)
            for flooding in (first, other):
                assert flooding[0].recv(1) == b""
                assert not answered(flooding[5:])
            for one in (*first, *other, *visiting, more):
                one.close()

        await asyncio.to_thread(visit)


async def test_connections_of_a_proxy_are_those_of_its_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that takes all of them through the proxy loses one to another client's request."""
    monkeypatch.setattr(serve, "SPARE_CONNECTIONS", -6)
    async with pages(tmp_path, web_viewers=10, trusted_proxy="127.0.0.1") as url, AsyncExitStack() as stack:

        def opened(client: str) -> websockets.connect:
            return socket_of(url, additional_headers={"x-forwarded-for": client})

        held = [await stack.enter_async_context(opened("6.6.6.6")) for _ in range(4)]
        async with opened("7.7.7.7") as newcomer:
            assert await newcomer.recv()
        assert await close_code(held[0]) == 1006
        for page in held[1:]:
            assert await page.recv()


@pytest.mark.level(2)
async def test_a_refusal_is_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks too often waits, so that it costs little to refuse it again; another one doesn't."""
    monkeypatch.setattr(guard, "REFUSAL_SECONDS", 2 * LIMIT)
    for path in ("/index.json", "/static/icon.svg", "/nothing"):
        folder = tmp_path / path[1:].partition("/")[0]
        folder.mkdir()
        async with pages(folder, calls_per_second=0.001, calls_burst=1) as url:

            def visit(url: str = url, path: str = path) -> None:
                first, second = (ask(url, path, "127.0.0.2")[0] for _ in range(2))
                assert select.select([first, second], [], [], LIMIT)[0]
                (other,) = ask(url, path, "127.0.0.3")
                assert other.recv(65536)
                assert answered([first, second]) == 1
                for one in (first, second, other):
                    one.close()

            await asyncio.to_thread(visit)


async def test_no_caller_keeps_the_pages_of_another_one_from_following(tmp_path: Path) -> None:
    """Where as many follow as may, the caller with the most loses one of its own."""
    async with pages(tmp_path, web_viewers=3, trusted_proxy="127.0.0.1") as url:

        def opened(client: str) -> websockets.connect:
            return socket_of(url, additional_headers={"x-forwarded-for": client})

        async with opened("6.6.6.6") as oldest, opened("6.6.6.6") as old, opened("7.7.7.7") as other:
            for page in (oldest, old, other):
                assert await page.recv()
            assert await closed_with(url, **{"x-forwarded-for": "7.7.7.7"}) == 4429
            async with opened("8.8.8.8") as newcomer:
                assert await newcomer.recv()
                assert await close_code(oldest) == 4429
                assert await closed_with(url, **{"x-forwarded-for": "9.9.9.9"}) == 4429


async def test_clients_of_a_proxy_are_told_apart(tmp_path: Path) -> None:
    """All that they ask for counts by the address that a trusted proxy names; others are not believed."""
    values: dict[str, Any] = {"calls_per_second": 0.001, "calls_burst": 3, "trusted_proxy": "127.0.0.1/32"}
    async with pages(tmp_path, **values) as url, httpx.AsyncClient(timeout=LIMIT, base_url=url) as client:

        async def statuses(client: httpx.AsyncClient, name: str, *addresses: str) -> list[int]:
            paths = ("/index.json", "/static/icon.svg", "/nothing", "/index.json")
            return [
                (await client.get(path, headers={name: address})).status_code
                for path, address in zip(paths, addresses, strict=True)
            ]

        same = ("2001:db8::1", "[2001:db8::2]:80", "2001:db8:0:0:ffff::", "2001:db8::")
        assert await statuses(client, "X-Forwarded-For", *same) == [200, 200, 404, 429]
        assert await closed_with(url, **{"x-forwarded-for": "2001:db8::5"}) == 4429
        assert await closed_with(url, forwarded='for="[2001:db8:0:1::1]"') == 0
        own = [f"6.6.6.{number}, 7.7.7.7" for number in range(4)]
        assert await statuses(client, "X-Forwarded-For", *own) == [200, 200, 404, 429]
        transport = httpx.AsyncHTTPTransport(local_address="127.0.0.2")
        async with httpx.AsyncClient(timeout=LIMIT, base_url=url, transport=transport) as direct:
            assert await statuses(direct, "X-Forwarded-For", *own) == [200, 200, 404, 429]


@asynccontextmanager
async def encrypted(tmp_path: Path, **values: Any) -> AsyncIterator[tuple[str, ssl.SSLContext]]:
    """Yield the address of pages that are encrypted, and what trusts them."""
    ca, *own = make_certificates(["127.0.0.1"], now=datetime.now(UTC), days=1)
    names = ("cert.pem", "key.pem")
    for name, text in zip(names, own, strict=True):
        (tmp_path / name).write_text(text)
    cert, key = (tmp_path / name for name in names)
    files = {"tls_cert": cert, "tls_key": key, "insecure": True}
    async with pages(tmp_path, web="0.0.0.0:0", **files, **values) as url:
        yield url.replace("0.0.0.0", "127.0.0.1"), ssl.create_default_context(cadata=ca)


async def test_encrypted_connections_count_before_they_begin(tmp_path: Path) -> None:
    """As calls of their address: each takes as long to begin as a page, whatever is asked for then."""
    async with encrypted(tmp_path, calls_per_second=0.001, calls_burst=4) as (url, trust):

        def begun(source: str) -> bool:
            with connection(url, source) as plain:
                try:
                    trust.wrap_socket(plain, server_hostname="127.0.0.1").close()
                except OSError:
                    return False
                return True

        for source in ("127.0.0.2", "127.0.0.3"):
            assert [await asyncio.to_thread(begun, source) for _ in range(6)] == [True] * 4 + [False] * 2


async def test_connections_that_never_begin_hold_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have places like others, which they lose to a newcomer, or after some time."""
    monkeypatch.setattr(serve, "SPARE_CONNECTIONS", 2)
    async with encrypted(tmp_path, web_viewers=2) as (url, trust):

        def visit() -> int:
            silent = [connection(url, "127.0.0.2") for _ in range(4)]
            with (
                connection(url, "127.0.0.3") as plain,
                trust.wrap_socket(plain, server_hostname="127.0.0.1") as page,
            ):
                page.sendall(b"GET /index.json" + HEAD + b"\r\n")
                assert b" 200 OK" in page.recv(65536)
            assert silent[0].recv(1) == b""
            assert not answered(silent[1:])
            silent[1].sendall(b"\x16\x03\x01")
            ended = 0
            for one in silent:
                with one:
                    ended += one.recv(1) == b""
            return ended

        monkeypatch.setattr(http, "REQUEST_SECONDS", 2.0)
        assert await asyncio.to_thread(visit) == 4


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(b"GET /static/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n", id="kept"),
        pytest.param(b"GET /static/style.css" + HEAD + b"Connection: close\r\n\r\n", id="closed"),
        pytest.param(upgrade(), id="socket", marks=pytest.mark.level(2)),
    ],
)
async def test_a_client_that_reads_nothing_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: bytes
) -> None:
    """Also where the connection is closed already, and only what is left has to be sent."""
    monkeypatch.setattr(http, "UNREAD_SECONDS", 0.1)
    ended, made = asyncio.Event(), http.BoundedProtocol.connection_made

    def begin(protocol: http.BoundedProtocol, transport: asyncio.Transport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)
        made(protocol, transport)

    monkeypatch.setattr(http.BoundedProtocol, "connection_made", begin)
    monkeypatch.setattr(http._Place, "leave", lambda place: ended.set())
    async with pages(tmp_path) as url:
        with socket.socket() as reading:
            reading.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            reading.connect((urlsplit(url).hostname, urlsplit(url).port))
            reading.sendall(request_)
            async with asyncio.timeout(LIMIT):
                await ended.wait()


async def test_what_strangers_send_is_no_error_of_the_server(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing that is malformed, or ends too early, fills the log that operators are woken by."""
    with capture_logs() as lines:
        for content in (
            b"\x16\x03\x01\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST /token" + CHUNKED + b"zzz\r\n",
            b"GET /nothing" + CHUNKED + b"zzz\r\n",
            b"POST /token" + CHUNKED + b"5\r\nto",
            b"POST /join" + HEAD + b"Content-Length: 9\r\n\r\nlink",
            b"POST /hosted.json" + HEAD + b"Content-Length: 9\r\n\r\nlink",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
            upgrade() + b"\xff\xff\xff",
            upgrade() + b"\x81\x82\0\0\0\0\xff\xfe",
            upgrade() + b"\x81\xfe\x7f\xff\0\0\0\0",
            upgrade(Host="") + b"\x81",
            upgrade("/matches/1"),
        ):
            for waits in (True, False):
                await asyncio.to_thread(send, url, content, waits=waits)
        async with httpx.AsyncClient(timeout=LIMIT, base_url=url) as client:
            assert (await client.get("/")).status_code == 200
    assert not alarms(lines)
    assert not caplog.records


def send(url: str, content: bytes, *, waits: bool) -> None:
    """Send something, perhaps wait for an answer or the end, and leave."""
    with connection(url) as sending, suppress(OSError):
        sending.sendall(content)
        if waits:
            sending.shutdown(socket.SHUT_WR)
            while sending.recv(65536):
                pass
