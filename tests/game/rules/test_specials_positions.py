"""Expert specials that look at positions in the city, and the one that takes a position (chapter 6, 6.4)."""

from __future__ import annotations

from tests.game.rules.positions import card, cards, ended, expert, options, outcome_of, play, skip_to

from happycity import Colour, Event, EventKind, Game, Phase

CENTRE = "bank hospital stadium"
OF_COLOUR = {
    "y": ("grocery", "shoe_shop", "hardware_store", "perfumery", "florist"),
    "b": ("school", "library", "museum", "hospital", "laboratory"),
    "g": ("house", "apartment_building", "luxury_residence", "igloo", "treehouse"),
    "o": ("grand_hotel", "restaurant", "spa", "casino", "zoo"),
    "p": ("garage", "offices", "factory", "steel_mill"),
}
MARKETS = {"y": "yellow", "b": "blue", "g": "green", "o": "orange", "p": "purple"}


def added_by(special: str, layout: str) -> tuple[int, int]:
    """Return the inhabitants and hearts that a special adds to a city.

    `layout` has the colours of the city by position: two rows of five, first letters, `*` for the special.
    """
    market, colours = layout[0], layout[1:].replace(" ", "")
    stock = {colour: iter(names) for colour, names in OF_COLOUR.items()}
    city = [special if colour == "*" else next(stock[colour]) for colour in colours]
    outcome = ended(cities=(" ".join(city), ""), markets=(MARKETS[market],))
    built = cards(" ".join(city))
    return (
        outcome.inhabitants[0] - sum(known.inhabitants for known in built),
        outcome.hearts[0] - sum(known.hearts for known in built),
    )


def test_art_6_golden_gate() -> None:
    # Two adjacent cards that share a colour bring 1 heart and 1 inhabitant, three bring 2 hearts and 1.
    for layout, inhabitants, hearts in [
        # in the middle of the first row: left, right and below
        ("yyb*g bgooy", 0, 0),
        ("yyb*b bgooy", 1, 1),
        ("yyb*g bgoby", 1, 1),
        ("yyb*g bgogy", 1, 1),
        ("yyb*b bgoby", 1, 2),
        # as yet without a card below, or to the right
        ("yyb*b", 1, 1),
        ("yyb*", 0, 0),
        # in the middle of the second row: left, right and above
        ("yybgo yo*op", 1, 1),
        ("yybgo yb*bp", 1, 2),
        ("yybgo yo*bp", 1, 1),
        ("yybgo yo*yp", 0, 0),
        # Nothing is to the right of a row's last card.
        # position 4: left (3) and below (9); not position 5, which begins the second row
        ("yybo* oggpb", 0, 0),
        ("yybo* bggpo", 1, 1),
        ("yybo* ogg", 0, 0),
        # position 9: left (8) and above (4)
        ("yybog yppg*", 1, 1),
        ("yybog ypgp*", 0, 0),
        # Nothing is to the left of a row's first card; the market above it has a colour.
        # position 5: right (6) and above (0, the market); not position 4, which ends the first row
        ("yybbo *oggp", 0, 0),
        ("oybby *oggp", 1, 1),
        ("oybbo *oggp", 1, 1),
        ("oybbo *", 0, 0),
    ]:
        assert added_by("golden_gate", layout) == (inhabitants, hearts)

    # The market is an adjacent card like any other.
    assert added_by("golden_gate", "b*byy gg") == (1, 1)
    assert added_by("golden_gate", "b*byy gb") == (1, 2)


def test_art_6_great_wall() -> None:
    # 3 hearts if the two cards after it share a colour, else 1; cards further on don't matter.
    for layout, hearts in [
        ("yybg*oo", 3),
        ("yybg*op", 1),
        ("yybg*opp", 1),
        ("yyb*ggo", 3),
        ("yyb*gog", 1),
        ("ybgppo* bb", 3),
        ("ybgppo* bg", 1),
        # After position 4 comes position 5.
        ("yyb*g gooop", 3),
        ("yybg* ooyyp", 3),
        ("yyb*g ogggp", 1),
    ]:
        assert added_by("great_wall", layout) == (0, hearts)
    # Last or next to last in the city there are no two cards to share a colour: 1 heart.
    for layout in ["yybg*", "yybgg*", "yybg*g", "yybgo ggpp*", "yybgo ggp*p"]:
        assert added_by("great_wall", layout) == (0, 1)


