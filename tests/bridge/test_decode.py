"""What a program may write, and what is said if it writes something else."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from happycity import Config, Game, Move
from happycity_bridge.decode import chosen_move, parse_answer
from happycity_bridge.errors import AnswerError

MOVES = Game.deal(Config(players=2), seed=1).legal_moves
"""draw 1, draw 2, draw 3"""
BRIDGE_MD = Path(__file__).resolve().parents[2] / "docs" / "bridge.md"


def test_an_answer_is_a_move_or_a_position_bare_or_as_json() -> None:
    # All these mean the second of the moves.
    for line in [
        "draw 2",
        '"draw 2"',
        "1",
        '{"move": "draw 2"}',
        '{"move": 1}',
        '{"move": 1, "id": 7}',
        '{"id":null,"move":1}',
        '{"move": 1, "metrics": {"depth": 3}}',
    ]:
        assert chosen_move(parse_answer(line), MOVES) is Move.parse("draw 2")

    # With an id, answers may come in any order.
    assert parse_answer('{"id": 7, "move": 0}').id == 7
    assert parse_answer('{"move": 0}').id is None

    # Numbers by name; which of them are kept is the server's decision.
    for more, metrics in [
        ("", {}),
        (', "metrics": null', {}),
        (', "metrics": {}', {}),
        (', "metrics": {"depth": 3, "value": -0.5}', {"depth": 3.0, "value": -0.5}),
        (', "metrics": {"depth": 3, "depth": 4}', {"depth": 4.0}),
        (', "metrics": {"self": 1, "": 2, "\\ud800": 3}', {"self": 1.0, "": 2.0, "\ud800": 3.0}),
        (f', "metrics": {{"up": 1{"0" * 400}, "down": -1{"0" * 400}}}', {"up": math.inf, "down": -math.inf}),
        (', "metrics": {"infinite": 1e999}', {"infinite": math.inf}),
    ]:
        answer = parse_answer(f'{{"move": 0{more}}}')
        assert answer.metrics == metrics
        assert all(type(number) is float for number in answer.metrics.values())


def test_the_documented_answers_mean_the_same() -> None:
    section = (
        BRIDGE_MD.read_text(encoding="utf-8")
        .partition("## What the program writes\n")[2]
        .partition("\n## ")[0]
    )
    rows = re.findall(r"^\| (`.*`) \|", section, flags=re.MULTILINE)
    written = [line for row in rows for line in re.findall(r"`([^`]+)`", row)]
    assert len(written) > len(rows) > 3
    moves = [Move.parse("coin"), Move.parse("build school")]
    assert [chosen_move(parse_answer(line), moves) for line in written] == [moves[1]] * len(written)


def test_what_is_no_answer_is_named() -> None:
    # The message repeats the line, shortened, and says what is wrong with it.
    for line, complaint in [
        ('{"move": ', "which is not JSON"),
        ("[1, 2", "which is not JSON"),
        ("[" * 60_000, "which is not JSON"),
        ('{"mvoe": 1}', "whose key 'mvoe' is unknown (known: id, move, metrics)"),
        ("{}", "which has no 'move'"),
        ('{"move": null}', "whose move is neither a text nor a position"),
        ("true", "whose move is neither a text nor a position"),
        ("1.0", "whose move is neither a text nor a position"),
        ('{"id": "7", "move": 1}', "whose 'id' is not a number"),
        ('{"id": true, "move": 1}', "whose 'id' is not a number"),
        ('{"move": 1, "metrics": 3}', "whose 'metrics' are not numbers by name"),
        ('{"move": 1, "metrics": [3]}', "whose 'metrics' are not numbers by name"),
        ('{"move": 1, "metrics": {"depth": "3"}}', "whose metric 'depth' is not a number"),
        ('{"move": 1, "metrics": {"depth": null}}', "whose metric 'depth' is not a number"),
        ('{"move": 1, "metrics": {"depth": true}}', "whose metric 'depth' is not a number"),
        (f'{{"{"x" * 5000}": 1}}', f"whose key '{'x' * 80}...' is unknown (known: id, move, metrics)"),
        (f'{{"move": 1, "metrics": {{"{"x" * 5000}": 0.5, "y": []}}}}', "whose metric 'y' is not a number"),
    ]:
        with pytest.raises(AnswerError) as caught:
            parse_answer(line)
        assert caught.value.complaint == complaint
        assert len(str(caught.value)) < 300

    # The error has what would have been right; its message is the same at every decision.
    for line in ["3", "-1", "draw 4", "DRAW 1", "build castle", "9" * 5000]:
        with pytest.raises(AnswerError, match=r"which is not a legal move$") as caught:
            chosen_move(parse_answer(line), MOVES)
        assert caught.value.legal == MOVES
