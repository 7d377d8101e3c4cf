"""Cards and the table of effects, besides the values of each card, which docs/cards.md holds."""

import copy
import csv
import pickle
from collections import Counter
from importlib.resources import files

from tests.game.rules.positions import card, last_turn_over, next_round, outcome_of

from happycity import CARDS, CARDS_BY_ID, DWELLINGS, CardKind, Colour, Mode
from happycity.rules.cards import (
    BUILDINGS,
    COLOURED_MARKETS,
    HAPPY_MARKET,
    SPECIALS,
    cards_of_kind,
    deck_cards,
    specials_of,
)
from happycity.rules.effects import EFFECTS, NO_EFFECT
from happycity.v1 import cards_pb2


def test_art_1_1_three_decks_of_buildings() -> None:
    # Deck 1 has 28 cards that cost 1-3, deck 2 has 20 that cost 4-5, deck 3 has 18 that cost 6-9.
    for deck, size, prices in [(1, 28, {1, 2, 3}), (2, 20, {4, 5}), (3, 18, {6, 7, 8, 9})]:
        cards = deck_cards(deck)
        assert len(cards) == size
        assert {card.cost for card in cards} == prices

    # The three decks hold 66 cards, two of each of 33 names.
    copies = Counter(card for deck in (1, 2, 3) for card in deck_cards(deck))
    assert copies == dict.fromkeys(BUILDINGS, 2)
    assert copies.total() == 66


def test_art_1_2_to_1_5_other_cards() -> None:
    # There are three dwellings, four cards of each, all green and in no deck.
    dwellings = ["house", "apartment_building", "luxury_residence"]
    assert [(card.id, card.copies) for card in DWELLINGS] == [(name, 4) for name in dwellings]
    assert {card.colour for card in DWELLINGS} == {Colour.GREEN}
    assert {card.deck for card in DWELLINGS} == {0}

    # Five Happy Markets have a white side without colour and one coloured side for each colour.
    assert (HAPPY_MARKET.copies, HAPPY_MARKET.colour, HAPPY_MARKET.income) == (5, None, 1)
    assert list(COLOURED_MARKETS) == list(Colour)
    coloured = {
        (card.copies, card.income, card.inhabitants, card.hearts) for card in COLOURED_MARKETS.values()
    }
    assert coloured == {(1, 1, 0, 0)}
    assert cards_of_kind(CardKind.MARKET) == (HAPPY_MARKET, *COLOURED_MARKETS.values())

    # The family set has 18 specials and the expert set 37, without colour, price or second copy.
    for mode, count in [(Mode.FAMILY, 18), (Mode.EXPERT, 37)]:
        specials = specials_of(mode)
        assert len(specials) == count
        assert {(card.colour, card.cost, card.copies, card.deck) for card in specials} == {(None, 0, 1, 0)}
        assert all(card.condition for card in specials)

    # Every special belongs to exactly one set, and no other card belongs to one.
    assert specials_of(Mode.FAMILY) + specials_of(Mode.EXPERT) == SPECIALS
    assert all((card.special_set is not None) == (card.kind is CardKind.SPECIAL) for card in CARDS)

    # A special's condition maps colours to counts of at least one.
    assert all(count > 0 for special in SPECIALS for count in special.condition.values())


def test_cards_have_numbers_and_ids() -> None:
    # Numbers run from 1 to 97 in table order, and ids name cards uniquely.
    assert [card.number for card in CARDS] == list(range(1, 98))
    assert list(CARDS_BY_ID.values()) == list(CARDS)
    assert len({card.name for card in CARDS}) == 97
    # The wire's enum has each card by its id and number, and nothing else but UNSPECIFIED.
    ours = {f"CARD_{card.id.upper()}": card.number for card in CARDS}
    assert dict(cards_pb2.Card.items()) == {"CARD_UNSPECIFIED": 0, **ours}


def test_cards_stay_interned() -> None:
    museum = card("museum")
    assert copy.copy(museum) is museum
    assert copy.deepcopy(museum) is museum
    assert pickle.loads(pickle.dumps(museum)) is museum


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

    # Every condition can be met by nine cards, as the special itself takes a position.
    assert all(sum(special.condition.values()) <= 9 for special in specials_of(Mode.EXPERT))
