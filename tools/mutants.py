"""Change the code in small ways, one at a time, and see whether the tests of the area notice.

    python -m tools mutants                   # all of tools/mutants.toml, in some 30 minutes
    python -m tools mutants --area rules      # those of one area
    python -m tools mutants --only sqlite     # those whose file, old or new text has the word

The changes are made in copies of the checkout, one for each process, and never in the checkout. A mutant that
no test of levels 0 and 1 notices survives: the program lists it and ends with status 1. An entry of the list
whose tests are of another level says so by `--levels`, before them. Tests that fail without any mutant are an
error, as they would notice all mutants.
"""

from __future__ import annotations

import argparse
import itertools
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools import ROOT

_LIST: Final = ROOT / "tools" / "mutants.toml"
_LEVELS: Final = "--levels=0-1"
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
    """The arguments of pytest that are to notice it: paths, after a `--levels` where it is not 0-1."""

    @property
    def needs_programs(self) -> bool:
        """Whether tests of a level above 1 are to notice it."""
        return any(argument.startswith("--levels") for argument in self.tests)

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


class Tree:
    """A copy of the checkout in which one mutant after the other is made.

    Python keeps the bytecode of all modules, and takes that of a module for current where its source has
    the time and the size that are noted in it. Two texts of a file may have one size and be written in one
    second, so each text gets a second of its own: the checkout's file keeps its time, and each mutant gets a
    later one, none of them twice.
    """

    def __init__(self, folder: Path) -> None:
        shutil.copytree(ROOT, folder, ignore=_NOT_COPIED, symlinks=True)
        (folder / ".venv").symlink_to(Path(sys.prefix))
        self.folder = folder
        self._seconds = itertools.count(1)

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """Make a mutant, and take it back at the end.

        Raises:
            ValueError: the mutant can't be made.
        """
        path = self.folder / mutant.file
        try:
            mutant.apply(self.folder)
            changed_at = (ROOT / mutant.file).stat().st_mtime + next(self._seconds)
            os.utime(path, (changed_at, changed_at))
            yield
        finally:
            shutil.copy2(ROOT / mutant.file, path)

    def passes(self, tests: Sequence[str]) -> bool:
        """Return whether tests pass. One that hangs fails, by its own limit.

        Raises:
            ValueError: the tests don't exist.
        """
        packages = [*self.folder.glob("*/happycity*"), *self.folder.glob("clients/*/happycity*")]
        path = os.pathsep.join(sorted({str(package.parent) for package in packages if package.is_dir()}))
        environment = os.environ | {"PYTHONPATH": path}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
            *("--no-cost-limits", _LEVELS, *tests),
        ]
        run = subprocess.run(command, cwd=self.folder, env=environment, check=False, capture_output=True)
        if run.returncode >= _NOT_RUN:
            raise ValueError(f"pytest {' '.join(tests)}: {(run.stdout + run.stderr).decode()[-500:]}")
        return run.returncode == 0


class Trees:
    """Some copies of the checkout, each of which is used by one thread at a time."""

    def __init__(self, folder: Path, number: int) -> None:
        self._free: queue.Queue[Tree] = queue.Queue()
        for index in range(number):
            self._free.put(Tree(folder / str(index)))

    @contextmanager
    def one(self) -> Iterator[Tree]:
        """Yield a copy that no other thread uses."""
        tree = self._free.get()
        try:
            yield tree
        finally:
            self._free.put(tree)

    def check(self, tests: Sequence[str]) -> None:
        """Run tests without a mutant.

        Raises:
            ValueError: one fails, or they don't exist.
        """
        with self.one() as tree:
            if not tree.passes(tests):
                raise ValueError(f"pytest {' '.join(tests)}: a test fails without a mutant")

    def is_noticed(self, mutant: Mutant) -> bool:
        """Return whether a test fails with a mutant.

        Raises:
            ValueError: the mutant can't be made, or its tests don't exist.
        """
        with self.one() as tree, tree.changed(mutant):
            return not tree.passes(mutant.tests)


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
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ThreadPoolExecutor(chosen.processes) as pool,
    ):
        trees = Trees(Path(folder), chosen.processes)
        deque(pool.map(trees.check, dict.fromkeys(mutant.tests for mutant in wanted)), maxlen=0)
        results = zip(wanted, pool.map(trees.is_noticed, wanted), strict=True)
        for number, (mutant, noticed) in enumerate(results, 1):
            print(f"{number:>4}/{len(wanted)} {'noticed' if noticed else 'SURVIVES'}  {mutant}", flush=True)
            survivors += [] if noticed else [mutant]
    minutes = (time.monotonic() - began) / 60
    print(f"{len(wanted) - len(survivors)} of {len(wanted)} noticed in {minutes:.0f} min")
    if survivors:
        raise SystemExit("\n".join(["survivors:", *map(str, survivors)]))
