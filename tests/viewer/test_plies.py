"""What the viewer gets of a game."""

from __future__ import annotations

import json
import random

import pytest

from happycity import Config, Deal, Mode
from happycity.playout import record_random_game
from happycity.records import Playback, results_of
from happycity_viewer.plies import encode, playback_json


@pytest.mark.parametrize("seed", range(50))
def test_numbers_are_those_of_the_terminal(seed: int) -> None:
    """In 50 games, each position has the numbers that `happycity show` has, and the end is the record's."""
    config = Config(players=2 + seed % 4, mode=list(Mode)[seed // 4 % 2])
    record = record_random_game(Deal.shuffle(config, seed=seed), random.Random(seed))
    bots = [f"bot{seat}" for seat in range(config.players)]
    playback = Playback.of_record(record, bots=bots)
    game = playback_json(playback)
    assert game["bots"] == bots
    assert len(game["plies"]) == len(playback.steps)
    for ply, step in zip(game["plies"], playback.steps, strict=True):
        view = step.view
        assert (ply["round"], ply["seat"], ply["ply"]) == (view.round, view.seat, step.decision_id - 1)
        assert (ply["coins"], ply["income"]) == (list(view.coins), list(view.incomes))
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
