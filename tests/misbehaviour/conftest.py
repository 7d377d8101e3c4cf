import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest
from tests.misbehaviour.arena import GOOD, Arena
from tests.server.api.arena import Arena as Matches
from tests.server.harness import Clock
from tests.server.server_process import ServerProcess, server_process

from happycity.records.record import Json

# What a test waits for comes soon with these. A good bot must stand them on a busy machine too.
QUICK = ("--ping-interval", "1", "--stall-time", "3", "--message-bytes", "65536")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ServerProcess]:
    if not sys.platform.startswith("linux"):
        pytest.skip("reads the server's memory from /proc")
    bots = [f"{name}=greedy" for name in (*GOOD, "third")]
    with server_process(folder, "--open", *QUICK) as process:
        command = [sys.executable, "-m", "happycity", "bot", *bots, "--server", process.address]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as good:
            yield process
            good.kill()


@pytest.fixture(scope="module")
def undisturbed() -> list[Json]:
    """Return the record of the good bots' match while nobody misbehaves, once it was played."""
    return []


@pytest.fixture
async def arena(server: ServerProcess, folder: Path, undisturbed: list[Json]) -> AsyncIterator[Arena]:
    """Yield the server; after the test it must serve the good bots as if nothing had been."""
    async with grpc.aio.insecure_channel(server.address) as channel, AsyncExitStack() as closing:
        opened = Arena(server, folder, Matches(server.address, channel, Clock(), closing))
        if not undisturbed:
            undisturbed.append(await opened.side_match())
            # What a server needs once, at its first tournament, isn't held against a bot.
            (await opened.trouble("third")).check_finished()
        yield opened
        assert [await opened.side_match()] == undisturbed
        assert not opened.failures()
