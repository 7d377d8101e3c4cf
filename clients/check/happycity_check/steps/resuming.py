"""How a bot connects again after its connection was lost."""

from __future__ import annotations

from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import Conversation, end, play_on, start
from happycity_check.errors import UnexpectedError
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

_GAMES = 4


async def _welcome_again(bot: TrialBot, matches: list[ScriptedMatch]) -> Conversation:
    """Welcome the bot again: its games go on if it can resume them, else they start over."""
    can_resume = bot.hello.resume_token == bot.resume_token
    conversation = await bot.welcome(resumed=can_resume)
    if not can_resume:
        await start(conversation, matches)
    return conversation


@step(
    demand="a bot whose connection is cut in the middle of a decision connects again by itself",
    advice="open a new stream after a short, random, growing pause when a stream ends with UNAVAILABLE",
    needs=("first-decision",),
)
async def _reconnect(bot: TrialBot) -> str:
    conversation, matches = await bot.begin(1)
    name = bot.hello.name
    await conversation.send(play.PlayResponse(decisions=[match.decision() for match in matches]))
    await bot.lose_connection()
    if bot.hello.name != name:
        raise UnexpectedError(f"the bot connected again as {bot.hello.name!r}, it was {name!r}")
    conversation = await _welcome_again(bot, matches)
    await play_on(conversation, matches)
    await end(conversation, matches)
    return "it connected again, and answered the decision that was open"


@step(
    demand="the hello of a bot that connects again has the resume_token of its last welcome",
    advice="keep welcome.resume_token and put it into the next hello",
    needs=("reconnect",),
)
async def _resume_token(bot: TrialBot) -> str:
    conversation, matches = await bot.begin(1)
    for _ in range(2):
        await bot.lose_connection()
        token = bot.hello.resume_token
        if token != bot.resume_token:
            raise UnexpectedError(
                f"the resume_token {token!r}, where the last welcome's is {bot.resume_token!r}"
            )
        conversation = await bot.welcome(resumed=True)
        await play_on(conversation, matches)  # so the welcome has arrived
    await end(conversation, matches)
    return "it connected again twice, each time with the token of the last welcome"


@step(
    demand="the hello of a bot that connects again lists the matches that it believes to be running",
    advice="put the ids of all matches that were started and are not over into hello.match_ids",
    needs=("resume-token",),
)
async def _resume_games(bot: TrialBot) -> str:
    _, matches = await bot.begin(3)
    running = [match.match_id for match in matches]
    await bot.lose_connection()
    _demand_match_ids(bot, running)
    conversation = await bot.welcome(resumed=True)
    await end(conversation, [matches.pop(0)])
    matches.append(bot.match())
    await start(conversation, matches[-1:])
    await play_on(conversation, matches)
    await bot.lose_connection()
    _demand_match_ids(bot, [match.match_id for match in matches])
    conversation = await bot.welcome(resumed=True)
    await end(conversation, matches)
    return f"hello.match_ids had the {len(running)} matches that ran, later a new one and not the one over"


def _demand_match_ids(bot: TrialBot, running: list[int]) -> None:
    match_ids = sorted(bot.hello.match_ids)
    if match_ids != running:
        raise UnexpectedError(f"hello.match_ids is {match_ids}, where the matches {running} ran")


@step(
    demand="a bot in several seats of a match resumes them all, and one GameOver ends them all",
    advice="keep the games of a resumed match for each seat; forget them all when its GameOver comes",
    needs=("resume-games", "several-seats"),
)
async def _resume_seats(bot: TrialBot) -> str:
    match = bot.match_of_seats()
    conversation = await bot.conversation()
    await start(conversation, [match])
    await play_on(conversation, [match], times=8)
    await bot.lose_connection()
    conversation = await bot.welcome(resumed=True)
    while not match.is_over:
        await play_on(conversation, [match])
    await end(conversation, [match])
    await bot.lose_connection()
    _demand_match_ids(bot, [])
    await bot.welcome(resumed=True)
    return "it played on in both seats of a match, which one GameOver ended"


@step(
    demand="a decision that is sent again is answered again, with the same move",
    advice="remember the last answer of each game; don't choose a second time",
    needs=("resume-token",),
)
async def _resent_decision(bot: TrialBot) -> str:
    conversation, matches = await bot.begin(_GAMES)
    for _ in range(3):
        decisions = [match.decision() for match in matches]
        first = await conversation.exchange(play.PlayResponse(decisions=decisions))
        await bot.lose_connection()
        conversation = await bot.welcome(resumed=True)
        again = await conversation.exchange(play.PlayResponse(decisions=decisions))
        _demand_same(first, again)
        for match in matches:
            match.answer(again[match.match_id])
    await end(conversation, matches)
    return "decisions that were sent again after a lost connection are answered with the same moves"


def _demand_same(first: dict[int, int], again: dict[int, int]) -> None:
    for match_id, move in first.items():
        if again[match_id] != move:
            raise UnexpectedError(
                f"match {match_id}: move {move} before the connection was lost, then move {again[match_id]}"
            )


@step(
    demand="after a welcome with resumed = false the bot forgets its games; they may start over",
    advice="drop all games when welcome.resumed is false; a GameStarted replaces an older game",
    needs=("reconnect",),
)
async def _forgotten_games(bot: TrialBot) -> str:
    _, matches = await bot.begin(2)
    await bot.lose_connection()
    conversation = await bot.welcome(resumed=False)
    again = bot.match(match_id=matches[0].match_id)
    await start(conversation, [again])
    await play_on(conversation, [again], times=5)
    await bot.lose_connection()
    if stale := set(bot.hello.match_ids) - {again.match_id}:
        raise UnexpectedError(f"hello.match_ids still had {sorted(stale)}, matches of before")
    conversation = await _welcome_again(bot, [again])
    await play_on(conversation, [again])
    await end(conversation, [again])
    return "after a welcome that resumes nothing, it knew only the match that was started since"


STEPS = (_reconnect, _resume_token, _resume_games, _resume_seats, _resent_decision, _forgotten_games)
