"""The cards' pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from happycity import CARDS, CARDS_BY_ID, Card
from happycity_viewer.art import picture


@pytest.mark.parametrize("card", CARDS, ids=str)
def test_every_card_has_a_picture(card: Card) -> None:
    """Each picture is well-formed, without a style or a script of its own, which the pages forbid."""
    drawn = ET.fromstring(f"<g>{picture(card)}</g>")
    assert len(drawn) > 2
    assert {element.tag for element in drawn} <= {"path", "circle"}
    assert not any("style" in element.attrib for element in drawn)


def test_buildings_of_one_colour_differ() -> None:
    """No two buildings look the same."""
    shown = {picture(card) for card in CARDS_BY_ID.values() if card.deck}
    assert len(shown) == sum(bool(card.deck) for card in CARDS)
