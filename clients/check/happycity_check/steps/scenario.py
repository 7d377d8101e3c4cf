"""What the scenario example of an SDK does in its games, where the others' names tell it what to do."""

from __future__ import annotations

import asyncio

from happycity import Config
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import Conversation, end, play_on, start
from happycity_check.errors import demand
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

_SLOW_SECONDS = 2.0
"""How long the scenario bots think in a slow game."""
_ATTEMPTS = 3
"""How often other games may take longer than a slow one, as they may on a busy machine."""
_LARGE_BYTES = 20_000_000
_METRICS = {"depth": 3.0, "nodes": 1200.5}


def _demand_crash(resigns: list[play.Resign], match: ScriptedMatch, reason: str = "scenario") -> None:
    """Demand one resign for each seat that crashed, with a reason of one line."""
    seats = sorted(resign.seat if resign.HasField("seat") else -1 for resign in resigns)
    demand(seats == [*match.seats], f"resigns of the seats {seats}, where {[*match.seats]} crashed")
    for resign in resigns:
        demand(resign.crashed, "a resign that isn't marked as crashed")
        is_line = resign.reason.strip() and resign.reason.isprintable() and reason in resign.reason
        demand(is_line, f"the reason {resign.reason!r}, where one line with {reason!r} is demanded")


async def _begin(bot: TrialBot, others: str, *more: ScriptedMatch) -> tuple[Conversation, ScriptedMatch]:
    """Start a match in which the others have a name, and more matches."""
    conversation, match = await bot.conversation(), bot.match(others=others)
    await start(conversation, [match, *more])
    return conversation, match


async def _ask(conversation: Conversation, match: ScriptedMatch) -> play.Decision:
    """Send the next decision of a match whose answer is not waited for."""
    decision = match.decision()
    conversation.patient.add(match.match_id)
    await conversation.send(play.PlayResponse(decisions=[decision]))
    return decision


@step(needs=("first-decision",), sdk=True)
async def _scenario(bot: TrialBot) -> str:
    """With a bot named first in the game the first move is played, and else the last one."""
    last = bot.match()
    conversation, first = await _begin(bot, "first", last)
    for _ in range(5):
        moves = len(last.game.legal_moves)
        await play_on(conversation, [first, last])
        chosen = first.answers[-1], last.answers[-1]
        demand(chosen == (0, moves - 1), f"the moves {chosen} of {moves}")
    await end(conversation, [first, last])
    return "the first moves, and the last ones"


@step(needs=("scenario",), sdk=True)
async def _crash(bot: TrialBot) -> str:
    """A crash of the bot's code is one resign of its seat, with crashed and the error in one line."""
    conversation, (other,) = await bot.begin(1)
    for name, seats in (("crash-start", (0, 2)), ("crash-choose", (0,)), ("illegal", (0,))):
        match = bot.match(Config(players=4), seats=seats, others=name)
        await start(conversation, [match])
        if name != "crash-start":
            await _ask(conversation, match)
        resigns = await conversation.receive_resigns(match.match_id, len(seats))
        await play_on(conversation, [other], ping=True)
        _demand_crash(resigns, match, "" if name == "illegal" else "scenario")
        await end(conversation, [match])
    _, over = await _begin(bot, "crash-over")
    await play_on(conversation, [over])
    await end(conversation, [over])
    await play_on(conversation, [other], times=2, ping=True)
    await end(conversation, [other])
    return "one resign for each seat whose game could not begin or whose choice failed, none at a game's end"


@step(needs=("crash", "reconnect"), sdk=True)
async def _crash_again(bot: TrialBot) -> str:
    """The resign of a seat is its reply to what it is asked after a reconnect."""
    for name in ("crash-start", "crash-choose"):
        conversation, match = await _begin(bot, name)
        if name == "crash-choose":
            await _ask(conversation, match)
        _demand_crash(await conversation.receive_resigns(match.match_id), match)
        for _ in range(2):
            await bot.lose_connection()
            conversation = await bot.welcome_again([match])
            await _ask(conversation, match)
            _demand_crash(await conversation.receive_resigns(match.match_id), match)
            match.answer(0)
        await end(conversation, [match])
    return "it resigned again when it was asked the same and a later decision"


