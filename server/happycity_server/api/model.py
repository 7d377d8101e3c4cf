"""ModelService: checks what is asked for, charges for it, and has workers play it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import TypeVar

from happycity.model.v1beta1 import model_service_pb2 as pb
from happycity.v1 import game_pb2
from happycity.wire.match import seconds_of
from happycity_server.access.gate import RateLimits
from happycity_server.access.roles import Principal
from happycity_server.errors import ApiError, Reason, invalid
from happycity_server.model.playouts import (
    PlayoutJob,
    PlayoutStats,
    WorkItem,
    apply_moves,
    legal_moves,
    roll_out,
)
from happycity_server.model.pool import PlayoutPool

MAX_LINES = 1000
"""Lines in a call."""
MAX_MOVES = 600
"""Moves of a line: more decisions than any game has (article 4.1)."""
MAX_PLAYOUTS = 10_000
"""Playouts of a line, or of a move."""
MAX_TOTAL_PLAYOUTS = 20_000
"""Playouts in a call."""

_JOB_LINES = 64
JOB_PLAYOUTS = 32
"""Playouts of a job, some 10 ms: after that, another call has its turn."""
_POLICIES = {pb.PLAYOUT_POLICY_QUICK: "quick", pb.PLAYOUT_POLICY_RANDOM: "random"}

_Result = TypeVar("_Result")


class ModelService:
    """Plays on from views. It can't reveal what is hidden in the game that a view came from."""

    def __init__(self, pool: PlayoutPool, *, per_minute: int, clock: Callable[[], float]) -> None:
        """Let each caller have some playouts in a minute; a position of ApplyMoves counts as a playout."""
        self._pool = pool
        self._per_minute = per_minute
        self._rates = RateLimits(
            rate=per_minute / 60, burst=per_minute, clock=clock, quota=f"{per_minute} playouts a minute"
        )

    async def ApplyMoves(self, caller: Principal, request: pb.ApplyMovesRequest) -> pb.ApplyMovesResponse:
        """Return the position that each line comes to."""
        name = _name_of(caller)
        _check_lines(request.lines)
        self._charge(name, len(request.lines))
        positions = await self._for_lines(apply_moves, _items(request.lines), name)
        return pb.ApplyMovesResponse(positions=map(pb.Position.FromString, positions))

    async def Rollout(self, caller: Principal, request: pb.RolloutRequest) -> pb.RolloutResponse:
        """Return the results of each line's playouts."""
        name = _name_of(caller)
        _check_lines(request.lines)
        _check_rollout(request)
        lines = _items(request.lines)
        options: Sequence[Sequence[game_pb2.Move | None]] = ()
        all_stats = [list[PlayoutStats]() for _ in lines]
        seconds = seconds_of(request.time) if request.HasField("time") else None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                options = await self._charged_options(request, lines, name)
                jobs = list(_jobs(request, lines, [len(moves) for moves in options]))
                await self._play(jobs, all_stats, name)
        return pb.RolloutResponse(
            results=[
                stats.message(line, move)
                for line, moves in enumerate(options)
                for stats, move in zip(all_stats[line] or [PlayoutStats(0)] * len(moves), moves, strict=True)
            ]
        )

    async def _charged_options(
        self, request: pb.RolloutRequest, lines: Sequence[WorkItem], caller: str
    ) -> Sequence[Sequence[game_pb2.Move | None]]:
        """Charge for the playouts; return the moves to play first in each line, None for its own."""
        if not request.each_move:
            self._charge(caller, request.playouts * len(lines))
            return [(None,)] * len(lines)
        # How many moves a view has is unknown until it is read. Reading costs something too.
        self._charge(caller, len(lines))
        moves = await self._for_lines(legal_moves, lines, caller)
        count = request.playouts * sum(map(len, moves))
        _check_total(count)
        self._charge(caller, count, charged=len(lines))
        return [list(map(game_pb2.Move.FromString, of_line)) for of_line in moves]

    def _charge(self, caller: str, playouts: int, *, charged: int = 0) -> None:
        """Count playouts that a call is about to have, `charged` of which are counted already.

        ApiError if they are more than the caller may have now, or ever. Another attempt is charged for all.
        """
        if playouts > self._per_minute:
            raise invalid("playouts", f"{playouts} in a call, but the quota is {self._per_minute} a minute")
        try:
            self._rates.take(caller, max(0, playouts - charged))
        except ApiError as error:
            seconds = (error.details.retry_seconds or 0.0) + 60 * charged / self._per_minute
            raise ApiError(error.reason, str(error), retry_seconds=seconds) from None

    async def _for_lines(
        self, function: Callable[[Sequence[WorkItem]], list[_Result]], lines: Sequence[WorkItem], caller: str
    ) -> list[_Result]:
        """Run a function on all lines, some at a time."""
        parts = [lines[first : first + _JOB_LINES] for first in range(0, len(lines), _JOB_LINES)]
        async with aclosing(self._pool.run(function, parts, caller=caller)) as running:
            return [result async for results in running for result in results]

    async def _play(self, jobs: Sequence[PlayoutJob], totals: list[list[PlayoutStats]], caller: str) -> None:
        """Run playouts, and add them to the statistics of each line."""
        done = iter(jobs)
        async with aclosing(self._pool.run(roll_out, jobs, caller=caller)) as running:
            async for results in running:
                for item, all_stats in zip(next(done).items, results, strict=True):
                    self._pool.playouts += sum(stats.playouts for stats in all_stats)
                    if not totals[item.line]:
                        totals[item.line] = all_stats
                        continue
                    for total, stats in zip(totals[item.line], all_stats, strict=True):
                        total.merge(stats)


