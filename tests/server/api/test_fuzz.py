"""Nonsense on the wire, beside a real game: the server neither fails nor hangs.

`make fuzz` looks for new examples.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.server.api.arena import AT_ONCE, Arena, RemoteProgram, arena_with
from tests.server.api.test_services import METHODS
from tests.server.harness import Outcome, method_named, refused

from happycity import Config, Game
from happycity.model.v1beta1 import model_service_pb2 as simulation_pb
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.messages import config_message, view_message

NAME = "mallory"
PARTNER = "ben"
FAMILY = config_message(Config(players=2))

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
            config=FAMILY,
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
        """Take a step of a dialogue."""
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
            ended: Any = error  # a call too
            self.end = refused(ended)
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


# Other calls ---------------------------------------------------------------------------------------------

TERMS: Any = {"time_control": AT_ONCE, "failure_policy": match_pb2.FailurePolicy(max_strikes=1)}
LINE = simulation_pb.Line(view=view_message(Game.deal(Config(players=2), seed=1).view()))
SOUND: dict[str, Message] = {
    "CreateMatch": match_pb.CreateMatchRequest(config=FAMILY, bots=["a", "b"], seed=1, **TERMS),
    "ListMatches": match_pb.ListMatchesRequest(
        page_size=3, bot="a", tournament_id=1, state=match_pb2.MATCH_STATE_FINISHED
    ),
    "CreateTournament": tournament_pb.CreateTournamentRequest(
        config=tournament_pb.TournamentConfig(
            bots=["a", "b"],
            game=FAMILY,
            random_rounds=tournament_pb.RandomRounds(rounds=1),
            **TERMS,
        )
    ),
    "ApplyMoves": simulation_pb.ApplyMovesRequest(lines=[LINE]),
    "Rollout": simulation_pb.RolloutRequest(
        lines=[LINE], playouts=1, policy=simulation_pb.PLAYOUT_POLICY_RANDOM
    ),
}
"""Requests that are served; those of other methods begin empty."""

NUMBERS = st.sampled_from([0, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, -1, -(2**31), -(2**63)])
BOUNDS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
}
FLOATS = st.sampled_from([0.0, -0.0, 0.5, 1.0, 1e300, -1.0, math.nan, math.inf, -math.inf])


def values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    """Return values for a field, whether they make sense or not; None for a message."""
    if field.cpp_type in BOUNDS:
        least, most = BOUNDS[field.cpp_type]
        return NUMBERS.map(lambda number: min(max(number, least), most))
    return {
        FieldDescriptor.CPPTYPE_STRING: st.sampled_from(["", "a", "b", "a b", "5", "\x00", "é" * 70]) | text,
        FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
        FieldDescriptor.CPPTYPE_DOUBLE: FLOATS,
        FieldDescriptor.CPPTYPE_MESSAGE: st.none(),
    }[field.cpp_type]


def spoil(draw: st.DrawFn, message: Message) -> None:
    """Change something in a message."""
    fields: list[Any] = list(message.DESCRIPTOR.fields)
    if not fields:
        return
    field = draw(st.sampled_from(fields))
    content = getattr(message, field.name)
    if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        if field.is_repeated:
            content.add() if not content or draw(st.booleans()) else content.pop()
            part = content[-1] if content else None
        else:
            content.SetInParent()
            part = content
        if part is not None and draw(st.integers(0, 5)):
            spoil(draw, part)
    elif field.is_repeated:
        content.append(draw(values(field)))
    elif draw(st.integers(0, 5)):
        setattr(message, field.name, draw(values(field)))
    else:
        message.ClearField(field.name)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw a method and what is sent to it."""
    path = draw(st.sampled_from(METHODS))
    method = method_named(path)
    message = GetMessageClass(method.input_type)()
    message.MergeFrom(SOUND.get(method.name, message))
    for _ in range(draw(st.integers(0, 3))):
        spoil(draw, message)
    return path, message.SerializeToString()


def has_field(message: Any, path: str) -> bool:
    """Return whether a path such as `lines[0].view` leads to a field of a message."""
    first, _, rest = path.partition(".")
    field = message.fields_by_name.get(first.partition("[")[0])
    return field is not None and (not rest or has_field(field.message_type, rest))


@given(request=requests())
def test_any_request_is_served_or_refused(server: Server, request: tuple[str, bytes]) -> None:
    """No request makes the server fail: it is answered, or refused with a reason and the wrong field."""
    path, content = request

    def call() -> None:
        with grpc.insecure_channel(server.address) as channel:
            method: Any = channel.unary_stream(path)
            stream = method(content)
            try:
                next(stream)
            except grpc.RpcError as error:
                ended: Any = error  # a call too
                refusal = refused(ended)
                assert refusal.reason, f"{refusal.status}: {refusal.text}"
                if refusal.reason == "INVALID_FIELD":
                    assert refusal.fields
                    assert all(has_field(method_named(path).input_type, field) for field in refusal.fields)
            finally:
                stream.cancel()

    server.during(call)
