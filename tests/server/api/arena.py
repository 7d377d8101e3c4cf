"""A real server whose time the test moves, and scripted bots at it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from tests.server.gateways import gateway
from tests.server.harness import Clock, Outcome, PlayCall, end_of, ended_match, hello, matches_at, serving
from tests.server.program import Program

from happycity import Config, Mode
from happycity.records.record import Json, loads
from happycity.records.replay import replay
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import config_message
from happycity_server.app import Clocks

AT_ONCE = match_pb2.TimeControl(connect_time=duration_message(0.0))
"""The time control of matches that begin without the bots that are not connected."""


class RemoteProgram(Program):
    def __init__(self, name: str, call: PlayCall) -> None:
        super().__init__()
        self.name = name
        self.call = call

    async def read(self) -> play.PlayResponse:
        response = await self.call.read()
        assert isinstance(response, play.PlayResponse)
        self.received.MergeFrom(response)
        return response

    async def say(self, **parts: Any) -> None:
        """Send a message."""
        await self.call.write(play.PlayRequest(**parts))

    async def ended(self) -> Outcome:
        """Read to the end of the stream; return how it ended."""
        return await end_of(self.call)


class Arena:
    """A server, and ways to it."""

    def __init__(
        self, address: str, channel: grpc.aio.Channel, clock: Clock, closing: AsyncExitStack
    ) -> None:
        self.address = address
        self.channel = channel
        self.clock = clock
        self.matches = matches_at(channel)
        self._closing = closing

    async def connect(
        self, name: str, *, to: str = "", options: Sequence[tuple[str, int]] = (), **fields: Any
    ) -> RemoteProgram:
        """Connect a bot over a channel of its own and read its welcome."""
        # Programs of one test would share a connection otherwise.
        alone = (("grpc.use_local_subchannel_pool", 1), *options)
        channel = await self._closing.enter_async_context(
            grpc.aio.insecure_channel(to or self.address, options=alone)
        )
        program = RemoteProgram(name, PlayServiceStub(channel).Play())
        await program.call.write(hello(name, **fields))
        await program.until(lambda received: received.HasField("welcome"))
        return program

    async def again(self, program: RemoteProgram) -> RemoteProgram:
        """Connect the same program once more, to resume its games."""
        return await self.connect(program.name, resume_token=program.received.welcome.resume_token)

    async def create(self, *bots: str, mode: Mode = Mode.FAMILY, **fields: Any) -> pb.Match:
        config = config_message(Config(players=len(bots), mode=mode))
        match: pb.Match = await self.matches.CreateMatch(
            **{"config": config, "bots": bots, "seed": 5, **fields}
        )
        return match

    async def match(self, match_id: int) -> pb.Match:
        match: pb.Match = await self.matches.GetMatch(match_id=match_id)
        return match

    async def finished(self, match_id: int) -> pb.Match:
        """Wait for the end of a match that is played to it; return it as it was stored."""
        match = await ended_match(self.matches, match_id)
        assert match.state == match_pb2.MATCH_STATE_FINISHED
        assert match == await self.match(match_id)
        return match

    async def record(self, match_id: int) -> Json:
        """Wait for the end of a match and return its record, which replays."""
        await self.finished(match_id)
        record = loads((await self.matches.GetMatchRecord(match_id=match_id)).json)
        assert replay(record).outcome is not None
        return record


@asynccontextmanager
async def arena_with(
    folder: Path, clock: Clock | None = None, *, by_gateway: bool = False, **values: Any
) -> AsyncIterator[Arena]:
    """Run a server with some settings while the context lasts; its time stands still unless it is moved.

    All calls go to a gateway, if there is to be one.
    """
    clock = clock or Clock()
    async with (
        serving(folder, clocks=Clocks(steady=clock), **values) as (server, channel),
        AsyncExitStack() as closing,
    ):
        if not by_gateway:
            yield Arena(server.address, channel, clock, closing)
            return
        async with gateway(server.address) as address, grpc.aio.insecure_channel(address) as own:
            yield Arena(address, own, clock, closing)
