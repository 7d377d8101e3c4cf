"""The page of all cards, for the site of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from happycity.text.catalogue import NUMBERS, Section, sections


def cards_page() -> str:
    """Return the catalogue as a page of Markdown."""
    return "".join(f"{line}\n" for line in _page())


def _page() -> Iterator[str]:
    yield "# Cards"
    yield ""
    yield "The ids are those of moves and records. A condition names the number of cards of each colour that"
    yield "a city must have."
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
