"""CPU time of a decision without streams: `python -m benchmarks.core`.

Lobby, matches and four light bots run in one process, and messages pass between them as bytes. So neither
gRPC nor other processes take part. Few games at once fit into the processor's caches, many don't: the
difference is what waiting for memory costs. On a machine that is too busy to measure time, Valgrind counts
instructions: `valgrind --tool=callgrind .venv/bin/python -m benchmarks.core --games 48`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from happycity import Config, Deal, FailurePolicy, TimeControl
from happycity.compiled import is_compiled
from happycity.v1 import play_service_pb2 as pb
from happycity_bots import GreedyBot, RandomBot
from happycity_client.player import Outbox, Player
from happycity_server.play.clock import FairClock
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match, MatchSpec

BOTS = {"random": RandomBot, "random2": RandomBot, "greedy": GreedyBot, "greedy2": GreedyBot}
FAR_FUTURE = 1e6
"""Seconds until the clock looks for delays: nobody sweeps."""


class Arena:
    """A lobby with four bots, and the CPU seconds of each step."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.decisions = 0
        self._clock = FairClock(time.monotonic, tick_seconds=FAR_FUTURE)
        self._lobby = Lobby(self._clock, time.time)
        self._bots = []
        for name, bot in BOTS.items():
            player = Player(bot, name)
            self._bots.append((*self._lobby.enter(pb.Hello(name=name)), player, player.outbox))

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        started = time.thread_time()
        yield
        self.seconds[step] += time.thread_time() - started

    async def play(self, first_seed: int, games: int) -> None:
        """Play so many games at once to their ends."""
        async with asyncio.TaskGroup() as tasks:
            with self._timed("server: matches set up"):
                for seed in range(first_seed, first_seed + games):
                    tasks.create_task(self._finish(self._lobby.create(_spec(seed))))
                await asyncio.sleep(0)  # they begin
            while self._lobby.matches:
                for session, connection, player, outbox in self._bots:
                    if not connection.waiting_bytes:
                        continue
                    batch = await connection.next_batch()
                    with self._timed("bots"):
                        answers = _answers(player, outbox, batch)
                    with self._timed("server: answers to decisions"):
                        request = pb.PlayRequest.FromString(answers)
                        session.receive(connection, request, self._clock())
                    self.decisions += len(request.answers)
                await asyncio.sleep(0)  # matches that are over go

    async def _finish(self, match: Match) -> None:
        async with self._lobby.played(match):
            with self._timed("server: records"):
                match.record()


def _spec(seed: int) -> MatchSpec:
    names = [*BOTS]
    return MatchSpec(
        deal=Deal.shuffle(Config(), seed=seed),
        bots=tuple(names[seed % 4 :] + names[: seed % 4]),
        bot_seeds=(1, 2, 3, 4),
        time=TimeControl(),
        policy=FailurePolicy(),
    )


def _answers(player: Player, outbox: Outbox, batch: bytes) -> bytes:
    """Let a bot play a batch as the SDK does; return its answers as bytes."""
    response = pb.PlayResponse.FromString(batch)
    for started in response.games_started:
        player.start(started)
    for decision in response.decisions:
        player.decide(decision)
    for over in response.games_over:
        player.end(over)
    return outbox.take().SerializeToString()


async def measured(games: int, repeats: int) -> None:
    """Play, and print the CPU microseconds of a decision."""
    arena = Arena()
    gc.disable()
    for repeat in range(repeats):
        await arena.play(repeat * games, games)
    print(f"{games} games at once, {'compiled' if is_compiled() else 'pure'}, CPU us a decision:")
    for step, seconds in sorted(arena.seconds.items()):
        print(f"  {step:32}{seconds / arena.decisions * 1e6:7.2f}")


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=768, help="games at once")
    parser.add_argument("--repeats", type=int, default=1, help="how often so many are played")
    arguments = parser.parse_args()
    quiet = structlog.make_filtering_bound_logger(logging.ERROR)
    structlog.configure(wrapper_class=quiet)
    asyncio.run(measured(arguments.games, arguments.repeats))


if __name__ == "__main__":
    main()
