"""What the viewer gets of a game."""

from __future__ import annotations

import json
import random

from happycity import Config, Deal, Mode
from happycity.records.playback import Playback
from happycity.records.random_games import record_random_game
from happycity.records.replay import results_of
from happycity_viewer.plies import encode, playback_json


def test_positions_are_those_of_the_record() -> None:
    """Each position has the cities and decks of the game's, and the end is the record's."""
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
