"""The templates of a game, and how numbers and names are written in them."""

from __future__ import annotations

from importlib.metadata import version

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined

from happycity import CARDS_BY_ID, Colour
from happycity.rules import CITY_SIZE, DECKS
from happycity_viewer.art import picture
from happycity_viewer.plies import encode

COLOUR_WORDS = {
    Colour.YELLOW: "shop",
    Colour.BLUE: "public service",
    Colour.GREEN: "housing",
    Colour.ORANGE: "attraction",
    Colour.PURPLE: "manufacturing",
}
"""What a card's colour means (article 1.5)."""


def environment(*loaders: BaseLoader) -> Environment:
    """Return an environment with these templates; those of `loaders` come first."""
    made = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader("happycity_viewer")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"think_time": think_time, "number": number, "json": encode}
    made.globals |= {
        "cards": CARDS_BY_ID,
        "city_size": CITY_SIZE,
        "colour_words": COLOUR_WORDS,
        "decks": DECKS,
        "picture": picture,
        "version": version("happycity"),
    }
    return made


def think_time(microseconds: int) -> str:
    """Return how long a bot thought; the viewer's script writes it in the same way."""
    milliseconds = microseconds / 1000
    if milliseconds < 1:
        return "<1 ms"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def number(value: float) -> str:
    """Return a bot's number in at most 4 significant digits; the viewer's script does the same."""
    return f"{value:.4g}"
