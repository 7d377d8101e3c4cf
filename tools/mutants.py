"""Change the code in small ways, one at a time, and see whether the tests of the area notice.

    python -m tools mutants                   # all of tools/mutants.toml, in some 30 minutes
    python -m tools mutants --area rules      # those of one area
    python -m tools mutants --only sqlite     # those whose file, old or new text has the word

The changes are made in copies of the checkout, one for each process, and never in the checkout. A mutant that
no test notices survives: the program lists it and ends with status 1.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools import ROOT

_LIST: Final = ROOT / "tools" / "mutants.toml"
_TIME_LIMIT: Final = 280  # seconds of one test run: a mutant that makes tests hang is noticed too
_NOT_COPIED: Final = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "node_modules", "target", "runs", "*.so", "__pycache__", ".*_cache"
)
_NOT_RUN: Final = 4
"""The first status of pytest that says that no test was run: a wrong path, or nothing found there."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    area: str
    file: str
    """The file, from the project's root."""
    old: str
    """A text that the file has once."""
    new: str
    """What takes its place."""
    tests: tuple[str, ...]
    """The arguments of pytest that are to notice it."""

    def __str__(self) -> str:
        return f"{self.file}: {self._line(self.old)} -> {self._line(self.new) or '(nothing)'}"

    @staticmethod
    def _line(text: str) -> str:
        return " ".join(text.split())

    def apply(self, tree: Path) -> None:
        """Make the change in a tree.

        Raises:
            ValueError: the file doesn't have the old text exactly once.
        """
        path = tree / self.file
        text = path.read_text("utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file}: {text.count(self.old)} times instead of once: {self.old!r}")
        path.write_text(text.replace(self.old, self.new), "utf-8")


def mutants() -> list[Mutant]:
    """Return all mutants of the list."""
    listed = tomllib.loads(_LIST.read_text("utf-8"))
    return [
        Mutant(area, entry["file"], entry["old"], entry["new"], tuple(entry.get("tests", content["tests"])))
        for area, content in listed.items()
        for entry in content["mutants"]
    ]


@contextmanager
def trees(number: int) -> Iterator[queue.Queue[Path]]:
    """Yield copies of the checkout, which are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        free: queue.Queue[Path] = queue.Queue()
        for index in range(number):
            tree = Path(folder, str(index))
            shutil.copytree(ROOT, tree, ignore=_NOT_COPIED, symlinks=True)
            (tree / ".venv").symlink_to(Path(sys.prefix))
            free.put(tree)
        yield free


def is_noticed(mutant: Mutant, free: queue.Queue[Path]) -> bool:
    """Return whether a test fails with the mutant.

    Raises:
        ValueError: the mutant can't be made, or its tests don't exist.
    """
    tree = free.get()
    try:
        mutant.apply(tree)
        return _fails(tree, mutant.tests)
    finally:
        shutil.copyfile(ROOT / mutant.file, tree / mutant.file)
        free.put(tree)


def _fails(tree: Path, tests: Sequence[str]) -> bool:
    packages = [str(path.parent) for path in tree.glob("*/happycity*") if path.is_dir()]
    packages += [str(path.parent) for path in tree.glob("clients/*/happycity*") if path.is_dir()]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(
            command, cwd=tree, env=environment, check=False, capture_output=True, timeout=_TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        return True
    if run.returncode >= _NOT_RUN:
        raise ValueError(f"pytest {' '.join(tests)}: {(run.stdout + run.stderr).decode()[-500:]}")
    return run.returncode != 0


def main() -> None:
    """Try mutants, and list those that survive."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--area", action="append", help="an area of the list; may be repeated")
    parser.add_argument("--only", default="", metavar="TEXT", help="a part of the mutant")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N")
    chosen = parser.parse_args()
    wanted = [
        mutant
        for mutant in mutants()
        if (not chosen.area or mutant.area in chosen.area) and chosen.only in str(mutant)
    ]
    survivors = []
    began = time.monotonic()
    with trees(chosen.processes) as free, ThreadPoolExecutor(chosen.processes) as pool:
        for number, (mutant, noticed) in enumerate(
            zip(wanted, pool.map(lambda mutant: is_noticed(mutant, free), wanted), strict=True), 1
        ):
            print(f"{number:>4}/{len(wanted)} {'noticed' if noticed else 'SURVIVES'}  {mutant}", flush=True)
            survivors += [] if noticed else [mutant]
    minutes = (time.monotonic() - began) / 60
    print(f"{len(wanted) - len(survivors)} of {len(wanted)} noticed in {minutes:.0f} min")
    if survivors:
        raise SystemExit("\n".join(["survivors:", *map(str, survivors)]))
