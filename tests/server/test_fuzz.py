"""Play streams full of nonsense, beside a real game: the server neither fails nor hangs.

`make fuzz` goes on for minutes; HAPPYCITY_FUZZ_MINUTES says how many.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.misbehaviour.arena import GOOD, Arena
from tests.misbehaviour.bots.raw import error_info

from happycity import Config
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire import config_message

MINUTES = float(os.environ.get("HAPPYCITY_FUZZ_MINUTES", "0"))
NAME = "mallory"
PARTNER = GOOD[0]
DEADLINE = 60.0

ENDS = {
    ("OK", ""),  # after a goodbye
    ("INVALID_ARGUMENT", "HELLO_EXPECTED"),
    ("INVALID_ARGUMENT", "INVALID_FIELD"),
    ("FAILED_PRECONDITION", "UNSUPPORTED_VERSION"),
}
"""How a stream may end, whatever is said on it."""

# What a bot may say --------------------------------------------------------------------------------------

uint32, uint64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
text = st.text(max_size=300)
games = st.integers(-3, 0) | uint64
"""Numbers below 1 are taken from the running match: 0 is that itself, -1 the one before."""
answers = st.fixed_dictionaries(
    {"game_id": games, "decision_id": st.integers(0, 12) | uint32, "move": st.integers(0, 4) | uint32}
)
resigns = st.fixed_dictionaries({"game_id": games, "reason": text})
heartbeats = st.builds(play.Heartbeat, nonce=uint64)
hellos = st.builds(
    play.Hello,
    name=st.sampled_from([NAME, "", "a b"]) | text,
    protocol_version=st.just(1) | uint32,
    max_games=st.integers(0, 2) | uint32,
    software=text,
    resume_token=text,
    games=st.lists(uint64, max_size=5),
)
parts = st.fixed_dictionaries(
    {},
    optional={
        "answers": st.lists(answers, max_size=5),
        "resigns": st.lists(resigns, max_size=2),
        "heartbeat": heartbeats,
        "pong": heartbeats,
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


class Fuzzed:
    """A bot that says anything, byte by byte as it is told, and can play well too."""

    def __init__(self, arena: Arena) -> None:
        self.token = ""
        self.end: tuple[str, str] | None = None
        """How the stream ended: status and reason; None while it is open."""
        self.match_id = 0
        self._arena = arena
        self._nonces = itertools.count(2**63)
        self._open()

    def match(self) -> None:
        """Begin a match with a good bot."""
        request = match_pb.CreateMatchRequest(
            config=config_message(Config(players=2)),
            bots=[NAME, PARTNER],
            seed=1,
            failure_policy=match_pb.FailurePolicy(max_strikes=2),
        )
        self.match_id = MatchServiceStub(self._arena.channel).CreateMatch(request).match.match_id

    def hello(self, *, resume: bool = False) -> None:
        """Say a proper hello, and wait for the answer."""
        hello = play.Hello(name=NAME, protocol_version=1)
        if resume:
            hello.resume_token = self.token
            hello.games.append(self.match_id)
        self.say({"hello": hello})
        self._read()

    def say(self, told: dict[str, Any]) -> None:
        """Send a message."""
        self._outbox.put(self._message(told).SerializeToString())

    def take(self, step: tuple[Any, ...]) -> None:
        """Take a step of a dialogue."""
        match step:
            case ("say", told):
                self.say(told)
            case ("bytes", told):
                self._outbox.put(told)
            case ("spoil", told, at, noise):
                sound = self._message(told).SerializeToString()
                self._outbox.put(sound[:at] + noise + sound[at + len(noise) :])
            case ("play", times):
                for _ in range(times):
                    self.settle()
            case ("return", resume):
                self.close()
                self._open()
                self.hello(resume=resume)

    def settle(self) -> None:
        """Answer what was asked, and wait until the server has dealt with all that was sent."""
        nonce = next(self._nonces)
        self.say({"heartbeat": play.Heartbeat(nonce=nonce)})
        while (response := self._read()) is not None:
            for decision in response.decisions:
                answer = {"game_id": decision.game_id, "decision_id": decision.decision_id, "move": 0}
                self.say({"answers": [answer]})
            if response.heartbeat.nonce == nonce:
                return

    def leave(self) -> None:
        """Come once more as a new program, and say goodbye."""
        self.close()
        self._open()
        self.hello()
        self.say({"goodbye": play.Goodbye()})
        while self._read() is not None:
            pass
        assert self.end == ("OK", "")

    def close(self) -> None:
        """Break the connection off."""
        self._call.cancel()
        self._outbox.put(None)

    def _open(self) -> None:
        self.end = None
        self._outbox = SimpleQueue[bytes | None]()
        # Without a serialiser for requests, they are bytes.
        method: Any = self._arena.channel.stream_stream(
            "/happycity.v1.PlayService/Play", response_deserializer=play.PlayResponse.FromString
        )
        self._call = method(iter(self._outbox.get, None), timeout=DEADLINE)

    def _message(self, told: dict[str, Any]) -> play.PlayRequest:
        real = {"answers": play.Answer, "resigns": play.Resign}
        values: dict[str, Any] = {
            key: [real[key](**self._with_real_game(one)) for one in value] if key in real else value
            for key, value in told.items()
        }
        return play.PlayRequest(**values)

    def _with_real_game(self, values: dict[str, Any]) -> dict[str, Any]:
        game = values["game_id"]
        return {**values, "game_id": game if game > 0 else max(0, self.match_id + game)}

    def _read(self) -> play.PlayResponse | None:
        try:
            response: play.PlayResponse = next(self._call)
        except StopIteration:
            self.end = ("OK", "")
            return None
        except grpc.RpcError as error:
            self.end = (error.code().name, error_info(error).reason)
            return None
        if response.HasField("welcome"):
            self.token = response.welcome.resume_token
        if response.HasField("ping"):
            self.say({"pong": response.ping})
        return response


# What must hold ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """Give a server with good bots; in the end it must serve them as before, and have failed in nothing."""
    if not sys.platform.startswith("linux"):
        pytest.skip("starts processes as the other tests of misbehaviour do")
    with Arena(
        tmp_path_factory.mktemp("fuzzed"), environ={"OPEN": "1", "CALLS_PER_SECOND": "10000"}
    ) as running:
        running.start_good_bots()
        undisturbed = running.side_match()
        yield running
        assert running.side_match() == undisturbed
        assert running.failures() == []
        assert running.metric("happycity_refusals_total", reason="internal") == 0


def examples(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        phases=[phase for phase in Phase if phase is not Phase.explain],
    )


def check(arena: Arena, dialogue: list[tuple[Any, ...]]) -> None:
    """Check that a dialogue in the middle of a game ends in order, and so does the game."""
    bot = Fuzzed(arena)
    bot.hello()
    bot.match()
    for step in dialogue:
        bot.take(step)
    bot.settle()
    assert bot.end is None or bot.end in ENDS
    bot.leave()
    record = arena.finished(bot.match_id)
    assert record["endings"][1] == "finished"


@examples(80)
@given(dialogue=st.lists(steps, max_size=10))
def test_any_dialogue_ends_in_order(arena: Arena, dialogue: list[tuple[Any, ...]]) -> None:
    """Whatever a bot says in its game, the stream goes on or ends with a reason, and the game is finished."""
    check(arena, dialogue)


@examples(40)
@given(
    opening=st.tuples(st.just("bytes"), st.binary(max_size=100))
    | st.tuples(st.just("say"), last_parts | parts)
)
def test_any_first_message_is_welcomed_or_refused(arena: Arena, opening: tuple[Any, ...]) -> None:
    """A stream that begins with anything at all is let in or gets a reason."""
    bot = Fuzzed(arena)
    bot.take(opening)
    bot.settle()
    assert bot.end is None or bot.end in ENDS
    bot.close()


@pytest.mark.skipif(not MINUTES, reason="make fuzz goes on for minutes")
def test_many_dialogues_end_in_order(arena: Arena) -> None:
    """The same as above, for as long as one likes."""
    end, runs = time.monotonic() + 60 * MINUTES, itertools.count(time.time_ns())
    while time.monotonic() < end:

        @seed(next(runs))
        @examples(200)
        @given(dialogue=st.lists(steps, max_size=30))
        def run(dialogue: list[tuple[Any, ...]]) -> None:
            check(arena, dialogue)

        run()
