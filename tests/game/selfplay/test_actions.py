"""Actions are numbered for ever: policies are trained on the numbers."""

from pathlib import Path

from happycity import Move
from happycity.selfplay import ACTION_COUNT, ACTION_NUMBERING, ACTIONS, action_of

GOLDEN = Path(__file__).with_name("golden")


def test_the_numbering_is_that_of_its_version() -> None:
    # A number keeps its meaning; a change has to raise `ACTION_NUMBERING` and keep a new file.
    kept = (GOLDEN / f"actions_{ACTION_NUMBERING}.txt").read_text(encoding="utf-8")
    assert "".join(f"{number} {move}\n" for number, move in enumerate(ACTIONS)) == kept
    # The numbering covers all moves, each once.
    assert {ACTIONS[action_of(move)] for move in Move.all()} == set(Move.all())
    assert ACTION_COUNT == len(set(ACTIONS)) == 141
