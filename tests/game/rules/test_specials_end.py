"""Expert specials that count at the end (chapter 6, article 6.3)."""

from __future__ import annotations

from collections.abc import Sequence

from tests.game.rules.positions import card, cards, ended, expert

from happycity import Phase, Scoring
from happycity.rules.effects import EFFECTS


def added_by(special: str, city: str, *others: str, markets: Sequence[str], seat: int = 0) -> tuple[int, int]:
    """Return the inhabitants and hearts that a special adds to the city of `seat` at the end.

    `others` are the cities of the other seats, clockwise from the left neighbour on.
    """
    own = f"{city} {special}"
    around = (own, *others)
    outcome = ended(
        cities=[around[(other - seat) % len(around)] for other in range(len(around))], markets=markets
    )
    built = cards(own)
    return (
        outcome.inhabitants[seat] - sum(known.inhabitants for known in built),
        outcome.hearts[seat] - sum(known.hearts for known in built),
    )


HEARTLESS = "grocery garage school shoe_shop police_station hospital house luxury_residence"


def test_art_6_easter_island_likes_small_cities() -> None:
    """2 hearts with exactly 9 cards in the city, market and itself included; 4 with fewer; else none."""
    for size, hearts in [(10, 0), (9, 2), (8, 4), (5, 4)]:
        city = " ".join(HEARTLESS.split()[: size - 2])
        assert added_by("easter_island", city, "", markets=("orange",)) == (0, hearts)


def test_art_6_burger_bar() -> None:
    # 3 hearts with strictly the most blue cards at the table, 2 if tied for the most, else 1.
    #
    # The owner has two of them, the market included; who sits opposite counts like a neighbour.
    for others, hearts in [
        (("police_station",), 3),
        (("police_station hospital",), 2),
        (("police_station hospital laboratory",), 1),
        (("police_station", "museum", "museum"), 3),
        (("", "police_station hospital", ""), 2),
        (("", "police_station hospital laboratory", ""), 1),
        (("museum library", "police_station hospital", ""), 2),
    ]:
        assert added_by("burger_bar", "school house garage", *others, markets=("blue",)) == (0, hearts)

    # Another player's blue market makes a tie.
    assert added_by("burger_bar", "school house garage", "", markets=("green", "blue")) == (0, 2)


def test_art_6_mayan_pyramid_compares_green_cards() -> None:
    """3 hearts with strictly the most green cards at the table, of which the owner has 3, else 1."""
    for others, hearts in [
        (("house igloo",), 3),
        (("house apartment_building igloo",), 1),
        (("house apartment_building igloo treehouse",), 1),
        (("", "house apartment_building igloo", ""), 1),
        (("igloo", "house treehouse", ""), 3),
    ]:
        city = "school hospital igloo treehouse"
        assert added_by("mayan_pyramid", city, *others, markets=("green",)) == (0, hearts)


def test_art_6_machu_picchu() -> None:
    # 1 inhabitant per orange card of the seat after the owner's, and none for the seat before it.
    for seat in [0, 1, 2]:
        markets = ["blue", "green", "purple"]
        markets[(seat + 1) % 3] = "orange"
        added = added_by(
            "machu_picchu", "library restaurant", "spa grand_hotel", "zoo", markets=markets, seat=seat
        )
        assert added == (3, 0)

    # The opponent is the left neighbour.
    assert added_by("machu_picchu", "library zoo garage", "spa", markets=("blue", "orange")) == (2, 0)
    assert added_by("machu_picchu", "library zoo garage", "", markets=("blue", "green"), seat=1) == (0, 0)


def test_art_6_better_neighbour() -> None:
    # 1 inhabitant per blue card of one neighbour, the one with more, not of both and not opposite.
    for others, count in [
        (("museum hospital", "", ""), 2),
        (("", "", "museum hospital"), 2),
        (("school", "", "museum hospital"), 2),
        (("", "museum hospital", ""), 0),
        (("museum hospital",), 2),
        (("",), 0),
    ]:
        added = added_by(
            "stonehenge", "library zoo", *others, markets=("green", "yellow", "orange", "purple")
        )
        assert added == (count, 0)

    # 1 heart per yellow card of one neighbour, the one with more, not of both and not opposite.
    for others, count in [
        (("grocery florist", "", ""), 2),
        (("", "", "grocery florist"), 2),
        (("bank", "", "grocery florist"), 2),
        (("", "grocery florist", ""), 0),
        (("grocery florist",), 2),
        (("",), 0),
    ]:
        added = added_by(
            "tower_of_pisa",
            "school police_station hospital",
            *others,
            markets=("green", "blue", "orange", "purple"),
        )
        assert added == (0, count)

    # The colour of a neighbour's market counts, the owner's own cards don't.
    for special, city, market, added in [
        ("stonehenge", "library zoo house", "blue", (1, 0)),
        ("tower_of_pisa", "school police_station hospital house", "yellow", (0, 1)),
    ]:
        assert added_by(special, city, "", markets=("green", market)) == added


def test_art_6_wind_turbine_counts_green_cards() -> None:
    for market, city, hearts in [
        ("yellow", "school haunted_house garage", 0),
        ("green", "grocery school haunted_house garage", 1),
        ("green", "grocery school haunted_house garage house apartment_building igloo", 4),
    ]:
        assert added_by("wind_turbine", city, "", markets=(market,)) == (0, hearts)


