from __future__ import annotations

from collections import Counter

from tests.game.rules.positions import (
    DECK_3,
    EIGHT,
    NINE,
    card,
    cards,
    options,
    play,
    position,
    price_of,
    skip_to,
    stacked_deal,
)

from happycity import Event, EventKind, Game, Phase


def kinds(game: Game) -> list[EventKind]:
    return [event.kind for event in game.events]


def events_of(game: Game, kind: EventKind) -> list[Event]:
    return [event for event in game.events if event.kind is kind]


def end_round(*, cities: tuple[str, ...], coins: tuple[int, ...] = ()) -> Game:
    game = position(Phase.BUY, players=3, seat=2, cities=cities, coins=coins, centre="museum spa zoo")
    return play(game, "coin")


def test_art_3_1_income() -> None:
    # A round begins with every seat gaining the sum of its cards' incomes.
    game = end_round(cities=("", "garage bank", "casino"), coins=(0, 5, 7))
    assert events_of(game, EventKind.INCOME_PAID) == [
        Event(EventKind.INCOME_PAID, 0, coins=1),
        Event(EventKind.INCOME_PAID, 1, coins=4),
        Event(EventKind.INCOME_PAID, 2, coins=3),
    ]
    assert game.view().coins == (1, 9, 7 + 1 + 3)

    # What the view calls income is what the next income phase pays.
    game = position(Phase.BUY, seat=1, cities=("garage", "casino"), centre="museum spa zoo")
    promised = game.view().incomes
    play(game, "coin")
    assert tuple(event.coins for event in events_of(game, EventKind.INCOME_PAID)) == promised == (3, 3)

    # A card bought in a round adds to the income of the next income phase, not at once.
    game = position(Phase.BUY, seat=1, coins=(2, 5), centre="garage spa zoo")
    play(game, "build garage")
    assert events_of(game, EventKind.INCOME_PAID)[1].coins == 1 + 2
    assert game.view().coins[1] == 3

    # Only the beginning of a round pays.
    game = position(Phase.BUY, seat=0, cities=("garage",), centre="museum spa zoo")
    play(game, "coin")
    assert game.seat == 1
    assert kinds(game) == [EventKind.COIN, EventKind.DECLINE]


def test_art_3_2_order_of_play() -> None:
    # In every round each seat has one turn, seats counting up from 0.
    for players in [2, 3, 4, 5]:
        game = Game(stacked_deal(players=players))
        turns = []
        while game.round < 4:
            if game.phase in {Phase.DISCARD, Phase.DRAW} and (game.round, game.seat) not in turns:
                turns.append((game.round, game.seat))
            game.apply(game.neutral_move)
        assert turns == [(round, seat) for round in (1, 2, 3) for seat in range(players)]

    # A turn goes through discard, draw, buy and special, and then passes on.
    game = position(
        Phase.DISCARD, coins=(9,), cities=("school house",), centre="museum spa zoo", specials="toy_store"
    )
    turn = []
    for move in ("discard zoo", "draw 1", "build museum", "take toy_store"):
        turn.append((game.seat, game.phase))
        play(game, move)
    assert turn == [(0, Phase.DISCARD), (0, Phase.DRAW), (0, Phase.BUY), (0, Phase.SPECIAL)]
    assert game.seat == 1


def test_art_3_3_keep_or_discard_one() -> None:
    # The options of step 1 are keep and each building of the centre.
    game = position(Phase.DISCARD, centre="museum spa bank")
    assert options(game) == "keep, discard bank, discard museum, discard spa"

    # The discarded building leaves the centre for the pile of its own deck.
    for discarded, piles in [("bank", (1, 0, 0)), ("museum", (0, 1, 0)), ("spa", (0, 0, 1))]:
        game = play(position(Phase.DISCARD, centre="museum spa bank"), f"discard {discarded}")
        assert game.view().discards == piles
        assert card(discarded) not in game.view().centre
        assert game.events == (Event(EventKind.DISCARD, 0, card(discarded)),)

    # After a discard the turn goes on with the draw.
    game = play(position(Phase.DISCARD, centre="museum spa bank"), "discard bank")
    assert game.phase is Phase.DRAW
    # Keeping leaves the centre and the piles as they are.
    game = play(position(Phase.DISCARD, coins=(9,), centre="museum spa bank"), "keep")
    assert game.view().centre == cards("bank museum spa")
    assert game.view().discards == (0, 0, 0)
    # Discarding a building that lies there twice leaves the other copy.
    game = play(position(Phase.DISCARD, centre="museum museum bank"), "discard museum")
    assert game.view().centre == cards("bank museum")
    # With an empty centre step 1 passes by itself.
    game = position(Phase.DISCARD)
    assert game.phase is Phase.DRAW
    assert game.events == (Event(EventKind.KEEP, 0),)


