"""What the viewer gets of a game, and the cards' pictures."""

import json
import random
import xml.etree.ElementTree as ET

from happycity import CARDS, CardKind, Config, Deal, Mode
from happycity.records.playback import Playback
from happycity.records.random_games import record_random_game
from happycity.records.replay import results_of
from happycity_viewer.plies import encode, playback_json
from happycity_viewer.templates import picture


def test_positions_are_those_of_the_record() -> None:
    record = record_random_game(Deal.shuffle(Config(players=3, mode=Mode.EXPERT), seed=5), random.Random(5))
    playback = Playback.of_record(record, bots=["ann", "bob", "cem"])
    game = playback_json(playback)
    assert game["bots"] == ["ann", "bob", "cem"]
    assert len(game["plies"]) == len(playback.steps)
    for ply, step in zip(game["plies"], playback.steps, strict=True):
        view = step.view
        assert (ply["round"], ply["seat"], ply["ply"]) == (view.round, view.seat, step.decision_id - 1)
        assert ply["cities"] == [[card.id for card in city] for city in view.cities]
        assert ply["decks"] == list(view.decks)
    assert [(seat["points"], seat["place"]) for seat in game["end"]["results"]] == [
        (result.points, result.place) for result in results_of(record)
    ]


def test_json_can_not_end_the_element_that_it_stands_in() -> None:
    """A text from a stranger can't leave the script element, and is read as it was."""
    text = "</script><!--<script>&"
    assert not set("<>&") & set(encode({"text": text}))
    assert json.loads(encode(text)) == text


def test_pictures_of_cards() -> None:
    # Each picture is well-formed, without a style or a script of its own, which the pages forbid.
    for card in CARDS:
        drawn = ET.fromstring(f"<g>{picture(card)}</g>")
        assert len(drawn) > 2
        assert {element.tag for element in drawn} <= {"path", "circle"}
        assert not any("style" in element.attrib for element in drawn)
        # Shapes that are placed by numbers lie within the field, where a card doesn't cut them.
        for circle in drawn.iter("circle"):
            x, y, radius = (float(circle.attrib[name]) for name in ("cx", "cy", "r"))
            assert x - radius >= -1
            assert x + radius <= 101
            assert y - radius >= -1
            assert y + radius <= 61

    # Buildings, dwellings and specials each have a picture of their own; markets differ by their colour.
    cards = [card for card in CARDS if card.kind is not CardKind.MARKET]
    assert len({picture(card) for card in cards}) == len(cards)
