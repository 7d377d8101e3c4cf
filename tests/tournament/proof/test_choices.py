"""Which program a reference bot is: all that its choices follow from."""

from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import happycity_bots
import happycity_evaluation
from happycity_tournament.lineup import BotEntry, Lineup
from happycity_tournament.proof.commitment import programs_of

LINEUP = Lineup(bots=(BotEntry(name="planner", builtin="planner"),))


@pytest.mark.parametrize("package", [happycity_bots, happycity_evaluation], ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", ["rule.py", "weights.npz"])
def test_a_bot_is_another_program_with_other_sources_or_weights(
    package: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = []
    for content in ("1", "2"):
        folder = tmp_path / content
        folder.mkdir()
        (folder / name).write_text(content)
        changed = ModuleSpec(package.__name__, None, origin=str(folder / "__init__.py"))
        monkeypatch.setattr(
            "happycity_tournament.proof.commitment.find_spec",
            lambda name, changed=changed: changed if name == changed.name else find_spec(name),
        )
        programs.append(programs_of(LINEUP)["planner"])
    assert programs[0] != programs[1]