def test_art_3_4_draw_up_to_three() -> None:
    # From an empty centre the player chooses a deck three times, then buys.
    game = Game(stacked_deal(decks=("bank", "museum", "spa zoo")))
    for deck in (3, 3, 1):
        assert options(game) == "draw 1, draw 2, draw 3"
        play(game, f"draw {deck}")
    assert game.phase is Phase.BUY
    assert game.view().centre == cards("bank spa zoo")
    assert game.view().decks == (27, 20, 16)

    # Each draw turns over the top card of the chosen deck, in the deal's order.
    game = Game(stacked_deal(decks=("bank", "museum hospital", "")))
    drawn = []
    for _ in range(2):
        play(game, "draw 2")
        drawn.append(game.events[0])
    assert drawn == [
        Event(EventKind.DRAW, 0, card("museum")),
        Event(EventKind.DRAW, 0, card("hospital")),
    ]

    # With three buildings face up there is no draw, even after a kept turn.
    game = play(position(Phase.DISCARD, coins=(9,), centre="museum spa bank"), "keep")
    assert game.phase is Phase.BUY
    assert kinds(game) == [EventKind.KEEP]

    # A centre that lost a card to a purchase and one to a discard is drawn up to three again.
    game = position(Phase.BUY, coins=(9,), centre="museum spa bank")
    play(game, "build museum", "discard bank", "draw 1", "draw 1")
    assert len(game.view().centre) == 3
    assert game.phase is Phase.BUY


def test_art_3_5_an_empty_deck_is_rebuilt() -> None:
    # Drawing from an empty deck first shuffles its discard pile into a new deck.
    game = position(Phase.DRAW, coins=(9,), centre="museum spa", discards=(0, 0, 17))
    assert "draw 3" in options(game)
    play(game, "draw 3")
    assert game.events[0] == Event(EventKind.DECK_REBUILT, 0, deck=3)
    assert game.events[1].kind is EventKind.DRAW
    assert game.view().decks == (28, 19, 16)
    assert game.view().discards == (0, 0, 0)

    # The new order is exactly the discarded cards, and its first card is drawn.
    game = play(position(Phase.DRAW, centre="museum spa", discards=(0, 0, 17)), "draw 3")
    [(deck, order)] = game.reshuffles
    names = Counter(cards(f"{DECK_3} {DECK_3}"))
    assert deck == 3
    assert Counter(order) == names - Counter(cards("spa"))
    assert game.events[1].card is order[0]

    # Drawing the last card leaves the deck empty and its discard pile alone.
    game = play(position(Phase.DRAW, centre="museum", discards=(0, 0, 17)), "draw 3")
    assert game.reshuffles == []
    assert game.view().decks[2] == 0
    assert game.view().discards[2] == 17


def test_art_3_5_an_exhausted_deck_cannot_be_chosen() -> None:
    # A deck with neither cards nor discards isn't among the options.
    game = position(Phase.DRAW, players=3, seat=2, cities=(DECK_3, DECK_3), centre="museum bank")
    assert options(game) == "draw 1, draw 2"
    # The last card of a deck may lie in the centre: then nothing of the deck is left to draw.
    rest = DECK_3.rpartition(" ")[0]
    game = position(Phase.DRAW, players=3, seat=2, cities=(DECK_3, rest), centre="amusement_park")
    assert options(game) == "draw 1, draw 2"

    # A card discarded in step 1 can be drawn again in step 2 of the same turn.
    rest = DECK_3.rpartition(" ")[0]
    game = position(
        Phase.DISCARD, players=3, seat=2, cities=(DECK_3, rest), centre="amusement_park bank museum"
    )
    play(game, "discard amusement_park", "draw 3")
    assert kinds(game)[:2] == [EventKind.DECK_REBUILT, EventKind.DRAW]
    assert card("amusement_park") in game.view().centre


