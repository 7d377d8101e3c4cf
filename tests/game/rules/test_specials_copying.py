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
    """Return the inhabitants and hearts of a seat."""
    return outcome.inhabitants[seat], outcome.hearts[seat]


# Pyramid -------------------------------------------------------------------------------------------------

PYRAMID = "hospital museum pyramid"  # at position 3, beside 2 inhabitants and 2 hearts


@pytest.mark.parametrize(
    ("opponent", "copied"),
    [
        ("grocery florist zoo", (0, 3)),
        ("grocery florist treehouse bank", (3, 0)),
        ("grocery florist luxury_residence", (3, 0)),
        ("zoo treehouse grocery", (0, 0)),
        ("zoo treehouse", (0, 0)),
    ],
)
def test_art_6_pyramid_copies_the_card_at_its_position(opponent: str, copied: tuple[int, int]) -> None:
    """At the end it has the symbols of the neighbour's card at the same position, a dwelling's too."""
    inhabitants, hearts = copied
    assert symbols(ended(cities=(PYRAMID, opponent))) == (2 + inhabitants, 2 + hearts)


def test_art_6_pyramid_copies_in_the_second_row() -> None:
    """Positions go on to 9."""
    outcome = ended(
        cities=(
            "hospital museum grocery florist bank bookshop pyramid",
            "grocery florist bank bookshop house school zoo",
        )
    )
    assert symbols(outcome) == (2 + 1 + 1, 2 + 1 + 3)


@pytest.mark.parametrize(
    ("left", "right"), [("grocery florist zoo", "igloo house"), ("igloo house", "bank bookshop zoo")]
)
def test_art_6_pyramid_with_a_single_candidate(left: str, right: str) -> None:
    """If only one neighbour has a card there, it is copied, whichever side it is on."""
    assert symbols(ended(cities=(PYRAMID, left, right))) == (2, 2 + 3)


def test_art_6_pyramid_copies_one_card_only() -> None:
    """Of two candidates one is copied, not both."""
    outcome = ended(cities=(PYRAMID, "grocery florist school", "bank bookshop police_station"))
    assert symbols(outcome) == (2 + 1, 2)


@pytest.mark.parametrize(
    ("left", "right"),
    [("grocery florist zoo", "bank bookshop school"), ("bank bookshop school", "grocery florist zoo")],
)
def test_art_6_pyramid_takes_the_better_candidate(left: str, right: str) -> None:
    """The candidate that makes more points for the owner is copied, left or right: here 3 hearts, not 1."""
    outcome = ended(cities=(PYRAMID, left, right))
    assert symbols(outcome) == (2, 2 + 3)
    assert outcome.points[0] == 10


@pytest.mark.parametrize(("scoring", "points"), [(Scoring.PRODUCT, 1 * 2), (Scoring.SUM, 4 + 0)])
def test_art_6_pyramid_takes_what_is_better_in_points(scoring: Scoring, points: int) -> None:
    """Points decide, as the game is scored: with 1 inhabitant and -1 heart, 3 hearts or 3 inhabitants."""
    outcome = ended(
        cities=("school factory pyramid", "grocery florist zoo", "bank bookshop treehouse"), scoring=scoring
    )
    assert outcome.points[0] == points


@pytest.mark.parametrize(
    ("left", "right", "copied"),
    [
        ("grocery florist school", "bank bookshop library", (1, 0)),
        ("bank bookshop library", "grocery florist school", (0, 1)),
    ],
)
def test_art_6_pyramid_takes_the_left_neighbours_card_on_a_tie(
    left: str, right: str, copied: tuple[int, int]
) -> None:
    """An inhabitant and a heart make equal points here: the card of the seat after the owner's is copied."""
    for seat in range(3):
        around = (PYRAMID, left, right)
        cities = [around[(other - seat) % 3] for other in range(3)]
        outcome = ended(cities=cities)
        assert symbols(outcome, seat) == (2 + copied[0], 2 + copied[1])
        assert outcome.points[seat] == 6


def test_art_6_pyramid_copies_a_single_candidate_even_if_it_harms() -> None:
    """A crossed-out symbol is copied if there is nothing else."""
    outcome = ended(cities=(PYRAMID, "grocery florist factory", "igloo house"))
    assert symbols(outcome) == (2, 2 - 1)


def test_art_6_pyramid_avoids_harm_if_it_can() -> None:
    """Of a harmful and a useless candidate the useless one is copied."""
    outcome = ended(cities=(PYRAMID, "grocery florist factory", "igloo house shoe_shop"))
    assert symbols(outcome) == (2, 2)


