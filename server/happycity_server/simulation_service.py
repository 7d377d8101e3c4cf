"""SimulationService: checks what is asked for, charges for it, and has workers play it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

import grpc

from happycity.policies import POLICIES
from happycity.v1 import game_pb2
from happycity.v1 import simulation_service_pb2 as pb
from happycity.v1.simulation_service_pb2_grpc import SimulationServiceServicer
from happycity_server.access import principal
from happycity_server.limits import CallRates
from happycity_server.refusals import Reason, Refusal, refusing
from happycity_server.simulations import LineError, PlayoutJob, Share, Tally, explore, legal_moves, roll_out
from happycity_server.simulators import Simulators

MOST_LINES = 1000
"""Lines at a call."""
MOST_MOVES = 600
"""Moves of a line: more decisions than any game has (article 4.1)."""
MOST_PLAYOUTS = 10_000
"""Playouts of a line, or of a move."""
MOST_PLAYOUTS_IN_ALL = 20_000
"""Playouts at a call."""

_JOB_LINES = 64
_JOB_PLAYOUTS = 32  # some 10 ms: after so long, another call has its turn

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")
_Context = grpc.aio.ServicerContext[Any, Any]


class PlayoutQuota:
    """What each caller may have played in a minute; an explored position counts as a playout."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._rates = CallRates(
            rate=per_minute / 60, burst=per_minute, clock=clock, quota=f"{per_minute} playouts a minute"
        )

    def charge(self, caller: str, playouts: int) -> None:
        """Count playouts that a call is about to have.

        Raises:
            Refusal: they are more than the caller may have now, or ever.
        """
        if playouts > self._per_minute:
            text = f"playouts: {playouts} at a call, but the quota is {self._per_minute} a minute"
            raise _invalid("playouts", text, limit=self._per_minute)
        self._rates.sweep()
        self._rates.take(caller, playouts)


class SimulationService(SimulationServiceServicer):
    """Plays on from views. What is hidden in the game that a view came from is not to be found here."""

    def __init__(self, simulators: Simulators, quota: PlayoutQuota) -> None:
        self._simulators = simulators
        self._quota = quota

    @refusing
    async def Explore(  # noqa: N802 - gRPC names its methods so
        self, request: pb.ExploreRequest, context: _Context
    ) -> pb.ExploreResponse:
        """Return the position that each line comes to."""
        self._simulators.check_served()
        _check_lines(request.lines)
        self._quota.charge(principal().caller, len(request.lines))
        positions = await self._for_lines(explore, _whole(request.lines))
        return pb.ExploreResponse(positions=map(pb.Position.FromString, positions))

    @refusing
    async def RollOut(  # noqa: N802
        self, request: pb.RollOutRequest, context: _Context
    ) -> pb.RollOutResponse:
        """Return what the playouts of each line came to."""
        self._simulators.check_served()
        _check_lines(request.lines)
        _check_playouts(request)
        caller, lines = principal().caller, _whole(request.lines)
        # Before the views are read nobody knows how many moves they have. Reading costs something too.
        self._quota.charge(caller, len(lines))
        options = await self._options(lines, each_move=request.each_move)
        count = request.playouts * sum(map(len, options))
        _check_total(count)
        self._quota.charge(caller, max(0, count - len(lines)))
        jobs = list(_jobs(request, lines, [len(moves) for moves in options]))
        tallies = await self._play(jobs)
        return pb.RollOutResponse(
            roll_outs=[
                tally.message(line, move)
                for line, moves in enumerate(options)
                for tally, move in zip(tallies.get(line, ()), moves, strict=True)
            ]
        )

    async def _options(
        self, lines: Sequence[Share], *, each_move: bool
    ) -> Sequence[Sequence[game_pb2.Move | None]]:
        """Return what is to be played out of each line: its moves as they are, or each legal move."""
        if not each_move:
            return [(None,)] * len(lines)
        moves = await self._for_lines(legal_moves, lines)
        return [list(map(game_pb2.Move.FromString, of_line)) for of_line in moves]

    async def _for_lines(
        self, function: Callable[[Sequence[Share]], list[_Result]], lines: Sequence[Share]
    ) -> list[_Result]:
        """Have lines worked on, some at a time."""
        parts = [lines[first : first + _JOB_LINES] for first in range(0, len(lines), _JOB_LINES)]
        return [result async for results in self._run(function, parts) for result in results]

    async def _play(self, jobs: Sequence[PlayoutJob]) -> dict[int, list[Tally]]:
        """Have playouts played; return the tallies of each line."""
        merged: dict[int, list[Tally]] = {}
        done = iter(jobs)
        async for results in self._run(roll_out, jobs):
            for share, tallies in zip(next(done).shares, results, strict=True):
                self._simulators.playouts += sum(tally.playouts for tally in tallies)
                if share.line not in merged:
                    merged[share.line] = tallies
                    continue
                for total, tally in zip(merged[share.line], tallies, strict=True):
                    total.merge(tally)
        return merged

    async def _run(self, function: Callable[[_Job], _Result], jobs: Iterable[_Job]) -> AsyncIterator[_Result]:
        """Yield what the workers make of jobs; a line that they can't play is refused."""
        async with aclosing(self._simulators.run(function, jobs)) as results:
            try:
                async for result in results:
                    yield result
            except LineError as error:
                raise _invalid(error.field, str(error), line=error.line) from None


