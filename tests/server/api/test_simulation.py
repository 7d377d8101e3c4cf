"""The simulation service of a real server, with its worker processes."""

import multiprocessing
from collections.abc import AsyncIterator, Set
from contextlib import AsyncExitStack, asynccontextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from tests.server import harness as h
from tests.server.model.lines import item, line, rolled_out, started
from tests.server.test_metrics import scraped

from happycity import Mode
from happycity.model.v1beta1 import model_service_pb2 as pb
from happycity.wire.match import duration_message
from happycity.wire.messages import move_message, move_messages
from happycity_runtime.tokens import Role
from happycity_server.access.roles import Principal
from happycity_server.api.model import (
    JOB_PLAYOUTS,
    MAX_LINES,
    MAX_MOVES,
    MAX_PLAYOUTS,
    MAX_TOTAL_PLAYOUTS,
    ModelService,
)
from happycity_server.app import Clocks
from happycity_server.errors import ApiError, Reason
from happycity_server.model.pool import PlayoutPool

pytestmark = pytest.mark.asyncio(loop_scope="module")

LINE = line(started())
Processes = Set[BaseProcess]
QUICK, RANDOM = pb.PLAYOUT_POLICY_QUICK, pb.PLAYOUT_POLICY_RANDOM


class Caller(h.Service):
    def __init__(self, channel: grpc.aio.Channel, metrics: str | None, others: Processes) -> None:
        super().__init__(channel, "happycity.model.v1beta1.ModelService")
        self._metrics = metrics
        self._others = others

    def workers(self) -> Processes:
        """Return the server's own processes; those of other tests' servers may be there too."""
        return {*multiprocessing.active_children()} - self._others

    def roll_out(self, *lines: pb.Line, **fields: Any) -> Any:
        """Return a call of Rollout, a valid one if no field makes it wrong."""
        return self.Rollout(**{"lines": lines or [LINE], "playouts": 10, "policy": QUICK, **fields})

    async def large_call(self) -> Any:
        """Return a call of Rollout that is being played and will be for a while.

        A small call after it has a response already, so calls take turns on the only worker.
        """
        await self.roll_out()  # so that the worker is there
        call = self.roll_out(playouts=MAX_PLAYOUTS)
        await self.roll_out()
        assert not call.done()
        return call

    async def playouts(self) -> float:
        """Return the number of playouts that the server has counted."""
        assert self._metrics is not None
        return (await scraped(self._metrics))["happycity_playouts_total", ""]


@asynccontextmanager
async def caller_of(folder: Path, clocks: Clocks | None = None, **values: Any) -> AsyncIterator[Caller]:
    """Run a server while the context lasts; yields a caller of its service."""
    others = {*multiprocessing.active_children()}
    async with h.serving(folder, clocks=clocks, metrics="127.0.0.1:0", **values) as (server, channel):
        yield Caller(channel, server.metrics, others)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def caller(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Caller]:
    """Yield a caller of a server that serves all tests of this module."""
    folder = tmp_path_factory.mktemp("server")
    async with caller_of(folder, simulation_playouts_per_minute=10_000_000) as one:
        yield one


async def test_positions_are_in_the_order_of_the_lines(caller: Caller) -> None:
    """There is a position for each line, also when they are too many for one job."""
    games = [started(seed) for seed in range(1, 9)]
    response = await caller.ApplyMoves(lines=[*map(line, games)] * 20)
    assert [list(position.moves) for position in response.positions] == [*map(move_messages, games)] * 20


@pytest.mark.parametrize(("policy", "name"), [(QUICK, "quick"), (RANDOM, "random")])
async def test_workers_play_lines_out(caller: Caller, policy: pb.PlayoutPolicy.ValueType, name: str) -> None:
    """Playouts of worker processes, in many jobs, come to the same as in this process; they are counted."""
    lines = [line(started(mode=mode, players=3), seed=6) for mode in Mode]
    before = await caller.playouts()
    response = await caller.roll_out(*lines, playouts=70, policy=policy)
    expected = rolled_out(*[item(one, worlds=70) for one in lines], policy=name)
    assert list(response.results) == [stats.message(number, None) for number, (stats,) in enumerate(expected)]
    assert await caller.playouts() - before == 140


