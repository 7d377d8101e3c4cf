"""Expert specials that copy: Pyramid and Sphinx (chapter 6, article 6.3)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.game.rules.positions import (
    card,
    cards,
    ended,
    expert,
    gains,
    last_turn_over,
    next_round,
    options,
    outcome_of,
    play,
    skip_to,
    stacked_deal,
)

from happycity import Event, EventKind, Game, IllegalMoveError, Mode, Outcome, Phase, Scoring

CENTRE = "bank museum stadium"


def symbols(outcome: Outcome, seat: int = 0) -> tuple[int, int]:
    return outcome.inhabitants[seat], outcome.hearts[seat]


PYRAMID = "hospital museum pyramid"  # at position 3, beside 2 inhabitants and 2 hearts


def test_art_6_pyramid_copies_the_card_at_its_position() -> None:
    # At the end it has the symbols of the neighbour's card at the same position, a dwelling's too.
    for opponent, copied in [
        ("grocery florist zoo", (0, 3)),
        ("grocery florist treehouse bank", (3, 0)),
        ("grocery florist luxury_residence", (3, 0)),
        ("zoo treehouse grocery", (0, 0)),
        ("zoo treehouse", (0, 0)),
    ]:
        inhabitants, hearts = copied
        assert symbols(ended(cities=(PYRAMID, opponent))) == (2 + inhabitants, 2 + hearts)

    # Positions go on to 9.
    outcome = ended(
        cities=(
            "hospital museum grocery florist bank bookshop pyramid",
            "grocery florist bank bookshop house school zoo",
        )
    )
    assert symbols(outcome) == (2 + 1 + 1, 2 + 1 + 3)

    # A special at the position is no candidate, whatever it shows.
    for left, right, copied in [
        ("grocery florist statue_of_liberty", "", (0, 0)),
        ("grocery florist statue_of_liberty", "bank bookshop school", (1, 0)),
        ("grocery florist statue_of_liberty", "bank bookshop factory", (0, -1)),
        ("grocery florist race_circuit", "bank bookshop statue_of_liberty", (0, 0)),
    ]:
        assert symbols(ended(cities=(PYRAMID, left, right))) == (2 + copied[0], 2 + copied[1])

    # The card of who sits opposite is no candidate.
    assert symbols(ended(cities=(PYRAMID, "", "grocery florist zoo", ""))) == (2, 2)

    # During the game it has no income.
    opponent = "grocery florist garage"
    assert expert(Phase.BUY, cities=(PYRAMID, opponent), centre=CENTRE).view().incomes[0] == 1
    game = next_round(cities=(PYRAMID, opponent), coins=(0, 0))
    assert game.view().coins[0] == 1

    # The copied income of 2 lifts the owner's 3 above the 4 of a Taj Mahal's owner.
    for opponent, hearts in [
        ("haunted_house house garage taj_mahal", 3),
        ("haunted_house garage house taj_mahal", 1),
    ]:
        outcome = ended(cities=("hospital casino pyramid", opponent), coins=(5, 5))
        assert outcome.hearts[1] == hearts
        assert outcome.coins == (5, 5)


def test_art_6_pyramid_takes_the_better_candidate() -> None:
    # If only one neighbour has a card there, it is copied, whichever side it is on.
    for left, right in [("grocery florist zoo", "igloo house"), ("igloo house", "bank bookshop zoo")]:
        assert symbols(ended(cities=(PYRAMID, left, right))) == (2, 2 + 3)
    # Of two candidates one is copied, not both.
    outcome = ended(cities=(PYRAMID, "grocery florist school", "bank bookshop police_station"))
    assert symbols(outcome) == (2 + 1, 2)

    # The candidate that makes more points for the owner is copied, left or right: here 3 hearts, not 1.
    for left, right in [
        ("grocery florist zoo", "bank bookshop school"),
        ("bank bookshop school", "grocery florist zoo"),
    ]:
        outcome = ended(cities=(PYRAMID, left, right))
        assert symbols(outcome) == (2, 2 + 3)
        assert outcome.points[0] == 10

    # Points decide, as the game is scored: with 1 inhabitant and -1 heart, 3 hearts or 3 inhabitants.
    for scoring, points in [(Scoring.PRODUCT, 1 * 2), (Scoring.SUM, 4 + 0)]:
        outcome = ended(
            cities=("school factory pyramid", "grocery florist zoo", "bank bookshop treehouse"),
            scoring=scoring,
        )
        assert outcome.points[0] == points

    # An inhabitant and a heart make equal points here: the card of the seat after the owner's is copied.
    for left, right, copied in [
        ("grocery florist school", "bank bookshop library", (1, 0)),
        ("bank bookshop library", "grocery florist school", (0, 1)),
    ]:
        for seat in range(3):
            around = (PYRAMID, left, right)
            cities = [around[(other - seat) % 3] for other in range(3)]
            outcome = ended(cities=cities)
            assert symbols(outcome, seat) == (2 + copied[0], 2 + copied[1])
            assert outcome.points[seat] == 6

    # A crossed-out symbol is copied if there is nothing else.
    outcome = ended(cities=(PYRAMID, "grocery florist factory", "igloo house"))
    assert symbols(outcome) == (2, 2 - 1)
    # Of a harmful and a useless candidate the useless one is copied.
    outcome = ended(cities=(PYRAMID, "grocery florist factory", "igloo house shoe_shop"))
    assert symbols(outcome) == (2, 2)


SPHINX = "hospital house sphinx"  # 3 inhabitants


def test_art_6_sphinx_chooses_at_the_end() -> None:
    # After the last turn of the last round the owner chooses among the opponents' specials and the box.
    game = last_turn_over(cities=("castle", "", SPHINX, "garden"))
    assert (game.phase, game.seat, game.round, game.outcome) == (Phase.SPHINX, 2, 30, None)
    assert options(game) == "copy box, copy 0, copy 3"

    # The choice belongs to the round in which the game ends.
    game = expert(
        Phase.BUY,
        round=7,
        seat=1,
        coins=(2, 9),
        cities=(SPHINX, "school library museum grocery igloo zoo garage castle"),
        centre=CENTRE,
    )
    play(game, "build bank")
    assert (game.phase, game.seat, game.round) == (Phase.SPHINX, 0, 7)

    # The box is there even if all opponents have specials, and it is the neutral choice.
    game = last_turn_over(cities=(SPHINX, "castle", "garden", "palace", "barber"))
    assert options(game) == "copy box, copy 1, copy 2, copy 3, copy 4"
    assert str(game.neutral_move) == "copy box"
    assert play(game, "copy box").outcome is not None

    # Neither the owner's seat nor one without a special, or not at the table, can be chosen.
    for move in ["copy 0", "copy 2", "copy 4"]:
        game = last_turn_over(cities=(SPHINX, "castle", "", "garden"))
        with pytest.raises(IllegalMoveError):
            play(game, move)

    # Then the box is the only option: the engine applies it, reports it, and the game is over.
    game = last_turn_over(cities=(SPHINX, "", ""))
    assert game.outcome is not None
    copies = [event for event in game.events if event.kind is EventKind.COPY]
    assert [event.seat for event in copies] == [0]
    assert copies[0].card not in {None, card("sphinx")}

    # An event names the owner and the special that is copied.
    game = play(last_turn_over(cities=("castle", SPHINX)), "copy 0")
    assert game.events == (Event(EventKind.COPY, 1, card("castle")),)
    # A game continued from the view of the choice has the same options.
    game = expert(Phase.SPHINX, round=12, seat=1, cities=("castle", SPHINX))
    assert options(game) == "copy box, copy 0"
    assert play(game, "copy 0").outcome is not None


def dealt(box: str, *, opponent: bool) -> Game:
    deal = stacked_deal(
        players=3, mode=Mode.EXPERT, decks=("school", "", ""), specials="sphinx castle", box=box
    )
    game = play(Game(deal), "market yellow", "market purple", "market green")
    play(game, "draw 1", "draw 2", "draw 3", "build school")
    if opponent:
        skip_to(game, Phase.BUY, seat=1)
        play(game, "dwell house", "take castle")
    skip_to(game, Phase.BUY, seat=0)
    play(game, "dwell house", "take sphinx")
    while game.outcome is None and game.phase is not Phase.SPHINX:
        game.apply(game.neutral_move)
    return game


def test_art_6_sphinx_takes_the_first_card_of_the_box() -> None:
    # `copy box`, chosen or forced, copies the first special of the deal's box.
    for opponent in [True, False]:
        for box, hearts in [
            ("race_circuit statue_of_liberty", 2),
            ("statue_of_liberty race_circuit", 4),
            ("garden", 0),
        ]:
            game = dealt(box, opponent=opponent)
            if opponent:
                play(game, "copy box")
            assert Event(EventKind.COPY, 0, cards(box)[0]) in game.events
            assert symbols(outcome_of(game)) == (1 + 1, hearts)

    # The same game with the other choice copies the Castle, which does nothing at the end.
    game = play(dealt("race_circuit", opponent=True), "copy 1")
    assert symbols(outcome_of(game)) == (2, 0)


def copy_of(
    city: str, *others: str, markets: Sequence[str] = (), coins: Sequence[int] = (), choice: str = "copy 1"
) -> Game:
    """Return a finished game in which the Sphinx in `city`, of seat 0, has copied a special."""
    return play(last_turn_over(cities=(city, *others), markets=markets, coins=coins), choice)


def test_art_6_sphinx_copies_what_counts_points() -> None:
    # The owner's points below 30 are doubled, and the other Garden's too.
    outcome = outcome_of(copy_of("hospital library house sphinx", "hospital museum garden"))
    assert outcome.points == (2 * 3, 2 * 4)

    # The owner loses points equal to the income, and gains no coins.
    outcome = outcome_of(
        copy_of("hospital museum house garage sphinx", "school library concert_arena", coins=(4, 4))
    )
    assert outcome.points == (4 * 2 - 3, 1 * 1 - 1)
    assert outcome.coins == (4, 4)


def test_art_6_sphinx_copies_what_copies() -> None:
    # The copied Pyramid looks at the Sphinx's position, the original at its own.
    outcome = outcome_of(copy_of("hospital house sphinx museum", "school florist zoo pyramid"))
    assert symbols(outcome, 0) == (3, 2 + 3)
    assert symbols(outcome, 1) == (1, 1 + 3 + 2)

    # The better candidate is taken, here of the neighbour who isn't copied.
    outcome = outcome_of(
        copy_of("hospital museum sphinx", "school florist factory pyramid", "bank bookshop zoo")
    )
    assert symbols(outcome, 0) == (2, 2 + 3)

    # The card before the Sphinx counts twice, whatever the gallery's owner has.
    game = copy_of("hospital casino sphinx", "school library art_gallery")
    assert symbols(outcome_of(game), 0) == (2, 2 + 2)
    assert symbols(outcome_of(game), 1) == (1, 1 + 1)
    assert game.view().incomes[0] == 1 + 2 + 2

    # A Pyramid next to a Sphinx finds a special there, whatever it copies.
    outcome = outcome_of(
        copy_of("grocery florist sphinx", "hospital museum pyramid", "statue_of_liberty", choice="copy 2")
    )
    assert symbols(outcome, 1) == (2, 2)


def test_art_6_sphinx_triggers_nothing_at_once() -> None:
    # It has the 4 hearts; nothing is discarded and no card moves.
    game = copy_of("hospital house sphinx school", "school library statue_of_liberty")
    assert symbols(outcome_of(game), 0) == (2 + 1 + 1, 4)
    assert game.view().cities[0][1:] == cards("hospital house sphinx school")
    assert game.view().discards == (0, 0, 0)
    assert {event.kind for event in game.events} == {EventKind.COPY}

    # A copied Joke Shop or Race Circuit pays nobody; what it prints counts.
    for special, hearts in [("joke_shop", 0), ("race_circuit", 2)]:
        game = copy_of(SPHINX, special, coins=(5, 6))
        assert gains(game) == []
        assert outcome_of(game).coins == (5, 6)
        assert symbols(outcome_of(game)) == (3, hearts)

    # What has no effect at the end has none as a copy.
    for special in ["harbour", "big_ben", "palace", "louvre", "arcade", "castle"]:
        outcome = outcome_of(copy_of(f"{SPHINX} library", special, coins=(5, 6)))
        assert (outcome.points, outcome.coins) == ((3, 0), (5, 6))
    # The opponent keeps the special, and the city of the Sphinx its Sphinx.
    game = copy_of(SPHINX, "statue_of_liberty")
    assert outcome_of(game).hearts == (4, 4)
    assert [city[-1] for city in game.view().cities] == list(cards("sphinx statue_of_liberty"))


def test_art_6_2_two_barbers() -> None:
    # With a copied Barber only the strictly lowest income, without either's 3, gets 3.
    for barber, sphinx, incomes in [
        ("florist school barber", "garage sphinx", (4, 2 + 3, 3)),
        ("garage barber", "florist sphinx", (4, 3, 2 + 3)),
        ("florist barber", "bank sphinx", (4, 2, 2)),
        ("grand_hotel restaurant barber", "spa casino sphinx", (4, 5, 5)),
    ]:
        game = last_turn_over(
            cities=("garage haunted_house taj_mahal", barber, sphinx), markets=("yellow", "blue", "green")
        )
        assert play(game, "copy 1").view().incomes == incomes

    # The Taj Mahal's owner, with an income of 4, is compared with the full incomes.
    for barber, sphinx, hearts in [
        ("florist school barber", "garage sphinx", 1),
        ("grand_hotel restaurant barber", "spa casino sphinx", 3),
        ("grand_hotel restaurant barber", "florist sphinx", 3),
    ]:
        game = last_turn_over(
            cities=("garage haunted_house taj_mahal", barber, sphinx), markets=("yellow", "blue", "green")
        )
        assert outcome_of(play(game, "copy 1")).hearts[0] == hearts

    # The pairs of the Sphinx's own city are income that lifts its owner above a Taj Mahal's 3.
    for choice, income, hearts in [("copy 1", 2 + 2, 3), ("copy 0", 2, 1)]:
        game = last_turn_over(
            cities=(
                "garage taj_mahal",
                "hospital igloo zoo grand_hotel greengrocer",
                "school igloo zoo sphinx",
            ),
            markets=("yellow", "blue", "green"),
        )
        play(game, choice)
        assert game.view().incomes[2] == income
        assert outcome_of(game).hearts[0] == hearts


def test_art_6_sphinx_copies_what_compares() -> None:
    # Both compare: only the one with the lower income has 3 hearts.
    outcome = outcome_of(copy_of("school sphinx", "garage taj_mahal"))
    assert (outcome.hearts[0], outcome.hearts[1]) == (3, 1)

    # The special of who sits opposite can be copied.
    game = copy_of(SPHINX, "", "garden museum", "", choice="copy 2")
    assert game.events == (Event(EventKind.COPY, 0, card("garden")),)
    assert outcome_of(game).points == (0, 0, 0, 0)
