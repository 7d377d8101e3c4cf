"""What a bot must put up with, and pings."""

from __future__ import annotations

from google.protobuf.message import Message

from happycity.v1 import game_pb2, match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import Conversation, end, play_on, start
from happycity_check.errors import UnexpectedError, demand
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot

# Field 2047 with the value 1, as a newer version might add it.
_UNKNOWN_FIELD = bytes((0xF8, 0x7F, 0x01))
_UNKNOWN_VALUE = 99
_PING_GAMES = 8
_PING_BATCHES = 10


async def _still_plays(bot: TrialBot, conversation: Conversation) -> None:
    """Let the bot answer a decision of a new game; what it sent before has arrived then too."""
    match = bot.match()
    await start(conversation, [match])
    await play_on(conversation, [match])
    await end(conversation, [match])


@step(
    "ignore a GameStarted of a game that you play; remember the last answer of each game, and send it again",
    needs=("first-decision",),
)
async def _repeated_messages(bot: TrialBot) -> str:
    """A GameStarted or decision that comes again changes nothing: the same move is answered again."""
    conversation, matches = await bot.begin(4)
    for _ in range(5):
        decisions = [match.decision() for match in matches]
        answers = await conversation.exchange(play.PlayResponse(decisions=decisions))
        await conversation.repeat(*decisions)
        await start(conversation, matches)
        if await conversation.exchange(play.PlayResponse(decisions=decisions)) != answers:
            raise UnexpectedError("decisions that were sent again were answered with other moves")
        for match in matches:
            match.answer(answers[match.match_id])
    await play_on(conversation, matches)
    await end(conversation, matches)
    return "decisions that were sent again are answered with the same moves"


@step("show notice.text to a person and go on", needs=("first-decision",))
async def _notices(bot: TrialBot) -> str:
    """Notices, such as of late answers, strikes and forfeits, don't end the bot."""
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
    """Add a field that no version has."""
    message.MergeFromString(_UNKNOWN_FIELD)


@step("ignore unknown fields, as protobuf does unless it is set to be strict", needs=("first-decision",))
async def _unknown_fields(bot: TrialBot) -> str:
    """Fields that a newer server adds are ignored, and so is an empty message."""
    conversation, (match,) = await bot.begin(1)
    await conversation.send(play.PlayResponse())
    for _ in range(3):
        decision = match.decision()
        view, move, event = decision.view, decision.moves[0], decision.events[0]
        for part in (decision, view, view.seats[0], move, event, decision.clock):
            _extended(part)
        response = play.PlayResponse(decisions=[decision])
        _extended(response)
        answers = await conversation.exchange(response)
        match.answer(answers[match.match_id])
    await end(conversation, [match])
    await _still_plays(bot, conversation)
    return "it plays on where messages hold fields that it can't know, or nothing"


@step(
    "forget a game and all that is still to be sent for it when its GameOver comes", needs=("first-decision",)
)
async def _game_over(bot: TrialBot) -> str:
    """After a GameOver nothing is answered for that game, and a second GameOver is ignored."""
    conversation = await bot.conversation()
    conversation.late_answers.clear()
    _, matches = await bot.begin(2)
    await end(conversation, matches[:1])
    await end(conversation, matches[:1])
    await play_on(conversation, matches[1:], times=3)
    await end(conversation, matches[1:])
    await _still_plays(bot, conversation)
    late = conversation.late_answers
    demand(not late, f"an answer to {', '.join(late[:1])}, a game that was over")
    return "no answer for a game after its GameOver"


@step("look whether GameOver.outcome has a result before it is read", needs=("first-decision",))
async def _voided(bot: TrialBot) -> str:
    """A GameOver without a result, that of a voided game, is understood."""
    conversation = await bot.conversation()
    for reason in match_pb2.VoidReason.values()[1:]:
        conversation, matches = await bot.begin(2)
        await conversation.send(play.PlayResponse(games_over=[match.voided(reason) for match in matches]))
    await _still_plays(bot, conversation)
    return "it plays on after a GameOver without a result"


@step("give every switch over an enum a branch for values that it doesn't know", needs=("voided",))
async def _unknown_values(bot: TrialBot) -> str:
    """Enum values of a newer server, of notices, events, endings and void reasons, are ignored."""
    conversation = await bot.conversation()
    kind = play.NoticeKind.ValueType(_UNKNOWN_VALUE)
    notice = play.Notice(kind=kind, text="this is only a test")
    await conversation.send(play.PlayResponse(notices=[notice]))
    _, matches = await bot.begin(3)
    decisions = [match.decision() for match in matches]
    for decision in decisions:
        decision.events.add(kind=game_pb2.EventKind.ValueType(_UNKNOWN_VALUE), coins=1)
    await conversation.exchange(play.PlayResponse(decisions=decisions))
    ending, voided, neither = (matches[0].over() for _ in range(3))
    ending.outcome.result.seats[1].ending = match_pb2.Ending.ValueType(_UNKNOWN_VALUE)
    voided.outcome.void_reason = match_pb2.VoidReason.ValueType(_UNKNOWN_VALUE)
    neither.ClearField("outcome")
    _extended(neither)
    for match, over in zip(matches, (ending, voided, neither), strict=False):
        over.match_id = match.match_id
        await conversation.send(play.PlayResponse(games_over=[over]))
    await _still_plays(bot, conversation)
    return "it plays on after notices, events, endings and void reasons of kinds that it can't know"


@step(
    "answer PlayResponse.ping at once with PlayRequest.pong, also if it comes with decisions",
    needs=("first-decision",),
)
async def _ping(bot: TrialBot) -> str:
    """A ping is answered by a pong with the same nonce, also while games are played."""
    conversation = await bot.conversation()
    await conversation.exchange(play.PlayResponse(), ping=True)
    matches = bot.matches(_PING_GAMES)
    await start(conversation, matches)
    await play_on(conversation, matches, times=_PING_BATCHES, ping=True)
    await end(conversation, matches)
    slowest = 1000 * max(conversation.pong_seconds[-_PING_BATCHES:])
    batches = f"{_PING_BATCHES} batches of {len(matches)} games"
    return f"pongs to the pings in {batches}, the slowest after {slowest:.1f} ms"
