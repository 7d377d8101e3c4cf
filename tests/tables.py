"""Tables that are kept as text: an input on each line, and below it, indented, what comes of it.

A file begins with a paragraph, and the headings of its tables with #. The indented lines are made by running
the module that tests the table; a change of them is read like a change of the code.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Table:
    path: Path
    come_of: Callable[[str], Iterable[str]]
    """Returns the lines that come of an input."""

    def check(self, *, least: int) -> None:
        """Check that the file has `least` lines of results or more, and that each input still has its own."""
        text = self.path.read_text("utf-8")
        assert sum(line.startswith("    ") for line in text.splitlines()) >= least
        assert self._made_again(text) == text

    def write(self) -> None:
        self.path.write_text(self._made_again(self.path.read_text("utf-8")), "utf-8")

    def _made_again(self, text: str) -> str:
        preface, *tables = text.split("\n# ")
        lines = [preface.rstrip()]
        for heading, *inputs in (table.splitlines() for table in tables):
            lines += ["", f"# {heading}"]
            for each in inputs:
                if each and not each.startswith("    "):
                    lines += [each, *(f"    {line}" for line in self.come_of(each))]
        return "\n".join(lines) + "\n"
