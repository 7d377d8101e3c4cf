"""The bot in Go of the page "My bot lost: what now?"."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.languages import command, missing
from tests.docs.transcripts import check_transcript


def test_a_bot_in_go_plays_badly_and_is_mended(tmp_path: Path) -> None:
    """Its worst game shows why, the recorded decisions are answered otherwise, and it is better."""
    if lacking := missing(command("go", "greedy")):
        pytest.skip(f"there is no {lacking}; `make clients` builds what this machine has the tools for")
    check_transcript("In Go", tmp_path)
