"""Where a bot is tried: it starts the bot, takes its streams, and hands out games."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass

from happycity import Config
from happycity.v1 import play_service_pb2 as play
from happycity.wire import PROTOCOL_VERSION
from happycity_check.dialogue import Dialogue, StreamEndedError, UnexpectedError
from happycity_check.peer import BotStream, Peer
from happycity_check.process import BotProcess, describe_status
from happycity_check.tables import Table

NAME = "check"
"""The name that a bot which is started here gets."""
START_SECONDS = 30.0
"""How long a bot that is started may take to dial in."""
FIRST_SECONDS = 600.0
"""How long a bot that dials in by itself is waited for: a person has to start it."""
HEARTBEAT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is checked, and how."""

    command: str = ""
    """Starts the bot; "" if it dials in by itself."""
    token: str = ""
    timeout: float = 10.0
    """Seconds for each single thing that the bot has to do."""
    seed: int = 1


class Bench:
    """One bot on trial. A step takes over the connection that the step before it left."""

    def __init__(
        self, options: Options, peer: Peer, *, say: Callable[[str], object] = lambda _text: None
    ) -> None:
        self.options = options
        self.hello = play.Hello()
        """The last hello of the bot."""
        self.first_message = play.PlayRequest()
        """The message that the hello was in."""
        self.metadata: dict[str, str] = {}
        """What came with the call of the last stream."""
        self.process: BotProcess | None = None
        self.facts: dict[str, object] = {}
        """What was measured, for the report."""
        self._peer = peer
        self._say = say
        self._stream: BotStream | None = None
        self._pending: BotStream | None = None  # opened already, but not yet listened to
        self._dialogue: Dialogue | None = None
        self._token = ""  # of the last welcome
        # Numbers are drawn far from each other, so that a bot can't take a seed for an id.
        self._game_ids = itertools.count(1001)
        self._seeds = itertools.count(options.seed * 1_000_000)
        self._tokens = itertools.count(1)

    @property
    def starts_bot(self) -> bool:
        """Whether the bot is a process of ours."""
        return bool(self.options.command)

    @property
    def resume_token(self) -> str:
        """What the bot was given to resume with."""
        return self._token

    def room(self, wanted: int) -> int:
        """Return how many of so many games the bot is willing to play at once."""
        return min(wanted, self.hello.max_games or wanted)

    def table(
        self, config: Config | None = None, *, seed: int | None = None, game_id: int | None = None
    ) -> Table:
        """Set up a game; without a seed it is another one each time."""
        number = next(self._game_ids)
        return Table(
            number if game_id is None else game_id,
            config or Config(players=2),
            seed=next(self._seeds) if seed is None else seed,
            seat=0,
            time_left=self.options.timeout,
        )

    def tables(self, count: int) -> list[Table]:
        """Set up as many games as the bot plays at once, at most `count`."""
        return [self.table() for _ in range(self.room(count))]

    # Connections ---------------------------------------------------------------------------------------

    async def dialogue(self) -> Dialogue:
        """Return the running conversation, or begin one: start the bot if need be, and welcome it."""
        if self._dialogue is None:
            await self.accept()
            return await self.welcome()
        return self._dialogue

    async def accept(self) -> None:
        """Wait for the bot to dial in and say hello; start it if it doesn't run.

        Raises:
            UnexpectedError: it doesn't come, or says something else.
        """
        await self.hang_up()
        if self.starts_bot and (self.process is None or self.process.status is not None):
            await self._start_bot()
        elif not self.starts_bot and self._pending is None:
            self._say(f"waiting for the bot to dial in at {self._peer.address}")
        first = not self.starts_bot and not self.hello.name
        await self._meet(FIRST_SECONDS if first else START_SECONDS)

    async def come_back(self) -> None:
        """Wait for the bot to dial in again by itself and say hello.

        Raises:
            UnexpectedError: it doesn't, or says something else, or its process has ended.
        """
        await self._meet(self.options.timeout)

    async def stays_away(self, seconds: float) -> bool:
        """Tell whether the bot opens no stream for so long, or until its process ends."""
        self._pending = await self._next_stream(seconds)
        return self._pending is None

    async def _meet(self, seconds: float) -> None:
        stream, self._pending = self._pending or await self._next_stream(seconds), None
        if stream is None:
            ended = self.process is not None and self.process.status is not None
            raise UnexpectedError("the bot did not connect" + ("" if ended else f" within {seconds:g} s"))
        self._stream = stream
        await self._read_hello(stream)

    async def _next_stream(self, seconds: float) -> BotStream | None:
        """Return the stream that the bot opens; None if it doesn't within so long, or its process ends."""
        accepting = asyncio.create_task(self._peer.accept(seconds))
        waiting: set[asyncio.Task[BotStream] | asyncio.Task[int | None]] = {accepting}
        if self.process is not None:
            waiting.add(asyncio.create_task(self.process.wait(seconds)))
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        if accepting.cancelled() or accepting.exception() is not None:
            return None
        return accepting.result()

    async def _read_hello(self, stream: BotStream) -> None:
        try:
            received = await stream.receive(self.options.timeout)
        except TimeoutError:
            raise UnexpectedError(f"no message within {self.options.timeout:g} s of connecting") from None
        if received is None:
            raise StreamEndedError("the bot ended its stream without a message")
        if not received.request.HasField("hello"):
            raise UnexpectedError(f"the first message is no hello, but {parts_of(received.request)}")
        self.hello = received.request.hello
        self.first_message = received.request
        self.metadata = stream.metadata

    async def welcome(self, *, resumed: bool = False) -> Dialogue:
        """Welcome the bot that has said hello."""
        assert self._stream is not None
        self._token = f"resume-{next(self._tokens)}"
        dialogue = self._dialogue = Dialogue(self._stream, timeout=self.options.timeout)
        await dialogue.send(
            play.PlayResponse(
                welcome=play.Welcome(
                    protocol_version=PROTOCOL_VERSION,
                    server="happycity-check",
                    resume_token=self._token,
                    resumed=resumed,
                    heartbeat_ms=round(HEARTBEAT_SECONDS * 1000),
                )
            )
        )
        dialogue.keep_alive(HEARTBEAT_SECONDS)
        return dialogue

    async def cut(self) -> None:
        """Break the connection off, as a network failure does."""
        await self.hang_up()
        self._pending = None
        self._peer.cut()

    async def hang_up(self) -> BotStream | None:
        """Let go of the stream without ending it; return it."""
        if self._dialogue is not None:
            await self._dialogue.close()
        stream, self._stream, self._dialogue = self._stream, None, None
        return stream

    # The bot's process ---------------------------------------------------------------------------------

    async def _start_bot(self) -> None:
        await self.stop_bot()
        environment = {"HAPPYCITY_SERVER": self._peer.address, "HAPPYCITY_NAME": NAME}
        if self.options.token:
            environment["HAPPYCITY_TOKEN"] = self.options.token
        self._peer.cut()  # whatever an older process left behind
        self.process = BotProcess.start(self.options.command, environment)

    async def stop_bot(self) -> None:
        """End the bot's process, if there is one."""
        process, self.process = self.process, None
        if process is not None:
            await process.stop()

    async def start_over(self) -> None:
        """Get rid of a bot that failed, so that the next step begins in good order."""
        await self.cut()
        await self.stop_bot()

    async def obituary(self, error: UnexpectedError) -> str:
        """Say how the bot's process ended, if it did; else return ""."""
        if self.process is not None and isinstance(error, StreamEndedError):
            await self.stays_away(self.options.timeout)  # it comes back, or its process is about to end
        if self.process is None or (status := self.process.status) is None:
            return ""
        last = self.process.last_line()
        words = f"; its last line: {last}" if last else ""
        return f"; its process ended with {describe_status(status)}{words}"


def parts_of(request: play.PlayRequest) -> str:
    """Name what is in a message."""
    return ", ".join(field.name for field, _ in request.ListFields()) or "an empty message"
