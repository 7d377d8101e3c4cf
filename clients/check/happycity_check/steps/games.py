"""How a bot plays."""

from __future__ import annotations

from happycity import Config, Mode, Scoring
from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import end, play_on, play_out, start
from happycity_check.errors import SkippedError
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

GAMES_AT_ONCE = 16
LARGE_IDS = (2**53 + 1, 2**63 - 1)
"""The first number that a 64-bit float can't hold, and the largest id."""


@step("answer with the position in decision.moves, counted from 0, and copy both ids", needs=("hello",))
async def _first_decision(bot: TrialBot) -> str:
    """A decision is answered with its match_id, its decision_id and the position of a legal move."""
    conversation = await bot.conversation()
    match = bot.match()
    await start(conversation, [match])
    moves = len(match.game.legal_moves)
    await play_on(conversation, [match])
    await end(conversation, [match])
    return f"move {match.answers[0]} of {moves}, after {conversation.think_seconds[-1] * 1000:.1f} ms"


@step(
    "expect all kinds of moves, views and events: see proto/happycity/v1/game.proto",
    needs=("first-decision",),
)
async def _whole_game(bot: TrialBot) -> str:
    """Every decision of a game is answered, up to its end."""
    match = bot.match(Config(players=4))
    decisions = await play_out(await bot.conversation(), [match])
    assert match.game.outcome is not None
    points = " : ".join(map(str, match.game.outcome.points))
    return f"{decisions} decisions answered, {points} points (its own first)"


@step("go through all games_started and decisions of a message, not only the first", needs=("whole-game",))
async def _many_games(bot: TrialBot) -> str:
    """A batch with the decisions of 16 games (or hello.max_games) is answered."""
    matches = bot.matches(GAMES_AT_ONCE)
    if len(matches) == 1:
        raise SkippedError("the bot plays one game at a time (hello.max_games is 1)")
    decisions = await play_out(await bot.conversation(), matches)
    return f"{len(matches)} games at once, {decisions} decisions answered"


@step(
    "take the number of seats and the scoring from GameStarted.config or view.config", needs=("whole-game",)
)
async def _table_sizes(bot: TrialBot) -> str:
    """Games of 2, 3, 4 and 5 seats are played, with either scoring."""
    conversation = await bot.conversation()
    configs = [Config(players=players, scoring=scoring) for players in (2, 3, 4, 5) for scoring in Scoring]
    decisions = 0
    room = bot.games_at_once(len(configs))
    for first in range(0, len(configs), room):
        some = configs[first : first + room]
        decisions += await play_out(conversation, [bot.match(config) for config in some])
    return f"2, 3, 4 and 5 seats, both scorings: {decisions} decisions answered"


@step("expect the phases market and sphinx, and moves of the kinds market and copy", needs=("whole-game",))
async def _expert(bot: TrialBot) -> str:
    """Expert games are played."""
    conversation = await bot.conversation()
    matches = [bot.match(Config(players=players, mode=Mode.EXPERT)) for players in (2, 3, 4)]
    decisions = sum([await play_out(conversation, [match]) for match in matches])
    return f"markets drafted, specials with effects: {decisions} decisions answered"


@step(
    "keep one game for each match_id and seat: decision.view.seat says whose decision it is",
    needs=("whole-game",),
)
async def _several_seats(bot: TrialBot) -> str:
    """A bot that fills several seats of one match answers for each of them."""
    match = bot.match_of_seats()
    decisions = await play_out(await bot.conversation(), [match])
    return f"seats {', '.join(map(str, match.seats))} of one match: {decisions} decisions answered"


@step(
    "keep match_id in a 64-bit integer (BigInt or string in JavaScript), not in a float",
    needs=("first-decision",),
)
async def _large_numbers(bot: TrialBot) -> str:
    """Match ids may be any number up to 2^63 - 1, seeds up to 2^64 - 1."""
    conversation = await bot.conversation()
    for match_id in LARGE_IDS:
        match = bot.match(match_id=match_id, seed=2**64 - 3)
        await start(conversation, [match])
        await play_on(conversation, [match], times=3)
        await end(conversation, [match])
    return f"matches {' and '.join(map(str, LARGE_IDS))} are answered under their numbers"


@step(
    "handle the parts of a message in this order: games_started, decisions, games_over",
    needs=("first-decision",),
)
async def _one_message(bot: TrialBot) -> str:
    """One message may start a game, ask for its first decision, and end it."""
    conversation = await bot.conversation()
    match, over = bot.match(), bot.match()
    batch = play.PlayResponse(games_started=match.started(), decisions=[match.decision()])
    match.answer((await conversation.exchange(batch))[match.match_id])
    batch = play.PlayResponse(games_started=over.started(), decisions=[over.decision()])
    batch.games_over.append(over.over())
    await conversation.send(batch)
    await play_on(conversation, [match])
    await end(conversation, [match])
    return "it plays on after a game that began, and one that began and ended, in one message"