def _name_of(caller: Principal) -> str:
    """Return who calls, by which places and the quota are counted; a person has no bot that may play."""
    if caller.person:
        text = "the forward model is for bots; a seat at a table is not a bot's token"
        raise ApiError(Reason.WRONG_ROLE, text)
    return caller.caller


def _items(lines: Sequence[pb.Line]) -> list[WorkItem]:
    return [WorkItem(number, line.SerializeToString(deterministic=True)) for number, line in enumerate(lines)]


def _jobs(
    request: pb.RolloutRequest, lines: Sequence[WorkItem], options: Sequence[int]
) -> Iterator[PlayoutJob]:
    """Cut the playouts into jobs that take about equally long.

    With a limit of time, lines have their worlds one by one, so that all get to the same number; else a line
    has many at once, which costs less.
    """
    policy = _POLICIES[request.policy]
    gathered: list[WorkItem] = []
    size = 0
    step = 1 if request.HasField("time") else max(1, JOB_PLAYOUTS // max(1, *options))
    for first in range(0, request.playouts, step):
        worlds = min(step, request.playouts - first)
        for line, count in zip(lines, options, strict=True):
            if not count:
                continue
            gathered.append(WorkItem(line.line, line.content, first, worlds))
            size += worlds * count
            if size >= JOB_PLAYOUTS // 2:
                yield PlayoutJob(policy, request.each_move, tuple(gathered))
                gathered, size = [], 0
    if gathered:
        yield PlayoutJob(policy, request.each_move, tuple(gathered))


def _check_lines(lines: Sequence[pb.Line]) -> None:
    if not 1 <= len(lines) <= MAX_LINES:
        raise invalid("lines", f"there are {len(lines)}; give 1 to {MAX_LINES}")
    for number, line in enumerate(lines):
        if len(line.moves) > MAX_MOVES:
            raise invalid(f"lines[{number}].moves", f"{len(line.moves)} are more than any game has")


def _check_rollout(request: pb.RolloutRequest) -> None:
    if request.policy not in _POLICIES:
        known = ", ".join(map(pb.PlayoutPolicy.Name, _POLICIES))
        raise invalid("policy", f"{request.policy} is not one of {known}")
    if not 1 <= request.playouts <= MAX_PLAYOUTS:
        raise invalid("playouts", f"{request.playouts} is not between 1 and {MAX_PLAYOUTS}")
    if request.HasField("time") and request.time.ToNanoseconds() <= 0:
        raise invalid("time", "it must be above 0; leave it out for no limit")
    if not request.each_move:
        _check_total(request.playouts * len(request.lines))
        return
    for number, line in enumerate(request.lines):
        if line.moves:
            raise invalid(f"lines[{number}].moves", "leave them out with each_move")


def _check_total(playouts: int) -> None:
    if playouts > MAX_TOTAL_PLAYOUTS:
        raise invalid("playouts", f"{playouts} in a call, but {MAX_TOTAL_PLAYOUTS} at most")
