"""The bot on trial: its process, its streams, and the matches that it plays."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import grpc

from happycity import Config
from happycity.v1 import play_service_pb2 as play
from happycity.wire.status import StatusDetails
from happycity_check.bot_process import TrialProcess
from happycity_check.conversation import Conversation, play_on, start
from happycity_check.errors import SkippedError, StreamEndedError, UnexpectedError, demand
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.scripted_server import BotStream, ScriptedServer
from happycity_runtime.child import split_command
from happycity_runtime.event_loop import running

NAME = "check"
"""The name that a bot which is started here gets."""
TOKEN = "hc_check"  # noqa: S105 - no secret
"""The token that a bot which is started here gets unless the user has another one."""
START_SECONDS = 30.0
"""How long a bot that is started may take to connect, or to find that it can't, if `timeout` isn't longer."""
FIRST_SECONDS = 600.0
"""How long the check waits for a bot that connects by itself: a person has to start it."""
STOP_SECONDS = 3.0
"""How long a bot may take to end after SIGTERM before it is killed."""
PROCESSES = 4
"""How many bots of steps with processes of their own run at once."""
NOISE = re.compile(
    r"^([EWIDF]\d{4} |WARNING: |SLF4J|ERROR: |\w{3} \d\d?, \d{4} .* (io\.)?grpc)|absl::|io\.grpc\.|ipv[46]:"
)
"""How lines of a gRPC library or of a language's runtime begin, or what they hold."""

