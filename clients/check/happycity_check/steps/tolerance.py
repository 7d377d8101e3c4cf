"""What a bot must put up with."""

from __future__ import annotations

from google.protobuf.message import Message

from happycity.v1 import game_pb2, match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import Conversation, end, play_on, start
from happycity_check.errors import UnexpectedError
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

# Field 2047 with the value 1, as a newer version might add it.
_UNKNOWN_FIELD = bytes((0xF8, 0x7F, 0x01))
_UNKNOWN_VALUE = 99


async def _still_plays(bot: TrialBot, conversation: Conversation) -> None:
    """Let the bot answer a decision of a new game; what it sent before has arrived then too."""
    match = bot.match()
    await start(conversation, [match])
    await play_on(conversation, [match])
    await end(conversation, [match])


@step(
    demand="a decision that comes twice is answered once, or twice with the same move",
    advice="remember the last answer of each game by decision_id, and send it again",
    needs=("first-decision",),
)
async def _repeated_decision(bot: TrialBot) -> str:
    conversation, matches = await bot.begin(4)
    for _ in range(5):
        decisions = [match.decision() for match in matches]
        answers = await conversation.exchange(play.PlayResponse(decisions=decisions))
        await conversation.repeat(*decisions)
        for match in matches:
            match.answer(answers[match.match_id])
    await play_on(conversation, matches)
    await end(conversation, matches)
    return "decisions that were sent twice are not answered with two different moves"


@step(
    demand="notices, such as of late answers, strikes and forfeits, don't end the bot",
    advice="show notice.text to a person and go on",
    needs=("first-decision",),
)
async def _notices(bot: TrialBot) -> str:
    conversation, (match,) = await bot.begin(1)
    for kind in (
        play.NOTICE_KIND_LATE_ANSWER,
        play.NOTICE_KIND_ILLEGAL_ANSWER,
        play.NOTICE_KIND_TIMEOUT,
        play.NOTICE_KIND_SERVER_LATE,
        play.NOTICE_KIND_UNKNOWN_MATCH,
    ):
        notice = play.Notice(kind=kind, match_id=match.match_id, text="this is only a test")
        await conversation.send(play.PlayResponse(notices=[notice]))
        await play_on(conversation, [match])
    forfeit = play.Notice(kind=play.NOTICE_KIND_FORFEIT, match_id=match.match_id, text="this is only a test")
    await conversation.send(play.PlayResponse(notices=[forfeit]))
    await end(conversation, [match])
    await _still_plays(bot, conversation)
    return "it plays on after notices of a late answer, strikes, a forfeit"


def _extended(message: Message) -> None:
    """Add a field that nobody knows."""
    message.MergeFromString(_UNKNOWN_FIELD)


@step(
    demand="fields that a newer server adds are ignored, and so is an empty message",
    advice="ignore unknown fields, as protobuf does unless it is set to be strict",
    needs=("first-decision",),
)
async def _unknown_fields(bot: TrialBot) -> str:
    conversation, (match,) = await bot.begin(1)
    await conversation.send(play.PlayResponse())
    for _ in range(3):
        decision = match.decision()
        for part in (
            decision,
            decision.view,
            decision.view.seats[0],
            decision.moves[0],
            decision.events[0],
            decision.clock,
        ):
            _extended(part)
        response = play.PlayResponse(decisions=[decision])
        _extended(response)
        answers = await conversation.exchange(response)
        match.answer(answers[match.match_id])
    await end(conversation, [match])
    await _still_plays(bot, conversation)
    return "it plays on where messages hold fields that it can't know, or nothing"


def _unknown_ending(over: play.GameOver) -> None:
    over.result.seats[1].ending = match_pb2.Ending.ValueType(_UNKNOWN_VALUE)


def _unknown_void_reason(over: play.GameOver) -> None:
    over.void_reason = match_pb2.VoidReason.ValueType(_UNKNOWN_VALUE)


def _unknown_end(over: play.GameOver) -> None:
    """Leave neither a result nor a void reason, but something else."""
    over.ClearField("result")
    _extended(over)


@step(
    demand="enum values of a newer server, of notices, events, endings and void reasons, are ignored",
    advice="give every switch over an enum a branch for values that it doesn't know",
    needs=("voided",),
)
async def _unknown_values(bot: TrialBot) -> str:
    conversation = await bot.conversation()
    kind = play.NoticeKind.ValueType(_UNKNOWN_VALUE)
    notice = play.Notice(kind=kind, text="this is only a test")
    await conversation.send(play.PlayResponse(notices=[notice]))
    for change in (_unknown_ending, _unknown_void_reason, _unknown_end):
        conversation, (match,) = await bot.begin(1)
        decision = match.decision()
        decision.events.add(kind=game_pb2.EventKind.ValueType(_UNKNOWN_VALUE), coins=1)
        answers = await conversation.exchange(play.PlayResponse(decisions=[decision]))
        match.answer(answers[match.match_id])
        over = match.over()
        change(over)
        await conversation.send(play.PlayResponse(games_over=[over]))
    await _still_plays(bot, conversation)
    return "it plays on after notices, events, endings and void reasons of kinds that it can't know"


@step(
    demand="after a GameOver nothing is answered for that game",
    advice="forget a game and all that is still to be sent for it when its GameOver comes",
    needs=("first-decision",),
)
async def _game_over(bot: TrialBot) -> str:
    conversation = await bot.conversation()
    conversation.late_answers.clear()
    _, matches = await bot.begin(2)
    await end(conversation, matches[:1])
    await play_on(conversation, matches[1:], times=3)
    await end(conversation, matches[1:])
    await _still_plays(bot, conversation)
    if conversation.late_answers:
        raise UnexpectedError(f"an answer to {conversation.late_answers[0]}, a game that was over")
    return "no answer for a game after its GameOver"


@step(
    demand="a GameOver without a result, that of a voided game, is understood",
    advice="look whether GameOver.result is there before it is read",
    needs=("first-decision",),
)
async def _voided(bot: TrialBot) -> str:
    conversation = await bot.conversation()
    for reason in match_pb2.VoidReason.values()[1:]:
        conversation, matches = await bot.begin(2)
        await conversation.send(play.PlayResponse(games_over=[match.voided(reason) for match in matches]))
    await _still_plays(bot, conversation)
    return "it plays on after a GameOver without a result"


STEPS = (_repeated_decision, _notices, _unknown_fields, _game_over, _voided, _unknown_values)
