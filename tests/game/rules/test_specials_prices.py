"""Expert specials about what cards cost and about coins on the spot (chapter 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.game.rules.positions import (
    card,
    ended,
    expert,
    gains,
    next_round,
    options,
    play,
    price_of,
    skip_to,
)

from happycity import CARDS, DWELLINGS, Colour, Event, EventKind, Game, Phase
from happycity.rules.cards import BUILDINGS, deck_cards
from happycity.rules.effects import EFFECTS

CENTRE = "bank museum stadium"


def buying(*cities: str, seat: int = 0, coins: Sequence[int] = (), centre: str = CENTRE) -> Game:
    return expert(
        Phase.BUY, seat=seat, cities=cities, coins=coins or [20] * max(2, len(cities)), centre=centre
    )


def taking(special: str, city: str, *, market: str, players: int = 2) -> Game:
    """Return a game in which seat 0, with 2 coins, has just taken a special."""
    game = expert(
        Phase.SPECIAL, players=players, cities=(city,), markets=(market,), specials=special, centre=CENTRE
    )
    return play(game, f"take {special}")


CASTLE = "igloo factory castle"


def test_art_6_castle() -> None:
    # A neighbour's purchase for 4 or more coins, dwellings too, brings the owner 1 coin, a cheaper none.
    for move, coins in [
        ("build bank", 0),
        ("build museum", 1),
        ("build stadium", 1),
        ("dwell apartment_building", 0),
        ("dwell luxury_residence", 1),
        ("coin", 0),
    ]:
        game = play(buying("", CASTLE), move)
        assert gains(game) == [(1, "castle", 1)] * coins
        assert game.view().coins[1] == 20 + coins

    # The coin follows the purchase at once, before the buyer's special step.
    game = play(buying("", CASTLE), "build museum")
    assert game.events == (
        Event(EventKind.BUILD, 0, card("museum"), coins=-4),
        Event(EventKind.EFFECT_PAID, 1, card("castle"), coins=1),
        Event(EventKind.DECLINE, 0),
    )

    # What counts is the price after discounts, not the printed one.
    for city, move, paid, coins in [
        ("harbour", "build laboratory", 3, 0),
        ("train_station", "build spa", 4, 1),
        ("hot_dog_stand", "build garage", 4, 1),
        ("airport", "dwell luxury_residence", 3, 0),
        ("undersea_tunnel", "build spa", 0, 0),
    ]:
        game = play(buying(city, CASTLE, centre="laboratory garage spa"), move)
        assert game.events[0].coins == -paid
        assert gains(game) == [(1, "castle", 1)] * coins

    # The owner gains nothing by buying.
    assert gains(play(buying(CASTLE, ""), "build stadium")) == []


def test_art_6_castle_has_neighbours() -> None:
    # With 3 players both others are neighbours.
    for buyer in [0, 1]:
        game = play(buying("", "", CASTLE, seat=buyer), "build museum")
        assert gains(game) == [(2, "castle", 1)]

    # Whenever a neighbour pays 4 the owner gains, more than once in a round if need be.
    game = play(buying("", "", CASTLE), "build museum")
    skip_to(game, Phase.BUY, seat=1)
    play(game, "build stadium")
    assert game.view().coins[2] == 22

    # With 4 players only the purchases of the seats beside the owner, here seat 0, count.
    for buyer, coins in [(0, 0), (1, 1), (2, 0), (3, 1)]:
        game = play(buying(CASTLE, "", "", "", seat=buyer), "build museum")
        assert gains(game) == [(0, "castle", 1)] * coins


DISCOUNTED = {
    "harbour": {"school": 0, "library": 0, "museum": 1, "hospital": 1, "laboratory": 3},
    "airport": {
        "igloo": 0,
        "treehouse": 5,
        "house": 0,
        "apartment_building": 0,
        "luxury_residence": 3,
    },
    "train_station": {"haunted_house": 0, "grand_hotel": 2, "spa": 4, "zoo": 5, "stadium": 6},
}
DISCOUNTS = (("harbour", Colour.BLUE), ("airport", Colour.GREEN), ("train_station", Colour.ORANGE))


def test_art_6_discounts_take_3_off() -> None:
    """Harbour, Airport and Train Station lower their colour's prices by 3, and never below 0."""
    for special, prices in DISCOUNTED.items():
        game = buying(special, "")
        assert {bought: price_of(game, 0, card(bought)) for bought in prices} == prices, special


