"""Update the catalogues of translations: new texts come in empty, unused ones go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from happycity import CARDS, Ending, Mode
from happycity.text import words
from happycity_tournament.ratings.results import LOST_ALL, WON_ALL
from happycity_viewer.languages import LANGUAGES
from happycity_viewer.templates import COLOUR_WORDS
from tools import ROOT

TEXTS = ROOT / "viewer" / "happycity_viewer" / "texts"
SOURCES = ("viewer/happycity_viewer", "web/happycity_web", "game/happycity/text")
_METHODS = {".html": "jinja2", ".js": "javascript", ".py": "python"}
_KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2)}
_OPTIONS: dict[str, dict[str, str | bool]] = {
    "jinja2": {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true"},
    "javascript": {"parse_template_string": True},
    "python": {},
}
_HEADER = """\
# The texts of pages in {name}. `python -m tools texts` adds new texts of the sources and removes unused ones.
# Words of the game are those of its rule books where these have them."""
_HEADERS = {"MIME-Version", "Content-Type", "Content-Transfer-Encoding", "Plural-Forms", "Language"}


def template() -> Catalog:
    """Return all texts of the sources."""
    made = Catalog()
    for text, place, context in _tables():
        made.add(text, locations=[(place, 0)], context=context)
    for path in _files():
        place = path.relative_to(ROOT).as_posix()
        method = _METHODS[path.suffix]
        for _, message, comments, context in extract_from_file(
            method, path, keywords=_KEYWORDS, comment_tags=("Translators:",), options=_OPTIONS[method]
        ):
            made.add(message, locations=[(place, 0)], auto_comments=comments, context=context)
    return made


def _files() -> Iterator[Path]:
    for folder in SOURCES:
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in _METHODS)


_Text = tuple[str | tuple[str, str], str, str | None]


def _tables() -> Iterator[_Text]:
    """Yield the texts that tables of the sources have, each with its place and context."""
    for card in CARDS:
        yield words.card_name(card), "cards", "card"
    yield from _texts("cards", (card.effect_text for card in CARDS if card.effect_text))
    yield from _texts("words", words.PHASES.values())
    yield from _texts("words", words.MOVE_TEXTS.values())
    yield from _texts("words", words.EVENT_TEXTS.values())
    yield from _texts(
        "words",
        (words.COPY_BOX_TEXT, words.COINS_TEXT, words.LOSS_TEXT, words.ROUND_TEXT, words.INCOMES_TEXT),
    )
    yield from _texts("words", (words.SEAT_TEXT, *COLOUR_WORDS.values(), *(mode.value for mode in Mode)))
    yield from _texts("results", (WON_ALL, LOST_ALL))
    yield from _texts(f"{SOURCES[0]}/static/board.js", (ending.word for ending in Ending))


def _texts(place: str, texts: Iterable[str | tuple[str, str]]) -> Iterator[_Text]:
    return ((text, place, None) for text in texts)


def updated(code: str) -> str:
    """Return what a language's file should have."""
    path = TEXTS / f"{code}.po"
    current = read_po(BytesIO(path.read_bytes()), locale=code) if path.exists() else Catalog(locale=code)
    current.update(template(), no_fuzzy_matching=True, update_creation_date=False)
    current.obsolete.clear()
    current.fuzzy = False
    current.header_comment = _HEADER.format(name=LANGUAGES[code])
    file = BytesIO()
    write_po(file, current, width=110, omit_header=False, include_lineno=False, sort_output=False)
    lines = file.getvalue().decode().splitlines()
    return "\n".join(line for line in lines if _is_kept(line)) + "\n"


def _is_kept(line: str) -> bool:
    """Return whether a line belongs into a file: those of the header that name people and times don't."""
    name, separator, _ = line.removeprefix('"').partition(": ")
    is_header = (
        line.startswith('"') and line.endswith('\\n"') and separator and "-" in name
    ) or name == '"Language'
    return not is_header or name in _HEADERS


def main() -> None:
    """Update every catalogue."""
    for code in LANGUAGES:
        if code != "en":
            (TEXTS / f"{code}.po").write_text(updated(code), encoding="utf-8")
