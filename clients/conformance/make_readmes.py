"""Write the READMEs of the SDKs from `readme.md.in`, with the parts of each language in `readmes.toml`."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from string import Template

from files import write_or_check

FOLDER = Path(__file__).parent
TEXT = Template((FOLDER / "readme.md.in").read_text("utf-8"))
PARTS: dict[str, dict[str, str]] = tomllib.loads((FOLDER / "readmes.toml").read_text("utf-8"))
WIDTH = 120


def readme(language: str) -> str:
    """Return the README of a language's SDK."""
    own = defaultdict(str, PARTS["all"] | PARTS[language] | {"language": language})
    parts = defaultdict(
        str, {name: Template(text.strip()).substitute(own) for name, text in list(own.items())}
    )
    text = re.sub(r"\n{3,}", "\n\n", TEXT.substitute(parts))
    return "\n".join(wrapped(text))


def wrapped(text: str) -> Iterator[str]:
    """Yield the lines of a text, whose paragraphs and entries of lists are wrapped outside of code."""
    paragraph, is_code = "", False
    for line in [*text.strip().split("\n"), ""]:
        is_whole = is_code or not line or line.startswith(("```", "|", "#"))
        if is_whole or line.startswith("- "):
            yield from _wrapped_paragraph(paragraph)
            paragraph = ""
        is_code ^= line.startswith("```")
        if is_whole:
            yield line
        else:
            paragraph += f"{line} "


def _wrapped_paragraph(text: str) -> list[str]:
    joined = re.sub("`[^`]+`", lambda code: code[0].replace(" ", "\0"), text)
    indent = "  " if text.startswith("- ") else ""
    words = " ".join(joined.split())
    lines = textwrap.wrap(
        words, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


if __name__ == "__main__":
    languages = PARTS.keys() - {"all"}
    write_or_check({FOLDER.parent / language / "README.md": readme(language) for language in languages})