async def test_each_move_of_each_line_is_rolled_out(caller: Caller) -> None:
    """The results are in the order of lines and legal moves, and say which these are."""
    games = [started(seed, moves=3) for seed in (1, 2)]
    response = await caller.roll_out(*map(line, games), playouts=20, each_move=True)
    expected = rolled_out(*[item(line(game), worlds=20) for game in games], each_move=True)
    assert list(response.results) == [
        stats.message(number, move)
        for number, (game, options) in enumerate(zip(games, expected, strict=True))
        for move, stats in zip(move_messages(game), options, strict=True)
    ]


async def test_calls_take_turns_and_cancelled_ones_are_not_played_on(caller: Caller) -> None:
    """A small call is served while the only worker plays a large one; that is played until cancelled."""
    before = await caller.playouts()
    large = await caller.large_call()
    large.cancel()
    while True:  # calls take turns, so it would be played on between two looks
        counted = await caller.playouts()
        await caller.roll_out()
        if await caller.playouts() == counted + 10:
            break
    assert await caller.playouts() - before < MAX_PLAYOUTS


@pytest.mark.level(2)
async def test_dead_worker_costs_one_call(caller: Caller) -> None:
    """If a worker dies, the call that it played fails, and the next call gets a new worker."""
    large = await caller.large_call()
    (worker,) = caller.workers()
    worker.kill()
    assert (await h.outcome_of(large)).status is grpc.StatusCode.INTERNAL
    assert len((await caller.roll_out()).results) == 1


@pytest.mark.level(2)
async def test_server_stops_in_the_middle(tmp_path: Path) -> None:
    """Calls end with SHUTTING_DOWN, and no process stays behind."""
    others = {*multiprocessing.active_children()}
    async with AsyncExitStack() as closing:
        async with h.serving(tmp_path) as (server, _):
            channel = await closing.enter_async_context(grpc.aio.insecure_channel(server.address))
            caller = Caller(channel, None, others)
            large = await caller.large_call()
        assert (await h.outcome_of(large)).reason == "SHUTTING_DOWN"
    assert not caller.workers()


async def test_a_call_returns_in_time_with_the_playouts_so_far(caller: Caller) -> None:
    """All moves have nearly the same number of playouts, fewer than were asked for, and their errors."""
    lines = [line(started(seed, moves=3)) for seed in range(1, 7)]
    await caller.roll_out()  # so that the worker is there
    seconds, response = 0.1, pb.RolloutResponse()
    while not response.results:  # the time in which this machine tries each move at least once
        seconds *= 2
        time = duration_message(seconds)
        response = await caller.roll_out(*lines, playouts=200, each_move=True, time=time)
    counts = [result.playouts for result in response.results]
    assert len(counts) == len((await caller.roll_out(*lines, playouts=1, each_move=True)).results)
    assert max(counts) < 200
    assert max(counts) - min(counts) <= 1 + JOB_PLAYOUTS // len(counts)
    assert all(bool(result.seats) == bool(result.playouts) for result in response.results)


async def test_time_that_is_over_at_once_gives_no_playouts(caller: Caller) -> None:
    """A line's result says so; with each_move the moves are not known."""
    at_once = duration_message(1e-9)
    assert list((await caller.roll_out(time=at_once)).results) == [pb.RolloutResult(line=0)]
    assert not (await caller.roll_out(each_move=True, time=at_once)).results