@pytest.mark.parametrize(
    ("left", "right", "copied"),
    [
        ("grocery florist statue_of_liberty", "", (0, 0)),
        ("grocery florist statue_of_liberty", "bank bookshop school", (1, 0)),
        ("grocery florist statue_of_liberty", "bank bookshop factory", (0, -1)),
        ("grocery florist race_circuit", "bank bookshop statue_of_liberty", (0, 0)),
    ],
)
def test_art_6_pyramid_copies_no_special(left: str, right: str, copied: tuple[int, int]) -> None:
    """A special at the position is no candidate, whatever it shows."""
    assert symbols(ended(cities=(PYRAMID, left, right))) == (2 + copied[0], 2 + copied[1])


def test_art_6_pyramid_copies_neighbours_only() -> None:
    """The card of who sits opposite is no candidate."""
    assert symbols(ended(cities=(PYRAMID, "", "grocery florist zoo", ""))) == (2, 2)


def test_art_6_pyramid_copies_at_the_end_only() -> None:
    """During the game it has no income."""
    opponent = "grocery florist garage"
    assert expert(Phase.BUY, cities=(PYRAMID, opponent), centre=CENTRE).view().incomes[0] == 1
    game = next_round(cities=(PYRAMID, opponent), coins=(0, 0))
    assert game.view().coins[0] == 1


@pytest.mark.parametrize(
    ("opponent", "hearts"),
    [
        ("haunted_house house garage taj_mahal", 3),
        ("haunted_house garage house taj_mahal", 1),
    ],
)
def test_art_6_pyramid_income_counts_in_comparisons_at_the_end(opponent: str, hearts: int) -> None:
    """The copied income of 2 lifts the owner's 3 above the 4 of a Taj Mahal's owner."""
    outcome = ended(cities=("hospital casino pyramid", opponent), coins=(5, 5))
    assert outcome.hearts[1] == hearts
    assert outcome.coins == (5, 5)


# Sphinx: the choice --------------------------------------------------------------------------------------

SPHINX = "hospital house sphinx"  # 3 inhabitants


def test_art_6_sphinx_chooses_at_the_end() -> None:
    """After the last turn of the last round the owner chooses among the opponents' specials and the box."""
    game = last_turn_over(cities=("castle", "", SPHINX, "garden"))
    assert (game.phase, game.seat, game.round, game.outcome) == (Phase.SPHINX, 2, 30, None)
    assert options(game) == ["copy box", "copy 0", "copy 3"]


def test_art_6_sphinx_chooses_after_a_city_is_full() -> None:
    """The choice belongs to the round in which the game ends."""
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


def test_art_6_sphinx_may_always_copy_the_box() -> None:
    """The box is there even if all opponents have specials, and it is the neutral choice."""
    game = last_turn_over(cities=(SPHINX, "castle", "garden", "palace", "barber"))
    assert options(game) == ["copy box", "copy 1", "copy 2", "copy 3", "copy 4"]
    assert str(game.neutral_move) == "copy box"
    assert play(game, "copy box").outcome is not None


@pytest.mark.parametrize("move", ["copy 0", "copy 2", "copy 4"])
def test_art_6_sphinx_copies_a_special_of_an_opponent(move: str) -> None:
    """Neither the owner's seat nor one without a special, or not at the table, can be chosen."""
    game = last_turn_over(cities=(SPHINX, "castle", "", "garden"))
    with pytest.raises(IllegalMoveError):
        play(game, move)


def test_art_5_1_sphinx_without_opponents_specials_is_no_decision() -> None:
    """Then the box is the only option: the engine applies it, reports it, and the game is over."""
    game = last_turn_over(cities=(SPHINX, "", ""))
    assert game.outcome is not None
    copies = [event for event in game.events if event.kind is EventKind.COPY]
    assert [event.seat for event in copies] == [0]
    assert copies[0].card not in {None, card("sphinx")}


def test_art_6_sphinx_choice_is_told() -> None:
    """An event names the owner and the special that is copied."""
    game = play(last_turn_over(cities=("castle", SPHINX)), "copy 0")
    assert game.events == (Event(EventKind.COPY, 1, card("castle")),)


def test_art_6_sphinx_chooses_from_a_view() -> None:
    """A game continued from the view of the choice has the same options."""
    game = expert(Phase.SPHINX, round=12, seat=1, cities=("castle", SPHINX))
    assert options(game) == ["copy box", "copy 0"]
    assert play(game, "copy 0").outcome is not None


def dealt(box: str, *, opponent: bool) -> Game:
    """Return a dealt game of three players at its end; seat 0 has a Sphinx and perhaps seat 1 a Castle."""
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