def test_art_3_6_a_building_a_dwelling_or_a_coin() -> None:
    game = position(Phase.BUY, coins=(9,), centre="museum spa bank")
    assert options(game) == (
        "coin, build bank, build museum, "
        "build spa, dwell house, dwell apartment_building, dwell luxury_residence"
    )
    play(game, "build museum")
    assert game.seat == 1

    # Who buys nothing takes one coin from the bank, and the city stays as it is.
    game = play(position(Phase.BUY, coins=(9,), centre="museum spa bank"), "coin")
    assert game.view().coins == (10, 2)
    assert game.view().cities[0] == cards("happy_market")
    assert game.events[0] == Event(EventKind.COIN, 0, coins=1)

    # When the houses have run out, no one can buy a house.
    game = position(
        Phase.BUY, players=3, seat=2, coins=(2, 2, 9), cities=("house", "house"), centre="museum spa bank"
    )
    assert "dwell house" not in options(game)
    assert "dwell apartment_building" in options(game)

    game = position(Phase.BUY, players=3, coins=(9,), centre="museum spa bank")
    play(game, "dwell apartment_building")
    assert game.view().dwellings == (2, 1, 2)
    assert game.view().centre == cards("bank museum spa")
    assert game.view().cities[0] == cards("happy_market apartment_building")
    assert game.events[0] == Event(EventKind.DWELL, 0, card("apartment_building"), coins=-3)


def test_art_3_7_and_3_8_purchases() -> None:
    # The buyer pays the printed cost, and the card leaves the centre.
    game = play(position(Phase.BUY, coins=(9, 4), centre="museum spa bank"), "build museum")
    assert game.view().coins == (5, 4)
    assert game.view().centre == cards("bank spa")
    assert game.events[0] == Event(EventKind.BUILD, 0, card("museum"), coins=-4)

    # Bought cards line up behind the ones the city has.
    game = play(position(Phase.BUY, coins=(9,), cities=("spa igloo",), centre="museum bank"), "build museum")
    assert game.view().cities[0] == cards("happy_market spa igloo museum")
    # Only cards that cost at most the player's coins can be bought.
    game = position(Phase.BUY, coins=(4,), centre="museum garage bank")
    assert options(game) == "coin, build bank, build museum, dwell house, dwell apartment_building"
    # A price equal to the player's coins can be paid and leaves none.
    game = play(position(Phase.BUY, coins=(4,), centre="museum garage bank"), "build museum")
    assert game.view().coins[0] == 0
    # In the family game everyone pays the printed cost for every card.
    game = position(Phase.BUY, centre="museum spa bank")
    assert [price_of(game, seat, card("spa")) for seat in (0, 1)] == [7, 7]
    # A building or dwelling that the city has already isn't among its options.
    game = position(Phase.BUY, coins=(9,), cities=("museum house", "spa"), centre="museum spa")
    assert options(game) == "coin, build spa, dwell apartment_building, dwell luxury_residence"


def test_art_3_9_a_city_has_ten_cards() -> None:
    # A city of nine cards takes a tenth, which ends the turn without a special.
    game = position(
        Phase.BUY, coins=(9,), cities=(EIGHT,), centre="hospital spa zoo", specials="dinosaur_park"
    )
    play(game, "build hospital")
    assert len(game.view().cities[0]) == 10
    assert game.seat == 1

    # With ten cards no special can be taken, whatever the city shows.
    met = position(Phase.SPECIAL, cities=(EIGHT,), centre="spa", specials="dinosaur_park")
    full = position(Phase.SPECIAL, cities=(NINE,), centre="spa", specials="dinosaur_park")
    assert options(met) == "decline, take dinosaur_park"
    assert full.events[0] == Event(EventKind.DECLINE, 0)

    # A special can fill the last position.
    game = position(Phase.SPECIAL, cities=(EIGHT,), centre="spa", specials="dinosaur_park")
    play(game, "take dinosaur_park")
    assert len(game.view().cities[0]) == 10


