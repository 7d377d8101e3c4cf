"""How a bot plays."""

from __future__ import annotations

from happycity import Config, Mode, Scoring
from happycity_check.bench import Bench
from happycity_check.dialogue import end, play_on, play_out, start
from happycity_check.step import SkippedError, Step

GAMES_AT_ONCE = 16


async def _first_decision(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    table = bench.table()
    await start(dialogue, [table])
    moves = len(table.game.legal_moves)
    await play_on(dialogue, [table])
    await end(dialogue, [table])
    return f"move {table.answers[0]} of {moves}, after {dialogue.think_seconds[-1] * 1000:.1f} ms"


async def _whole_game(bench: Bench) -> str:
    table = bench.table(Config(players=4))
    decisions = await play_out(await bench.dialogue(), [table])
    assert table.game.outcome is not None
    points = " : ".join(map(str, table.game.outcome.points))
    return f"{decisions} decisions answered, {points} points (its own first)"


async def _many_games(bench: Bench) -> str:
    tables = bench.tables(GAMES_AT_ONCE)
    if len(tables) == 1:
        raise SkippedError("the bot plays one game at a time (hello.max_games is 1)")
    decisions = await play_out(await bench.dialogue(), tables)
    return f"{len(tables)} games at once, {decisions} decisions answered"


async def _table_sizes(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    configs = [Config(players=players, scoring=scoring) for players in (2, 3, 4, 5) for scoring in Scoring]
    decisions = 0
    room = bench.room(len(configs))
    for first in range(0, len(configs), room):
        some = configs[first : first + room]
        decisions += await play_out(dialogue, [bench.table(config) for config in some])
    return f"2, 3, 4 and 5 seats, both scorings: {decisions} decisions answered"


async def _expert(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    tables = [bench.table(Config(players=players, mode=Mode.EXPERT)) for players in (2, 3, 4)]
    decisions = sum([await play_out(dialogue, [table]) for table in tables])
    return f"markets drafted, specials with effects: {decisions} decisions answered"


async def _large_numbers(bench: Bench) -> str:
    table = bench.table(game_id=2**63 + 12345, seed=2**64 - 3)
    dialogue = await bench.dialogue()
    await start(dialogue, [table])
    for _ in range(3):
        await play_on(dialogue, [table])
    await end(dialogue, [table])
    return f"game {table.game_id} is answered under its number"


STEPS = (
    Step(
        name="first-decision",
        demand="a decision is answered with its game_id, its decision_id and the position of a legal move",
        advice="answer with the position in decision.moves, counted from 0, and copy both ids",
        run=_first_decision,
        needs=("hello",),
    ),
    Step(
        name="whole-game",
        demand="every decision of a game is answered, up to its end",
        advice="expect all kinds of moves, views and events: see the tables in docs/protocol.md",
        run=_whole_game,
        needs=("first-decision",),
    ),
    Step(
        name="many-games",
        demand=f"a batch with the decisions of {GAMES_AT_ONCE} games (or hello.max_games) is answered",
        advice="go through all games_started and decisions of a message, not only the first",
        run=_many_games,
        needs=("whole-game",),
    ),
    Step(
        name="table-sizes",
        demand="games of 2, 3, 4 and 5 seats are played, with either scoring",
        advice="take the number of seats and the scoring from GameStarted.config or view.config",
        run=_table_sizes,
        needs=("whole-game",),
    ),
    Step(
        name="expert",
        demand="expert games are played",
        advice="expect the phases market and sphinx, and moves of the kinds market and copy",
        run=_expert,
        needs=("whole-game",),
    ),
    Step(
        name="large-numbers",
        demand="game ids and seeds may be any 64-bit number",
        advice="keep game_id in a 64-bit integer (BigInt or string in JavaScript), not in a float",
        run=_large_numbers,
        needs=("first-decision",),
    ),
)
