"""Nonsense on a Play stream, beside a real game: the server neither fails nor hangs.

`make fuzz` looks for new examples.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.server.api.arena import Arena, RemoteProgram, arena_with
from tests.server.harness import Outcome, refused

from happycity import Config
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.messages import config_message

NAME = "mallory"
PARTNER = "ben"

ENDS = {
    ("OK", ""),  # after a goodbye
    ("INVALID_ARGUMENT", "HELLO_EXPECTED"),
    ("INVALID_ARGUMENT", "INVALID_FIELD"),
}
"""How a stream may end, whatever is said on it."""

FEWER = settings(max_examples=settings().max_examples // 2)


class Server:
    """A server with a good bot, which runs while a test waits for something; it must not log any error."""

    def __init__(self, runner: asyncio.Runner, arena: Arena) -> None:
        self.address = arena.address
        self._runner = runner
        self._arena = arena

    def during(self, action: Callable[[], None]) -> None:
        """Let the server run during an action in another thread."""
        with capture_logs() as log:
            self._runner.run(asyncio.to_thread(action))
        assert not [line for line in log if line["log_level"] not in ("info", "warning")]

    def finished(self, match_id: int) -> match_pb.Match:
        """Wait for the end of a match, and return it."""
        return self._runner.run(self._arena.finished(match_id))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server with a bot that plays well all the time."""

    async def play_well(bot: RemoteProgram) -> None:
        while isinstance(response := await bot.call.read(), play.PlayResponse):
            for decision in response.decisions:
                await bot.answer(decision)

    async def started(closing: AsyncExitStack) -> tuple[Arena, asyncio.Task[None]]:
        folder = tmp_path_factory.mktemp("fuzzed")
        arena = await closing.enter_async_context(arena_with(folder, calls_burst=10**9))
        return arena, asyncio.create_task(play_well(await arena.connect(PARTNER)))

    with asyncio.Runner() as runner, capture_logs():
        closing = AsyncExitStack()
        arena, playing = runner.run(started(closing))
        yield Server(runner, arena)
        assert not playing.done()
        playing.cancel()
        runner.run(closing.aclose())


# Play streams --------------------------------------------------------------------------------------------

