"""The languages: files of texts that are complete, and texts of which none escapes translation."""

# ruff: noqa: RUF001 - Cyrillic letters look like Latin ones

import csv
import re
from collections.abc import Iterator
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tools import ROOT
from tools.docs import texts as catalogues

from happycity import CARDS, Event, EventKind, Move
from happycity.text.words import card_name, event_in_words, move_in_words
from happycity_viewer.languages import LANGUAGES, catalogue, language, preferred
from happycity_viewer.templates import HYPHENATED, LONG_WORD, hyphenated

TRANSLATED = [code for code in LANGUAGES if code != "en"]
FOLDERS = [ROOT / folder for folder in catalogues.SOURCES]
_PLACEHOLDER = re.compile(r"%\(\w+\)s|%%")
_HOLES = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
_ATTRIBUTE = re.compile(r'[\w-]+="[^"]*"')  # in a block that stands inside a tag
_NAMES = {"Happy", "City", "arena", "Elo", "Home", "End", "SDK"}
"""What reads the same in every language."""


def _forms(text: object) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(map(str, text))  # type: ignore[call-overload]


@pytest.mark.level(2)
def test_files_of_texts_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    template = catalogues.template()  # once, as it reads all sources
    monkeypatch.setattr(catalogues, "template", lambda: deepcopy(template))
    # Also what scripts say within a template string is found.
    scripts = [path.read_text(encoding="utf-8") for folder in FOLDERS for path in folder.rglob("*.js")]
    called = {text for script in scripts for text in re.findall(r'gettext\(\s*"([^"]+)"', script)}
    assert called <= {_forms(message.id)[0] for message in template if message.id}
    # No text of the sources is missing, and none is left over; `python -m tools texts` puts it right.
    for code in TRANSLATED:
        assert (catalogues.TEXTS / f"{code}.po").read_text(encoding="utf-8") == catalogues.updated(code)
        # Every form of every text has a translation, the name of every card too.
        texts = catalogue(code)
        missing = [
            message.id
            for message in texts
            if message.id and (not message.string or not all(_forms(message.string)))
        ]
        assert missing == []
        assert {len(_forms(message.string)) for message in texts if message.pluralizable} == {
            texts.num_plurals
        }
        # A translation has each placeholder of its text, and no other.
        for message in texts:
            wanted = sorted(_PLACEHOLDER.findall(_forms(message.id)[-1]))
            for form in _forms(message.string):
                if form and message.id:
                    assert sorted(_PLACEHOLDER.findall(form)) == wanted, form


def test_long_words_of_cards_can_be_broken() -> None:
    # hyphens.txt has the parts of every long word that a card's name has in any language.
    names = [card_name(card, language(code).texts).partition(" (")[0] for code in LANGUAGES for card in CARDS]
    words = {word.lower() for name in names for word in LONG_WORD.findall(name)}
    assert words == set(HYPHENATED)
    assert all(len(part) < 8 for word in HYPHENATED.values() for part in word.split("\N{SOFT HYPHEN}"))
    assert hyphenated("Luxury Residence") == "Luxury Resi\N{SOFT HYPHEN}dence"


def test_texts_of_a_language() -> None:
    # A count has the noun in the form that the language asks for.
    for code, words in [
        ("en", {1: "1 game", 2: "2 games", 5: "5 games", 21: "21 games"}),
        ("et", {1: "1 partii", 2: "2 partiid", 5: "5 partiid", 21: "21 partiid"}),
        ("it", {1: "1 partita", 2: "2 partite", 5: "5 partite", 21: "21 partite"}),
        ("pl", {1: "1 rozgrywka", 2: "2 rozgrywki", 12: "12 rozgrywek", 22: "22 rozgrywki"}),
        ("uk", {1: "1 партія", 2: "2 партії", 5: "5 партій", 11: "11 партій", 21: "21 партія"}),
    ]:
        texts = language(code).texts
        for number, expected in words.items():
            assert texts.ngettext("%(num)s game", "%(num)s games", number) % {"num": number} == expected

    # Moves and events are sentences in each language.
    for code, move, event in [
        ("en", "build Museum for 4 coins", "ann took 2 coins"),
        ("et", "osta: Muuseum, hind 4 münti", "ann võtab 2 münti"),
        ("it", "compra Museo per 4 monete", "ann prende 2 monete"),
        ("pl", "kup: Muzeum za 4 monety", "ann bierze 2 monety"),
        ("uk", "купити: Музей за 4 монети", "ann бере 2 монети"),
    ]:
        texts = language(code).texts
        took = Event(EventKind.COIN, 0, coins=2)
        assert move_in_words(Move.parse("build museum"), -4, texts=texts) == move
        assert event_in_words(took, ["ann"], texts=texts) == event

    # Groups of digits, the decimal sign and units are the language's own.
    for code, whole, decimals, think in [
        ("en", "12,345", "1.50", "1.2 s"),
        ("et", "12\u00a0345", "1,50", "1,2 s"),
        ("it", "12.345", "1,50", "1,2 s"),
        ("pl", "12\u00a0345", "1,50", "1,2 s"),
        ("uk", "12\u00a0345", "1,50", "1,2 с"),
    ]:
        own = language(code)
        assert (own.whole(12345), own.decimals(1.5, 2), own.think_time(1240)) == (whole, decimals, think)

    # A page brings the texts that its scripts say, and no others.
    in_scripts = language("pl").script_texts
    assert in_scripts["Pause"] == "Pauza"
    assert in_scripts["disconnected"] == "brak połączenia"
    assert "Standings" not in in_scripts