def test_art_6_discounts_are_of_one_colour_and_owner() -> None:
    # Cards of the other colours cost what they show.
    for special, colour in DISCOUNTS:
        game = buying(special, "")
        others = [known for known in (*BUILDINGS, *DWELLINGS) if known.colour is not colour]
        assert [price_of(game, 0, known) for known in others] == [known.cost for known in others]

    # Nobody else pays less.
    for special, colour in DISCOUNTS:
        game = buying("", special)
        assert all(price_of(game, 0, known) == known.cost for known in CARDS if known.colour is colour)

    # Before the special is in the city the owner pays the printed price.
    for special, colour in DISCOUNTS:
        city = "grocery library house garage zoo"
        game = expert(Phase.SPECIAL, cities=(city,), specials=special, centre=CENTRE)
        dearest = max((known for known in CARDS if known.colour is colour), key=lambda known: known.cost)
        before = price_of(game, 0, dearest)
        play(game, f"take {special}")
        assert (before, price_of(game, 0, dearest)) == (dearest.cost, dearest.cost - 3)


def test_art_6_discounts_make_cards_affordable() -> None:
    # What is legal follows the lowered price: 3 coins buy a laboratory with a Harbour, 2 don't.
    centre = "laboratory zoo museum"
    assert (
        options(buying("harbour house", coins=(3, 0), centre=centre))
        == "coin, build museum, build laboratory, dwell apartment_building"
    )
    assert options(buying("harbour house", coins=(2, 0), centre=centre)) == "coin, build museum"

    # Dwellings are green: without any coin the owner may have House and Apartment Building for 0 coins.
    game = buying("airport", coins=(0, 0))
    assert options(game) == "coin, dwell house, dwell apartment_building"
    play(game, "dwell apartment_building")
    assert game.events[0] == Event(EventKind.DWELL, 0, card("apartment_building"), coins=0)
    assert game.view().coins[0] == 0

    # The event and the purse show the price after the discount.
    game = play(buying("harbour", coins=(3, 0)), "build museum")
    assert game.events[0] == Event(EventKind.BUILD, 0, card("museum"), coins=-1)
    assert game.view().coins[0] == 2


def test_art_6_hot_dog_stand() -> None:
    # Every building costs its deck's lowest price.
    for deck, price in [(1, 1), (2, 4), (3, 6)]:
        game = buying("hot_dog_stand", "")
        assert {price_of(game, 0, known) for known in deck_cards(deck)} == {price}
    # Dwellings come from no deck and keep their prices.
    game = buying("hot_dog_stand", "")
    assert [price_of(game, 0, known) for known in DWELLINGS] == [1, 3, 6]
    # The other players pay the printed prices.
    game = buying("hot_dog_stand", "")
    assert all(price_of(game, 1, known) == known.cost for known in BUILDINGS)

    # With 6 coins the owner may build a stadium, and pays 6 for it.
    game = buying("hot_dog_stand house apartment_building luxury_residence", coins=(6, 0))
    assert options(game) == "coin, build bank, build museum, build stadium"
    play(game, "build stadium")
    assert game.events[0] == Event(EventKind.BUILD, 0, card("stadium"), coins=-6)
    assert game.view().coins[0] == 0


TUNNEL_CITY = "school library"


def with_tunnel() -> Game:
    return taking("undersea_tunnel", TUNNEL_CITY, market="purple")


def test_art_6_undersea_tunnel() -> None:
    # The owner's next purchase costs 0 coins, the one after it what the card shows.
    game = skip_to(with_tunnel(), Phase.BUY, seat=0)
    coins = game.view().coins[0]
    play(game, "build stadium")
    assert game.events[0] == Event(EventKind.BUILD, 0, card("stadium"), coins=0)
    assert game.view().coins[0] == coins
    assert price_of(game, 0, card("museum")) == 4

    # As long as the Tunnel waits, any card can be bought without coins.
    game = buying("undersea_tunnel", coins=(0, 0))
    assert options(game) == (
        "coin, build bank, build museum, "
        "build stadium, dwell house, dwell apartment_building, dwell luxury_residence"
    )

    # The free card may be a dwelling.
    game = play(buying("undersea_tunnel", coins=(0, 0)), "dwell luxury_residence")
    assert game.events[0] == Event(EventKind.DWELL, 0, card("luxury_residence"), coins=0)
    assert game.view().uses == (0, 0)
    # The next card is free whatever it costs: a house uses the Tunnel up.
    game = play(buying("undersea_tunnel"), "dwell house")
    assert price_of(game, 0, card("stadium")) == 9

    # Buying nothing doesn't use the Tunnel up, nor does what others buy.
    game = with_tunnel()
    while game.round < 9:
        game.apply(game.neutral_move)
        if game.phase is Phase.BUY and game.seat == 1 and "dwell house" in options(game):
            play(game, "dwell house")
    assert game.view().uses == (1, 0)
    skip_to(game, Phase.BUY, seat=0)
    play(game, "build stadium")
    assert game.events[0].coins == 0

    # The view shows whether the free card is still to come.
    game = buying("undersea_tunnel")
    assert game.view().uses == (1, 0)
    play(game, "build museum")
    assert game.view().uses == (0, 0)

    # A game continued from a view doesn't get a second free card.
    game = expert(Phase.BUY, cities=("undersea_tunnel",), coins=(9, 9), uses=(0, 0), centre=CENTRE)
    assert price_of(game, 0, card("stadium")) == 9
    play(game, "build stadium")
    assert (game.view().coins[0], game.view().uses) == (0, (0, 0))

    # The other players pay.
    assert price_of(buying("undersea_tunnel"), 1, card("museum")) == 4


