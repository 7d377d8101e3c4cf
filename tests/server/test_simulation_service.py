"""The simulation service of a real server, with its worker processes."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import PATIENCE
from tests.server.test_metrics import scraped
from tests.server.test_simulations import line, share, started, tallies, told
from tests.server.trust import Metadata, Refused, bearer, new_token, refused, settings

from happycity import Mode
from happycity.v1 import simulation_service_pb2 as pb
from happycity.v1.simulation_service_pb2_grpc import SimulationServiceStub
from happycity.wire import move_message
from happycity_server.app import running
from happycity_server.limits import CallRates
from happycity_server.refusals import Reason, Refusal
from happycity_server.simulation_service import (
    MOST_LINES,
    MOST_MOVES,
    MOST_PLAYOUTS,
    MOST_PLAYOUTS_IN_ALL,
    PlayoutQuota,
)
from happycity_server.simulators import Simulators
from happycity_server.tokens import Role

Call = pb.ExploreRequest | pb.RollOutRequest


class Caller:
    """Makes calls of a simulation service."""

    def __init__(self, channel: grpc.aio.Channel, metrics: str | None) -> None:
        self._stub = SimulationServiceStub(channel)
        self._metrics = metrics

    def roll_out(self, *lines: pb.Line, metadata: Metadata = (), **fields: Any) -> Any:
        """Return a call of RollOut."""
        request = pb.RollOutRequest(lines=lines, **{"playouts": 10, "policy": "quick", **fields})
        return self._stub.RollOut(request, metadata=metadata)

    async def large_call(self) -> Any:
        """Return a call of RollOut that is being played and will be for a while.

        A small one after it has been answered already, so calls take turns on the only worker.
        """
        await self.roll_out(LINE)  # so that the worker is there
        call = self.roll_out(LINE, playouts=MOST_PLAYOUTS)
        await self.roll_out(LINE)
        assert not call.done()
        return call

    async def refusal(self, request: Call, metadata: Metadata = ()) -> Refused:
        """Make a call that must be refused, and return how."""
        method: Any = self._stub.Explore if isinstance(request, pb.ExploreRequest) else self._stub.RollOut
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await method(request, metadata=metadata)
        return refused(caught.value)

    async def playouts(self) -> float:
        """Return how many the server has counted."""
        assert self._metrics is not None
        return (await scraped(self._metrics))["happycity_playouts_total", ""]


@asynccontextmanager
async def serving(folder: Path, **values: Any) -> AsyncIterator[Caller]:
    """Serve with some settings."""
    async with (
        running(settings(folder, metrics="127.0.0.1:0", **values)) as arena,
        grpc.aio.insecure_channel(arena.address) as channel,
    ):
        yield Caller(channel, arena.metrics)


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[Caller]:
    """Give a caller of a server with the usual settings."""
    async with serving(tmp_path) as one:
        yield one


LINE = line(started())


def request(**fields: Any) -> pb.RollOutRequest:
    """Return a request for playouts, a sound one but for what is given."""
    return pb.RollOutRequest(**{"lines": [LINE], "playouts": 10, "policy": "quick", **fields})


# What is answered ----------------------------------------------------------------------------------------


async def test_workers_play_what_is_asked_for(caller: Caller) -> None:
    """Playouts in worker processes, in many jobs, come to the same as in this process; they are counted."""
    lines = [line(started(mode=mode, players=3), seed=6) for mode in Mode]
    answer = await caller.roll_out(*lines, playouts=70)
    expected = tallies(*[share(one, worlds=70) for one in lines])
    for number, (rolled, (tally,)) in enumerate(zip(answer.roll_outs, expected, strict=True)):
        assert rolled == tally.message(number, None)
    assert await caller.playouts() == 140


async def test_each_move_of_each_line_is_rolled_out(caller: Caller) -> None:
    """The answers are in the order of lines and legal moves, and say which they are."""
    games = [started(seed, moves=3) for seed in (1, 2)]
    answer = await caller.roll_out(*map(line, games), playouts=20, each_move=True)
    assert [
        (rolled.line, rolled.move.WhichOneof("kind"), rolled.playouts) for rolled in answer.roll_outs
    ] == [
        (number, move_message(move).WhichOneof("kind"), 20)
        for number, game in enumerate(games)
        for move in game.legal_moves
    ]
    again = await caller.roll_out(*map(line, games), playouts=20, each_move=True)
    assert again == answer
    (options,) = tallies(share(line(games[1]), worlds=20), each_move=True)
    assert [list(rolled.points_mean) for rolled in answer.roll_outs[-len(options) :]] == [
        list(told(tally).points_mean) for tally in options
    ]


async def test_other_callers_get_their_turn(caller: Caller) -> None:
    """A small call is answered while a large one is being played by the only worker."""
    large = await caller.large_call()
    large.cancel()


async def test_cancelled_call_is_not_played_on(caller: Caller) -> None:
    """Playouts that nobody waits for any more are not played."""
    large = await caller.large_call()
    large.cancel()
    while True:  # calls take turns, so it would be played on between two looks
        before = await caller.playouts()
        await caller.roll_out(LINE)
        if await caller.playouts() == before + 10:
            break
    assert await caller.playouts() < MOST_PLAYOUTS


async def test_dead_worker_costs_one_call(caller: Caller) -> None:
    """If a worker dies, what it played is lost, and the next call gets a new one."""
    large = await caller.large_call()
    (worker,) = multiprocessing.active_children()
    worker.kill()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await large
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert len((await caller.roll_out(LINE)).roll_outs) == 1


async def test_server_stops_in_the_middle(tmp_path: Path) -> None:
    """Calls are told that the server shuts down, and no process stays behind."""
    async with AsyncExitStack() as later:
        async with running(settings(tmp_path, metrics="127.0.0.1:0")) as arena:
            channel = await later.enter_async_context(grpc.aio.insecure_channel(arena.address))
            caller = Caller(channel, arena.metrics)
            large = await caller.large_call()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await large
    assert refused(caught.value).reason == "SHUTTING_DOWN"
    assert not multiprocessing.active_children()


SERVER = """
import os, sys, time
from happycity_server.simulators import _new_pool

