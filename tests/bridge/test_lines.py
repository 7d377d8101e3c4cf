"""What a program reads is what protobuf's JSON mapping makes of the protocol's messages."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from happycity import Config, Game, Mode, Move, MoveKind, Scoring
from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire import coins_moved, event_message, move_message, move_of, view_message
from happycity_bridge import lines
from happycity_client import Decision, GameOver, GameStart, VoidReason

BRIDGE_MD = Path(__file__).resolve().parents[2] / "docs" / "bridge.md"
OURS = {"type", "legal"}
"""What the bridge adds to a message."""


def asked(config: Config, seed: int) -> Iterator[tuple[play.Decision, Decision]]:
    """Yield every decision of a random game, as the server sends it and as the SDK hands it on."""
    rng = random.Random(seed)
    game = Game.deal(config, seed=seed)
    while game.outcome is None:
        moves = [move_message(move, coins_moved(game, game.seat, move)) for move in game.legal_moves]
        message = play.Decision(
            game_id=2**63 + seed,
            seat=game.seat,
            view=view_message(game.view()),
            moves=moves,
            events=map(event_message, game.events),
            clock=play.Clock(time_left_ms=10_000, last_think_us=1234, bank_left_ms=7, round_trip_us=99),
        )
        view, events = game.view(), game.events
        yield (
            message,
            Decision(
                game_id=2**63 + seed,
                seat=game.seat,
                moves=game.legal_moves,
                view=lambda view=view: view,  # type: ignore[misc]
                events=lambda events=events: events,  # type: ignore[misc]
                time_left=10.0,
                last_think=0.001234,
                bank_left=0.007,
                round_trip=0.000099,
            ),
        )
        game.apply(rng.choice(game.legal_moves))


def content(line: lines.Line) -> dict[str, Any]:
    """Return a line as a program reads it, without what the bridge adds."""
    read = json.loads(json.dumps(line))
    return {key: value for key, value in read.items() if key not in OURS}


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("seed", range(8))
def test_a_decision_is_protobufs_mapping(mode: Mode, seed: int) -> None:
    """All fields but decision_id, which the SDK keeps to itself, have the names and values of the mapping."""
    scoring = list(Scoring)[seed % 2]
    for message, decision in asked(Config(players=2 + seed % 4, mode=mode, scoring=scoring), seed):
        mapped = MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        del mapped["decision_id"]
        line = lines.decision(decision, random.Random(0))
        assert content(line) == mapped
        assert line["legal"] == [str(move) for move in decision.moves]


def test_what_simple_programs_need_comes_first() -> None:
    """The texts of the moves are found by the first bracket, before any other list."""
    _, decision = next(asked(Config(players=2), 1))
    text = json.dumps(lines.decision(decision, random.Random(0)), separators=(",", ":"))
    assert text.startswith('{"type":"decision","game_id":"9223372036854775809","legal":["draw 1","draw 2",')


def test_the_documented_decision_is_one() -> None:
    """Keys and their order, moves and their texts are those of a real one."""
    (shown,) = re.findall(r"^```json\n(.*)\n```$", BRIDGE_MD.read_text(encoding="utf-8"), flags=re.MULTILINE)
    told = json.loads(shown)
    _, decision = next(asked(Config(players=2), 1))
    real = lines.decision(decision, random.Random(0))
    assert [*told] == ["type", "id", *(key for key in real if key != "type")]
    assert shown == json.dumps(told, separators=(",", ":"))
    for text, move in zip(told["legal"], told["moves"], strict=True):
        assert move_of(ParseDict(move, game_pb2.Move())) is Move.parse(text)


def test_the_documented_texts_are_moves() -> None:
    """There is one of each kind."""
    (row,) = re.findall(r"^\| `legal` \|(.*)\|$", BRIDGE_MD.read_text(encoding="utf-8"), flags=re.MULTILINE)
    told = [Move.parse(text) for text in re.findall(r"`([^`]+)`", row) if text != "moves"]
    assert {move.kind for move in told} == {*MoveKind}


def test_a_games_start_is_protobufs_mapping() -> None:
    """Its 64-bit numbers are strings, so that no reader rounds them."""
    start = GameStart(game_id=2**64 - 1, config=Config(players=2), seat=0, bots=("a", "b"), seed=2**63)
    line = lines.game_started(start)
    assert line == {
        "type": "game_started",
        "game_id": "18446744073709551615",
        "config": {"players": 2, "mode": "MODE_FAMILY", "scoring": "SCORING_PRODUCT"},
        "seat": 0,
        "bots": ["a", "b"],
        "seed": "9223372036854775808",
    }
    assert ParseDict(content(line), play.GameStarted()).game_id == start.game_id


def over(endings: tuple[str, ...]) -> dict[str, Any]:
    game = Game.deal(Config(players=2), seed=1)
    while game.outcome is None:
        game.apply(game.legal_moves[-1])
    return content(lines.game_over(GameOver(5, game.outcome, game.outcome.ranks, endings)))


def test_a_games_end_is_protobufs_mapping() -> None:
    """It has points and places by seat, and how each seat ended."""
    message = ParseDict(over(("finished", "forfeit:timeout")), play.GameOver())
    assert len(message.result.outcome.points) == len(message.result.places) == 2
    assert [*message.result.endings] == [1, 2]


def test_endings_of_a_newer_server_are_left_out() -> None:
    """A list with holes would be read wrongly; the rest of the result is told."""
    result = over(("finished", "unknown"))["result"]
    assert "endings" not in result
    assert len(result["places"]) == 2


@pytest.mark.parametrize("reason", list(VoidReason))
def test_a_voided_game_has_no_result(reason: VoidReason) -> None:
    """It is a game_over too, and says why."""
    line = lines.game_voided(5, reason)
    assert (line["type"], line["game_id"]) == ("game_over", "5")
    assert line["void_reason"] == f"VOID_REASON_{reason.name}"
    assert "result" not in line
