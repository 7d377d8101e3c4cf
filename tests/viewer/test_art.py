"""The cards' pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from happycity import CARDS, Card, CardKind
from happycity_viewer.art import picture


@pytest.mark.parametrize("card", CARDS, ids=str)
def test_every_card_has_a_picture(card: Card) -> None:
    """Each picture is well-formed, without a style or a script of its own, which the pages forbid."""
    drawn = ET.fromstring(f"<g>{picture(card)}</g>")
    assert len(drawn) > 2
    assert {element.tag for element in drawn} <= {"path", "circle"}
    assert not any("style" in element.attrib for element in drawn)


def test_no_two_cards_look_the_same() -> None:
    """Buildings, dwellings and specials each have a picture of their own; markets differ by their colour."""
    cards = [card for card in CARDS if card.kind is not CardKind.MARKET]
    assert len({picture(card) for card in cards}) == len(cards)


@pytest.mark.parametrize("card", CARDS, ids=str)
def test_pictures_stay_in_their_field(card: Card) -> None:
    """Shapes that are placed by numbers lie within the field, where a card doesn't cut them."""
    for circle in ET.fromstring(f"<g>{picture(card)}</g>").iter("circle"):
        x, y, radius = (float(circle.attrib[name]) for name in ("cx", "cy", "r"))
        assert x - radius >= -1
        assert x + radius <= 101
        assert y - radius >= -1
        assert y + radius <= 61
