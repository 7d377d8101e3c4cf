"""Write the output of the commands in docs/my-bot-lost.md, by running them.

    python -m tools transcripts            # run all sections, and rewrite what their commands print
    python -m tools transcripts "In Go"    # only this section

A section is run from top to bottom in a folder of its own. What is run:

- a block after `<!-- save FILE -->` is written to that file
- a block `diff` after `<!-- edit FILE -->` changes that file: a line with - becomes the one with + after it
- a block `sh` is a script, whose output isn't shown
- a block `text` has commands after `$ `, and what they write to the standard output

What differs from run to run is replaced by fixed values: the names of runs, times and speeds.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tools import ROOT

PAGE = ROOT / "docs" / "my-bot-lost.md"
DEADLINE = 300.0

_BLOCK = re.compile(
    r"(?:^<!-- (?P<action>save|edit) (?P<file>\S+) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)
_COMMAND = re.compile(r"^\$ ((?:happycity|tournament) .*\n)", flags=re.MULTILINE)
_TIMES = (
    (
        re.compile(r"in [\d.]+ s: [\d,]+ games/s, [\d,]+ decisions/s"),
        "in 1.0 s: 60 games/s, 4,500 decisions/s",
    ),
    (re.compile(r"\b[\d.]+ (?:us|ms)\b"), "0.5 ms"),
)


def sections(text: str) -> dict[str, str]:
    """Return the sections that have commands, by heading."""
    starts = [match.start() for match in re.finditer(r"^## ", text, flags=re.MULTILINE)]
    parts = (text[start:end] for start, end in pairwise([*starts, len(text)]))
    return {part[3:].partition("\n")[0]: part for part in parts if "\n$ " in part}


def transcript(section: str, folder: Path) -> str:
    """Run a section in an empty folder, and return it with what its commands print.

    Raises:
        RuntimeError: a script failed, or a command refused its arguments; the text is what it said.
    """
    names = _RunNames(folder)

    def run_block(match: re.Match[str]) -> str:
        block, text = match[0], match["text"]
        if match["action"] == "save":
            path = folder / match["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif match["action"] == "edit":
            _edit(folder / match["file"], text)
        elif match["language"] == "sh":
            _run(text, folder, statuses=(0,))
        elif match["language"] == "text":
            commands = _COMMAND.findall(text)
            shown = (f"$ {command}{_output(command, folder, names)}" for command in commands)
            return "```text\n" + "\n".join(shown) + "```"
        return block

    return _BLOCK.sub(run_block, section)


class _RunNames:
    """The names that the page has for the folders of runs, in their order: their names are times."""

    def __init__(self, folder: Path) -> None:
        self._runs = folder / "runs"

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each run, and its name on the page."""
        for number, run in enumerate(sorted(self._runs.glob("*"))):
            yield run.name, f"20261122-10{number:02}00"


def _output(command: str, folder: Path, names: _RunNames) -> str:
    for real, shown in names.pairs():
        command = command.replace(shown, real)
    output = _run(command, folder, statuses=(0, 1))  # 1: the answer is no, as when a bot chooses otherwise
    for real, shown in names.pairs():
        output = output.replace(real, shown)
    for pattern, shown in _TIMES:
        output = pattern.sub(shown, output)
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)


def _run(script: str, folder: Path, *, statuses: tuple[int, ...]) -> str:
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder, env={**os.environ, "PATH": programs, "COLUMNS": "80"}, capture_output=True, text=True,
        timeout=DEADLINE, check=False,
    )  # fmt: skip
    if done.returncode not in statuses:
        raise RuntimeError(f"{script}{done.stdout}{done.stderr}")
    return done.stdout


def _edit(path: Path, diff: str) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    changed = [line for line in diff.splitlines() if line[:1] in "-+"]
    for old, new in zip(changed[::2], changed[1::2], strict=True):
        if (old[0], new[0], lines.count(old[1:])) != ("-", "+", 1):
            raise RuntimeError(f"{path.name}: it has no line {old[1:]!r} to replace, or more than one")
        lines[lines.index(old[1:])] = new[1:]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> None:
    """Run the sections that the command line names, all by default."""
    page = PAGE.read_text(encoding="utf-8")
    for heading, section in sections(page).items():
        if not sys.argv[1:] or heading in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                page = page.replace(section, transcript(section, Path(folder)))
    PAGE.write_text(page, encoding="utf-8")