async def test_processes_start_with_a_bot_that_lacks_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call of a bot in another language finds them there; others cost none."""
    starts: list[PlayoutPool] = []

    def start(pool: PlayoutPool) -> None:
        starts.append(pool)

    monkeypatch.setattr(PlayoutPool, "start", start)
    async with h.serving(tmp_path) as (_, channel):
        await h.connected(channel, "anna", software="happycity-python/0.1.0")
        assert not starts
        await h.connected(channel, "ben", software="happycity-go/0.1.0")
        assert len(starts) == 1


def spoilt() -> pb.Line:
    wrong = pb.Line()
    wrong.CopyFrom(LINE)
    wrong.view.decks[2].left = 1
    return wrong


MOVE = move_message(started().legal_moves[0])
ILLEGAL = line(started(), ["draw 1", "copy 0"])
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("ApplyMoves", {"lines": [LINE] * (MAX_LINES + 1)}, "lines"),
    ("ApplyMoves", {"lines": [LINE, pb.Line(moves=[MOVE] * (MAX_MOVES + 1))]}, "lines[1].moves"),
    ("ApplyMoves", {"lines": [LINE, spoilt()]}, "lines[1].view"),
    ("ApplyMoves", {"lines": [ILLEGAL]}, "lines[0].moves[1]"),
    ("Rollout", {"lines": [LINE, pb.Line(moves=[MOVE] * (MAX_MOVES + 1))]}, "lines[1].moves"),
    ("Rollout", {"playouts": MAX_PLAYOUTS + 1}, "playouts"),
    ("Rollout", {"lines": [LINE, LINE, LINE], "playouts": MAX_TOTAL_PLAYOUTS // 3 + 1}, "playouts"),
    (
        "Rollout",
        {"playouts": MAX_PLAYOUTS, "each_move": True},  # each legal move counts
        "playouts",
    ),
    ("Rollout", {"lines": [line(started(), ["draw 1"])], "each_move": True}, "lines[0].moves"),
    ("Rollout", {"lines": [LINE, spoilt()]}, "lines[1].view"),
    ("Rollout", {"lines": [LINE, spoilt()], "each_move": True}, "lines[1].view"),
]


async def test_wrong_requests_are_refused(caller: Caller) -> None:
    """The refusal names the field, with the position of the line and the move."""
    for method, fields, field in REFUSED:
        call = caller.roll_out(**fields) if method == "Rollout" else caller.ApplyMoves(**fields)
        refusal = await h.outcome_of(call)
        assert (refusal.status, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
        assert refusal.fields == (field,)
        assert refusal.text.startswith(f"{field}: ")


@pytest.mark.level(2)
async def test_quota_is_counted_for_each_token(tmp_path: Path) -> None:
    """A caller that has had a minute's playouts gets the time after which to come back; others are served.

    A call of which the quota is too small for ever is wrong, so it gets no such time.
    """
    tokens, clock = tmp_path / "tokens.json", h.Clock()
    one, two = (h.bearer(h.issued_token(tokens, Role.BOT, name)) for name in ("one", "two"))
    values = {"tokens": tokens, "simulation_playouts_per_minute": 60}
    async with caller_of(tmp_path, Clocks(steady=clock), **values) as caller:
        options = len(started().legal_moves)
        await caller.roll_out(playouts=50, metadata=one)
        await caller.ApplyMoves(one, lines=[LINE] * 10)
        await caller.roll_out(playouts=60, metadata=two)
        for fields in (
            {},
            {"playouts": 20},
            {"lines": [LINE] * 5, "playouts": 4},
            {"playouts": 40 // options, "each_move": True},
        ):

            def call(fields: dict[str, Any] = fields) -> Any:
                if fields:
                    return caller.roll_out(**fields, metadata=one)
                return caller.ApplyMoves(one, lines=[LINE] * 20)

            clock.now += 1.001  # enough for reading a line, before its legal moves are counted
            refusal = await h.outcome_of(call())
            assert (refusal.status, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
            assert "more than 60 playouts a minute" in refusal.text
            assert refusal.retry_seconds is not None
            clock.now += refusal.retry_seconds
            await call()
        for playouts, each_move in ((61, False), (61 // options + 1, True)):
            clock.now += 60
            asked = caller.roll_out(playouts=playouts, each_move=each_move, metadata=one)
            refusal = await h.outcome_of(asked)
            assert (refusal.reason, refusal.fields) == ("INVALID_FIELD", ("playouts",))
            assert refusal.retry_seconds is None
        # The view of the last call was read, to count its moves.
        refusal = await h.outcome_of(caller.ApplyMoves(one, lines=[LINE] * 60))
        assert refusal.retry_seconds == pytest.approx(1)


@pytest.mark.level(2)
async def test_a_seat_at_a_table_is_no_token_of_a_bot() -> None:
    """A person who was invited may look at games, and not use the forward model."""
    service = ModelService(PlayoutPool(1), per_minute=60, clock=h.Clock())
    caller = Principal("person @ann", frozenset({Role.BOT}), person="@ann")
    for call in (
        service.ApplyMoves(caller, pb.ApplyMovesRequest(lines=[LINE])),
        service.Rollout(caller, pb.RolloutRequest(lines=[LINE], playouts=10, policy=QUICK)),
    ):
        with pytest.raises(ApiError) as refused:
            await call
        assert refused.value.reason is Reason.WRONG_ROLE