def test_art_6_billiard_hall() -> None:
    # 1 income per colour among the cards before it, the market too; later cards bring no more.
    for market, city, printed, colours in [
        ("yellow", "grocery school house billiard_hall", 2, 3),
        ("purple", "grocery school house billiard_hall", 2, 4),
        ("purple", "grocery school house zoo billiard_hall", 2, 5),
        ("yellow", "grocery shoe_shop school library igloo billiard_hall", 4, 3),
        ("yellow", "grocery school house billiard_hall zoo garage", 4, 3),
        ("yellow", "grocery school house zoo garage billiard_hall", 4, 5),
    ]:
        game = expert(Phase.BUY, cities=(city, ""), markets=(market,), centre=CENTRE)
        assert game.view().incomes[0] == printed + colours

    # A new colour bought later adds nothing but its own income.
    game = expert(
        Phase.BUY,
        coins=(9, 9),
        cities=("grocery school house billiard_hall", ""),
        markets=("yellow",),
        centre="garage museum zoo",
    )
    assert play(game, "build garage").view().incomes[0] == 2 + 3 + 2


def test_art_6_art_gallery() -> None:
    # Income, inhabitants and hearts of the card before it count twice, crossed-out symbols too.
    for city, income, inhabitants, hearts in [
        ("school library garage art_gallery", 1 + 2 + 2, 1 + 1 + 1, 1),
        ("school museum stadium art_gallery", 1 + 1 + 1, 1, 2 + 3 + 3),
        ("school library house art_gallery", 1, 1 + 1 + 1, 1),
        ("school library museum factory art_gallery", 1 + 1 + 1, 1, 1 + 2 - 1 - 1),
        ("school library garage art_gallery stadium", 1 + 2 + 2 + 1, 3, 1 + 3),
        ("school library garage zoo art_gallery", 1 + 2, 2, 1 + 3 + 3),
    ]:
        game = expert(Phase.BUY, cities=(city, ""), markets=("yellow",), centre=CENTRE)
        assert game.view().incomes[0] == income
        outcome = ended(cities=(city, ""), markets=("yellow",))
        assert (outcome.inhabitants[0], outcome.hearts[0]) == (inhabitants, hearts)

    # The card before position 5 is at position 4, not above it.
    outcome = ended(cities=("school library house zoo art_gallery", ""))
    assert (outcome.inhabitants[0], outcome.hearts[0]) == (2, 1 + 3 + 3)

    # Taken in a round, the gallery's income is paid with the next incomes, and in those after.
    game = expert(
        Phase.SPECIAL,
        seat=1,
        cities=("", "school library garage"),
        markets=("blue", "yellow"),
        specials="art_gallery",
        centre=CENTRE,
    )
    play(game, "take art_gallery")
    assert Event(EventKind.INCOME_PAID, 1, coins=1 + 2 + 2) in game.events

    # The colour of the card before it counts once.
    game = expert(Phase.BUY, cities=("school library garage art_gallery", ""), centre=CENTRE)
    assert game.cities.count(0, Colour.PURPLE) == 1


NINE_CARDS = "school library museum grocery house zoo garage spa"
TEN_CARDS = f"{NINE_CARDS} hospital"


def about_to_take(
    city: str, *, seat: int = 0, players: int = 2, centre: str = CENTRE, specials: str = "statue_of_liberty"
) -> Game:
    cities = [""] * players
    cities[seat] = city
    markets = ["blue", "green", "purple"][:seat]
    return expert(
        Phase.SPECIAL,
        seat=seat,
        cities=cities,
        markets=(*markets, "yellow"),
        specials=specials,
        centre=centre,
    )


def test_art_6_statue_of_liberty_replaces_the_last_card() -> None:
    # The last card leaves the city and the Statue takes its position.
    game = play(about_to_take("school library museum grocery"), "take statue_of_liberty")
    assert game.view().cities[0] == cards("happy_market_yellow school library museum statue_of_liberty")

    # Taking it and the loss of the card are events of the same turn.
    game = play(about_to_take("school library museum grocery"), "take statue_of_liberty")
    assert sorted(game.events) == sorted(
        [
            Event(EventKind.TAKE, 0, card("statue_of_liberty")),
            Event(EventKind.CARD_LOST, 0, card("grocery")),
        ]
    )

    # The building goes to the discard pile of its own deck; the decks stay as they are.
    for last, piles in [("grocery", (1, 0, 0)), ("hospital", (0, 1, 0)), ("spa", (0, 0, 1))]:
        game = about_to_take(f"school library museum {last}")
        decks = game.view().decks
        play(game, "take statue_of_liberty")
        assert game.view().discards == piles
        assert game.view().decks == decks

    # A dwelling neither returns to its stack nor lies in a pile.
    game = about_to_take("school library museum house", players=3)
    assert game.view().dwellings_left()["house"] == 1
    play(game, "take statue_of_liberty")
    assert game.view().dwellings_left()["house"] == 1
    assert game.view().discards == (0, 0, 0)

    # Income and symbols of the discarded card are gone, the Statue's 4 hearts are there.
    game = about_to_take("school library museum spa", seat=1)
    play(game, "take statue_of_liberty")
    assert game.view().incomes[1] == 1
    assert Event(EventKind.INCOME_PAID, 1, coins=1) in game.events
    outcome = ended(cities=("school library statue_of_liberty", ""))
    assert (outcome.inhabitants[0], outcome.hearts[0]) == (1, 1 + 4)

    # The discarded card counts for nothing that counts colours any more.
    game = play(about_to_take("school library museum"), "take statue_of_liberty")
    assert game.cities.count(0, Colour.BLUE) == 2

    # The discarded building is among the cards when its deck is rebuilt.
    game = expert(
        Phase.SPECIAL,
        cities=("school library museum grocery", ""),
        specials="statue_of_liberty",
        centre=CENTRE,
        discards=(24, 0, 0),  # all of deck 1 but school, library, grocery and bank
    )
    play(game, "take statue_of_liberty", "discard hospital", "draw 1")
    deck, order = game.reshuffles[0]
    assert (deck, len(order), order.count(card("grocery"))) == (1, 25, 2)