def test_art_6_big_ben() -> None:
    # The owner gains 8 coins instead of 1.
    game = play(buying("big_ben", coins=(5, 5)), "coin")
    assert game.events[0] == Event(EventKind.COIN, 0, coins=8)
    assert game.view().coins == (13, 5)
    # Buying nothing gains 8 coins also when it is forced.
    game = buying("big_ben", coins=(0, 5))
    assert game.events[0] == Event(EventKind.COIN, 0, coins=8)
    assert (game.seat, game.view().coins[0]) == (1, 8)
    # Everybody else gains 1 coin.
    game = play(buying("big_ben", "", seat=1, coins=(5, 5)), "coin")
    assert game.events[0] == Event(EventKind.COIN, 1, coins=1)
    # Who buys pays the price and gains nothing.
    assert play(buying("big_ben", coins=(5, 5)), "build museum").view().coins[0] == 1


def test_art_6_joke_shop() -> None:
    # At once the owner gains 1 coin per card in the city: market, buildings, dwellings and itself.
    for city, cards in [
        ("house", 3),
        ("house grocery museum", 5),
        ("house grocery museum school zoo spa garage bank", 10),
    ]:
        game = taking("joke_shop", city, market="green")
        assert gains(game) == [(0, "joke_shop", cards)]
        assert game.view().coins == (2 + cards, 2)

    # Later cards and later rounds bring nothing more.
    game = taking("joke_shop", "house", market="green")
    skip_to(game, Phase.BUY, seat=0)
    assert gains(play(game, "build museum")) == []


def test_art_6_race_circuit() -> None:
    # At once every player gains 1 coin, the owner included.
    game = taking("race_circuit", "house garage", market="yellow", players=4)
    assert gains(game) == [(seat, "race_circuit", 1) for seat in range(4)]
    assert game.view().coins == (3, 3, 3, 3)
    # Its printed hearts count at the end.
    assert ended(cities=("race_circuit school", "")).hearts == (2, 0)
    # A Race Circuit in a city pays nothing in later rounds.
    assert gains(next_round(cities=("race_circuit", ""))) == []


def test_art_6_concert_arena_pays_twice_the_income() -> None:
    """At once the owner gains coins equal to twice the income, not the income itself of others."""
    game = taking("concert_arena", "school igloo garage", market="yellow")
    assert game.view().incomes[0] == 1 + 1 + 2
    assert gains(game) == [(0, "concert_arena", 8)]
    assert game.view().coins == (10, 2)


def test_art_6_2_concert_arena_pays_for_the_whole_income(monkeypatch: pytest.MonkeyPatch) -> None:
    """What effects add to the owner's income counts when the Arena asks for it."""
    arena = card("concert_arena")
    monkeypatch.setitem(EFFECTS, arena, replace(EFFECTS[arena], income=lambda cities, seat, position: 5))
    game = taking("concert_arena", "school igloo", market="yellow")
    assert gains(game) == [(0, "concert_arena", 2 * (1 + 1 + 5))]


def test_art_6_immediate_coins() -> None:
    # The last seat's coins at once are paid in its turn, before the next round's incomes.
    for special in ["joke_shop", "race_circuit", "concert_arena"]:
        game = expert(
            Phase.SPECIAL,
            seat=1,
            cities=("", "grocery school igloo house garage"),
            specials=special,
            centre=CENTRE,
        )
        play(game, f"take {special}")
        kinds = [event.kind for event in game.events]
        assert (
            kinds.index(EventKind.TAKE)
            < kinds.index(EventKind.EFFECT_PAID)
            < kinds.index(EventKind.INCOME_PAID)
        )

    # A special left on the table does nothing for anybody.
    for special in ["joke_shop", "race_circuit", "concert_arena"]:
        game = expert(
            Phase.SPECIAL, cities=("grocery school igloo house garage",), specials=special, centre=CENTRE
        )
        assert gains(play(game, "decline")) == []
        assert game.view().coins == (2, 2)
