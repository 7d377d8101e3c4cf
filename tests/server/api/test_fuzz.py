"""Nonsense on Play streams, beside a real game: the server neither fails nor hangs.

`make fuzz` looks for new examples.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.server.api.arena import Arena, RemoteProgram, arena_with
from tests.server.harness import Outcome, exchanged, hello

from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import PROTOCOL_VERSION

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = "mallory"
PARTNER = "ben"

ENDS = {
    ("OK", ""),  # after a goodbye, or when the bot closes the stream
    ("INVALID_ARGUMENT", "HELLO_EXPECTED"),
    ("INVALID_ARGUMENT", "INVALID_FIELD"),
    ("FAILED_PRECONDITION", "PROTOCOL_VERSION"),
}
"""How a stream may end, whatever is said on it."""

FEWER = settings(max_examples=settings().max_examples // 2)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Arena]:
    """Yield a server with a bot that plays well all the time."""

    async def play_well(bot: RemoteProgram) -> None:
        while True:
            await bot.play_to_end()

    async with arena_with(tmp_path_factory.mktemp("fuzzed"), calls_burst=10**9) as arena:
        playing = asyncio.create_task(play_well(await arena.connect(PARTNER)))
        yield arena
        assert not playing.done()
        playing.cancel()


@contextmanager
def no_errors() -> Iterator[None]:
    """The server must not log any error while the context lasts."""
    with capture_logs() as log:
        yield
    assert not [line for line in log if line["log_level"] not in ("info", "warning")]


# Play streams --------------------------------------------------------------------------------------------

uint32, int64, uint64 = st.integers(0, 2**32 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
text = st.text(max_size=300)
matches = st.sampled_from(["of two", "alone"]) | int64
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
    protocol_version=st.sampled_from([PROTOCOL_VERSION] * 7 + [0]) | uint32,
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
    st.tuples(st.just("play"), st.integers(1, 12), st.integers(1, 12)),
    st.tuples(st.just("spoil"), parts, st.integers(0, 100), st.binary(min_size=1, max_size=9)),
    st.tuples(st.just("say"), last_parts),
    st.tuples(st.just("bytes"), st.binary(max_size=100)),
)
streams = st.lists(st.tuples(st.booleans(), st.lists(steps, max_size=10)), min_size=1, max_size=4)
"""Whether each stream resumes the one before, and what is said on it."""


def message(parts: dict[str, Any], ids: dict[str, int]) -> bytes:
    """Encode a request; ids are those of matches by the names that entries have for them."""
    values = dict(parts)
    for name in values.keys() & {"answers", "resigns"}:
        values[name] = [
            {**entry, "match_id": ids.get(entry["match_id"], entry["match_id"])} for entry in parts[name]
        ]
    return play.PlayRequest(**values).SerializeToString()


def messages_of(step: tuple[Any, ...], ids: dict[str, int]) -> Iterator[bytes]:
    match step:
        case ("say", parts):
            yield message(parts, ids)
        case ("bytes", content):
            yield content
        case ("spoil", parts, at, noise):
            sound = message(parts, ids)
            yield sound[:at] + noise + sound[at + len(noise) :]
        case ("play", first, number):  # what nobody else has a part in goes on so, answer by answer
            for decision_id in range(first, first + number):
                answer = {"match_id": "alone", "decision_id": decision_id, "move": 0}
                yield message({"answers": [answer]}, ids)


@pytest.mark.level(3)
@FEWER
@given(dialogue=streams)
async def test_any_dialogue_ends_in_order(fuzzed: Arena, dialogue: list[tuple[bool, list[Any]]]) -> None:
    """Whatever a bot says in its games, each stream ends with a reason, and the games are finished."""
    policy = match_pb2.FailurePolicy(max_strikes=2)
    with no_errors():
        of_two, alone = [
            (await fuzzed.create(NAME, other, failure_policy=policy)).match_id for other in (PARTNER, NAME)
        ]
        ids, token = {"of two": of_two, "alone": alone}, ""
        for resume, said in dialogue:
            opening = hello(NAME, resume_token=token if resume else "")
            rest = [content for step in said for content in messages_of(step, ids)]
            responses, end = await exchanged(fuzzed.address, opening, *rest)
            assert (end.status.name, end.reason) in ENDS
            # A refusal may overtake the welcome.
            token = responses[0].welcome.resume_token if responses else token
        goodbye = play.PlayRequest(goodbye=play.Goodbye())
        _, end = await exchanged(fuzzed.address, hello(NAME), goodbye)
        assert end == Outcome()
        await fuzzed.finished(alone)
        match = await fuzzed.finished(of_two)
    assert match.outcome.result.seats[1].ending == match_pb2.ENDING_FINISHED


@pytest.mark.level(2)
@FEWER
@given(
    opening=st.tuples(st.just("bytes"), st.binary(max_size=100))
    | st.tuples(st.just("say"), last_parts | parts)
)
async def test_any_first_message_is_welcomed_or_refused(fuzzed: Arena, opening: tuple[Any, ...]) -> None:
    """A stream that begins with anything at all is let in or gets a reason."""
    with no_errors():
        _, end = await exchanged(fuzzed.address, *messages_of(opening, {"of two": 1, "alone": 2}))
    assert (end.status.name, end.reason) in ENDS
