"""What a program may ask of the native engine."""

import json
import re
from base64 import b64decode
from typing import Any

import pytest
from tests.bridge.decisions import decision_in, random_decisions
from tests.bridge.test_encode import BRIDGE_MD
from tools import ROOT

import happycity.compiled
from happycity import Config, Game, Mode, Move
from happycity_bridge.decode import SearchRequest, parse_answer
from happycity_bridge.errors import AnswerError
from happycity_bridge.search import search_reply
from happycity_client import Decision

MOVES = tuple(Move.all())
DECISION = decision_in(Game.deal(Config(players=2), seed=1))


def asked(decision: Decision = DECISION, **keys: object) -> dict[str, Any]:
    """Return what the bridge writes, as the program reads it."""
    request = parse_answer(json.dumps(keys))
    assert isinstance(request, SearchRequest)
    reply: dict[str, Any] = json.loads(json.dumps(search_reply(request, decision)))
    return reply


@pytest.mark.usefixtures("engine")
def test_worlds_and_playouts_are_those_of_the_engine() -> None:
    """The same moves in the same order, up to the end, and means over the seeds from the one given."""
    for mode in Mode:
        for decision in [*random_decisions(Config(players=3, mode=mode), seed=5)][::9]:
            world = asked(decision, ask="sample", seed=2**64 - 1)
            assert world["legal"] == [move.text for move in decision.moves]
            assert (world["seat"], world["outcome"]) == (decision.seat, None)
            worlds = [decision.position(seed=seed) for seed in (2**64 - 1, 0)]
            assert world["position"] == bytes(worlds[0]).hex()
            means = [(worlds[0].playout(m.index) + worlds[1].playout(m.index)) / 2 for m in decision.moves]
            known = asked(decision, ask="playouts", seed=2**64 - 1, worlds=2)
            assert known == {"type": "playouts", "legal": world["legal"], "values": means}
            own = asked(decision, ask="playouts", position=world["position"])
            assert own["values"] == [worlds[0].playout(move.index) for move in decision.moves]
            assert asked(decision, ask="position", position=world["position"]) == world
    documented = json.loads(
        re.findall(r"^```json\n(.*)\n```$", BRIDGE_MD.read_text("utf-8"), re.MULTILINE)[1]
    )
    assert [*documented] == [*world, "id"]
    while world["outcome"] is None:
        world = asked(decision, ask="apply", position=world["position"], move=len(world["legal"]) - 1)
    assert sorted(world["outcome"]) == ["coins", "hearts", "inhabitants", "points", "ranks"]
    assert (len(world["outcome"]["ranks"]), world["legal"]) == (3, [])


@pytest.mark.usefixtures("engine")
def test_positions_are_those_of_all_bindings() -> None:
    """A position is read, and its first move played, as in the cases that hold for all SDKs."""
    for line in (ROOT / "clients/conformance/engine.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        position, legal = b64decode(case["position"]).hex(), case["legal_moves"]
        world = asked(ask="position", position=position)
        assert (world["position"], world["legal"]) == (position, [MOVES[number].text for number in legal])
        assert (world["outcome"] and [*world["outcome"].values()]) == case["outcome"]
        if legal:
            following = asked(ask="apply", position=position, move=0)
            assert following["position"] == b64decode(case["next"]).hex()


def complaint(decision: Decision = DECISION, **keys: object) -> str:
    with pytest.raises(AnswerError) as caught:
        asked(decision, **keys)
    return caught.value.complaint


@pytest.mark.usefixtures("engine")
def test_what_is_wrong_with_a_request_is_said() -> None:
    """One line each; an impossible number, bytes of another kind, a move that is not legal there."""
    position = asked(ask="sample", seed=1)["position"]
    for keys in (
        {"ask": "?"},
        {"ask": "sample", "seed": 1, "worlds": 1},
        {"ask": "apply", "position": position},
    ):
        assert complaint(DECISION, **keys).startswith(
            "which asks for none of these with their keys: sample (seed), pos"
        )
    assert complaint(ask="sample", seed=-1) == f"whose 'seed' is not a number between 0 and {2**64 - 1}"
    assert complaint(ask="playouts", seed=1, worlds=0) == "whose 'worlds' is not a number between 1 and 1000"
    assert (
        complaint(ask="playouts", seed=True, worlds=1)
        == f"whose 'seed' is not a number between 0 and {2**64 - 1}"
    )
    assert complaint(ask="position", position="xy").startswith("which can't be: non-hex")
    assert (
        complaint(ask="position", position="00")
        == "which can't be: form: not the bytes of a position or view"
    )
    moves: list[object] = ["build castle", 9, None, {}]
    for move in moves:
        assert complaint(ask="apply", position=position, move=move) == "which is not a legal move"


def test_without_the_engine_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(happycity.compiled, "native", lambda name: None)
    hint = "but the native engine is not installed; in a checkout, make engine builds it"
    assert complaint(decision_in(Game.deal(Config(players=2), seed=1)), ask="sample", seed=1) == hint
    assert complaint(ask="position", position="00") == hint