if __name__ == "__main__":
    print(_new_pool(1).submit(os.getpid).result(), flush=True)
    time.sleep(600)
"""


def test_worker_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    """Nothing stays behind of a server that had no time to end its workers."""
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    with subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        assert int(server.stdout.readline()) != server.pid
        server.kill()
        server.communicate(timeout=PATIENCE)  # to the end of the output, which the worker holds open too


# What is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "metadata"),
    [
        ({"lines": []}, {"field": "lines"}),
        ({"lines": [LINE] * (MOST_LINES + 1)}, {"field": "lines", "limit": str(MOST_LINES)}),
        (
            {"lines": [LINE, pb.Line(moves=[move_message(started().legal_moves[0])] * (MOST_MOVES + 1))]},
            {"field": "lines[1].moves", "line": "1", "limit": str(MOST_MOVES)},
        ),
        ({"policy": "greedy"}, {"field": "policy"}),
        ({"playouts": 0}, {"field": "playouts", "limit": str(MOST_PLAYOUTS)}),
        ({"playouts": MOST_PLAYOUTS + 1}, {"field": "playouts", "limit": str(MOST_PLAYOUTS)}),
        (
            {"lines": [LINE] * 3, "playouts": MOST_PLAYOUTS},
            {"field": "playouts", "limit": str(MOST_PLAYOUTS_IN_ALL)},
        ),
        (
            {"lines": [line(started(), ["draw 1"])], "each_move": True},
            {"field": "lines[0].moves", "line": "0"},
        ),
    ],
    ids=lambda value: None if "field" in value else "-".join(value),
)
async def test_request_that_makes_no_sense_is_refused(
    caller: Caller, fields: dict[str, Any], metadata: dict[str, str]
) -> None:
    """The field is named, and the limit or the line where there is one. No worker is started for that."""
    refusal = await caller.refusal(request(**fields))
    assert (refusal.status, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert refusal.metadata == metadata
    assert not multiprocessing.active_children()


async def test_line_that_makes_no_sense_is_named(caller: Caller) -> None:
    """Views and moves are checked by the rules; the call is refused with the line that is wrong."""
    wrong = pb.Line()
    wrong.CopyFrom(LINE)
    wrong.view.decks[2] = 1
    expected = {"field": "lines[1].view", "line": "1"}
    for asked in (
        pb.ExploreRequest(lines=[LINE, wrong]),
        request(lines=[LINE, wrong]),
        request(lines=[LINE, wrong], each_move=True),
    ):
        refusal = await caller.refusal(asked)
        assert (refusal.reason, refusal.metadata) == ("INVALID_FIELD", expected)
    illegal = line(started(), ["draw 1", "copy 0"])
    refusal = await caller.refusal(pb.ExploreRequest(lines=[illegal]))
    assert refusal.metadata == {"field": "lines[0].moves[1]", "line": "0"}
    assert "illegal move: copy 0" in refusal.text


async def test_too_many_playouts_of_all_moves_are_refused(caller: Caller) -> None:
    """The total counts each legal move, though only the rules know how many there are."""
    refusal = await caller.refusal(request(playouts=MOST_PLAYOUTS, each_move=True))
    assert refusal.metadata == {"field": "playouts", "limit": str(MOST_PLAYOUTS_IN_ALL)}


async def test_service_may_be_turned_off(tmp_path: Path) -> None:
    """Without workers the service is not there, as on servers that don't know it."""
    async with serving(tmp_path, simulation_workers=0) as caller:
        for asked in (pb.ExploreRequest(lines=[LINE]), request()):
            refusal = await caller.refusal(asked)
            assert (refusal.status, refusal.reason) == (
                grpc.StatusCode.UNIMPLEMENTED,
                "UNSUPPORTED_SERVICE",
            )


