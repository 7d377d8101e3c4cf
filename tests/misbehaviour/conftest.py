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
from tests.server.server_process import ServerProcess, gateway_process, server_process

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


@pytest.fixture(
    scope="module",
    params=[False, pytest.param(True, marks=pytest.mark.nightly)],
    ids=["direct", "by gateway"],
)
def entrance(server: ServerProcess, request: pytest.FixtureRequest) -> Iterator[ServerProcess]:
    """Yield where bad bots connect: at the server, or a gateway before it."""
    if not request.param:
        yield server
        return
    with gateway_process(server) as gateway:
        yield gateway


@pytest.fixture
async def arena(
    server: ServerProcess, entrance: ServerProcess, folder: Path, undisturbed: list[Json]
) -> AsyncIterator[Arena]:
    """Yield the server; after the test it must serve the good bots as if nothing had been."""
    async with grpc.aio.insecure_channel(entrance.address) as channel, AsyncExitStack() as closing:
        opened = Arena(server, entrance, folder, Matches(entrance.address, channel, Clock(), closing))
        if not undisturbed:
            undisturbed.append(await opened.side_match())
            # What a server needs once, at its first tournament, isn't held against a bot.
            (await opened.trouble("third")).check_finished()
        yield opened
        assert [await opened.side_match()] == undisturbed
        assert not opened.failures()