@pytest.mark.parametrize(
    ("box", "hearts"),
    [("race_circuit statue_of_liberty", 2), ("statue_of_liberty race_circuit", 4), ("garden", 0)],
)
@pytest.mark.parametrize("opponent", [True, False])
def test_art_6_sphinx_takes_the_first_card_of_the_box(box: str, hearts: int, *, opponent: bool) -> None:
    """`copy box`, chosen or forced, copies the first special of the deal's box."""
    game = dealt(box, opponent=opponent)
    if opponent:
        play(game, "copy box")
    assert Event(EventKind.COPY, 0, cards(box)[0]) in game.events
    assert symbols(outcome_of(game)) == (1 + 1, hearts)


def test_art_6_sphinx_in_a_dealt_game_may_copy_an_opponent() -> None:
    """The same game with the other choice copies the Castle, which does nothing at the end."""
    game = play(dealt("race_circuit", opponent=True), "copy 1")
    assert symbols(outcome_of(game)) == (2, 0)


# Sphinx: what is copied ----------------------------------------------------------------------------------


def copy_of(
    city: str, *others: str, markets: Sequence[str] = (), coins: Sequence[int] = (), choice: str = "copy 1"
) -> Game:
    """Return a finished game in which the Sphinx in `city`, of seat 0, has copied a special."""
    return play(last_turn_over(cities=(city, *others), markets=markets, coins=coins), choice)


def test_art_6_sphinx_copies_a_garden() -> None:
    """The owner's points below 30 are doubled, and the other Garden's too."""
    outcome = outcome_of(copy_of("hospital library house sphinx", "hospital museum garden"))
    assert outcome.points == (2 * 3, 2 * 4)


def test_art_6_sphinx_copies_a_concert_arena() -> None:
    """The owner loses points equal to the income, and gains no coins."""
    outcome = outcome_of(
        copy_of("hospital museum house garage sphinx", "school library concert_arena", coins=(4, 4))
    )
    assert outcome.points == (4 * 2 - 3, 1 * 1 - 1)
    assert outcome.coins == (4, 4)


def test_art_6_sphinx_copies_a_pyramid() -> None:
    """The copied Pyramid looks at the Sphinx's position, the original at its own."""
    outcome = outcome_of(copy_of("hospital house sphinx museum", "school florist zoo pyramid"))
    assert symbols(outcome, 0) == (3, 2 + 3)
    assert symbols(outcome, 1) == (1, 1 + 3 + 2)


def test_art_6_sphinx_copies_a_pyramid_with_two_candidates() -> None:
    """The better candidate is taken, here of the neighbour who isn't copied."""
    outcome = outcome_of(
        copy_of("hospital museum sphinx", "school florist factory pyramid", "bank bookshop zoo")
    )
    assert symbols(outcome, 0) == (2, 2 + 3)


def test_art_6_sphinx_copies_an_art_gallery() -> None:
    """The card before the Sphinx counts twice, whatever the gallery's owner has."""
    game = copy_of("hospital casino sphinx", "school library art_gallery")
    assert symbols(outcome_of(game), 0) == (2, 2 + 2)
    assert symbols(outcome_of(game), 1) == (1, 1 + 1)
    assert game.view().incomes[0] == 1 + 2 + 2


def test_art_6_sphinx_copies_a_statue_of_liberty() -> None:
    """It has the 4 hearts; nothing is discarded and no card moves."""
    game = copy_of("hospital house sphinx school", "school library statue_of_liberty")
    assert symbols(outcome_of(game), 0) == (2 + 1 + 1, 4)
    assert game.view().cities[0][1:] == cards("hospital house sphinx school")
    assert game.view().discards == (0, 0, 0)
    assert {event.kind for event in game.events} == {EventKind.COPY}


@pytest.mark.parametrize(("special", "hearts"), [("joke_shop", 0), ("race_circuit", 2)])
def test_art_6_sphinx_triggers_no_immediate_effects(special: str, hearts: int) -> None:
    """A copied Joke Shop or Race Circuit pays nobody; what it prints counts."""
    game = copy_of(SPHINX, special, coins=(5, 6))
    assert gains(game) == []
    assert outcome_of(game).coins == (5, 6)
    assert symbols(outcome_of(game)) == (3, hearts)


@pytest.mark.parametrize("special", ["harbour", "big_ben", "palace", "louvre", "arcade", "castle"])
def test_art_6_sphinx_may_copy_in_vain(special: str) -> None:
    """What has no effect at the end has none as a copy."""
    outcome = outcome_of(copy_of(f"{SPHINX} library", special, coins=(5, 6)))
    assert (outcome.points, outcome.coins) == ((3, 0), (5, 6))


