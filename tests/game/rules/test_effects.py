"""The table of the expert specials and their effects."""

from __future__ import annotations

import csv
from importlib.resources import files

from tests.game.rules.positions import (
    card,
    last_turn_over,
    next_round,
    outcome_of,
)

from happycity import Colour, Mode
from happycity.rules.cards import SPECIALS, specials_of
from happycity.rules.effects import EFFECTS, NO_EFFECT


def test_every_special_has_its_effect() -> None:
    # No family special has an effect: its printed values are all of it.
    assert not set(specials_of(Mode.FAMILY)) & set(EFFECTS)
    assert {special.effect for special in specials_of(Mode.FAMILY)} == {""}
    # The table holds an effect for each expert special and for nothing else.
    assert set(EFFECTS) == set(specials_of(Mode.EXPERT))
    assert len({id(effect) for effect in EFFECTS.values()}) == 37

    # The effects named in `specials.csv` are those of the cards, row by row.
    table = files("happycity.rules").joinpath("data", "specials.csv").read_text(encoding="utf-8")
    named = {row["id"]: row["effect"] for row in csv.DictReader(table.splitlines())}
    assert named == {special.id: special.effect for special in SPECIALS}
    assert {card_id for card_id, effect in named.items() if effect} == {known.id for known in EFFECTS}


def test_every_special_goes_through_a_round_and_the_end() -> None:
    # A sentence or two say what an effect does; beside the text it has a hook.
    for special in specials_of(Mode.EXPERT):
        assert special.effect_text == special.effect_text.strip()
        assert special.effect_text.endswith(".")
        assert len(special.effect_text) > 20
        assert EFFECTS[special] != NO_EFFECT

    # With any special in a city, alone or copied, an income phase and the scoring go through.
    for special in specials_of(Mode.EXPERT):
        city = f"school igloo {special.id}"
        assert next_round(cities=(city, "")).round == 3
        game = last_turn_over(cities=(city, "florist house sphinx" if special.id != "sphinx" else ""))
        while game.outcome is None:
            game.apply(game.legal_moves[-1])
        assert min(outcome_of(game).points) >= 0


def test_expert_specials_print_few_values() -> None:
    # Only the Statue of Liberty and the Race Circuit have printed hearts; all else is in the effects.
    printed = {
        special.id: (special.income, special.inhabitants, special.hearts)
        for special in specials_of(Mode.EXPERT)
        if special.income or special.inhabitants or special.hearts
    }
    assert printed == {"statue_of_liberty": (0, 0, 4), "race_circuit": (0, 0, 2)}

    # A condition is a count for each colour that the card shows.
    for special, condition in [
        ("joke_shop", {Colour.GREEN: 2}),
        ("statue_of_liberty", {Colour.BLUE: 3}),
        ("taj_mahal", {Colour.YELLOW: 1, Colour.BLUE: 1, Colour.GREEN: 1, Colour.ORANGE: 1}),
        ("garden", {Colour.YELLOW: 1, Colour.BLUE: 2, Colour.GREEN: 1, Colour.ORANGE: 2}),
    ]:
        assert card(special).condition == condition

    # Every condition can be met by nine cards, as the special itself takes a position.
    assert all(sum(special.condition.values()) <= 9 for special in specials_of(Mode.EXPERT))
