from __future__ import annotations

import copy
import pickle
from collections import Counter

from tests.game.rules.positions import card

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
    assert [(card.id, card.copies) for card in DWELLINGS] == [
        ("house", 4),
        ("apartment_building", 4),
        ("luxury_residence", 4),
    ]
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

    # Shops are yellow, public services blue, housing green, attractions orange, manufacturing purple.
    for card_id, colour in [
        ("grocery", Colour.YELLOW),
        ("school", Colour.BLUE),
        ("igloo", Colour.GREEN),
        ("casino", Colour.ORANGE),
        ("factory", Colour.PURPLE),
    ]:
        assert card(card_id).colour is colour

    # A special's condition maps colours to counts of at least one.
    assert card("film_studios").condition == {Colour.BLUE: 2, Colour.GREEN: 1}
    assert all(count > 0 for special in SPECIALS for count in special.condition.values())


def test_printed_values() -> None:
    """A card has the values that are printed on it."""
    for card_id, cost, income, inhabitants, hearts in [
        ("haunted_house", 1, 1, -1, 0),
        ("factory", 1, 1, 0, -1),
        ("museum", 4, 0, 0, 2),
        ("laboratory", 6, 1, 2, 0),
        ("stadium", 9, 1, 0, 3),
        ("luxury_residence", 6, 0, 3, 0),
        ("film_studios", 0, 2, 0, 2),
        ("statue_of_liberty", 0, 0, 0, 4),
    ]:
        known = card(card_id)
        assert (known.cost, known.income, known.inhabitants, known.hearts) == (
            cost,
            income,
            inhabitants,
            hearts,
        )


def test_cards_have_numbers_and_ids() -> None:
    # Numbers run from 1 to 97 in table order, and ids name cards uniquely.
    assert [card.number for card in CARDS] == list(range(1, 98))
    assert list(CARDS_BY_ID.values()) == list(CARDS)
    assert len({card.name for card in CARDS}) == 97
    # The wire's enum has each card by its id and number, and nothing else but UNSPECIFIED.
    ours = {f"CARD_{card.id.upper()}": card.number for card in CARDS}
    assert dict(cards_pb2.Card.items()) == {"CARD_UNSPECIFIED": 0, **ours}


def test_cards_stay_interned() -> None:
    """A copied or unpickled card is the card itself."""
    museum = card("museum")
    assert copy.copy(museum) is museum
    assert copy.deepcopy(museum) is museum
    assert pickle.loads(pickle.dumps(museum)) is museum
