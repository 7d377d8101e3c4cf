"""How fast a bot plays, and whether it can be repeated."""

from __future__ import annotations

import asyncio

from happycity import Config
from happycity_check.bench import Bench
from happycity_check.dialogue import end, play_on, play_out, start
from happycity_check.step import Step, WarningError

GAMES_AT_ONCE = 64
LONGEST_SECONDS = 5.0


async def _deterministic(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    runs = []
    for _ in range(2):
        table = bench.table(Config(players=4), seed=bench.options.seed)
        await play_out(dialogue, [table])
        runs.append(table.answers)
    same = bench.facts["deterministic"] = runs[0] == runs[1]
    if not same:
        raise WarningError("deterministic: no; the same deal with the same seed was played in two ways")
    return "deterministic: yes; the same deal with the same seed was played alike twice"


async def _speed(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    tables = bench.tables(GAMES_AT_ONCE)
    await start(dialogue, tables)
    dialogue.think_seconds, dialogue.busy_seconds = [], 0.0
    until = asyncio.get_running_loop().time() + LONGEST_SECONDS
    running = tables
    while running and asyncio.get_running_loop().time() < until:
        await play_on(dialogue, running)
        running = [table for table in running if not table.is_over]
    await end(dialogue, tables)
    return _told(bench, sorted(dialogue.think_seconds), dialogue.busy_seconds, len(tables))


def _told(bench: Bench, seconds: list[float], busy: float, games: int) -> str:
    milliseconds = {f"p{share}": 1000 * seconds[(len(seconds) - 1) * share // 100] for share in (50, 95, 99)}
    rate = len(seconds) / busy
    bench.facts["speed"] = {
        "games_at_once": games,
        "decisions": len(seconds),
        "decisions_per_second": rate,
        "think_ms": milliseconds,
    }
    percentiles = ", ".join(f"{name} {value:.2f} ms" for name, value in milliseconds.items())
    return f"{rate:,.0f} decisions/s with {games} games at once; from sending to answer: {percentiles}"


STEPS = (
    Step(
        name="deterministic",
        demand="nothing by the protocol; but the same deal with the same seed is best played alike each time",
        advice="draw all randomness from GameStarted.seed, and keep nothing from one game to the next",
        run=_deterministic,
        needs=("whole-game",),
    ),
    Step(
        name="speed",
        demand="many games at once are answered; how fast is told, and judged by nobody",
        advice="answer all decisions of a message in one message",
        run=_speed,
        needs=("many-games",),
    ),
)
