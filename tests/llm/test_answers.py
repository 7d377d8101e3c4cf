"""Which move an answer of a model means."""

from __future__ import annotations

import pytest

from happycity import Move
from happycity_llm.answers import NoMove, move_in

LEGAL = [Move.parse(text) for text in ("coin", "build museum", "build ski_resort", "dwell house")]


@pytest.mark.parametrize(
    ("answer", "move"),
    [
        ('{"move": "build museum"}', "build museum"),
        ('{ "move" :"dwell house"}', "dwell house"),
        ('I think {"move": "coin"} is weak.\n```json\n{"move": "Build Ski Resort"}\n```', "build ski_resort"),
        ("First coin, or build museum? I build ski_resort.", "build ski_resort"),
        ("**dwell house**", "dwell house"),
        ("`coin`", "coin"),
        ("The move is BUILD   MUSEUM.", "build museum"),
        ('{"thoughts": {"a": 1}, "move": "coin"} {"move": "coin"}', "coin"),
    ],
)
def test_an_answer_names_a_move(answer: str, move: str) -> None:
    """JSON decides, the last object of several; else the legal move that is mentioned last."""
    assert str(move_in(answer, LEGAL)) == move


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "it names no legal move"),
        ("I cannot help with games.", "it names no legal move"),
        ("coins are nice, and museums too", "it names no legal move"),
        ('build museum would be best: {"move": "build zoo"}', "'build zoo' is not legal now"),
        ('{"move": ' + "[" * 100_000 + "}", "it names no legal move"),
        ('{"move": "' + "x" * 5000 + '"}', "'" + "x" * 80 + "' is not legal now"),
    ],
)
def test_an_answer_without_a_legal_move_has_a_reason(answer: str, reason: str) -> None:
    """A JSON answer is taken at its word, so what else is mentioned doesn't count."""
    assert move_in(answer, LEGAL) == NoMove(reason)
