"""Each hosted bot has a socket of its own, whose connections are bounded."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
from tests.server.harness import called, settings
from tests.waiting import LIMIT

from happycity_server.process.listening import CONNECTIONS
from happycity_server.process.private_arena import private_arena


async def is_accepted(path: str, stack: ExitStack) -> bool:
    """Connect for a while; return whether the server speaks first, as it does in HTTP/2, or closes."""
    reader, writer = await asyncio.open_unix_connection(path)
    stack.callback(writer.close)
    with suppress(ConnectionError):
        return bool(await reader.read(1))
    return False


async def test_connections_of_a_program_keep_no_other_away(tmp_path: Path) -> None:
    """What fills its own socket gets no further connection there; others, at theirs, get what bots use."""
    async with asyncio.timeout(LIMIT), private_arena(settings(tmp_path), {}) as arena:
        async with arena.server.arena_of_one() as one, arena.server.arena_of_one() as two:
            path, stack = one.removeprefix("unix:"), ExitStack()
            accepted = [await is_accepted(path, stack) for _ in range(CONNECTIONS + 10)]
            assert accepted == [*[True] * CONNECTIONS, *[False] * 10]
            async with grpc.aio.insecure_channel(two) as channel:
                assert not (await called(channel, "/happycity.v1.CatalogueService/GetCatalogue")).reason
                refused = await called(channel, "/happycity.v1.PlayService/Play")
                assert refused.reason == "UNAUTHENTICATED"
                absent = await called(channel, "/happycity.v1.MatchService/ListMatches")
                assert absent.status is grpc.StatusCode.UNIMPLEMENTED
            stack.close()
        assert not await asyncio.to_thread(Path(path).exists)
