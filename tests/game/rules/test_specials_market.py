"""Expert games (2.7): the colour of a Happy Market, and when each expert special can be taken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.game.rules.positions import card, expert, options, play, position

from happycity import Card, Colour, Config, Event, EventKind, Game, IllegalMoveError, Mode, Phase
from happycity.rules.cards import specials_of

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
    return expert(
        Phase.SPECIAL,
        cities=(" ".join(city), ""),
        markets=(market,),
        specials=special.id,
        centre="bank hospital stadium",
    )


def test_art_2_7_the_draft() -> None:
    # Each seat's city begins with the market of its choice, at position 0, whose income is 1.
    for seat in [0, 1, 2]:
        picks = ["purple", "yellow", "green"]  # of seats 2, 1 and 0
        game = play(
            Game.deal(Config(players=3, mode=Mode.EXPERT), seed=1), *[f"market {colour}" for colour in picks]
        )
        assert game.view().cities[seat] == (card(f"happy_market_{picks[2 - seat]}"),)
        assert game.view().incomes == (1, 1, 1)

    # A colour that a later seat has picked is not legal any more.
    game = play(Game.deal(Config(players=3, mode=Mode.EXPERT), seed=1), "market green")
    assert (game.seat, "market green" in options(game)) == (1, False)
    with pytest.raises(IllegalMoveError):
        play(game, "market green")

    # During the draft everybody has 2 coins, an empty city and sees the specials.
    view = play(Game.deal(Config(players=4, mode=Mode.EXPERT), seed=1), "market blue").view()
    assert view.coins == (2, 2, 2, 2)
    assert [len(city) for city in view.cities] == [0, 0, 0, 1]
    assert len(view.specials) == 6


def test_art_3_10_conditions_of_expert_specials() -> None:
    # A special can be taken with the stated cards and none beside them.
    for special in specials_of(Mode.EXPERT):
        game = about_to_take(special, just_enough(special), other_colour(special))
        assert options(game) == f"decline, take {special.id}"

    # A special can't be taken with one card too few of any of its colours.
    for special in specials_of(Mode.EXPERT):
        for _, city in one_short(special):
            game = about_to_take(special, city, other_colour(special))
            assert game.events == (Event(EventKind.DECLINE, 0),)

    # The coloured market makes up for a missing card of its colour.
    for special in specials_of(Mode.EXPERT):
        for colour, city in one_short(special):
            assert f"take {special.id}" in options(about_to_take(special, city, colour))


def one_short(special: Card) -> Iterator[tuple[str, list[str]]]:
    for colour in special.condition:
        city = just_enough(special)
        city.remove(OF_COLOUR[colour].split()[0])
        yield str(colour), city


def test_art_6_a_special_has_no_colour() -> None:
    # A special met by the colours of a city takes none of them away and adds none.
    game = about_to_take(card("joke_shop"), ["igloo", "house"], "yellow")
    before = [game.cities.count(0, colour) for colour in Colour]
    play(game, "take joke_shop")
    assert [game.cities.count(0, colour) for colour in Colour] == before

    # Who has a special is not asked again, whatever is met.
    game = expert(
        Phase.SPECIAL,
        cities=("igloo house castle", ""),
        specials="joke_shop",
        centre="bank hospital stadium",
    )
    assert game.seat == 1

    # In family mode the market is no card of any colour.
    game = position(Phase.SPECIAL, cities=("house", ""), specials="cat_cafe", centre="bank hospital stadium")
    assert game.events == (Event(EventKind.DECLINE, 0),)
