"""Writes the page of all cards, `cards.md`.

python docs/make_cards.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from happycity.text.catalogue import NUMBERS, Section, sections

PAGE = Path(__file__).with_name("cards.md")


def markdown() -> str:
    """Return the catalogue as a page of Markdown."""
    return "".join(f"{line}\n" for line in _page())


def _page() -> Iterator[str]:
    yield "# Cards"
    yield ""
    yield "Made by `python docs/make_cards.py`; a test checks that it is current. The ids are those of"
    yield "moves and records, and a condition names the number of cards of each colour that a city must have."
    for section in sections():
        yield from ("", f"## {section.title}", "")
        yield from _markdown_table(section)


def _markdown_table(section: Section) -> Iterator[str]:
    with_effects = any(section.effects)
    more = ("effect",) if with_effects else ()
    yield _line((*section.columns, *more))
    rules = ["---:" if column in NUMBERS else "---" for column in section.columns]
    yield f"|{'|'.join([*rules, *('---' for _ in more)])}|"
    for (name, card_id, *values), effect in zip(section.rows, section.effects, strict=True):
        yield _line((name, f"`{card_id}`", *values, *((effect,) if with_effects else ())))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
