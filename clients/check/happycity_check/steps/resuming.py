"""How a bot comes back after its connection was lost."""

from __future__ import annotations

from happycity.v1 import play_service_pb2 as play
from happycity_check.bench import Bench
from happycity_check.dialogue import Dialogue, UnexpectedError, end, play_on, start
from happycity_check.step import Step
from happycity_check.tables import Table

_GAMES = 4


async def _playing(bench: Bench, count: int) -> tuple[Dialogue, list[Table]]:
    """Begin games and play a few decisions of each."""
    dialogue = await bench.dialogue()
    tables = bench.tables(count)
    await start(dialogue, tables)
    for _ in range(3):
        await play_on(dialogue, tables)
    return dialogue, tables


async def _take_in_again(bench: Bench, tables: list[Table]) -> Dialogue:
    """Welcome the bot back: its games go on if it can resume them, else they begin anew."""
    can_resume = bench.hello.resume_token == bench.resume_token
    dialogue = await bench.welcome(resumed=can_resume)
    if not can_resume:
        await start(dialogue, tables)
    return dialogue


async def _reconnect(bench: Bench) -> str:
    dialogue, tables = await _playing(bench, 1)
    name = bench.hello.name
    await dialogue.send(play.PlayResponse(decisions=[table.decision() for table in tables]))
    await bench.cut()
    await bench.come_back()
    if bench.hello.name != name:
        raise UnexpectedError(f"the bot came back as {bench.hello.name!r}, it was {name!r}")
    dialogue = await _take_in_again(bench, tables)
    await play_on(dialogue, tables)
    await end(dialogue, tables)
    return "it came back, and answered the decision that was open"


async def _resume_token(bench: Bench) -> str:
    dialogue, tables = await _playing(bench, 1)
    for _ in range(2):
        await bench.cut()
        await bench.come_back()
        token = bench.hello.resume_token
        if token != bench.resume_token:
            raise UnexpectedError(
                f"the resume_token {token!r}, where the last welcome's is {bench.resume_token!r}"
            )
        dialogue = await bench.welcome(resumed=True)
        await play_on(dialogue, tables)  # so the welcome has arrived
    await end(dialogue, tables)
    return "it came back twice, each time with the token of the last welcome"


async def _resume_games(bench: Bench) -> str:
    _, tables = await _playing(bench, 3)
    running = [table.game_id for table in tables]
    await bench.cut()
    await bench.come_back()
    _demand_games(bench, running)
    dialogue = await bench.welcome(resumed=True)
    await end(dialogue, [tables.pop(0)])
    tables.append(bench.table())
    await start(dialogue, tables[-1:])
    await play_on(dialogue, tables)
    await bench.cut()
    await bench.come_back()
    _demand_games(bench, [table.game_id for table in tables])
    dialogue = await bench.welcome(resumed=True)
    await end(dialogue, tables)
    return f"hello.games had the {len(running)} games that ran, and later a new one but not the one over"


def _demand_games(bench: Bench, running: list[int]) -> None:
    told = sorted(bench.hello.games)
    if told != running:
        raise UnexpectedError(f"hello.games is {told}, where the games {running} ran")


async def _resent_decision(bench: Bench) -> str:
    dialogue, tables = await _playing(bench, _GAMES)
    for _ in range(3):
        decisions = [table.decision() for table in tables]
        first = await dialogue.exchange(play.PlayResponse(decisions=decisions))
        await bench.cut()
        await bench.come_back()
        dialogue = await bench.welcome(resumed=True)
        again = await dialogue.exchange(play.PlayResponse(decisions=decisions))
        _demand_same(first, again)
        for table in tables:
            table.answer(again[table.game_id])
    await end(dialogue, tables)
    return "decisions that were sent again after a lost connection are answered with the same moves"


def _demand_same(first: dict[int, int], again: dict[int, int]) -> None:
    for game_id, move in first.items():
        if again[game_id] != move:
            raise UnexpectedError(
                f"game {game_id}: move {move} before the connection was lost, move {again[game_id]} after it"
            )


async def _forgotten(bench: Bench) -> str:
    _, tables = await _playing(bench, 2)
    await bench.cut()
    await bench.come_back()
    dialogue = await bench.welcome(resumed=False)
    anew = bench.table(game_id=tables[0].game_id)
    await start(dialogue, [anew])
    for _ in range(5):
        await play_on(dialogue, [anew])
    await bench.cut()
    await bench.come_back()
    if stale := set(bench.hello.games) - {anew.game_id}:
        raise UnexpectedError(f"hello.games still had {sorted(stale)}, games of before")
    dialogue = await _take_in_again(bench, [anew])
    await play_on(dialogue, [anew])
    await end(dialogue, [anew])
    return "after a welcome that resumes nothing, it knew only the game that was started since"


STEPS = (
    Step(
        name="reconnect",
        demand="a bot whose connection is cut in the middle of a decision comes back by itself",
        advice="open a new stream after a short, random, growing pause when a stream ends with UNAVAILABLE",
        run=_reconnect,
        needs=("first-decision",),
    ),
    Step(
        name="resume-token",
        demand="the hello of a bot that comes back has the resume_token of its last welcome",
        advice="keep welcome.resume_token and put it into the next hello",
        run=_resume_token,
        needs=("reconnect",),
    ),
    Step(
        name="resume-games",
        demand="the hello of a bot that comes back lists the games that it believes to be running",
        advice="put the ids of all games that were started and are not over into hello.games",
        run=_resume_games,
        needs=("resume-token",),
    ),
    Step(
        name="resent-decision",
        demand="a decision that is sent again is answered again, with the same move",
        advice="remember the last answer of each game; don't ask the bot's brain a second time",
        run=_resent_decision,
        needs=("resume-token",),
    ),
    Step(
        name="forgotten-games",
        demand="after a welcome with resumed = false the bot forgets its games; they may begin anew",
        advice="drop all games when welcome.resumed is false; a GameStarted replaces a game of the same id",
        run=_forgotten,
        needs=("reconnect",),
    ),
)