def test_preferred_language_is_the_best_that_there_is() -> None:
    for header, code in [
        ("", "en"),
        ("pl", "pl"),
        ("uk-UA,uk;q=0.9,en;q=0.8", "uk"),
        ("de,fr;q=0.9", "en"),
        ("de,it;q=0.5,et;q=0.7", "et"),
        ("en;q=0.2, PL;q=0.3", "pl"),
        ("it;q=0,et;q=0.1", "et"),
        ("pl;q=much,*", "en"),
    ]:
        assert preferred(header) == code


class _Texts(HTMLParser):
    """Collects what a template says to people outside of its holes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._quiet = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._quiet += tag in ("code", "script", "style")
        self.found += [
            value or "" for name, value in attrs if name in ("alt", "aria-label", "placeholder", "title")
        ]

    def handle_endtag(self, tag: str) -> None:
        """Note the end of what is not for people."""
        self._quiet -= tag in ("code", "script", "style")

    def handle_data(self, data: str) -> None:
        if not self._quiet:
            self.found.append(data)


def _templates() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((folder / "templates").glob("*.html"))


def test_templates_have_no_unmarked_text() -> None:
    for path in list(_templates()):
        parser = _Texts()
        parser.feed(_HOLES.sub(" ", path.read_text(encoding="utf-8")))
        texts = [_ATTRIBUTE.sub("", text) for text in parser.found]
        words = {word for text in texts for word in re.findall(r"\w{2,}", text) if word.isalpha()}
        assert words - _NAMES == set()


def _scripts() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((folder / "static").glob("*.js"))


@pytest.mark.parametrize("path", list(_scripts()), ids=lambda path: path.name)
def test_scripts_have_no_unmarked_text(path: Path) -> None:
    """Whatever looks like a sentence in a script is an argument of gettext or ngettext."""
    code = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    code = re.sub(r"""\bn?gettext\(\s*"[^"]*"(,\s*"[^"]*")?""", "", code)
    literals = re.findall(r'"([^"\n]*)"|`([^`\n]*)`', code)
    sentences = [one or other for one, other in literals if re.match(r"[A-Z][a-z]+( |$)", one or other)]
    assert [text for text in sentences if text not in _KEYS] == []


_KEYS = {"Home", "End", "Enter", "Escape"}
"""Names of keys, as browsers have them."""


TERMS = list(csv.DictReader((catalogues.TEXTS / "terms.csv").read_text(encoding="utf-8").splitlines()))
"""Words of the game as patterns: where the English text has one, that of another language has its word."""
_SHORT_NAME = 5  # letters; such names are words of sentences too, as House is


def sentences(code: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a language, all forms of plurals, with the English ones, without placeholders."""
    for message in catalogue(code):
        if not message.id or message.context == "card":
            continue
        english = message.id if isinstance(message.id, str) else message.id[0]
        forms = [message.string] if isinstance(message.string, str) else list(message.string or ())
        for form in forms:
            yield _PLACEHOLDER.sub("", english), _PLACEHOLDER.sub("", form)


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_a_thing_has_one_word(code: str) -> None:
    """What `terms.csv` names is named so everywhere, and by no second word."""
    *terms, second = TERMS
    texts = list(sentences(code))
    missing = [
        (term["term"], english, text)
        for term in terms
        for english, text in texts
        if re.search(term["en"], english, re.IGNORECASE) and not re.search(term[code], text, re.IGNORECASE)
    ]
    assert not missing
    assert not [text for _, text in texts if re.search(second[code], text)]


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_sentences_name_cards_as_the_cards_do(code: str) -> None:
    """A card that an English sentence names has in other languages the name, or its stem, that is on it."""
    own, wrong = language(code).texts, []
    names = {name: card_name(card, own) for card in CARDS if len(name := card_name(card)) > _SHORT_NAME}
    for english, text in sentences(code):
        for name, translated in names.items():
            is_named = re.search(rf"(?<=\w ){name}\b", english)
            if is_named and translated.split()[-1][:4].lower() not in text.lower():
                wrong.append((name, english, text))
    assert not wrong


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_signs_are_those_of_the_language(code: str) -> None:
    """Dashes are no hyphens, and a language has one kind of dash between words, and one apostrophe."""
    texts = [text for english, text in sentences(code) if " - " not in english]
    said = " ".join(texts)
    assert set(re.findall(r"\s([-–—])\s", said)) <= {"—" if code == "uk" else "–"}
    assert len(set(re.findall(r"\w(['’])\w", said))) <= 1
