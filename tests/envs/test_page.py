"""docs/external-ais.md is true: its numbers are those of the code, and its programs run."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_docs import play_locally
from tools import ROOT
from tools.docs.arrays import arrays_page

import happycity_client
from happycity_envs.selfplay import ACTIONS, Observations

TEXT = (ROOT / "docs" / "external-ais.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(
    r"^(?:<!-- needs (\w+) -->\n)?```python\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE
)


def test_the_numbers_are_current() -> None:
    # The site's page has all numbers: the last action, and the last plane of the observer's own seat.
    at_four = Observations(4)
    assert f" to {len(ACTIONS) - 1} |" in arrays_page()
    assert f" to {at_four.table_size + at_four.seat_size - 1} |" in arrays_page()

    # For each number of players.
    stated = re.findall(r"([\d,]{3,})(?: numbers)?\s+for\s+(\d)", TEXT)
    assert {int(players): int(size.replace(",", "")) for size, players in stated} == {
        players: Observations(players).size for players in range(2, 6)
    }

    # A policy, OpenSpiel with its bot, PettingZoo, Gymnasium, one table and many, and self-play.
    assert len(PROGRAMS) == 7


@pytest.mark.parametrize(("needed", "program"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_page_runs(
    needed: str, program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As it is; where it would connect to a server, it plays a local game instead."""
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: make envs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(happycity_client, "run", play_locally)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, f"external-ais.md: {program.splitlines()[0]}", "exec"), scope)
