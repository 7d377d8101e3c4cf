"""Expert games: the colour of a Happy Market (2.7), when specials are taken, and what examples can't show."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.game.rules import positions

from happycity import Card, Colour, Event, EventKind, Game, Mode, Phase
from happycity.rules.cards import specials_of
from happycity.rules.effects import EFFECTS

# Cards of each colour, enough for any condition.
OF_COLOUR = {
    Colour.YELLOW: "grocery shoe_shop",
    Colour.BLUE: "school library museum",
    Colour.GREEN: "igloo house",
    Colour.ORANGE: "zoo spa",
    Colour.PURPLE: "garage offices",
}


def just_enough(special: Card) -> list[str]:
    """Return the cards of a city that meets a condition with none to spare, its market not counted."""
    return [
        card_id
        for colour, count in special.condition.items()
        for card_id in OF_COLOUR[colour].split()[:count]
    ]


def other_colour(special: Card) -> str:
    """Return a market's colour that the special doesn't ask for."""
    return next(str(colour) for colour in Colour if colour not in special.condition)


def about_to_take(special: Card, city: list[str], market: str) -> Game:
    """Return a game in which seat 0 has come to its special step, or has passed it without a choice."""
    return positions.expert(
        Phase.SPECIAL,
        cities=(" ".join(city), ""),
        markets=(market,),
        specials=special.id,
        centre="bank hospital stadium",
    )


def test_art_3_10_conditions_of_expert_specials() -> None:
    # A special can be taken with the stated cards and none beside them.
    for special in specials_of(Mode.EXPERT):
        game = about_to_take(special, just_enough(special), other_colour(special))
        assert positions.options(game) == f"decline, take {special.id}"

    # A special can't be taken with one card too few of any of its colours.
    for special in specials_of(Mode.EXPERT):
        for _, city in one_short(special):
            game = about_to_take(special, city, other_colour(special))
            assert game.events == (Event(EventKind.DECLINE, 0),)

    # The coloured market makes up for a missing card of its colour.
    for special in specials_of(Mode.EXPERT):
        for colour, city in one_short(special):
            assert f"take {special.id}" in positions.options(about_to_take(special, city, colour))


def one_short(special: Card) -> Iterator[tuple[str, list[str]]]:
    for colour in special.condition:
        city = just_enough(special)
        city.remove(OF_COLOUR[colour].split()[0])
        yield str(colour), city


def test_art_6_a_special_has_no_colour() -> None:
    # A special met by the colours of a city takes none of them away and adds none.
    game = about_to_take(positions.card("joke_shop"), ["igloo", "house"], "yellow")
    before = [game.cities.count(0, colour) for colour in Colour]
    positions.play(game, "take joke_shop")
    assert [game.cities.count(0, colour) for colour in Colour] == before

    # A seat that has a special is not offered another one, even if its city meets a condition.
    game = positions.expert(
        Phase.SPECIAL, cities=("igloo house castle", ""), specials="joke_shop", centre="bank hospital stadium"
    )
    assert game.seat == 1

    # In family mode the market is no card of any colour.
    game = positions.position(
        Phase.SPECIAL, cities=("house", ""), specials="cat_cafe", centre="bank hospital stadium"
    )
    assert game.events == (Event(EventKind.DECLINE, 0),)

    # A replaced card counts for no colour any more, and the card that an Art Gallery counts twice for one.
    game = positions.play(
        about_to_take(positions.card("statue_of_liberty"), ["school", "library", "museum"], "yellow"),
        "take statue_of_liberty",
    )
    assert game.cities.count(0, Colour.BLUE) == 2
    game = positions.expert(Phase.BUY, cities=("school library garage art_gallery", ""))
    assert game.cities.count(0, Colour.PURPLE) == 1


def dealt(box: str, *, opponent: bool) -> Game:
    """Return an expert game at its end, in which seat 0 has a Sphinx, and an opponent perhaps a Castle."""
    deal = positions.stacked_deal(
        players=3, mode=Mode.EXPERT, decks=("school", "", ""), specials="sphinx castle", box=box
    )
    game = positions.play(Game(deal), "market yellow", "market purple", "market green")
    positions.play(game, "draw 1", "draw 2", "draw 3", "build school")
    if opponent:
        positions.skip_to(game, Phase.BUY, seat=1)
        positions.play(game, "dwell house", "take castle")
    positions.skip_to(game, Phase.BUY, seat=0)
    positions.play(game, "dwell house", "take sphinx")
    while game.outcome is None and game.phase is not Phase.SPHINX:
        game.apply(game.neutral_move)
    return game


def test_art_6_sphinx_takes_the_first_card_of_the_box() -> None:
    for opponent in (True, False):
        for box, hearts in (("race_circuit statue_of_liberty", 2), ("statue_of_liberty race_circuit", 4)):
            game = dealt(box, opponent=opponent)
            if opponent:
                positions.play(game, "copy box")
            assert Event(EventKind.COPY, 0, positions.cards(box)[0]) in game.events
            assert (positions.outcome_of(game).inhabitants[0], positions.outcome_of(game).hearts[0]) == (
                2,
                hearts,
            )


def test_art_6_garden_doubles_points_below_30() -> None:
    hook = EFFECTS[positions.card("garden")].points
    assert hook is not None
    cities = positions.expert(Phase.BUY, cities=("garden", "")).cities
    assert [hook(cities, 0, points) for points in (0, 1, 29, 30, 31)] == [0, 2, 58, 30, 31]


def test_art_6_palace_takes_nothing_where_there_is_nothing() -> None:
    """The markets' incomes prevent that in a real game."""
    steal = EFFECTS[positions.card("palace")].after_income
    assert steal is not None
    game = positions.expert(Phase.BUY, coins=(5, 0, 0), cities=("palace", "", ""))
    assert [coins for _, coins in steal(game.cities, 0, 3) if coins] == []


def test_art_6_2_concert_arena_pays_for_the_whole_income(monkeypatch: pytest.MonkeyPatch) -> None:
    arena = positions.card("concert_arena")
    monkeypatch.setitem(EFFECTS, arena, replace(EFFECTS[arena], income=lambda cities, seat, position: 5))
    game = positions.expert(
        Phase.SPECIAL, cities=("school igloo",), markets=("yellow",), specials="concert_arena"
    )
    assert positions.play(game, "take concert_arena").view().coins[0] == 2 + 2 * (1 + 1 + 5)