def test_art_3_10_take_one_or_decline() -> None:
    # The options are decline and every face-up special whose condition is met, no other.
    game = position(
        Phase.SPECIAL, cities=("school library house",), specials="dinosaur_park nightclub film_studios"
    )
    assert options(game) == "decline, take dinosaur_park, take film_studios"

    # The special goes from the row to the city's next position; coins stay.
    game = position(Phase.SPECIAL, cities=("school library",), specials="dinosaur_park toy_store")
    play(game, "take dinosaur_park")
    view = game.view()
    assert view.cities[0] == cards("happy_market school library dinosaur_park")
    assert view.specials == cards("toy_store")
    assert view.coins == (2, 2)
    assert game.events[0] == Event(EventKind.TAKE, 0, card("dinosaur_park"))

    # Who has a special takes no other.
    game = position(Phase.SPECIAL, cities=("school library dinosaur_park",), specials="toy_store")
    assert game.events[0] == Event(EventKind.DECLINE, 0)
    # Declining leaves the special on the table and the right to take it.
    game = position(Phase.SPECIAL, cities=("school library",), specials="dinosaur_park")
    skip_to(play(game, "decline"), Phase.SPECIAL, seat=0)
    assert options(game) == "decline, take dinosaur_park"

    # A special is there once: after one player took it, the next doesn't find it.
    both = ("school library", "school library")
    specials = "dinosaur_park unicorn_ranch film_studios"
    game = position(Phase.SPECIAL, cities=both, centre="spa zoo casino", specials=specials)
    play(game, "take dinosaur_park", "keep", "coin")
    assert (game.round, game.seat) == (3, 0)
    assert game.view().specials == cards("unicorn_ranch film_studios")


def test_art_3_10_conditions() -> None:
    # The Pirate Ship asks for one blue, two green and one orange card at least.
    for city, met in [
        ("school house igloo spa casino", True),
        ("school library house igloo spa casino garage", True),
        ("school house igloo spa", True),
        ("school house spa casino", False),
        ("house igloo spa casino", False),
        ("school library police_station house spa", False),
        ("school house igloo garage", False),
    ]:
        game = position(Phase.SPECIAL, cities=(city,), specials="pirate_ship")
        assert (game.phase is Phase.SPECIAL and game.seat == 0) == met

    # A white Happy Market counts for no condition.
    game = position(Phase.SPECIAL, cities=("school",), specials="dinosaur_park olympic_ball_pool nightclub")
    assert game.events[0] == Event(EventKind.DECLINE, 0)
    # A special may be taken with the help of the building bought this turn.
    game = position(Phase.BUY, coins=(9,), cities=("school",), centre="library spa", specials="dinosaur_park")
    assert options(play(game, "build library")) == "decline, take dinosaur_park"
    # Step 4 doesn't ask for a purchase.
    game = position(Phase.BUY, cities=("school library",), centre="bank spa", specials="dinosaur_park")
    assert options(play(game, "coin")) == "decline, take dinosaur_park"


def test_art_3_11_a_special_pays_from_the_next_income_phase() -> None:
    # Taking a special gains no coin at once; its income comes with the next round.
    game = position(
        Phase.SPECIAL, seat=1, cities=("", "school library"), centre="spa zoo bank", specials="dinosaur_park"
    )
    assert game.view().incomes == (1, 1)
    play(game, "take dinosaur_park")
    assert events_of(game, EventKind.INCOME_PAID)[1] == Event(EventKind.INCOME_PAID, 1, coins=3)
    assert game.view().coins == (3, 5)

    # A special taken in the last turn of the game adds its inhabitants and hearts.
    game = position(
        Phase.SPECIAL, seat=1, round=30, cities=("", "school library house"), specials="film_studios"
    )
    play(game, "take film_studios")
    assert game.outcome is not None
    assert (game.outcome.inhabitants[1], game.outcome.hearts[1]) == (2, 3)
