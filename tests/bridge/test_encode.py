"""What a program reads is what protobuf's JSON mapping makes of the protocol's messages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from tests.bridge.decisions import random_decisions

from happycity import Config, Ending, Game, Mode, Move, MoveKind, Scoring, VoidReason
from happycity.match import seat_results
from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import outcome_of
from happycity.wire.messages import move_of
from happycity_bridge import encode
from happycity_client import GameOver, GameStarted

BRIDGE_MD = Path(__file__).resolve().parents[2] / "docs" / "bridge.md"
OURS = {"type", "legal"}
"""What the bridge adds to a message."""


def content(line: encode.Line) -> dict[str, Any]:
    """Return a line as a program reads it, without what the bridge adds."""
    read = json.loads(json.dumps(line))
    return {key: value for key, value in read.items() if key not in OURS}


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("seed", range(4))
def test_a_decision_is_the_servers(mode: Mode, seed: int) -> None:
    scoring = list(Scoring)[seed % 2]
    for decision in random_decisions(Config(players=2 + seed % 4, mode=mode, scoring=scoring), seed):
        line = encode.decision(decision)
        assert ParseDict(content(line), play.Decision()) == decision.message
        assert line["legal"] == [str(move) for move in decision.moves]
        assert [move["coins"] for move in content(line)["moves"]] == [
            decision.coins(move) for move in decision.moves
        ]


def test_the_form_of_a_decision() -> None:
    # Only what may be absent by the protocol may be absent: a seat that is copied, that of a round, times.
    first = next(random_decisions(Config(players=2), 1))
    line = content(encode.decision(first))
    assert line["view"]["seat"] == 0
    assert line["moves"][0] == {"kind": "MOVE_KIND_DRAW", "card": "CARD_UNSPECIFIED", "deck": 1, "coins": 0}
    assert line["view"]["decks"][0] == {"left": 28, "discarded": []}
    started, paid = line["events"][:2]
    assert started.keys() == {"kind", "card", "deck", "coins", "round"}
    assert paid.keys() == {*started, "seat"}
    assert line["clock"] == {"time_left_us": "10000000", "last_think_us": "1234", "bank_left_us": "0"}

    # The texts of the moves are found by the first bracket, before any other list.
    decision = next(random_decisions(Config(players=2), 1))
    text = json.dumps(encode.decision(decision), separators=(",", ":"))
    assert text.startswith('{"type":"decision","legal":["draw 1","draw 2","draw 3"],"match_id":"46116860')


def test_the_documented_decision_is_one() -> None:
    # Keys and their order, moves and their texts are those of a real one.
    shown, _ = re.findall(r"^```json\n(.*)\n```$", BRIDGE_MD.read_text(encoding="utf-8"), flags=re.MULTILINE)
    documented = json.loads(shown)
    real = encode.decision(next(random_decisions(Config(players=2), 1)))
    assert [*documented] == ["type", "id", *(key for key in real if key != "type")]
    assert shown == json.dumps(documented, separators=(",", ":"))
    for text, move in zip(documented["legal"], documented["moves"], strict=True):
        assert move_of(ParseDict(move, game_pb2.Move())) is Move.parse(text)
    for key, number in (("moves", 0), ("events", 1)):  # the first event, of a round, has no seat
        assert {frozenset(part) for part in documented[key]} == {frozenset(content(real)[key][number])}

    # There is one of each kind.
    (row,) = re.findall(r"^\| `legal` \|(.*)\|$", BRIDGE_MD.read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = [Move.parse(text) for text in re.findall(r"`([^`]+)`", row) if text != "moves"]
    assert {move.kind for move in texts} == {*MoveKind}


def test_starts_ends_and_errors_are_protobufs_mapping() -> None:
    # Its 64-bit numbers are strings, so that no reader rounds them.
    start = GameStarted(match_id=2**63 - 1, config=Config(players=2), seat=0, bots=("a", "b"), seed=2**63)
    line = encode.game_started(start)
    assert line == {
        "type": "game_started",
        "match_id": "9223372036854775807",
        "config": {"players": 2, "mode": "MODE_FAMILY", "scoring": "SCORING_PRODUCT", "edition": 1},
        "seat": 0,
        "bots": ["a", "b"],
        "seed": "9223372036854775808",
    }
    assert ParseDict(content(line), play.GameStarted()).match_id == start.match_id

    # It has points, place, ending and reason by seat.
    ended = over(Ending.FINISHED, Ending.TIMEOUT)
    message = ParseDict(content(encode.game_over(ended)), play.GameOver())
    assert (message.match_id, outcome_of(message.outcome)) == (5, ended.seats)
    # The rest of the result is as it is.
    result = content(encode.game_over(over(Ending.FINISHED, Ending.OTHER)))["outcome"]["result"]
    assert [seat["ending"] for seat in result["seats"]] == ["ENDING_FINISHED", "ENDING_UNSPECIFIED"]
    assert [seat["place"] for seat in result["seats"]] == [1, 2]

    # It is a game_over too, and says why.
    for reason in list(VoidReason):
        said = {"match_id": "5", "outcome": {"void_reason": f"VOID_REASON_{reason.name}"}}
        assert encode.game_voided(5, reason) == {"type": "game_over", **said}

    # A shared program may play several seats of one match.
    start = GameStarted(match_id=5, config=Config(), seat=2, bots=("a", "b", "c", "d"), seed=1)
    legal = [Move.parse("keep"), Move.parse("draw 2")]
    line = encode.error(start, "no such move", legal)
    assert (line["type"], line["match_id"], line["seat"]) == ("error", "5", 2)
    assert content(line) == {"match_id": "5", "seat": 2, "message": "no such move"}
    assert line["legal"] == ["keep", "draw 2"]


def over(*endings: Ending) -> GameOver:
    game = Game.deal(Config(players=2), seed=1)
    while game.outcome is None:
        game.apply(game.legal_moves[-1])
    reasons = ["" if ending is Ending.FINISHED else "too late" for ending in endings]
    return GameOver(5, seat_results(game.outcome, endings, reasons))
