"""How fast a bot plays, and whether it can be repeated."""

from __future__ import annotations

import asyncio

from happycity import Config
from happycity_check.conversation import end, play_on, play_out, start
from happycity_check.errors import WarningError
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

GAMES_AT_ONCE = 64
LONGEST_SECONDS = 5.0


@step(
    "draw all randomness from GameStarted.seed, and keep nothing from one game to the next",
    needs=("whole-game",),
)
async def _deterministic(bot: TrialBot) -> str:
    """Nothing by the protocol; but the same deal with the same seed is best played alike each time."""
    conversation = await bot.conversation()
    runs = []
    for _ in range(2):
        match = bot.match(Config(players=4), seed=bot.options.seed)
        await play_out(conversation, [match])
        runs.append(match.answers)
    same = bot.measurements["deterministic"] = runs[0] == runs[1]
    if not same:
        raise WarningError("deterministic: no; the same deal with the same seed was played in two ways")
    return "deterministic: yes; the same deal with the same seed was played alike twice"


@step("answer all decisions of a message in one message", needs=("many-games",))
async def _speed(bot: TrialBot) -> str:
    """Many games at once are answered; their speed is shown and not judged."""
    conversation = await bot.conversation()
    matches = bot.matches(GAMES_AT_ONCE)
    await start(conversation, matches)
    conversation.think_seconds, conversation.busy_seconds = [], 0.0
    until = asyncio.get_running_loop().time() + LONGEST_SECONDS
    running = matches
    while running and asyncio.get_running_loop().time() < until:
        await play_on(conversation, running)
        running = [match for match in running if not match.is_over]
    await end(conversation, matches)
    return _describe(bot, sorted(conversation.think_seconds), conversation.busy_seconds, len(matches))


def _describe(bot: TrialBot, seconds: list[float], busy: float, games: int) -> str:
    milliseconds = {f"p{share}": 1000 * seconds[(len(seconds) - 1) * share // 100] for share in (50, 95, 99)}
    rate = len(seconds) / busy
    bot.measurements["speed"] = {
        "games_at_once": games,
        "decisions": len(seconds),
        "decisions_per_second": rate,
        "think_ms": milliseconds,
    }
    percentiles = ", ".join(f"{name} {value:.2f} ms" for name, value in milliseconds.items())
    return f"{rate:,.0f} decisions/s with {games} games at once; from sending to answer: {percentiles}"