def test_art_6_unwanted_colours() -> None:
    # 3 hearts if no card is orange, the market included.
    for market, city, hearts in [
        ("purple", "grocery school house igloo", 3),
        ("orange", "grocery school house igloo garage", 0),
        ("purple", "grocery school house igloo spa", 0),
    ]:
        assert added_by("red_square", city, "", markets=(market,)) == (0, hearts)

    # 4 inhabitants if no card is green, market and dwellings included.
    for market, city, inhabitants in [
        ("yellow", "school library zoo garage", 4),
        ("green", "grocery school library zoo garage", 0),
        ("yellow", "school library zoo garage house", 0),
        ("yellow", "school library zoo garage treehouse", 0),
    ]:
        assert added_by("greek_temple", city, "", markets=(market,)) == (inhabitants, 0)

    # Orange or green cards of the neighbours don't matter.
    for special in ["red_square", "greek_temple"]:
        assert sum(added_by(special, "school", "spa house", markets=("yellow", "orange"))) > 0


TAJ = "school house haunted_house"  # with its market 2 income


def test_art_6_taj_mahal() -> None:
    # 3 hearts with an income strictly below that of every neighbour, else 1; who sits opposite is none.
    for others, hearts in [
        (("garage", "", "garage"), 3),
        (("garage",), 3),
        (("grocery",), 1),
        (("",), 1),
        (("garage", "garage", "grocery"), 1),
        (("grocery", "garage", "garage"), 1),
        (("garage", "garage", ""), 1),
    ]:
        assert added_by("taj_mahal", TAJ, *others, markets=("yellow",)) == (0, hearts)

    # A Barber's 3 count: its owner's income of 1 is 4, and one of 2 is no longer the lowest.
    for neighbour, hearts in [("school library barber", 3), ("grocery school library barber", 1)]:
        assert added_by("taj_mahal", TAJ, neighbour, markets=("yellow", "green")) == (0, hearts)
    # A neighbour's Louvre or Arcade is no income.
    for special in ("louvre", "arcade"):
        assert added_by("taj_mahal", TAJ, special, markets=("yellow",)) == (0, 1)


def test_art_6_garden() -> None:
    # Points strictly below 30 are doubled, 30 and more stay as they are.
    for market, city, points in [
        ("yellow", "hospital library house zoo ski_resort garden", 2 * 21),
        ("yellow", "hospital library house school zoo ski_resort garden", 2 * 28),
        ("blue", "hospital treehouse zoo ski_resort grocery garden", 30),
        ("blue", "hospital treehouse school zoo ski_resort grocery garden", 36),
        ("yellow", "hospital house garden", 0),
    ]:
        assert ended(cities=(city, ""), markets=(market,)).points == (points, 0)

    # 29 points, which no city makes exactly, are the most to be doubled.
    for points, doubled in [(0, 0), (1, 2), (29, 58), (30, 30), (31, 31)]:
        hook = EFFECTS[card("garden")].points
        assert hook is not None
        assert hook(expert(Phase.BUY, cities=("garden", "")).cities, 0, points) == doubled

    # In sum scoring the sum is doubled.
    city = "hospital library house school zoo ski_resort garden"
    assert ended(cities=(city, ""), scoring=Scoring.SUM).points == (2 * 11, 0)

    # The doubled points are ranked; inhabitants and hearts stay what they are, and others' points too.
    outcome = ended(
        cities=("hospital library house garden", "hospital museum library"), markets=("yellow", "blue")
    )
    assert outcome.inhabitants == (3, 2)
    assert outcome.hearts == (1, 3)
    assert outcome.points == (2 * 3, 6)
    assert outcome.ranks == (1, 1)

    # What is doubled are points made of totals that are at least 0.
    for scoring in list(Scoring):
        outcome = ended(cities=("hospital factory steel_mill garden", ""), scoring=scoring)
        assert outcome.points[0] == (0 if scoring is Scoring.PRODUCT else 2 * 2)


def test_art_6_concert_arena() -> None:
    # At the end the owner's points fall by the income at that time, never below 0.
    for city, points in [
        ("school igloo museum concert_arena", 2 * 2 - 2),
        ("school igloo museum garage concert_arena", 3 * 2 - 4),
        ("school igloo garage concert_arena", 0),
        ("library igloo concert_arena", 0),
        ("library igloo house concert_arena", 0),
        ("library igloo house apartment_building concert_arena", 4 * 1 - 2),
    ]:
        assert ended(cities=(city, ""), markets=("yellow",)).points == (points, 0)

    # In sum scoring the sum falls.
    outcome = ended(
        cities=("school igloo museum concert_arena", ""), markets=("yellow",), scoring=Scoring.SUM
    )
    assert outcome.points == (4 - 2, 0)

    # Only the points are lost.
    outcome = ended(cities=("school igloo museum concert_arena", ""), coins=(7, 2))
    assert (outcome.inhabitants[0], outcome.hearts[0], outcome.coins[0]) == (2, 2, 7)


def test_art_6_3_totals_are_cut_after_the_specials_symbols() -> None:
    # What a special brings makes up for crossed-out symbols before the total is cut at 0.
    for city, hearts in [
        ("factory steel_mill wind_turbine", 0),
        ("factory steel_mill house wind_turbine", 0),
        ("factory steel_mill house igloo wind_turbine", 1),
        ("factory steel_mill race_circuit", 0),
        ("factory steel_mill statue_of_liberty", 2),
    ]:
        assert ended(cities=(city, ""), markets=("green",)).hearts[0] == hearts

    # Incomes are compared at the end, not paid once more.
    outcome = ended(cities=(f"{TAJ} taj_mahal", "school library barber"), coins=(5, 5))
    assert outcome.coins == (5, 5)
