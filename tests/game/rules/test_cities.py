"""What seats own, apart from any game: read from a view, copied, and supposed with other cards."""

import pytest
from hypothesis import given
from tests.game.rules.positions import card, cards, expert, price_of
from tests.game.rules.test_properties import positions

from happycity import CARDS, Colour, Game, Phase
from happycity.rules.cities import Cities
from happycity.rules.effects import effect_of

CENTRE = "museum spa bank"


def facts(cities: Cities) -> list[object]:
    return [
        [
            cities.coins[seat],
            cities.cards[seat],
            cities.owned[seat],
            cities.printed_incomes[seat],
            cities.income(seat),
            list(cities.prices[seat]),
            cities.special_at[seat],
            cities.effect(seat),
            cities.uses[seat],
            cities.applies(seat),
            cities.coin_gain(seat),
            cities.symbols(seat),
            [cities.count(seat, colour) for colour in Colour],
            cities.eligible(seat, CARDS),
        ]
        for seat in range(cities.config.players)
    ] + [cities.incomes(), cities.longest]


@pytest.mark.level(1)
@given(positions())
def test_cities_of_a_view_are_those_of_the_game(game: Game) -> None:
    assert facts(Cities.of_view(game.view())) == facts(game.cities)


@pytest.mark.level(1)
@given(positions())
def test_supposing_changes_nothing(game: Game) -> None:
    before = facts(game.cities)
    seat, house = game.seat, card("house")
    supposed = game.cities.with_cards(seat, house, house)
    assert supposed.cards[seat] == (*game.cities.cards[seat], house, house)
    supposed.coins[seat] += 1
    supposed.remove_last(seat)
    for position in range(len(game.cities.cards[seat])):
        game.cities.with_card_at(seat, position, house).coins[seat] += 1
    assert facts(game.cities) == before


def test_supposed_cards() -> None:
    # With a special in the city, prices, incomes and uses are those of its owner.
    game = expert(Phase.BUY, cities=("igloo", "school"), centre=CENTRE)
    cities = game.cities.with_cards(0, card("undersea_tunnel"))
    assert (cities.prices[0][card("museum").number], price_of(game, 0, card("museum"))) == (0, 4)
    assert (cities.uses, cities.special_at) == ((1, 0), [2, -1])
    assert cities.effect(0) is effect_of(card("undersea_tunnel"))

    # The city keeps its order; a limited effect of the new card is not used up, one of a rival may be.
    game = expert(Phase.BUY, cities=("igloo garage", "undersea_tunnel"), uses=(0, 0), centre=CENTRE)
    cities = game.cities.with_card_at(0, 1, card("louvre"))
    assert cities.cards[0] == (game.cities.cards[0][0], *cards("louvre garage"))
    assert cities.special_at == [1, 1]
    assert cities.uses == (2, 0)
    assert cities.prices[1][card("museum").number] == 4
    assert [cities.count(0, colour) for colour in (Colour.GREEN, Colour.PURPLE)] == [0, 1]


def test_eligible_are_specials_whose_whole_condition_is_met() -> None:
    game = expert(Phase.BUY, cities=("house igloo", "treehouse factory"), markets=("blue",), centre=CENTRE)
    specials = cards("joke_shop castle harbour")  # 2 green; green and purple; yellow and green
    assert game.cities.eligible(0, specials) == [card("joke_shop")]
    assert game.cities.eligible(1, specials) == [card("castle"), card("harbour")]


def test_the_longest_city_is_found_again_when_another_one_loses_a_card() -> None:
    """The game ends by the longest city (article 4.1), whichever it is."""
    cities = expert(Phase.BUY, cities=("school garage house", "school"), centre=CENTRE).cities
    longest = cities.longest
    cities.remove_last(1)
    assert cities.longest == longest == len(cities.cards[0])
    cities.remove_last(0)
    assert cities.longest == longest - 1


def test_copied_values_add_up() -> None:
    """A special may copy twice: a Sphinx copies a Pyramid, which copies a neighbour's card (article 6.3)."""
    cities = expert(Phase.BUY, cities=("school", "school"), centre=CENTRE).cities
    before, school, spa = cities.symbols(0), card("school"), card("spa")
    cities.copy_values(0, school)
    cities.copy_values(0, spa)
    inhabitants = before[0] + school.inhabitants + spa.inhabitants
    assert cities.symbols(0) == (inhabitants, before[1] + school.hearts + spa.hearts)
