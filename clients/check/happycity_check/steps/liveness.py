"""How a bot shows that it is alive."""

from __future__ import annotations

from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import end, play_on, start
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

_GAMES = 8
_BATCHES = 10


@step(
    demand="a ping is answered by a pong with the same nonce",
    advice="answer PlayResponse.ping at once with PlayRequest.pong, whatever else the bot does",
    needs=("hello",),
)
async def _ping(bot: TrialBot) -> str:
    conversation = await bot.conversation()
    for _ in range(3):
        await conversation.exchange(play.PlayResponse(), ping=True)
    slowest = 1000 * max(conversation.pong_seconds[-3:])
    return f"three pings, three pongs with their nonces, the slowest after {slowest:.1f} ms"


@step(
    demand="pings are answered while games are played too, even if they come with decisions",
    advice="look for a ping in every message, also in those with decisions",
    needs=("ping", "first-decision"),
)
async def _ping_in_play(bot: TrialBot) -> str:
    conversation = await bot.conversation()
    matches = bot.matches(_GAMES)
    await start(conversation, matches)
    await play_on(conversation, matches, times=_BATCHES, ping=True)
    await end(conversation, matches)
    slowest = 1000 * max(conversation.pong_seconds[-_BATCHES:])
    batches = f"{_BATCHES} batches of {len(matches)} games"
    return f"pongs to the pings in {batches}, the slowest after {slowest:.1f} ms"


STEPS = (_ping, _ping_in_play)