def test_art_6_statue_of_liberty_condition() -> None:
    # The third blue card is enough even though it is the one to go.
    game = about_to_take("school library museum")
    assert options(game) == "decline, take statue_of_liberty"
    play(game, "take statue_of_liberty")
    assert game.view().cities[0] == cards("happy_market_yellow school library statue_of_liberty")

    # With two blue cards it can't be taken.
    assert about_to_take("school library grocery").events == (Event(EventKind.DECLINE, 0),)


def test_art_6_statue_of_liberty_name_can_be_bought_again() -> None:
    # The discarded building's other copy may be built by the same player.
    game = play(
        about_to_take("school library museum grocery", centre="grocery zoo stadium"), "take statue_of_liberty"
    )
    skip_to(game, Phase.BUY, seat=0)
    assert "build grocery" in options(game)
    play(game, "build grocery")
    assert game.view().cities[0][-1] is card("grocery")

    # So may a dwelling, if its stack has another one.
    game = play(about_to_take("school library museum house", players=3), "take statue_of_liberty")
    skip_to(game, Phase.BUY, seat=0)
    assert "dwell house" in options(game)

    # What is still in the city can't be bought again.
    game = play(
        about_to_take("school library museum grocery", centre="school library museum"),
        "take statue_of_liberty",
    )
    skip_to(game, Phase.BUY, seat=0)
    assert not {"build school", "build library", "build museum"} & set(options(game).split(", "))


def test_art_6_statue_of_liberty_in_a_full_city() -> None:
    # In a full city only the Statue can still be taken.
    game = about_to_take(TEN_CARDS, specials="statue_of_liberty castle harbour sushi_restaurant")
    assert options(game) == "decline, take statue_of_liberty"
    # Without the Statue the special step of a full city passes by itself.
    game = about_to_take(TEN_CARDS, specials="castle harbour")
    assert game.seat == 1

    # With ten cards there are ten afterwards, and the Statue is the tenth.
    game = play(about_to_take(TEN_CARDS), "take statue_of_liberty")
    city = game.view().cities[0]
    assert len(city) == 10
    assert city[9] is card("statue_of_liberty")

    # The tenth card was there before: the round is played to its end, and then the game is over.
    for choice in ["take statue_of_liberty", "decline"]:
        game = expert(
            Phase.BUY,
            coins=(20, 2),
            cities=(NINE_CARDS, ""),
            markets=("yellow", "blue"),
            specials="statue_of_liberty",
            centre=CENTRE,
        )
        play(game, "build hospital", choice)
        assert (game.outcome, game.seat) == (None, 1)
        while game.outcome is None:
            game.apply(game.neutral_move)
        assert game.round == 2

    # When the last seat takes it in a full city, the game is over.
    game = play(about_to_take(TEN_CARDS, seat=1), "take statue_of_liberty")
    assert outcome_of(game).hearts[1] == 1 + 2 + 3 + 2 + 4  # library, museum, zoo, spa, Statue


def test_art_6_statue_of_liberty_does_not_fill_a_city() -> None:
    # With nine cards, or fewer, the city has as many afterwards, and the game goes on.
    for city, size in [(NINE_CARDS, 9), ("school library museum", 4)]:
        game = play(about_to_take(city, seat=1), "take statue_of_liberty")
        assert len(game.view().cities[1]) == size
        assert (game.outcome, game.round) == (None, 3)

    # A city that kept its nine cards takes its tenth in a later turn, which ends the game.
    game = play(about_to_take(NINE_CARDS), "take statue_of_liberty")
    skip_to(game, Phase.BUY, seat=0)
    play(game, "dwell apartment_building")
    while game.outcome is None:
        game.apply(game.neutral_move)
    assert game.round == 3
