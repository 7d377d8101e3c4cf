"""The list of mutants is one that `python -m tools mutants` can try, and trying one leaves no trace."""

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from tools import ROOT
from tools.mutants import Mutant, Tree, mutants

MOST_EXPENSIVE = 10
"""Mutants of the list that only whole programs may notice."""


def test_every_mutant_can_be_made(tmp_path: Path) -> None:
    """Each old text is in its file once, the new one differs, and the tests that are to notice it exist."""
    listed = mutants()
    assert len(listed) >= 100
    for mutant in listed:
        copy = tmp_path / mutant.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / mutant.file, copy)
        mutant.apply(tmp_path)
        assert copy.read_text("utf-8") != (ROOT / mutant.file).read_text("utf-8"), mutant
        paths = [argument.partition("::")[0] for argument in mutant.tests if not argument.startswith("--")]
        assert [path for path in paths if not (ROOT / path).exists()] == [], mutant


def test_hardly_any_mutant_needs_whole_programs() -> None:
    assert len([mutant for mutant in mutants() if mutant.needs_programs]) <= MOST_EXPENSIVE


def printed(folder: Path) -> str:
    """Import the module `number` of a folder in a new process, which may keep bytecode; return its value."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-S", "-c", "import number; print(number.VALUE)"]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize("age", [0.0, 1e9])
def test_bytecode_of_a_mutant_is_used_for_no_other_text(
    age: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All texts have one size and most are written within a second, which is what bytecode tells apart."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    source = checkout / "number.py"
    source.write_text("VALUE = 1\n")
    changed_at = source.stat().st_mtime - age
    os.utime(source, (changed_at, changed_at))
    monkeypatch.setattr("tools.mutants.ROOT", checkout)
    tree = Tree(tmp_path / "copy")
    values = []
    for text in "231421":
        made = nullcontext() if text == "1" else tree.changed(Mutant("", "number.py", "1", text, ()))
        with made:
            values.append(printed(tree.folder))
    assert "".join(values) == "231421"
    assert len([*tree.folder.glob("__pycache__/number.*.pyc")]) == 1
