"""The articles of RULES.md by examples, see `examples.py`."""

from pathlib import Path

import pytest
from tests.game.rules.examples import FILES, made_again


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_examples_come_out_as_they_are_written(file: Path) -> None:
    text = file.read_text("utf-8")
    assert text.count("\nposition ") + text.count("\ndeal ") > 5
    assert made_again(text) == text