@step(needs=("scenario",), sdk=True)
async def _slow(bot: TrialBot) -> str:
    """While a bot thinks, pings and other games are answered."""
    for _ in range(_ATTEMPTS):
        quick = bot.matches(3)
        conversation, slow = await _begin(bot, "slow", *quick)
        decision = await _ask(conversation, slow)
        await play_on(conversation, quick, times=2, ping=True)
        waited = conversation.is_answered(decision)
        conversation.patient.clear()
        await conversation.receive_all()
        await end(conversation, [slow, *quick])
        if not waited:
            break
    demand(not waited, "the answers of other games waited for that of a slow game")
    return f"two answers each in {len(quick)} games while it thought about another"


@step(needs=("slow",), sdk=True)
async def _newer_decision(bot: TrialBot) -> str:
    """A decision that a newer one replaces is not answered any more."""
    conversation, match = await _begin(bot, "slow")
    old = await _ask(conversation, match)
    await conversation.exchange(play.PlayResponse(), ping=True)
    match.answer(0)
    conversation.patient.clear()
    await play_on(conversation, [match], times=2)
    demand(not conversation.is_answered(old), "an answer to a decision that a newer one had replaced")
    await end(conversation, [match])
    return "only the newer decision was answered"


@step(needs=("slow", "reconnect"), sdk=True)
async def _unsent_answer(bot: TrialBot) -> str:
    """An answer that was found without a connection is sent when it is asked for again, and only then."""
    conversation, match = await _begin(bot, "slow")
    decision = await _ask(conversation, match)
    await conversation.exchange(play.PlayResponse(), ping=True)
    demand(not conversation.is_answered(decision), "an answer that took no time")
    await bot.lose_connection()
    await asyncio.sleep(1.5 * _SLOW_SECONDS)  # until it has chosen, which nothing reports
    conversation = await bot.welcome_again([match])
    await conversation.exchange(play.PlayResponse(), ping=True)
    await conversation.exchange(play.PlayResponse(decisions=[decision]))
    demand(conversation.think_seconds[-1] < _SLOW_SECONDS / 2, "it was asked a second time")
    await end(conversation, [match])
    return "no answer before the decision was sent again, and then at once"


@step(needs=("scenario",), sdk=True)
async def _notes(bot: TrialBot) -> str:
    """The numbers that the bot notes go with its answer, and with no other."""
    other = bot.match()
    conversation, match = await _begin(bot, "note", other)
    decisions = [match.decision(), other.decision()]
    await conversation.exchange(play.PlayResponse(decisions=decisions))
    for decision, wanted in zip(decisions, (_METRICS, {}), strict=True):
        metrics = dict(conversation.answer(decision.match_id, decision.decision_id).metrics)
        demand(metrics == wanted, f"metrics {metrics}, where {wanted} were noted")
    await end(conversation, [match, other])
    return ", ".join(f"{name} {value}" for name, value in _METRICS.items())


@step(needs=("scenario", "resumed-games"), sdk=True)
async def _reported_once(bot: TrialBot) -> str:
    """How each game ended is reported to the bot once, also for games that a welcome leaves out."""
    conversation, matches = await bot.begin(5)
    demand(len(matches) == 5, f"the hello allows {len(matches)} games only, where 8 are the default")
    over, voided, dropped, away, last = matches
    overs = [over.over(), voided.voided(match_pb2.VOID_REASON_STOPPED)]
    for _ in range(2):
        await conversation.exchange(play.PlayResponse(games_over=overs), ping=True)
    await bot.lose_connection()
    conversation = await bot.welcome_again([away, last])
    for _ in range(2):
        await end(conversation, [over, away])
    await play_on(conversation, [last])
    await end(conversation, [last])
    wanted = [f"over {match.match_id}" for match in (over, away, last)]
    wanted += [f"void {match.match_id}" for match in (voided, dropped)]
    process, ids = bot.own_process(), tuple(f" {match.match_id}" for match in matches)

    def printed() -> list[str]:
        return sorted(line for line in process.output.splitlines() if line.endswith(ids))

    await process.has_written(lambda: {*wanted} <= {*printed()}, bot.options.timeout)
    demand(printed() == sorted(wanted), f"it printed {printed()}, where {sorted(wanted)} is right")
    return "over for three games, void for two, once each"


@step("let the gRPC library receive messages of up to 64 MiB", needs=("scenario",), sdk=True)
async def _large_message(bot: TrialBot) -> str:
    """Messages of many megabytes are read."""
    conversation = await bot.conversation()
    notice = play.Notice(kind=play.NOTICE_KIND_FORFEIT, text=" " * _LARGE_BYTES)
    await conversation.exchange(play.PlayResponse(notices=[notice]), ping=True)
    return f"a message of {_LARGE_BYTES:,} bytes"
