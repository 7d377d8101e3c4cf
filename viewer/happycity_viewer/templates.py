"""The templates of a game, in a language."""

from __future__ import annotations

from importlib.metadata import version

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined

from happycity import CARDS_BY_ID, Colour
from happycity.rules.deals import DECKS
from happycity.rules.rulebook import CITY_SIZE
from happycity.text.words import card_name
from happycity_viewer.art import picture
from happycity_viewer.languages import LANGUAGES, Language
from happycity_viewer.plies import encode

COLOUR_WORDS = {
    Colour.YELLOW: "shop",
    Colour.BLUE: "public service",
    Colour.GREEN: "housing",
    Colour.ORANGE: "attraction",
    Colour.PURPLE: "manufacturing",
}
"""What a card's colour means (article 1.5)."""


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
        "version": version("happycity"),
    }
    return made