def _whole(lines: Sequence[pb.Line]) -> list[Share]:
    return [Share(number, line.SerializeToString(deterministic=True)) for number, line in enumerate(lines)]


def _jobs(request: pb.RollOutRequest, lines: Sequence[Share], options: Sequence[int]) -> Iterator[PlayoutJob]:
    """Cut the playouts into jobs that take about equally long."""
    gathered: list[Share] = []
    size = 0
    for line, count in zip(lines, options, strict=True):
        step = max(1, _JOB_PLAYOUTS // max(1, count))
        for first in range(0, request.playouts if count else 0, step):
            worlds = min(step, request.playouts - first)
            gathered.append(Share(line.line, line.content, first, worlds))
            size += worlds * count
            if size >= _JOB_PLAYOUTS // 2:
                yield PlayoutJob(request.policy, request.each_move, tuple(gathered))
                gathered, size = [], 0
    if gathered:
        yield PlayoutJob(request.policy, request.each_move, tuple(gathered))


def _check_lines(lines: Sequence[pb.Line]) -> None:
    if not lines:
        raise _invalid("lines", "lines: there are none")
    if len(lines) > MOST_LINES:
        raise _invalid("lines", f"lines: {len(lines)}, but {MOST_LINES} at most", limit=MOST_LINES)
    for number, line in enumerate(lines):
        if len(line.moves) > MOST_MOVES:
            field = f"lines[{number}].moves"
            raise _invalid(field, f"{field}: more than any game has", line=number, limit=MOST_MOVES)


def _check_playouts(request: pb.RollOutRequest) -> None:
    if request.policy not in POLICIES:
        known = ", ".join(sorted(POLICIES))
        raise _invalid("policy", f"policy: {request.policy[:40]!r} is none of {known}")
    if not 1 <= request.playouts <= MOST_PLAYOUTS:
        text = f"playouts: {request.playouts} is not between 1 and {MOST_PLAYOUTS}"
        raise _invalid("playouts", text, limit=MOST_PLAYOUTS)
    if request.each_move:
        for number, line in enumerate(request.lines):
            if line.moves:
                field = f"lines[{number}].moves"
                raise _invalid(field, f"{field}: with each_move there may be none", line=number)
    else:
        _check_total(request.playouts * len(request.lines))


def _check_total(playouts: int) -> None:
    if playouts > MOST_PLAYOUTS_IN_ALL:
        text = f"playouts: {playouts} at a call, but {MOST_PLAYOUTS_IN_ALL} at most"
        raise _invalid("playouts", text, limit=MOST_PLAYOUTS_IN_ALL)


def _invalid(field: str, text: str, **numbers: int) -> Refusal:
    metadata = {name: str(number) for name, number in numbers.items()}
    return Refusal(Reason.INVALID_FIELD, text, field=field, **metadata)
