"""The list of mutants is one that `python -m tools mutants` can try."""

import shutil
from pathlib import Path

from tools import ROOT
from tools.mutants import mutants


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
        assert [path for path in mutant.tests if not (ROOT / path.partition("::")[0]).exists()] == [], mutant