uint32, int64, uint64 = st.integers(0, 2**32 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
text = st.text(max_size=300)
matches = st.sampled_from(["this", "the last one"]) | int64
answers = st.fixed_dictionaries(
    {"match_id": matches, "decision_id": st.integers(0, 12) | uint32, "move": st.integers(0, 4) | uint32},
    optional={"metrics": st.dictionaries(text, st.floats(), max_size=20)},
)
resigns = st.fixed_dictionaries(
    {"match_id": matches, "reason": text},
    optional={"seat": st.integers(0, 5) | uint32, "crashed": st.booleans()},
)
hellos = st.builds(
    play.Hello,
    name=st.none() | st.sampled_from([NAME, "", "a b"]) | text,
    max_games=st.none() | st.integers(0, 2) | uint32,
    software=text,
    resume_token=text,
)
parts = st.fixed_dictionaries(
    {},
    optional={
        "answers": st.lists(answers, max_size=5),
        "resigns": st.lists(resigns, max_size=2),
        "pong": st.builds(play.Pong, nonce=uint64),
    },
)
last_parts = st.fixed_dictionaries(
    {}, optional={"hello": hellos, "goodbye": st.builds(play.Goodbye), "answers": st.lists(answers)}
)
steps = st.one_of(
    st.tuples(st.just("say"), parts),
    st.tuples(st.just("play"), st.integers(1, 4)),
    st.tuples(st.just("spoil"), parts, st.integers(0, 100), st.binary(min_size=1, max_size=9)),
    st.tuples(st.just("return"), st.booleans()),
    st.tuples(st.just("say"), last_parts),
    st.tuples(st.just("bytes"), st.binary(max_size=100)),
)


class Mallory:
    """A bot that says anything, byte by byte if it must, and can play well too."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.token = ""
        self.end: Outcome | None = None
        """How the stream ended; None while it is open."""
        self.match_id = 0
        self._channel = channel
        self._nonces = itertools.count(2**62)
        self._open()

    def match(self) -> None:
        """Begin a match with the good bot."""
        request = match_pb.CreateMatchRequest(
            config=config_message(Config(players=2)),
            bots=[NAME, PARTNER],
            seed=1,
            failure_policy=match_pb2.FailurePolicy(max_strikes=2),
        )
        self.match_id = MatchServiceStub(self._channel).CreateMatch(request).match_id

    def hello(self, *, resume: bool = False) -> None:
        """Say a proper hello, and wait for the answer."""
        hello = play.Hello(name=NAME)
        if resume:
            hello.resume_token = self.token
        self.say({"hello": hello})
        self._read()

    def say(self, parts: dict[str, Any]) -> None:
        """Send a message."""
        self._outbox.put(self._message(parts).SerializeToString())

    def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("say", parts):
                self.say(parts)
            case ("bytes", content):
                self._outbox.put(content)
            case ("spoil", parts, at, noise):
                sound = self._message(parts).SerializeToString()
                self._outbox.put(sound[:at] + noise + sound[at + len(noise) :])
            case ("play", times):
                for _ in range(times):
                    self.settle()
            case ("return", resume):
                self.close()
                self._open()
                self.hello(resume=resume)

    def settle(self) -> None:
        """Answer all decisions, and wait until the server has dealt with everything that was sent."""
        nonce = next(self._nonces)
        self.say({"answers": [{"match_id": nonce}]})
        while (response := self._read()) is not None:
            for decision in response.decisions:
                answer = {"match_id": decision.match_id, "decision_id": decision.decision_id, "move": 0}
                self.say({"answers": [answer]})
            if any(notice.match_id == nonce for notice in response.notices):
                return

    def leave(self) -> None:
        """Come once more as a new program, and say goodbye."""
        self.close()
        self._open()
        self.hello()
        self.say({"goodbye": play.Goodbye()})
        while self._read() is not None:
            pass
        assert self.end == Outcome()

    def close(self) -> None:
        """Break the connection off."""
        self._call.cancel()
        self._outbox.put(None)

    def _open(self) -> None:
        self.end = None
        self._outbox = SimpleQueue[bytes | None]()
        # Without a serialiser for requests, they are bytes.
        method: Any = self._channel.stream_stream(
            "/happycity.v1.PlayService/Play", response_deserializer=play.PlayResponse.FromString
        )
        self._call = method(iter(self._outbox.get, None))

    def _message(self, parts: dict[str, Any]) -> play.PlayRequest:
        types = {"answers": play.Answer, "resigns": play.Resign}
        values: dict[str, Any] = {
            key: [types[key](**self._with_match(entry)) for entry in value] if key in types else value
            for key, value in parts.items()
        }
        return play.PlayRequest(**values)

    def _with_match(self, values: dict[str, Any]) -> dict[str, Any]:
        known = {"this": self.match_id, "the last one": self.match_id - 1}
        return {**values, "match_id": known.get(values["match_id"], values["match_id"])}

    def _read(self) -> play.PlayResponse | None:
        try:
            response: play.PlayResponse = next(self._call)
        except StopIteration:
            self.end = Outcome()
            return None
        except grpc.RpcError as error:
            self.end = refused(error)
            return None
        if response.HasField("welcome"):
            self.token = response.welcome.resume_token
        return response

    def check_end(self) -> None:
        """Check that the stream is open, or has ended as it may."""
        assert self.end is None or (self.end.status.name, self.end.reason) in ENDS


@pytest.mark.thorough
@FEWER
@given(dialogue=st.lists(steps, max_size=10))
def test_any_dialogue_ends_in_order(server: Server, dialogue: list[tuple[Any, ...]]) -> None:
    """Whatever a bot says in its game, the stream goes on or ends with a reason, and the game is finished."""
    played = []

    def talk() -> None:
        with grpc.insecure_channel(server.address) as channel:
            bot = Mallory(channel)
            bot.hello()
            bot.match()
            for step in dialogue:
                bot.take(step)
            bot.settle()
            bot.check_end()
            bot.leave()
            played.append(bot.match_id)

    server.during(talk)
    match = server.finished(played[0])
    assert match.result.seats[1].ending == match_pb2.ENDING_FINISHED


@FEWER
@given(
    opening=st.tuples(st.just("bytes"), st.binary(max_size=100))
    | st.tuples(st.just("say"), last_parts | parts)
)
def test_any_first_message_is_welcomed_or_refused(server: Server, opening: tuple[Any, ...]) -> None:
    """A stream that begins with anything at all is let in or gets a reason."""

    def talk() -> None:
        with grpc.insecure_channel(server.address) as channel:
            bot = Mallory(channel)
            bot.take(opening)
            bot.settle()
            bot.check_end()
            bot.close()

    server.during(talk)
