"""The page "My bot lost: what now?" is true. The bot in Go is tested in tests/clients."""

import shutil
from pathlib import Path

import pytest
from tests.docs.transcripts import SECTIONS, check_transcript
from tools.docs.transcripts import transcript


def test_every_section_is_tested() -> None:
    assert set(SECTIONS) == {"In Python", "In Go", "By the bridge"}


@pytest.mark.level(3)
def test_a_bot_in_python_crashes_and_is_fixed(tmp_path: Path) -> None:
    """The crash is found, seen, asked again and fixed, and the fixed bot is measurably better."""
    assert "it is better there" in SECTIONS["In Python"]
    check_transcript("In Python", tmp_path)


@pytest.mark.nightly
def test_a_bot_behind_the_bridge_answers_illegally_and_is_fixed(tmp_path: Path) -> None:
    """The illegal answer is named, asked again and fixed, and the program is better."""
    if Path(shutil.which("awk") or "").resolve().name != "mawk":
        pytest.skip("awk is not mawk")
    check_transcript("By the bridge", tmp_path)


@pytest.mark.level(2)
def test_a_command_that_fails_is_no_transcript(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"error: there is no run in runs/"):
        transcript("```text\n$ tournament games\n```\n", tmp_path)


def test_a_line_that_is_not_there_can_not_be_fixed(tmp_path: Path) -> None:
    """The error names the line, so a page whose program has changed is noticed."""
    program = "<!-- save a.py -->\n```python\nprint(1)\n```\n"
    edit = "<!-- edit a.py -->\n```diff\n-print(2)\n+print(3)\n```\n"
    with pytest.raises(RuntimeError, match=r"a.py: it has no line 'print\(2\)' to replace"):
        transcript(f"{program}\n{edit}", tmp_path)
