"""The cards' pictures, which `pictures.svg` has by card; the colours come from the page by classes."""

from __future__ import annotations

import re
from importlib.resources import files

from markupsafe import Markup

from happycity import Card, CardKind

_FILE = files("happycity_viewer").joinpath("pictures.svg").read_text(encoding="utf-8")
_PICTURES = {name: Markup(drawn) for name, drawn in re.findall(r'<g id="(\w+)">(.*)</g>', _FILE)}  # noqa: S704


def picture(card: Card) -> Markup:
    """Return the elements of a card's picture, 100 wide and 60 high."""
    return _PICTURES.get(card.id) or _PICTURES[_usual(card)]


def _usual(card: Card) -> str:
    """Return the name of the picture of a card without one of its own."""
    if card.kind is CardKind.MARKET:
        return "market"
    assert card.colour is not None, f"{card} has no picture"
    return str(card.colour)
