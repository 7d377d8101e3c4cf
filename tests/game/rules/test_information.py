import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.game.rules.positions import NINE, card, cards, options, play, position, view_with
from tests.tables import Table

from happycity import Config, DealError, Game, Mode, Phase, Scoring, View
from happycity.rules.cards import HAPPY_MARKET


def looks_like(view: View, *, seed: int = 1) -> Game:
    return Game.from_view(view, random.Random(seed))


def test_art_7_1_what_is_public() -> None:
    # Cities, coins, centre, specials, stacks, sizes of decks, discards, turn and step: all as they are.
    view = view_with(
        Phase.BUY,
        players=3,
        round=4,
        seat=1,
        coins=(5, 6, 7),
        cities=("museum house", "spa cat_cafe"),
        centre="bank museum zoo",
        specials="toy_store pirate_ship",
        discards=(3, 2, 1),
    )
    assert looks_like(view).view() == View(
        config=Config(players=3),
        round=4,
        seat=1,
        phase=Phase.BUY,
        coins=(5, 6, 7),
        incomes=(1, 4, 1),
        cities=(cards("happy_market museum house"), cards("happy_market spa cat_cafe"), (HAPPY_MARKET,)),
        centre=cards("bank museum zoo"),
        specials=cards("toy_store pirate_ship"),
        dwellings=(1, 2, 2),
        decks=(28 - 1 - 3, 20 - 2 - 2, 18 - 2 - 1),
        discards=(
            cards("haunted_house haunted_house factory"),
            cards("observatory observatory"),
            cards("laboratory"),
        ),
        uses=(0, 0, 0),
    )

    # The dwellings left can be read by id too, empty stacks with 0.
    view = position(Phase.BUY, cities=("house",), centre="spa zoo bank").view()
    assert view.dwellings_left() == {"house": 0, "apartment_building": 1, "luxury_residence": 1}


def test_art_7_2_an_imagined_game_has_hidden_orders_of_its_own() -> None:
    # A game made from a view draws the hidden cards again, from the randomness given.
    view = position(Phase.DRAW, centre="bank museum").view()
    games = [looks_like(view, seed=seed) for seed in range(20)]
    drawn = {play(game, "draw 3").events[0].card for game in games}
    assert len(drawn) > 3

    # A card of the discard pile is there in all these games, so the only other one is the next of the deck.
    view = view_with(Phase.DRAW, centre="bank museum", discards=(0, 0, 17))
    last_cards = {play(looks_like(view, seed=seed), "draw 3").events[-1].card for seed in range(20)}
    assert last_cards == set(cards("amusement_park"))
    # The order of a pile that is yet to be shuffled is drawn again.
    view = view_with(Phase.DRAW, centre="bank museum", discards=(0, 0, 18))
    games = [play(looks_like(view, seed=seed), "draw 3") for seed in range(5)]
    assert len({game.reshuffles[0] for game in games}) == 5


VIEW = view_with(Phase.BUY, coins=(9, 9), centre="museum spa bank")


def test_a_view_keeps_what_the_game_depends_on() -> None:
    # A game from a view knows that a city is full: the round is completed and no more.
    game = position(Phase.DISCARD, seat=1, cities=(NINE,), centre="bank zoo spa")
    play(game, "keep", "coin")
    assert game.outcome is not None

    # A game from a view is scored as the view's configuration says.
    game = position(
        Phase.BUY, seat=1, round=30, scoring=Scoring.SUM, cities=("museum",), centre="bank zoo spa"
    )
    play(game, "coin")
    assert game.outcome is not None
    assert game.outcome.points == (2, 0)

    # Slots and the order of a pile have no meaning: in another order they give the same game and options.
    twice = view_with(Phase.BUY, coins=(9, 9), centre="museum museum bank", discards=(3, 0, 0))
    piles = tuple(pile[::-1] for pile in twice.discards)
    game = looks_like(twice._replace(centre=cards("museum bank museum"), discards=piles))
    assert game.view() == twice
    assert options(game) == options(looks_like(twice))


EXPERT = Game.deal(Config(players=2, mode=Mode.EXPERT), seed=1).view()


def changed(name: str, value: str) -> Any:
    if name in ("seat", "round"):
        return int(value)
    if name == "phase":
        return Phase[value.upper()]
    if name in ("cities", "discards"):
        return tuple(cards(city.replace("-", "")) for city in value.split(" | "))
    return cards(value) if name in ("centre", "specials") else tuple(map(int, value.split()))


def refusal(line: str) -> Iterator[str]:
    kind, *changes = line.split("; ")
    fields = (change.partition(" ") for change in changes)
    view = {"family": VIEW, "expert": EXPERT}[kind]
    assert looks_like(view).view() == view
    with pytest.raises(DealError) as caught:
        looks_like(view._replace(**{name: changed(name, value) for name, _, value in fields}))
    yield str(caught.value)


TABLE = Table(Path(__file__).with_name("views.txt"), refusal)


def test_a_view_that_no_game_can_look_like_is_refused() -> None:
    TABLE.check(least=30)


def test_art_7_2_an_imagined_expert_game_has_a_box_of_its_own() -> None:
    """What a Sphinx finds in the box of a game made from a view is drawn at random."""
    view = EXPERT._replace(
        round=9,
        seat=1,
        phase=Phase.SPHINX,
        cities=(cards("happy_market_blue house castle"), cards("happy_market_green sphinx")),
        incomes=(1, 1),
        specials=cards("pyramid barber"),
        dwellings=(0, 1, 1),
    )
    copies = {play(looks_like(view, seed=seed), "copy box").events[0].card for seed in range(20)}
    assert len(copies) > 3
    assert not copies & {*view.specials, card("sphinx")}


if __name__ == "__main__":
    TABLE.write()
