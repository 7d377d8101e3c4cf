"""What a program may write, and what is said if it writes something else."""

from __future__ import annotations

import pytest

from happycity import Game, Move
from happycity.deals import Config
from happycity_bridge.answers import chosen, parse
from happycity_bridge.errors import AnswerError

MOVES = Game.deal(Config(players=2), seed=1).legal_moves
"""draw 1, draw 2, draw 3"""


@pytest.mark.parametrize(
    "line",
    [
        "draw 2",
        '"draw 2"',
        "1",
        '{"move": "draw 2"}',
        '{"move": 1}',
        '{"move": 1, "id": 7}',
        '{"id":null,"move":1}',
    ],
)
def test_an_answer_is_a_move_or_a_position_bare_or_as_json(line: str) -> None:
    """All these mean the second of the moves."""
    assert chosen(parse(line), MOVES) is Move.parse("draw 2")


def test_an_answer_may_name_its_decision() -> None:
    """With an id, answers may come in any order."""
    assert parse('{"id": 7, "move": 0}').id == 7
    assert parse('{"move": 0}').id is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"move": ', "which is not JSON"),
        ("[1, 2", "which is not JSON"),
        ("[" * 60_000, "which is not JSON"),
        ('{"mvoe": 1}', "whose 'mvoe' means nothing here (known: id, move)"),
        ("{}", "which has no 'move'"),
        ('{"move": null}', "whose move is neither a text nor a position"),
        ("true", "whose move is neither a text nor a position"),
        ("1.0", "whose move is neither a text nor a position"),
        ('{"id": "7", "move": 1}', "whose 'id' is not a number"),
        ('{"id": true, "move": 1}', "whose 'id' is not a number"),
    ],
)
def test_what_is_no_answer_is_named(line: str, complaint: str) -> None:
    """The message repeats the line, shortened, and says what is wrong with it."""
    with pytest.raises(AnswerError) as caught:
        parse(line)
    assert caught.value.complaint == complaint
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("line", ["3", "-1", "draw 4", "DRAW 1", "build castle", "9" * 5000])
def test_an_illegal_move_is_answered_with_the_legal_ones(line: str) -> None:
    """Whoever reads the message knows what would have been right."""
    with pytest.raises(AnswerError, match=r"not a legal move; legal: draw 1, draw 2, draw 3 \(or 0 to 2\)$"):
        chosen(parse(line), MOVES)
