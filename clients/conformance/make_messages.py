"""Write messages.jsonl, messages of every kind that bots send or receive; first.decision is the last of them.

Each line is a JSON object: `name`, `type` (the message's name in happycity.v1), `bytes` (the wire format, in
base64) and `fields` (the same in protobuf's JSON mapping). Every SDK must read the bytes as these fields. The
decisions are one of each phase, in both modes, with events, clock and what each move costs or gains.

`first.decision` is what `happycity ask 22@32 --out first.decision` writes. The readers of all SDKs, and the
projects of `happycity new-bot`, are tested with it: there the first bot builds the Spa.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path

from files import write_or_check
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message

from happycity import BotInfo, Config, Deal, Ending, Event, Game, Mode, Phase, VoidReason
from happycity.match import seat_results
from happycity.records.random_games import movers_rng, play_random_game, random_move, record_random_game
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import bot_info_message, outcome_message
from happycity.wire.messages import config_message, decision_message
from happycity_check.recorded_match import RecordedMatch

FILE = Path(__file__).with_name("messages.jsonl")
DECISION_FILE = Path(__file__).with_name("first.decision")
MATCH_ID = 2**40 + 7
LARGEST = 2**63 - 1
TOKEN = "resume-token"  # noqa: S105 - an example


def messages() -> Iterator[tuple[str, Message]]:
    """Yield the messages with their names."""
    info = BotInfo(author="Ann", version="1.2", language="Example", description="It plays slowly.")
    yield (
        "hello",
        play.Hello(
            protocol_version=1,
            name="my-bot",
            max_games=8,
            software="example/1.0",
            info=bot_info_message(info),
        ),
    )
    yield (
        "hello that resumes",
        play.Hello(protocol_version=1, software="example/1.0", resume_token=TOKEN),
    )
    answer = play.Answer(match_id=MATCH_ID, decision_id=3, move=0, metrics={"depth": 3, "score": -0.5})
    yield "answer", answer
    yield "resignation", play.Resign(match_id=MATCH_ID, reason="no chance")
    yield "crash in one seat", play.Resign(match_id=MATCH_ID, seat=0, crashed=True, reason="IndexError: ...")
    yield "batch", play.PlayRequest(answers=[answer], pong=play.Pong(nonce=5))
    yield "goodbye", play.PlayRequest(goodbye=play.Goodbye())
    yield (
        "welcome",
        play.Welcome(
            server="happycity-server/1.0",
            catalogue_digest="0123456789abcdef" * 4,
            resume_token=TOKEN,
        ),
    )
    yield (
        "welcome that resumes",
        play.Welcome(
            server="happycity-server/2.0",
            resume_token=TOKEN,
            match_ids=[MATCH_ID, LARGEST],
        ),
    )
    config = Config(players=3, mode=Mode.EXPERT)
    yield (
        "game started",
        play.GameStarted(
            match_id=MATCH_ID,
            config=config_message(config),
            seat=0,
            bots=["my-bot", "b", "my-bot"],
            seed=2**63,
        ),
    )
    for mode in Mode:
        yield from _decisions(Config(players=3, mode=mode))
    game = Game.deal(config, seed=3)
    play_random_game(game, random.Random(3))
    assert game.outcome is not None
    endings = [Ending.FINISHED, Ending.CRASHED, Ending.SILENT]
    reasons = ["", "IndexError: tuple index out of range", "it has never answered"]
    seats = seat_results(game.outcome, endings, reasons)
    yield "game over", play.GameOver(match_id=MATCH_ID, outcome=outcome_message(seats))
    yield "game voided", play.GameOver(match_id=LARGEST, outcome=outcome_message(VoidReason.SHUTDOWN))
    yield (
        "notice",
        play.Notice(
            kind=play.NOTICE_KIND_TIMEOUT,
            match_id=MATCH_ID,
            decision_id=3,
            text="no answer within 10 s",
            round=1,
        ),
    )
    yield "game that begins at a decision", first_decision()


def first_decision() -> play.PlayResponse:
    """Return a decision of the second seat, of a game of random movers among three."""
    record = record_random_game(Deal.shuffle(Config(players=3), seed=4), movers_rng(4))
    match = RecordedMatch(22, record, bots=["greedy", "mine", "random"], seat=1, bot_seed=2**63)
    return play.PlayResponse(games_started=[match.started()], decisions=[match.decision(32)])


def _decisions(config: Config) -> Iterator[tuple[str, Message]]:
    """Yield the first decision of each phase, and one with everything, of random games."""
    seen: set[Phase] = set()
    for seed in range(200):
        game, rng = Game.deal(config, seed=seed), random.Random(seed)
        events: list[Event] = list(game.events)
        for number in range(1, 10_000):
            if game.outcome is not None:
                break
            rich = len(game.legal_moves) >= 3 and game.round != 1
            if game.phase not in seen and (rich or game.phase is Phase.MARKET):
                seen.add(game.phase)
                clock = play.Clock(time_left_us=10_000_000, last_think_us=1500, round_trip_us=300)
                if game.phase is Phase.SPECIAL:
                    clock.bank_left_us = 0
                yield (
                    f"{config.mode.value} decision: {game.phase}",
                    decision_message(
                        game, match_id=MATCH_ID, decision_id=number, events=events[-12:], clock=clock
                    ),
                )
            game.apply(random_move(game, rng))
            events += game.events


def _line(name: str, message: Message) -> str:
    line = {
        "name": name,
        "type": message.DESCRIPTOR.name,
        "bytes": base64.b64encode(message.SerializeToString(deterministic=True)).decode(),
        "fields": json.loads(MessageToJson(message, sort_keys=True)),  # maps have no order of their own
    }
    return json.dumps(line, separators=(",", ":"))


if __name__ == "__main__":
    write_or_check(
        {
            FILE: "".join(f"{_line(name, message)}\n" for name, message in messages()),
            DECISION_FILE: first_decision().SerializeToString(deterministic=True),
        }
    )
