"""How a bot connects again after its connection was lost."""

from __future__ import annotations

import asyncio
from time import perf_counter

import grpc

from happycity.v1 import play_service_pb2 as play
from happycity.wire.status import StatusDetails
from happycity_check.conversation import end, play_on, start
from happycity_check.errors import UnexpectedError, demand
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

_CUTS = (0, 20, 100, 250, 400)
"""After how many bytes of the server connections are closed: before any, in the hand-shakes of HTTP/2 and of
this protocol, and in the first batch."""
_RETRY_SECONDS = 0.7


@step(
    "open a new stream, after a short, random, growing pause, with the resume_token of the last welcome",
    needs=("first-decision",),
)
async def _reconnect(bot: TrialBot) -> str:
    """A bot whose connection is cut in a decision connects again by itself, with its resume_token."""
    conversation, matches = await bot.begin(1)
    name = bot.hello.name
    for _ in range(2):
        await conversation.send(play.PlayResponse(decisions=[match.decision() for match in matches]))
        await bot.lose_connection()
        demand(bot.hello.name == name, f"it connected again as {bot.hello.name!r}, it was {name!r}")
        demand(
            bot.hello.resume_token == bot.resume_token,
            f"the resume_token {bot.hello.resume_token!r}, where the last welcome's is {bot.resume_token!r}",
        )
        conversation = await bot.welcome_again(matches)
        await play_on(conversation, matches)
    await end(conversation, matches)
    return "it connected again twice, with the token of the last welcome, and answered the open decision"


@step("remember the last answer of each game; don't choose a second time", needs=("reconnect",))
async def _resent_decision(bot: TrialBot) -> str:
    """A decision that is sent again after a lost connection is answered again, with the same move."""
    conversation, matches = await bot.begin(4)
    for _ in range(3):
        decisions = [match.decision() for match in matches]
        first = await conversation.exchange(play.PlayResponse(decisions=decisions))
        await bot.lose_connection()
        conversation = await bot.welcome_again(matches)
        again = await conversation.exchange(play.PlayResponse(decisions=decisions))
        for match in matches:
            before, after = first[match.match_id], again[match.match_id]
            demand(before == after, f"move {before} before the connection was lost, then move {after}")
            match.answer(after)
    await end(conversation, matches)
    return "decisions that were sent again after a lost connection are answered with the same moves"


@step("drop all games but those of welcome.match_ids when a welcome comes", needs=("reconnect",))
async def _resumed_games(bot: TrialBot) -> str:
    """Of the bot's games, those in welcome.match_ids continue; all others are dropped and may start over."""
    _, matches = await bot.begin(4)
    for _ in range(3):
        await bot.lose_connection()
        kept, dropped = matches[:-1], matches[-1:]
        conversation = await bot.welcome_again(kept)
        await end(conversation, kept[:1])
        again = [bot.match(match_id=match.match_id) for match in dropped]
        matches = [*kept[1:], *again, *(bot.match() for _ in kept[:1])]
        await start(conversation, matches)
        await play_on(conversation, matches, times=2)
    await end(conversation, matches)
    return "games went on, ended, began and started over after a welcome"


@step(
    "keep a game for each match and seat; end them all with the GameOver",
    needs=("resumed-games", "several-seats"),
)
async def _resumed_seats(bot: TrialBot) -> str:
    """A bot in several seats of a match resumes them all, and one GameOver ends them all."""
    match = bot.match_of_seats()
    conversation = await bot.conversation()
    await start(conversation, [match])
    await play_on(conversation, [match], times=8)
    await bot.lose_connection()
    conversation = await bot.welcome_again([match])
    while not match.is_over:
        await play_on(conversation, [match])
    await end(conversation, [match])
    await conversation.exchange(play.PlayResponse(), ping=True)
    again = bot.match(match.game.config, match_id=match.match_id, seats=match.seats)
    await start(conversation, [again])
    await play_on(conversation, [again], times=4)
    await end(conversation, [again])
    return f"it played on in {len(match.seats)} seats of a match, which one GameOver ended"


@step("handle all that can happen to a connection alike, once there was a welcome", needs=("reconnect",))
async def _interrupted(bot: TrialBot) -> str:
    """A bot whose connections are closed in the middle of a hand-shake or message connects again."""
    _, matches = await bot.begin(4)
    welcoming = asyncio.create_task(_welcome_all(bot, matches))
    try:
        for count in _CUTS:
            cut = asyncio.create_task(bot.server.relay.cut_after(count))
            bot.server.cut_connections()
            await asyncio.wait_for(cut, bot.options.timeout)
    except TimeoutError:
        raise UnexpectedError(
            f"it did not connect again to a server that closes the connection after {count} bytes"
        ) from None
    finally:
        welcoming.cancel()
        await asyncio.wait((welcoming,))
    await bot.lose_connection()
    conversation = await bot.welcome_again(matches)
    await play_on(conversation, matches, times=2)
    await end(conversation, matches)
    return f"it connected again after connections that were closed after {', '.join(map(str, _CUTS))} bytes"


async def _welcome_all(bot: TrialBot, matches: list[ScriptedMatch]) -> None:
    """Welcome each stream, always with the same token, and send the open decisions and some more bytes."""
    welcome = play.Welcome(resume_token=bot.resume_token, match_ids=[match.match_id for match in matches])
    started = [message for match in matches for message in match.started()]
    decisions = [match.decision() for match in matches]
    while True:
        stream = await bot.server.accept(None)
        await stream.send(play.PlayResponse(welcome=welcome))
        await stream.send(play.PlayResponse(games_started=started, decisions=decisions))
        await stream.send(play.PlayResponse(notices=[play.Notice(text="only a test" * 100)]))


@step(
    "look for UNAVAILABLE, CANCELLED without a reason, and a google.rpc.RetryInfo, whose delay it must wait",
    needs=("reconnect",),
)
async def _retried(bot: TrialBot) -> str:
    """A stream that ended with UNAVAILABLE, CANCELLED or a RetryInfo is opened again after its delay."""
    _, matches = await bot.begin(1)
    ends: list[tuple[grpc.StatusCode, StatusDetails | bytes]] = [
        (grpc.StatusCode.UNAVAILABLE, b""),
        (grpc.StatusCode.UNAVAILABLE, StatusDetails(reason="STORE_UNAVAILABLE")),
        (grpc.StatusCode.CANCELLED, b""),
        (grpc.StatusCode.ABORTED, StatusDetails(reason="STALLED", retry_seconds=0.1)),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, StatusDetails(retry_seconds=_RETRY_SECONDS)),
    ]
    if bot.options.sdk:
        ends.insert(0, (grpc.StatusCode.UNAVAILABLE, b"\xff not a status"))
    for code, details in ends:
        for _ in range(2):  # in the middle of a game, and then in the place of a welcome
            bot.end_stream(code, details)
            began = perf_counter()
            await bot.await_return()
            waited = perf_counter() - began
        await play_on(await bot.welcome_again(matches), matches)
    await end(await bot.conversation(), matches)
    demand(waited >= _RETRY_SECONDS, f"it connected again after {waited:.2f} s, and not {_RETRY_SECONDS} s")
    return f"it connected again, after {waited:.2f} s where a RetryInfo said {_RETRY_SECONDS} s"
