"""Count the lines and files of the project by area, the words of docs/, targets, and the contract's methods.

    python -m tools lines                # the files of this checkout
    python -m tools lines --at REVISION  # those of a revision, such as HEAD~3

Every line counts, blank ones and comments too. Generated stubs are counted apart, examples not at all. Of the
native engine, lines of code alone are counted: without tests, generated tables, comments and blank lines.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tools import ROOT

_STUBS: Final = r"(v1|v1beta1|gen|happycity\w*v1(beta1)?)/|src/v1\.rs$|tests/sessions/server\.rs$"
_TESTS: Final = r"_test\.(go|cpp)$|/tests?/|/src/test/"
_SDKS: Final = {
    "go": r"\.go$",
    "typescript": r"\.ts$",
    "rust": r"\.rs$",
    "java": r"\.java$",
    "cpp": r"\.(cpp|h|proto)$",
    "python": r"\.py$",
}
"""The files of each SDK by the ends of their names."""
_PYTHON: Final = {
    r"game/": "game",
    r"runtime/": "runtime",
    r"evaluation/": "evaluation",
    r"server/": "server",
    r"tournament/": "tournament",
    r"ladder/": "ladder",
    r"league/(?!examples/)": "league",
    r"(web|viewer)/": "web and viewer",
    r"clients/(?!conformance/|(\w+/)?examples/)": "clients without the SDK",
    r"tests/": "tests without those of the SDK",
    r"(benchmarks|training|release|tools|docs)/|hatch_build": "tools",
}
"""Areas of Python by the beginnings of paths."""


_ENGINE: Final = {
    "engine/src/": "crate",
    "engine/c/src/": "interface for C",
    "engine/python/src/": "binding to Python",
}
"""The parts of the native engine by the beginnings of paths."""


def git(*arguments: str) -> str:
    """Return what a command of git prints."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def files_at(revision: str | None) -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of files, of the checkout or of a revision."""
    if revision is not None:
        listed = git("ls-tree", "-r", "--name-only", revision)
    else:
        listed = git("ls-files", "--cached", "--others", "--exclude-standard")
    for path in listed.splitlines():
        if not re.search(r"\.(py|pyi|go|ts|rs|java|cpp|h|proto|md)$|^(Makefile|pyproject\.toml)$", path):
            continue
        if revision is not None:
            yield path, git("show", f"{revision}:{path}")
        elif (ROOT / path).exists():
            yield path, (ROOT / path).read_text("utf-8")


def area_of(path: str) -> str | None:
    """Return the area to which a file's lines belong; None if they are not counted."""
    area = next((name for begin, name in _PYTHON.items() if re.match(begin, path)), None)
    found = f"Python: {area}" if path.endswith(".py") and area else None
    language = re.match(r"clients/(\w+)/|tests/(sdk)/", path)
    sdk = "python" if language and language[2] else language and language[1]
    if sdk in _SDKS and re.search(_SDKS[sdk], path):
        kind = "tests" if re.search(_TESTS, path) or path.startswith("tests/") else "source"
        found = None if re.search(r"/(examples|generate|proto)/", path) else f"SDK {kind}: {sdk}"
    if re.search(_STUBS, path):
        found = f"stubs: {sdk if sdk in _SDKS else 'python'}"
    return found


def engine_code(path: str, text: str) -> Iterator[tuple[str, int]]:
    """Yield the lines of code of a file of the native engine, if it is written by hand."""
    part = next((name for begin, name in _ENGINE.items() if path.startswith(begin)), None)
    if part is not None and not path.endswith(("/tables.rs", "/tests.rs")):
        lines = [line.strip() for line in text.partition("#[cfg(test)]")[0].splitlines()]
        yield f"native engine: {part}", sum(bool(line) and not line.startswith("//") for line in lines)


def contract(text: str) -> Iterator[tuple[str, int]]:
    """Yield the numbers of methods and messages of a file of the contract."""
    package = re.search(r"^package (\S+);", text, re.MULTILINE)
    name = package[1] if package else "no package"
    yield f"contract: {name}: methods", len(re.findall(r"^  rpc ", text, re.MULTILINE))
    yield f"contract: {name}: messages", len(re.findall(r"^message ", text, re.MULTILINE))


def count(revision: str | None) -> Counter[str]:
    """Return the counts by what they are of."""
    counts: Counter[str] = Counter()
    for path, text in files_at(revision):
        if path.startswith("proto/"):
            counts.update(dict(contract(text)))
        elif path == "Makefile":
            counts["targets of the Makefile"] = len(re.findall(r"^[a-z-]+:", text, re.MULTILINE))
        elif path == "pyproject.toml":
            counts["lines of pyproject.toml"] = len(text.splitlines())
            contracts = text[text.find("[tool.importlinter]") :]
            counts["lines of import contracts in pyproject.toml"] = len(contracts.splitlines())
        elif path.endswith(".md"):
            counts["words of docs/"] += len(text.split()) if path.startswith("docs/") else 0
        elif path.startswith("engine/"):
            counts.update(dict(engine_code(path, text)))
        elif (area := area_of(path)) is not None:
            counts[area] += len(text.splitlines())
            counts[f"files: {area}"] += 1
    for kind in ("source", "tests"):
        own = {name: number for name, number in counts.items() if name.startswith(f"SDK {kind}")}
        counts[f"SDK {kind}: sum"] = sum(own.values())
        counts[f"SDK {kind}: sum without python"] = sum(own.values()) - own.get(f"SDK {kind}: python", 0)
    return counts


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--at", metavar="REVISION", help="count at a revision of git")
    for name, number in sorted(count(parser.parse_args().at).items()):
        print(f"{number:>8,}  {name}")
