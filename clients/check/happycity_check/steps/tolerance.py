"""What must not upset a bot."""

from __future__ import annotations

from google.protobuf.message import Message

from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_check.bench import Bench
from happycity_check.dialogue import Dialogue, UnexpectedError, end, play_on, start
from happycity_check.step import Step
from happycity_check.tables import Table

# Field 2047 with the value 1, as a newer version might add it.
_UNKNOWN_FIELD = bytes((0xF8, 0x7F, 0x01))
_UNKNOWN_VALUE = 99


async def _still_plays(bench: Bench, dialogue: Dialogue) -> None:
    """Let the bot answer a decision of a new game; what it said before has arrived then too."""
    table = bench.table()
    await start(dialogue, [table])
    await play_on(dialogue, [table])
    await end(dialogue, [table])


async def _begun(bench: Bench, dialogue: Dialogue, count: int = 1, *, decisions: int = 3) -> list[Table]:
    """Begin games and play some decisions of each."""
    tables = bench.tables(count)
    await start(dialogue, tables)
    for _ in range(decisions):
        await play_on(dialogue, tables)
    return tables


async def _repeated_decision(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    tables = await _begun(bench, dialogue, 4)
    for _ in range(5):
        decisions = [table.decision() for table in tables]
        answers = await dialogue.exchange(play.PlayResponse(decisions=decisions))
        await dialogue.repeat(*decisions)
        for table in tables:
            table.answer(answers[table.game_id])
    await play_on(dialogue, tables)
    await end(dialogue, tables)
    return "decisions that were sent twice are not answered with two different moves"


async def _notices(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    (table,) = await _begun(bench, dialogue)
    for kind in (
        play.NOTICE_KIND_LATE_ANSWER,
        play.NOTICE_KIND_ILLEGAL_ANSWER,
        play.NOTICE_KIND_TIMEOUT,
        play.NOTICE_KIND_SERVER_LATE,
        play.NOTICE_KIND_UNKNOWN_GAME,
    ):
        notice = play.Notice(kind=kind, game_id=table.game_id, text="this is only a test")
        await dialogue.send(play.PlayResponse(notices=[notice]))
        await play_on(dialogue, [table])
    forfeit = play.Notice(kind=play.NOTICE_KIND_FORFEIT, game_id=table.game_id, text="this is only a test")
    await dialogue.send(play.PlayResponse(notices=[forfeit]))
    await end(dialogue, [table])
    await _still_plays(bench, dialogue)
    return "it plays on after notices of a late answer, strikes, a forfeit"


def _extended(message: Message) -> None:
    """Add a field that nobody knows."""
    message.MergeFromString(_UNKNOWN_FIELD)


async def _unknown_fields(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    (table,) = await _begun(bench, dialogue)
    await dialogue.send(play.PlayResponse())
    for _ in range(3):
        decision = table.decision()
        for part in (decision, decision.view, decision.clock, decision.view.seats[0], decision.events[0]):
            _extended(part)
        response = play.PlayResponse(decisions=[decision])
        _extended(response)
        answers = await dialogue.exchange(response)
        table.answer(answers[table.game_id])
    await end(dialogue, [table])
    await _still_plays(bench, dialogue)
    return "it plays on where messages hold fields that it can't know, or nothing"


async def _unknown_values(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    (table,) = await _begun(bench, dialogue)
    kind = play.NoticeKind.ValueType(_UNKNOWN_VALUE)
    notice = play.Notice(kind=kind, game_id=table.game_id, text="this is only a test")
    await dialogue.send(play.PlayResponse(notices=[notice]))
    for _ in range(3):
        decision = table.decision()
        decision.events.add(kind=game_pb2.EventKind.ValueType(_UNKNOWN_VALUE), amount=1)
        answers = await dialogue.exchange(play.PlayResponse(decisions=[decision]))
        table.answer(answers[table.game_id])
    over = table.voided(play.VoidReason.ValueType(_UNKNOWN_VALUE))
    await dialogue.send(play.PlayResponse(games_over=[over]))
    await _still_plays(bench, dialogue)
    return "it plays on after kinds of notices and events, and a void reason, that it can't know"


async def _game_over(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    dialogue.too_late.clear()
    tables = await _begun(bench, dialogue, 2)
    await end(dialogue, tables[:1])
    for _ in range(3):
        await play_on(dialogue, tables[1:])
    await end(dialogue, tables[1:])
    await _still_plays(bench, dialogue)
    if dialogue.too_late:
        raise UnexpectedError(f"an answer to {dialogue.too_late[0]}, a game that was over")
    return "no answer for a game after its GameOver"


async def _voided(bench: Bench) -> str:
    dialogue = await bench.dialogue()
    for reason in (play.VOID_REASON_STOPPED, play.VOID_REASON_SERVER_ERROR, play.VOID_REASON_UNKNOWN):
        tables = await _begun(bench, dialogue, 2)
        await dialogue.send(play.PlayResponse(games_over=[table.voided(reason) for table in tables]))
    await _still_plays(bench, dialogue)
    return "it plays on after a GameOver without a result"


STEPS = (
    Step(
        name="repeated-decision",
        demand="a decision that comes twice is answered once, or twice with the same move",
        advice="remember the last answer of each game by decision_id, and send it again",
        run=_repeated_decision,
        needs=("first-decision",),
    ),
    Step(
        name="notices",
        demand="notices, such as of late answers, strikes and forfeits, don't end the bot",
        advice="show notice.text to a person and go on",
        run=_notices,
        needs=("first-decision",),
    ),
    Step(
        name="unknown-fields",
        demand="fields that a newer server adds are ignored, and so is an empty message",
        advice="ignore unknown fields, as protobuf does unless it is told to be strict",
        run=_unknown_fields,
        needs=("first-decision",),
    ),
    Step(
        name="game-over",
        demand="after a GameOver nothing is answered for that game",
        advice="forget a game and all that is still to be sent for it when its GameOver comes",
        run=_game_over,
        needs=("first-decision",),
    ),
    Step(
        name="voided",
        demand="a GameOver without a result, that of a voided game, is understood",
        advice="look whether GameOver.result is there before it is read",
        run=_voided,
        needs=("first-decision",),
    ),
    Step(
        name="unknown-values",
        demand="enum values that a newer server adds, of notices, events and void reasons, are ignored",
        advice="give every switch over an enum a branch for values that it doesn't know",
        run=_unknown_values,
        needs=("voided",),
    ),
)