Variables = Mapping[str, str | Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is checked, and how."""

    command: str = ""
    """Starts the bot; "" if it connects by itself."""
    token: str = ""
    """The token that it must send; "" for none, or for that of a bot that is started here."""
    timeout: float = 10.0
    """Seconds for each single thing that the bot has to do."""
    seed: int = 1
    sdk: bool = False
    """Whether the bot is the scenario example of an SDK, of which more is demanded."""

    @property
    def expected_token(self) -> str:
        """The token that the bot has to send; "" for any or none."""
        return self.token or (TOKEN if self.command else "")


class TrialBot:
    """One bot on trial. A step takes over the connection that the step before it left.

    Args:
        options: what is checked, and how.
        server: where it connects.
        folder: for its output and other files.
        print_line: prints a line for a person.
        variables: what its environment has besides, or in place of, what each bot's has. Names are without
            HAPPYCITY_; `{server}` stands for the server's address.
    """

    def __init__(
        self,
        options: Options,
        server: ScriptedServer,
        folder: Path,
        *,
        print_line: Callable[[str], object] = lambda _line: None,
        variables: Variables | None = None,
    ) -> None:
        self.options = options
        self.server = server
        self.folder = folder
        self.hello = play.Hello()
        self.first_message = play.PlayRequest()
        """The message that the hello was in."""
        self.metadata: dict[str, str] = {}
        """What came with the call of the last stream."""
        self.process: TrialProcess | None = None
        self.resume_token = ""
        """The token of the last welcome."""
        self.measurements: dict[str, object] = {}
        """For the report."""
        own: Variables = {"SERVER": "{server}", "NAME": NAME, "TOKEN": options.expected_token}
        self._variables = {
            name if "PROXY" in name.upper() else f"HAPPYCITY_{name}": str(value).format(server=server.address)
            for name, value in {**own, **(variables or {})}.items()
        }
        self._print_line = print_line
        self._stream: BotStream | None = None
        self._next_stream: BotStream | None = None  # opened already, but not yet read
        self._conversation: Conversation | None = None
        # Numbers are far from each other, so that a bot can't take a seed for an id.
        self._match_ids = itertools.count(1001)
        self._seeds = itertools.count(options.seed * 1_000_000)
        self._tokens = itertools.count(1)
        self._others = asyncio.Semaphore(PROCESSES)

    @property
    def starts_bot(self) -> bool:
        """Whether the bot is a process of this check."""
        return bool(self.options.command)

    @property
    def stream(self) -> BotStream:
        """The stream of the last hello."""
        assert self._stream is not None
        return self._stream

    @property
    def address(self) -> str:
        """Where the bot connects, host:port."""
        return self._variables["HAPPYCITY_SERVER"].rpartition("//")[2]

    def require_process(self) -> None:
        """Skip the step, by a SkippedError, if the bot connects by itself."""
        if not self.options.command:
            raise SkippedError("the bot is not a process of this check (--bot)")

    def own_process(self) -> TrialProcess:
        """Return the bot's process, which has been started."""
        assert self.process is not None
        return self.process

    @asynccontextmanager
    async def another(
        self, variables: Variables | None = None, *, credentials: grpc.ServerCredentials | None = None
    ) -> AsyncIterator[TrialBot]:
        """Give the same bot as another process, with other variables and a server of its own.

        SkippedError if the bot connects by itself.
        """
        self.require_process()
        async with self._others, ScriptedServer.listening(credentials=credentials) as server:
            other = TrialBot(self.options, server, self.folder, variables=variables)
            try:
                yield other
            except UnexpectedError as error:
                raise UnexpectedError(str(error) + await other.exit_report(error)) from None
            finally:
                await other.reset()

    def games_at_once(self, wanted: int) -> int:
        """Return how many of `wanted` games the bot is willing to play at once."""
        return min(wanted, self.hello.max_games) if self.hello.HasField("max_games") else wanted

    def match(
        self,
        config: Config | None = None,
        *,
        seed: int | None = None,
        match_id: int | None = None,
        seats: Sequence[int] = (0,),
        others: str = "",
    ) -> ScriptedMatch:
        """Set up a match; without a seed it is another one each time."""
        number = next(self._match_ids)
        return ScriptedMatch(
            number if match_id is None else match_id,
            config or Config(players=2),
            seed=next(self._seeds) if seed is None else seed,
            seats=seats,
            others=others,
            time_left=self.options.timeout,
        )

    def matches(self, count: int) -> list[ScriptedMatch]:
        """Set up as many matches as the bot plays at once, at most `count`."""
        return [self.match() for _ in range(self.games_at_once(count))]

    def match_of_seats(self) -> ScriptedMatch:
        """Set up a match of five in which the bot has as many seats as it plays games at once, at most four.

        SkippedError if the bot plays one game at a time.
        """
        if self.games_at_once(2) < 2:
            raise SkippedError("the bot plays one game at a time (hello.max_games is 1)")
        return self.match(Config(players=5), seats=(0, 2, 3, 4)[: self.games_at_once(4)])

    async def conversation(self) -> Conversation:
        """Return the running conversation, or begin one: start the bot if need be, and welcome it."""
        if self._conversation is None:
            await self.await_hello()
            return await self.welcome()
        return self._conversation

    async def await_hello(self) -> None:
        """Wait for the bot to connect and say hello; start it if it doesn't run.

        UnexpectedError if it doesn't connect, or says something else.
        """
        self.release_stream()
        if self.starts_bot and (self.process is None or self.process.child.status is not None):
            await self.start()
        elif not self.starts_bot and self._next_stream is None:
            self._print_line(f"waiting for the bot to connect to {self.server.address}")
        first = not self.starts_bot and not self.hello.name
        # Who allows more for each thing, as on a busy machine, allows it for the start too.
        await self._read_hello(FIRST_SECONDS if first else max(START_SECONDS, self.options.timeout))

    async def begin(self, count: int) -> tuple[Conversation, list[ScriptedMatch]]:
        """Start as many games as the bot plays at once, at most `count`, and play some decisions of each."""
        conversation, matches = await self.conversation(), self.matches(count)
        await start(conversation, matches)
        await play_on(conversation, matches, times=3)
        return conversation, matches

    async def lose_connection(self) -> None:
        """Break the connection off, and wait for the bot to connect again by itself and say hello."""
        self._cut_connection()
        await self.await_return()

    async def await_return(self) -> None:
        """Wait for a bot that has lost its stream to connect again by itself and say hello."""
        await self._read_hello(self.options.timeout)

    async def welcome_again(self, matches: Sequence[ScriptedMatch]) -> Conversation:
        """Welcome the bot again, as a server does: these of its games go on, and are started again."""
        conversation = await self.welcome([match.match_id for match in matches])
        await start(conversation, matches)
        return conversation

    async def stays_disconnected(self, seconds: float) -> bool:
        """Return whether the bot opens no stream for this time, or until its process ends."""
        self._next_stream = self._next_stream or await self._accept(seconds)
        return self._next_stream is None

    async def _accept(self, seconds: float) -> BotStream | None:
        """Return the stream that the bot opens; None if it doesn't within this time, or its process ends."""
        accepting = asyncio.create_task(self.server.accept(seconds))
        async with running(accepting, *([self.process.child.wait(seconds)] if self.process else ())) as tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if accepting.cancelled() or accepting.exception() is not None:
            return None
        return accepting.result()

    async def _read_hello(self, seconds: float) -> None:
        stream, self._next_stream = self._next_stream or await self._accept(seconds), None
        if stream is None:
            ended = self.process is not None and self.process.child.status is not None
            raise UnexpectedError("the bot did not connect" + ("" if ended else f" within {seconds:g} s"))
        self._stream = stream
        try:
            received = await stream.receive(self.options.timeout)
        except TimeoutError:
            raise UnexpectedError(f"no message within {self.options.timeout:g} s of connecting") from None
        if received is None:
            raise StreamEndedError("the bot ended its stream without a message")
        if not received.request.HasField("hello"):
            raise UnexpectedError(f"the first message is not a hello, but {parts_of(received.request)}")
        self.hello = received.request.hello
        self.first_message = received.request
        self.metadata = stream.metadata

    async def welcome(self, match_ids: Sequence[int] = (), *, digest: str = "") -> Conversation:
        """Welcome the bot that has said hello; by default with a token that is new, and as our cards are."""
        self.resume_token = f"resume-{next(self._tokens)}"
        conversation = self._conversation = Conversation(self.stream, timeout=self.options.timeout)
        await conversation.welcome(self.resume_token, match_ids, digest=digest)
        return conversation

    def _cut_connection(self) -> None:
        """Break the connection off, as a network failure does."""
        self.release_stream()
        self._next_stream = None
        self.server.cut_connections()

    def release_stream(self) -> None:
        """End the conversation, but not its stream."""
        self._stream = self._conversation = None

    def end_stream(self, code: grpc.StatusCode, details: StatusDetails | bytes = b"") -> None:
        """End the conversation and its stream, with the text "only a test"."""
        self.stream.end(code, "only a test", details=details)
        self.release_stream()

    async def start(self) -> None:
        """Start the bot's process."""
        await self.stop_bot()
        self.server.cut_connections()  # connections that an older process left behind
        self.process = TrialProcess(split_command(self.options.command), self._variables, self.folder)

    async def demand_end(self, *errors: str, status: int = 2, before_welcome: bool = False) -> None:
        """Wait for the end of the bot's process, which prints one of `errors` last, where * is any text.

        Without `errors` it ends with status 0, and prints none. Text and status are demanded of an SDK's
        scenario example; any other bot has to print something and to end with another status than 0.
        UnexpectedError if it doesn't end, or in another way.
        """
        process = self.own_process()
        away = await self.stays_disconnected(START_SECONDS + self.options.timeout)
        demand(away, "it connected again")
        demand(process.child.status is not None, "its process did not end")
        lines = process.errors.splitlines()
        if not self.options.sdk:
            demand(process.child.status and (lines or process.output), "an error is not to be seen")
            return
        last = lines[-1] if lines and lines[-1].startswith("error: ") else ""
        wanted = [f"error: {error.format(server=self.address)}" for error in errors] or [""]
        demand(
            any(fnmatchcase(last, each) for each in wanted),
            f"its last line should be {wanted[0]!r}" if errors else "it ended with an error",
        )
        status = status if errors else 0
        demand(process.child.status == status, f"it did not end with status {status}")
        log = lines[:-1] if errors else lines
        noise = [line for line in log if before_welcome or NOISE.search(line)]
        demand(not noise, f"its standard error holds more: {noise[:1]}")

    async def stop_bot(self) -> None:
        """End the bot's process, if there is one."""
        process, self.process = self.process, None
        if process is not None:
            await process.child.stop(STOP_SECONDS)

    async def reset(self) -> None:
        """End a bot that failed, so that the next step starts without it."""
        self._cut_connection()
        await self.stop_bot()

    async def exit_report(self, error: UnexpectedError) -> str:
        """Return how the bot's process ended and its last line, if it did end; else ""."""
        if self.process is not None and isinstance(error, StreamEndedError):
            # It connects again, or its process is about to end.
            await self.stays_disconnected(self.options.timeout)
        return self.process.exit_report() if self.process is not None else ""


def parts_of(request: play.PlayRequest) -> str:
    """Name what is in a message."""
    return ", ".join(field.name for field, _ in request.ListFields()) or "an empty message"
