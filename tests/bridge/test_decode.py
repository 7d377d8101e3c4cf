"""What a program may write, and what is said if it writes something else."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.tables import Table

from happycity import Config, Game, Move
from happycity_bridge.decode import ProgramAnswer, chosen_move, parse_answer
from happycity_bridge.errors import AnswerError

MOVES = Game.deal(Config(players=2), seed=1).legal_moves
"""draw 1, draw 2, draw 3"""
BRIDGE_MD = Path(__file__).resolve().parents[2] / "docs" / "bridge.md"


def answer_in(line: str) -> ProgramAnswer:
    answer = parse_answer(line)
    assert isinstance(answer, ProgramAnswer)
    return answer


def meaning(line: str) -> Iterator[str]:
    """Yield what is read, or the complaint, and whether the error names the legal moves."""
    try:
        answer = answer_in(line)
        yield f"{chosen_move(answer, MOVES)}, {answer}"
    except AnswerError as error:
        yield f"{error.complaint}{'; legal: ' + ', '.join(map(str, error.legal)) if error.legal else ''}"


TABLE = Table(Path(__file__).with_name("answers.txt"), meaning)


def test_answers_mean_what_is_kept() -> None:
    TABLE.check(least=30)


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
    assert [chosen_move(answer_in(line), moves) for line in written] == [moves[1]] * len(written)


def test_long_answers_are_shortened() -> None:
    for line, complaint in [
        ("[" * 60_000, "which is not JSON"),
        (f'{{"{"x" * 5000}": 1}}', f"whose key '{'x' * 80}...' is unknown (known: id, move, metrics)"),
        (f'{{"move": 1, "metrics": {{"{"x" * 5000}": 0.5, "y": []}}}}', "whose metric 'y' is not a number"),
        ("9" * 5000, "which is not a legal move"),
    ]:
        with pytest.raises(AnswerError) as caught:
            chosen_move(answer_in(line), MOVES)
        assert caught.value.complaint == complaint
        assert len(str(caught.value)) < 300
    infinite = answer_in(f'{{"move": 0, "metrics": {{"up": 1{"0" * 400}, "down": -1{"0" * 400}}}}}')
    assert infinite.metrics == {"up": math.inf, "down": -math.inf}


if __name__ == "__main__":
    TABLE.write()