# The quota -----------------------------------------------------------------------------------------------


async def test_quota_is_counted_for_each_token(tmp_path: Path) -> None:
    """Who has had a minute's playouts is told when to come back; others are not held up."""
    tokens = tmp_path / "tokens.json"
    one, two = (bearer(new_token(tokens, Role.BOT, name)) for name in ("one", "two"))
    async with serving(tmp_path, tokens=tokens, simulation_playouts_per_minute=60) as caller:
        await caller.roll_out(LINE, playouts=60, metadata=one)
        refusal = await caller.refusal(request(playouts=60), metadata=one)
        assert (refusal.status, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
        assert 0 < int(refusal.metadata["retry_after_ms"]) <= 60_000
        await caller.roll_out(LINE, playouts=50, metadata=two)


def test_quota_fills_again() -> None:
    """After the time told, what was refused is allowed; nothing is taken for what is refused."""
    now = 100.0
    quota = PlayoutQuota(600, clock=lambda: now)
    quota.charge("one", 500)
    with pytest.raises(Refusal) as caught:
        quota.charge("one", 300)
    assert (caught.value.reason, caught.value.metadata) == (Reason.RATE_LIMITED, {"retry_after_ms": "20000"})
    assert "more than 600 playouts a minute" in str(caught.value)
    now += 20
    quota.charge("one", 300)


def test_more_than_a_minute_has_is_no_matter_of_waiting() -> None:
    """A call that could never be served is told so."""
    quota = PlayoutQuota(600, clock=lambda: 0.0)
    with pytest.raises(Refusal) as caught:
        quota.charge("one", 601)
    assert (caught.value.reason, caught.value.metadata["limit"]) == (Reason.INVALID_FIELD, "600")


def test_rates_of_calls_count_one_at_a_time() -> None:
    """An amount is taken as a whole or not at all."""
    rates = CallRates(rate=1, burst=5, clock=lambda: 0.0)
    rates.take("one", 3)
    with pytest.raises(Refusal):
        rates.take("one", 3)
    rates.take("one", 2)


async def test_closed_simulators_begin_nothing() -> None:
    """A call that comes too late is refused, and nothing is started for it."""
    simulators = Simulators(1)
    await simulators.close()
    with pytest.raises(Refusal) as caught:
        simulators.check_served()
    assert caught.value.reason is Reason.SHUTTING_DOWN
