"""A crowd of light bots in one process, each with a connection of its own."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections import Counter

import grpc

from happycity.runtime.event_loop import run
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as pb
from happycity.v1.play_service_pb2_grpc import PlayServiceStub

OPENS_AT_ONCE = 50


class LightBot:
    """Answers every decision at once with a random move."""

    def __init__(self, address: str, name: str) -> None:
        self.welcomed = asyncio.Event()
        """Set when the server has welcomed it."""
        self.ends = Counter[str]()
        """How its games ended; VOIDED for voided ones."""
        self._address = address
        self._name = name
        self._rng = random.Random(name)
        self._seats: dict[int, int] = {}

    async def play(self) -> None:
        """Play until the stream ends."""
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(self._address, options) as channel:
            stream = PlayServiceStub(channel).Play()
            await stream.write(pb.PlayRequest(hello=pb.Hello(name=self._name)))
            while isinstance(response := await stream.read(), pb.PlayResponse):
                if response.HasField("welcome"):
                    self.welcomed.set()
                reply = self._reply(response)
                if reply is not None:
                    await stream.write(reply)
        raise ConnectionError(f"{self._address} ended the stream")

    def _reply(self, response: pb.PlayResponse) -> pb.PlayRequest | None:
        for started in response.games_started:
            self._seats[started.match_id] = started.seat
        for over in response.games_over:
            seat = self._seats.pop(over.match_id)
            ended = over.HasField("result")
            self.ends[match_pb2.Ending.Name(over.result.seats[seat].ending) if ended else "VOIDED"] += 1
        uniform = self._rng.random
        answers = [
            pb.Answer(
                match_id=decision.match_id,
                decision_id=decision.decision_id,
                move=int(uniform() * len(decision.moves)),
            )
            for decision in response.decisions
        ]
        pong = pb.Pong(nonce=response.ping.nonce) if response.HasField("ping") else None
        return pb.PlayRequest(answers=answers, pong=pong) if answers or pong else None


async def main() -> None:
    """Connect all bots, not too many at a time; play until a line comes; report the endings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("names", nargs="+")
    given = parser.parse_args()
    bots = [LightBot(given.address, name) for name in given.names]
    at_once = asyncio.Semaphore(OPENS_AT_ONCE)
    playing = []

    async def connect(bot: LightBot) -> None:
        async with at_once:
            playing.append(asyncio.create_task(bot.play()))
            await bot.welcomed.wait()

    await asyncio.gather(*map(connect, bots))
    _report(connected=len(bots))
    await asyncio.to_thread(sys.stdin.readline)
    ends = sum((bot.ends for bot in bots), Counter[str]())
    _report(ends=ends, lost=sum(task.done() for task in playing))
    for task in playing:
        task.cancel()
    await asyncio.gather(*playing, return_exceptions=True)


def _report(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(main())