@pytest.mark.parametrize(
    ("barber", "sphinx", "incomes"),
    [
        ("florist school barber", "garage sphinx", (4, 2 + 3, 3)),
        ("garage barber", "florist sphinx", (4, 3, 2 + 3)),
        ("florist barber", "bank sphinx", (4, 2, 2)),
        ("grand_hotel restaurant barber", "spa casino sphinx", (4, 5, 5)),
    ],
)
def test_art_6_2_two_barbers_compare_without_their_3(
    barber: str, sphinx: str, incomes: tuple[int, int, int]
) -> None:
    """With a copied Barber only the strictly lowest income, without either's 3, gets 3."""
    game = last_turn_over(
        cities=("garage haunted_house taj_mahal", barber, sphinx), markets=("yellow", "blue", "green")
    )
    assert play(game, "copy 1").view().incomes == incomes


@pytest.mark.parametrize(
    ("barber", "sphinx", "hearts"),
    [
        ("florist school barber", "garage sphinx", 1),
        ("grand_hotel restaurant barber", "spa casino sphinx", 3),
        ("grand_hotel restaurant barber", "florist sphinx", 3),
    ],
)
def test_art_6_2_a_copied_barber_counts_for_a_taj_mahal(barber: str, sphinx: str, hearts: int) -> None:
    """The Taj Mahal's owner, with an income of 4, is compared with the full incomes."""
    game = last_turn_over(
        cities=("garage haunted_house taj_mahal", barber, sphinx), markets=("yellow", "blue", "green")
    )
    assert outcome_of(play(game, "copy 1")).hearts[0] == hearts


@pytest.mark.parametrize(("choice", "income", "hearts"), [("copy 1", 2 + 2, 3), ("copy 0", 2, 1)])
def test_art_6_sphinx_copies_a_greengrocer(choice: str, income: int, hearts: int) -> None:
    """The pairs of the Sphinx's own city are income that lifts its owner above a Taj Mahal's 3."""
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


def test_art_6_sphinx_copies_a_taj_mahal() -> None:
    """Both compare: only the one with the lower income has 3 hearts."""
    outcome = outcome_of(copy_of("school sphinx", "garage taj_mahal"))
    assert (outcome.hearts[0], outcome.hearts[1]) == (3, 1)


def test_art_6_sphinx_copies_a_burger_bar() -> None:
    """Cards are counted from the Sphinx's owner."""
    outcome = outcome_of(
        copy_of("school hospital sphinx", "police_station burger_bar", markets=("green", "yellow"))
    )
    assert outcome.hearts == (3, 1)


def test_art_6_sphinx_copies_a_machu_picchu() -> None:
    """The left neighbour is the Sphinx's owner's."""
    outcome = outcome_of(
        copy_of(
            "library house sphinx",
            "restaurant machu_picchu",
            "spa casino",
            markets=("green", "orange", "yellow"),
        )
    )
    assert outcome.inhabitants == (1 + 2, 2, 0)


def test_art_6_sphinx_copies_an_easter_island() -> None:
    """The size of the Sphinx's own city counts."""
    nine = "school police_station house grocery hospital garage shoe_shop sphinx"
    assert outcome_of(copy_of(nine, "easter_island")).hearts == (2, 4)


def test_art_6_sphinx_copies_a_golden_gate() -> None:
    """The copy stands where the Sphinx stands."""
    outcome = outcome_of(copy_of("library hospital sphinx museum", "golden_gate"))
    assert symbols(outcome) == (2 + 1, 1 + 2 + 1)


def test_art_6_sphinx_copies_from_any_opponent() -> None:
    """The special of who sits opposite can be copied."""
    game = copy_of(SPHINX, "", "garden museum", "", choice="copy 2")
    assert game.events == (Event(EventKind.COPY, 0, card("garden")),)
    assert outcome_of(game).points == (0, 0, 0, 0)


def test_art_6_sphinx_leaves_the_original_where_it_is() -> None:
    """The opponent keeps the special, and the city of the Sphinx its Sphinx."""
    game = copy_of(SPHINX, "statue_of_liberty")
    assert outcome_of(game).hearts == (4, 4)
    assert [city[-1] for city in game.view().cities] == list(cards("sphinx statue_of_liberty"))


def test_art_6_3_the_choice_comes_before_the_pyramids_copy() -> None:
    """A Pyramid next to a Sphinx finds a special there, whatever it copies."""
    outcome = outcome_of(
        copy_of("grocery florist sphinx", "hospital museum pyramid", "statue_of_liberty", choice="copy 2")
    )
    assert symbols(outcome, 1) == (2, 2)
