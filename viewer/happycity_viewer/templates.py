"""The templates of a game, in a language."""

from __future__ import annotations

import re
import zlib
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from happycity import CARDS, CARDS_BY_ID, DWELLINGS, Card, CardKind, Colour, Mode
from happycity.match import PERSON_MARK
from happycity.records.record import Json
from happycity.rules.deals import CITY_SIZE, DECKS
from happycity.text.words import card_name
from happycity_viewer.languages import LANGUAGES, Language
from happycity_viewer.plies import encode, page_text

COLOUR_WORDS = {
    Colour.YELLOW: "shop",
    Colour.BLUE: "public service",
    Colour.GREEN: "housing",
    Colour.ORANGE: "attraction",
    Colour.PURPLE: "manufacturing",
}
"""What a card's colour means (article 1.5)."""

_FILE = files("happycity_viewer").joinpath("pictures.svg").read_text(encoding="utf-8")
_PICTURES = {name: Markup(drawn) for name, drawn in re.findall(r'<g id="(\w+)">(.*)</g>', _FILE)}  # noqa: S704
"""By card, or by what cards without a picture of their own are; the colours come from the page by classes."""

HYPHENATED = {
    word.replace("-", ""): word.replace("-", "\N{SOFT HYPHEN}")
    for word in files("happycity_viewer").joinpath("texts", "hyphens.txt").read_text(encoding="utf-8").split()
}
"""By long word of a card's name, in any language, in small letters: where a narrow card may break it.

Browsers hyphenate no words with capitals in English, and by default have no patterns for some languages.
"""
FACES, HUES = 4, 12
"""Icons of bots, and as many of people, in `icons.svg`; the colours of each."""
LONG_WORD = re.compile(r"[^\W\d_]{8,}")


def hyphenated(name: str) -> str:
    """Return a card's name with soft hyphens in its long words."""
    return LONG_WORD.sub(lambda word: word[0][0] + HYPHENATED.get(word[0].lower(), word[0])[1:], name)


def portrait(name: str) -> tuple[str, int]:
    """Return the face of a bot or a person: the name of its icon, and a hue in degrees; always the same."""
    number = zlib.crc32(name.encode())
    kind = "person" if name.startswith(PERSON_MARK) else "bot"
    return f"{kind}-{number % FACES}", number // FACES % HUES * (360 // HUES)


def picture(card: Card) -> Markup:
    """Return the elements of a card's picture, 100 wide and 60 high."""
    usual = "market" if card.kind is CardKind.MARKET else str(card.colour)
    return _PICTURES.get(card.id) or _PICTURES[usual]


def environment(language: Language, *loaders: BaseLoader) -> Environment:
    """Return an environment with these templates, in a language; those of `loaders` come first."""
    made = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader("happycity_viewer")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_translations(language.texts, newstyle=True)  # type: ignore[attr-defined]  # by the extension
    made.policies["ext.i18n.trimmed"] = True
    made.filters |= {
        "hyphenated": hyphenated,
        "think_time": language.think_time,
        "number": language.short,
        "whole": language.whole,
        "decimals": language.decimals,
        "json": encode,
    }
    made.globals |= {
        "card_name": lambda card: card_name(card, language.texts),
        "cards": CARDS_BY_ID,
        "city_size": CITY_SIZE,
        "colour_words": COLOUR_WORDS,
        "decks": DECKS,
        "language": language,
        "languages": LANGUAGES,
        "picture": picture,
        "portrait": portrait,
        "version": version("happycity"),
    }
    return made


def game_values(
    game: Json, *, ply: int, seat: int, record_link: str = "", tournament: str | None = None
) -> dict[str, Any]:
    """Return what `viewer.html` shows of a game after `ply` decisions, with `seat`, from 1, first.

    `record_link` is where its record can be downloaded, empty without one. `tournament` is the title of its
    tournament, to whose page it links; None without.
    """
    players = len(game["bots"])
    results = (game["end"] or {}).get("results", [])
    incidents = [shown["ply"] for shown in game["plies"] if "incidents" in shown]
    return {
        "game": game,
        "game_text": page_text(game),
        "ply": game["plies"][ply],
        "last": len(game["plies"]) - 1,
        "seat": seat,
        "seats": [(seat - 1 + offset) % players for offset in range(players)],
        "dwellings": DWELLINGS,
        "faces": _faces(game),
        "cities": [[CARDS_BY_ID[id] for id in city] for city in game["plies"][-1]["cities"]],
        "winners": [bot for bot, result in zip(game["bots"], results, strict=False) if result["place"] == 1],
        "incidents": incidents,
        "next_incident": next((number for number in incidents if number > ply), (*incidents, ply)[0]),
        "record_link": record_link,
        "tournament": tournament,
        "practice": False,
        "embed": False,
    }


def _faces(game: Json) -> list[Card]:
    """Return the cards that the positions of a game show; of one that goes on, also those that may come.

    No specials come that were not dealt.
    """
    shown = {
        id for ply in game["plies"] for ids in (ply["centre"], ply["specials"], *ply["cities"]) for id in ids
    }
    mode = Mode(game["mode"]) if game["end"] is None else None
    return [
        card for card in CARDS if card.id in shown or card in DWELLINGS or (mode and _may_come(mode, card))
    ]


def _may_come(mode: Mode, card: Card) -> bool:
    """Return whether any game of a mode can show a card."""
    if card.kind is CardKind.MARKET:
        return (card.colour is None) == (mode is Mode.FAMILY)
    return card.special_set is None
