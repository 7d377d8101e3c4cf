"""The bot on trial: its process, its streams, and the matches that it plays."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from happycity import Config
from happycity.runtime.child import Child, ChildError, child_environment, describe_status, last_line, words_of
from happycity.v1 import play_service_pb2 as play
from happycity.wire import duration_message
from happycity_check.conversation import Conversation, play_on, start
from happycity_check.errors import SkippedError, StreamEndedError, UnexpectedError
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.scripted_server import BotStream, ScriptedServer

NAME = "check"
"""The name that a bot which is started here gets."""
START_SECONDS = 30.0
"""How long a bot that is started may take to connect."""
FIRST_SECONDS = 600.0
"""How long the check waits for a bot that connects by itself: a person has to start it."""
PING_SECONDS = 5.0
STOP_SECONDS = 3.0
"""How long a bot may take to end after SIGTERM before it is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is checked, and how."""

    command: str = ""
    """Starts the bot; "" if it connects by itself."""
    token: str = ""
    timeout: float = 10.0
    """Seconds for each single thing that the bot has to do."""
    seed: int = 1

    def command_words(self) -> list[str]:
        """Return the command, split into words as a shell does.

        Raises:
            ChildError: a quote is not closed, or there is no word.
        """
        try:
            return words_of(self.command)
        except ChildError as error:
            raise ChildError(f"--bot: {error}") from None


class TrialBot:
    """One bot on trial. A step takes over the connection that the step before it left."""

    def __init__(
        self, options: Options, server: ScriptedServer, *, print_line: Callable[[str], object]
    ) -> None:
        self.options = options
        self.hello = play.Hello()
        self.first_message = play.PlayRequest()
        """The message that the hello was in."""
        self.metadata: dict[str, str] = {}
        """What came with the call of the last stream."""
        self.process: Child | None = None
        self.resume_token = ""
        """The token of the last welcome."""
        self.measurements: dict[str, object] = {}
        """For the report."""
        self._output: IO[bytes] | None = None  # of the process
        self._server = server
        self._print_line = print_line
        self._stream: BotStream | None = None
        self._next_stream: BotStream | None = None  # opened already, but not yet read
        self._conversation: Conversation | None = None
        # Numbers are far from each other, so that a bot can't take a seed for an id.
        self._match_ids = itertools.count(1001)
        self._seeds = itertools.count(options.seed * 1_000_000)
        self._tokens = itertools.count(1)

    @property
    def starts_bot(self) -> bool:
        """Whether the bot is a process of this check."""
        return bool(self.options.command)

    def room(self, wanted: int) -> int:
        """Return how many of so many games the bot is willing to play at once."""
        return min(wanted, self.hello.max_games) if self.hello.HasField("max_games") else wanted

    def match(
        self,
        config: Config | None = None,
        *,
        seed: int | None = None,
        match_id: int | None = None,
        seats: Sequence[int] = (0,),
    ) -> ScriptedMatch:
        """Set up a match; without a seed it is another one each time."""
        number = next(self._match_ids)
        return ScriptedMatch(
            number if match_id is None else match_id,
            config or Config(players=2),
            seed=next(self._seeds) if seed is None else seed,
            seats=seats,
            time_left=self.options.timeout,
        )

    def matches(self, count: int) -> list[ScriptedMatch]:
        """Set up as many matches as the bot plays at once, at most `count`."""
        return [self.match() for _ in range(self.room(count))]

    def match_of_seats(self) -> ScriptedMatch:
        """Set up a match of four in which the bot has two seats.

        Raises:
            SkippedError: the bot plays one game at a time.
        """
        if self.room(2) < 2:
            raise SkippedError("the bot plays one game at a time (hello.max_games is 1)")
        return self.match(Config(players=4), seats=(0, 2))

    async def conversation(self) -> Conversation:
        """Return the running conversation, or begin one: start the bot if need be, and welcome it."""
        if self._conversation is None:
            await self.await_hello()
            return await self.welcome()
        return self._conversation

    async def await_hello(self) -> None:
        """Wait for the bot to connect and say hello; start it if it doesn't run.

        Raises:
            UnexpectedError: it doesn't connect, or says something else.
        """
        await self.release_stream()
        if self.starts_bot and (self.process is None or self.process.status is not None):
            await self._start_bot()
        elif not self.starts_bot and self._next_stream is None:
            self._print_line(f"waiting for the bot to connect to {self._server.address}")
        first = not self.starts_bot and not self.hello.name
        await self._read_hello(FIRST_SECONDS if first else START_SECONDS)

    async def begin(self, count: int) -> tuple[Conversation, list[ScriptedMatch]]:
        """Start as many games as the bot plays at once, at most `count`, and play some decisions of each."""
        conversation, matches = await self.conversation(), self.matches(count)
        await start(conversation, matches)
        await play_on(conversation, matches, times=3)
        return conversation, matches

    async def lose_connection(self) -> None:
        """Break the connection off, and wait for the bot to connect again by itself and say hello.

        Raises:
            UnexpectedError: it doesn't, or says something else, or its process has ended.
        """
        await self._cut_connection()
        await self._read_hello(self.options.timeout)

    async def stays_disconnected(self, seconds: float) -> bool:
        """Return whether the bot opens no stream for so long, or until its process ends."""
        self._next_stream = await self._accept(seconds)
        return self._next_stream is None

    async def _accept(self, seconds: float) -> BotStream | None:
        """Return the stream that the bot opens; None if it doesn't within so long, or its process ends."""
        accepting = asyncio.create_task(self._server.accept(seconds))
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

    async def _read_hello(self, seconds: float) -> None:
        stream, self._next_stream = self._next_stream or await self._accept(seconds), None
        if stream is None:
            ended = self.process is not None and self.process.status is not None
            raise UnexpectedError("the bot did not connect" + ("" if ended else f" within {seconds:g} s"))
        self._stream = stream
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

    async def welcome(self, *, resumed: bool = False) -> Conversation:
        """Welcome the bot that has said hello."""
        assert self._stream is not None
        self.resume_token = f"resume-{next(self._tokens)}"
        conversation = self._conversation = Conversation(self._stream, timeout=self.options.timeout)
        welcome = play.Welcome(
            server="happycity-check",
            resume_token=self.resume_token,
            resumed=resumed,
            ping_interval=duration_message(PING_SECONDS),
        )
        await conversation.send(play.PlayResponse(welcome=welcome))
        conversation.keep_alive(PING_SECONDS)
        return conversation

    async def _cut_connection(self) -> None:
        """Break the connection off, as a network failure does."""
        await self.release_stream()
        self._next_stream = None
        self._server.cut_connections()

    async def release_stream(self) -> BotStream | None:
        """End the conversation but not its stream, which is returned."""
        if self._conversation is not None:
            await self._conversation.close()
        stream, self._stream, self._conversation = self._stream, None, None
        return stream

    async def _start_bot(self) -> None:
        await self.stop_bot()
        variables = {"HAPPYCITY_SERVER": self._server.address, "HAPPYCITY_NAME": NAME}
        if self.options.token:
            variables["HAPPYCITY_TOKEN"] = self.options.token
        self._server.cut_connections()  # whatever an older process left behind
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is stopped
        try:
            self.process = Child.start(
                self.options.command_words(),
                environment=child_environment(**variables),
                stdout=self._output,
                stderr=self._output,
            )
        except ChildError as error:
            self._output.close()
            raise ChildError(f"--bot: {error}") from None

    async def stop_bot(self) -> None:
        """End the bot's process, if there is one."""
        process, self.process = self.process, None
        if process is not None:
            await process.stop(STOP_SECONDS)
            assert self._output is not None
            self._output.close()

    async def reset(self) -> None:
        """Get rid of a bot that failed, so that the next step begins in good order."""
        await self._cut_connection()
        await self.stop_bot()

    async def exit_report(self, error: UnexpectedError) -> str:
        """Return how the bot's process ended and its last line, if it did end; else ""."""
        if self.process is not None and isinstance(error, StreamEndedError):
            # It connects again, or its process is about to end.
            await self.stays_disconnected(self.options.timeout)
        if self.process is None or (status := self.process.status) is None:
            return ""
        assert self._output is not None
        line = last_line(self._output)
        ended = f"; its process ended with {describe_status(status)}"
        return f"{ended}; its last line: {line}" if line else ended


def parts_of(request: play.PlayRequest) -> str:
    """Name what is in a message."""
    return ", ".join(field.name for field, _ in request.ListFields()) or "an empty message"
