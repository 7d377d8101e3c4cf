"""Any request, by anybody, is answered at little cost, and nothing stored does harm.

`python -m tests.server.test_requests` makes the answers of `refused.txt` again.
"""

import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.json_format import ParseDict
from tests.server.harness import Outcome, refused
from tests.server.requests import MAX_BYTES, extreme, methods, valid
from tests.server.server_process import ServerProcess, server_process
from tests.tables import Table
from tests.waiting import LIMIT

from happycity import BotInfo
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1.match_service_pb2 import ListMatchesRequest, ListMatchesResponse
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity_ladder.book import Book
from happycity_server.play.clock import OVERLOAD_SECONDS
from happycity_tournament.games import BotProfile
from happycity_tournament.storage.store import Store

pytestmark = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs Linux's schedstat")

LOOP_MILLISECONDS = 100.0
"""The CPU time of the event loop that one request may cost."""
ATTEMPTS = 3
"""How often a request that seems to cost more is tried."""
MOMENT = 0.2
"""Seconds for which a call is awaited that may have no response for long."""
FLAGS = (
    "--open",
    *("--calls-per-second", "1e6", "--calls-burst", "1000000"),
    *("--open-matches", "100000"),
)
LADDER = """
boards = [{players = 2}]
[quotas]
open_challenges = 100_000
deals_per_day = 100_000_000
"""
ACCEPTED = (grpc.StatusCode.OK, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION)
UNARY = [method.name for method in methods(streams=False)]
STREAMS = [method.name for method in methods(streams=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the server's store."""
    return tmp_path_factory.mktemp("requests")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ServerProcess]:
    with server_in(folder) as process:
        yield process


@contextmanager
def server_in(folder: Path) -> Iterator[ServerProcess]:
    """Run an open server with a ladder while the context lasts."""
    with Store.create(f"sqlite:///{folder}/games.sqlite") as store:
        for bot in ("anna", "ben"):
            Book(store).enter_version(bot, BotProfile(BotInfo(version="1")), 0.0, owner=bot)
    (folder / "ladder.toml").write_text(LADDER)
    with server_process(folder, *FLAGS, "--ladder", f"{folder}/ladder.toml") as process:
        yield process


@pytest.fixture(scope="module")
def channel(server: ServerProcess) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(server.address) as opened:
        yield opened


LONG_CALLS = ("/happycity.v1.MatchService/GetMatch",)
"""Methods with one response that a caller may ask to wait."""


def method_of(name: str) -> MethodDescriptor:
    every = (*methods(streams=False), *methods(streams=True))
    return next(method for method in every if method.name == name)


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def call(channel: grpc.Channel, method: MethodDescriptor, request: bytes) -> tuple[Outcome, bytes]:
    """Return how a call ended, and its response; the first one of a stream.

    A stream, or a call that waits, may have no response for long.
    """
    path = path_of(method)
    try:
        if not method.server_streaming:
            unary: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
            return Outcome(), unary(request, timeout=MOMENT if path in LONG_CALLS else LIMIT)
        streaming: grpc.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(path)
        stream = streaming(request, timeout=MOMENT)
        try:
            return Outcome(), next(iter(stream))
        finally:
            stream.cancel()
    except grpc.RpcError as error:
        return refused(error), b""


def has_reason(method: MethodDescriptor, outcome: Outcome) -> bool:
    """Return whether a refusal has a reason and, for wrong fields, the paths of fields that there are."""
    if outcome.status in (grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED):
        return True
    if outcome.reason != "INVALID_FIELD":
        return bool(outcome.reason)
    return all(has_field(method.input_type, field) for field in outcome.fields)


def has_field(message: Any, path: str) -> bool:
    """Return whether a path such as `lines[0].view` leads to a field of a message."""
    first, _, rest = path.partition(".")
    field = message.fields_by_name.get(first.partition("[")[0])
    return field is not None and (not rest or has_field(field.message_type, rest))


def remove(channel: grpc.Channel, tournament_id: int) -> None:
    """Stop a tournament and delete it, as soon as it has ended."""
    stop = pb.StopTournamentRequest(tournament_id=tournament_id).SerializeToString()
    assert call(channel, method_of("StopTournament"), stop)[0] == Outcome()
    delete = pb.DeleteTournamentRequest(tournament_id=tournament_id).SerializeToString()
    deadline = time.monotonic() + 60
    while (outcome := call(channel, method_of("DeleteTournament"), delete)[0]) != Outcome():
        assert outcome.status is grpc.StatusCode.FAILED_PRECONDITION
        assert time.monotonic() < deadline


@pytest.mark.level(2)
@pytest.mark.parametrize("name", [*UNARY, *STREAMS])
def test_any_request_is_answered(
    server: ServerProcess, channel: grpc.Channel, name: str, request: pytest.FixtureRequest
) -> None:
    """A request of at most 1 MiB fails for its own reasons if it fails, and hardly costs the event loop."""
    method = method_of(name)
    rng = random.Random(f"requests {name}")
    number = 15
    interrupted = 0
    removed: set[int] = set()
    for _ in range(number):
        message = extreme(method, rng)
        assert len(message) <= MAX_BYTES
        costs: list[float] = []
        # Garbage of earlier requests is collected now and then; what a request costs itself, it costs always.
        while not costs or (costs[-1] >= LOOP_MILLISECONDS and len(costs) < ATTEMPTS):
            before = server.loop_milliseconds()
            outcome, response = call(channel, method, message)
            costs.append(server.loop_milliseconds() - before)
            assert has_reason(method, outcome), (outcome, message[:200])
            if name == "CreateTournament" and response:
                made = pb.Tournament.FromString(response).tournament_id
                if made not in removed:  # a request with an id that was sent before is answered as before
                    remove(channel, made)
                    removed.add(made)
        assert min(costs) < LOOP_MILLISECONDS, (costs, len(message), message[:200])
        interrupted += len(costs) > 1
    assert interrupted <= 1 + number // 100


@pytest.mark.parametrize("name", UNARY)
def test_valid_requests_are_valid(channel: grpc.Channel, name: str) -> None:
    """The requests that the test above makes extreme are accepted; what they name may not exist."""
    method = method_of(name)
    for message in valid(method):
        outcome, response = call(channel, method, message.SerializeToString())
        waits = outcome.status is grpc.StatusCode.DEADLINE_EXCEEDED and path_of(method) in LONG_CALLS
        assert outcome.status in ACCEPTED or waits, message
        if name == "CreateTournament":
            remove(channel, pb.Tournament.FromString(response).tournament_id)


def test_event_loop_was_never_stuck(server: ServerProcess, channel: grpc.Channel) -> None:
    """After all those requests the server has not failed once, and was late for want of a core at most."""
    lost = server.metric("happycity_overload_seconds_total")[""]
    overloads = server.metric("happycity_overloads_total")[""]
    assert lost - overloads * OVERLOAD_SECONDS <= server.loop_wait_seconds()
    assert "internal" not in server.metric("happycity_refusals_total")
    assert not TournamentServiceStub(channel).ListTournaments(pb.ListTournamentsRequest()).tournaments
    MatchServiceStub(channel).ListMatches(ListMatchesRequest(page_size=200))


@pytest.mark.level(2)
def test_server_starts_again(folder: Path, server: ServerProcess) -> None:
    """Whatever was stored, another server starts on the store when the first one has stopped."""
    copy = folder / "copy"
    copy.mkdir()
    for file in folder.glob("games.sqlite*"):
        if not file.name.endswith(".lock"):
            (copy / file.name).write_bytes(file.read_bytes())
    with server_process(copy, *FLAGS) as second, grpc.insecure_channel(second.address) as channel:
        TournamentServiceStub(channel).ListTournaments(pb.ListTournamentsRequest())


def refusals(channel: grpc.Channel) -> Table:
    """Return the table of what is refused, as a server answers it."""

    def refusal(line: str) -> Iterator[str]:
        name, _, wrong = line.partition(" ")
        request = ParseDict(json.loads(wrong), valid(method_of(name))[0])
        outcome, _ = call(channel, method_of(name), request.SerializeToString())
        assert outcome.text.isprintable()
        known = outcome.fields or outcome.metadata
        yield f"{outcome.status.name} {outcome.reason} {known}: {outcome.text}"

    return Table(Path(__file__).with_name("refused.txt"), refusal)


@pytest.mark.level(2)
def test_wrong_requests_are_refused_as_is_kept(channel: grpc.Channel) -> None:
    """The refusal says which field is wrong or what is not there, in one line, and nothing has been done."""

    def everything() -> tuple[list[int], bytes]:
        page = call(channel, method_of("ListMatches"), b"")[1]
        matches = [match.match_id for match in ListMatchesResponse.FromString(page).matches]
        return matches, call(channel, method_of("ListTournaments"), b"")[1]

    before = everything()
    refusals(channel).check(least=150)
    assert everything() == before


if __name__ == "__main__":
    with (
        TemporaryDirectory() as name,
        server_in(Path(name)) as process,
        grpc.insecure_channel(process.address) as opened,
    ):
        refusals(opened).write()
