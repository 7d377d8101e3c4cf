"""How a bot shows that it is alive."""

from __future__ import annotations

from happycity.v1 import play_service_pb2 as play
from happycity_check.bench import Bench
from happycity_check.dialogue import end, play_on, start
from happycity_check.step import Step

_GAMES = 8
_BATCHES = 10


async def _ping(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    for _ in range(3):
        await dialogue.exchange(play.PlayResponse(), ping=True)
    slowest = 1000 * max(dialogue.pong_seconds[-3:])
    return f"three pings, three pongs with their nonces, the slowest after {slowest:.1f} ms"


async def _ping_in_play(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    tables = bench.tables(_GAMES)
    await start(dialogue, tables)
    for _ in range(_BATCHES):
        await play_on(dialogue, tables, ping=True)
    await end(dialogue, tables)
    slowest = 1000 * max(dialogue.pong_seconds[-_BATCHES:])
    return (
        f"pongs to the pings in {_BATCHES} batches of {len(tables)} games, the slowest after {slowest:.1f} ms"
    )


STEPS = (
    Step(
        name="ping",
        demand="a ping is answered by a pong with the same nonce",
        advice="answer PlayResponse.ping at once with PlayRequest.pong, whatever else the bot does",
        run=_ping,
        needs=("hello",),
    ),
    Step(
        name="ping-in-play",
        demand="pings are answered while games are played too, even if they come with decisions",
        advice="look for a ping in every message, also in those with decisions",
        run=_ping_in_play,
        needs=("ping", "first-decision"),
    ),
)
