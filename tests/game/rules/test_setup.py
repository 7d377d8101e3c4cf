from dataclasses import replace

import pytest
from tests.game.rules.positions import card, cards, options, play, stacked_deal

from happycity import Config, ConfigError, Deal, DealError, Event, EventKind, Game, Mode, Phase
from happycity.rules.cards import HAPPY_MARKET, deck_cards, specials_of
from happycity.rules.deals import MAX_SEED


def start(players: int) -> Game:
    return Game.deal(Config(players=players), seed=7)


def by_number(pile: tuple[object, ...]) -> list[str]:
    return sorted(map(str, pile))


def test_art_2_1_only_2_to_5_seats() -> None:
    # A table has 2 to 5 seats; any other number is refused by name.
    for players in [-1, 0, 1, 6]:
        with pytest.raises(ConfigError, match=f"players: {players} is not between 2 and 5"):
            Config(players=players)


def test_art_2_what_is_on_the_table() -> None:
    # Seat 0 is the first to decide, and all seats have a city.
    for players in [2, 3, 4, 5]:
        game = start(players)
        assert game.seat == 0
        # Each dwelling stack holds one card fewer than there are players.
        assert game.view().dwellings == (players - 1,) * 3
        # Players + 2 different family specials are face up; the others stay in the box.
        deal = Deal.shuffle(Config(players=players), seed=7)
        assert Game(deal).view().specials == deal.specials
        assert len(deal.specials) == players + 2
        assert by_number(deal.specials + deal.box) == by_number(specials_of(Mode.FAMILY))
        # Every player starts with 2 coins: 3 after the first round's income.
        incomes = [event for event in game.events if event.kind is EventKind.INCOME_PAID]
        assert incomes == [Event(EventKind.INCOME_PAID, seat, coins=1) for seat in range(players)]
        assert game.view().coins == (3,) * players
        # Every family city starts with a white Happy Market, whose income is 1.
        view = game.view()
        assert view.cities == ((HAPPY_MARKET,),) * players
        assert view.incomes == (1,) * players


def test_art_2_2_decks_are_shuffled() -> None:
    one, other = (Deal.shuffle(Config(), seed=seed) for seed in (1, 2))
    for deck in (1, 2, 3):
        orders = one.decks[deck - 1], other.decks[deck - 1]
        assert orders[0] != orders[1]
        assert by_number(orders[0]) == by_number(orders[1]) == by_number(deck_cards(deck))

    # The first player finds an empty centre and whole decks.
    view = start(4).view()
    assert view.centre == ()
    assert view.decks == (28, 20, 18)
    assert view.discards == ((), (), ())

    # Without a centre to discard from, the first decision is which deck to draw from.
    game = start(2)
    assert (game.round, game.phase) == (1, Phase.DRAW)
    assert options(game) == "draw 1, draw 2, draw 3"
    assert game.events[0] == Event(EventKind.ROUND_STARTED, round=1)
    assert game.events[-1] == Event(EventKind.KEEP, 0)


def test_art_2_7_markets_are_drafted_from_the_last_seat_to_the_first() -> None:
    # An expert game turns up n + 2 expert specials and keeps the other ones in the box.
    for players in range(2, 6):
        deal = Deal.shuffle(Config(players=players, mode=Mode.EXPERT), seed=7)
        assert by_number(deal.specials + deal.box) == by_number(specials_of(Mode.EXPERT))
        assert Game(deal).view().specials == deal.specials

    # Before round 1 each seat picks one of the colours left; a single colour left is no decision.
    for players in range(2, 6):
        game = Game.deal(Config(players=players, mode=Mode.EXPERT), seed=7)
        colours = ["yellow", "blue", "green", "orange", "purple"]
        for seat in range(players - 1, -1, -1):
            if seat == 0 and players == 5:
                break
            assert (game.round, game.phase, game.seat) == (0, Phase.MARKET, seat)
            assert options(game) == ", ".join(f"market {colour}" for colour in colours)
            play(game, f"market {colours.pop()}")
        assert (game.round, game.phase) == (1, Phase.DRAW)
        drafted = [str(city[0].colour) for city in game.view().cities]
        assert drafted == ["yellow", "blue", "green", "orange", "purple"][5 - players :]

    # The picks, the forced last one too, are among the events, and then round 1 brings 1 coin each.
    game = Game.deal(Config(players=5, mode=Mode.EXPERT), seed=7)
    play(game, "market blue", "market green", "market orange", "market purple")
    assert game.events[:3] == (
        Event(EventKind.MARKET, 1, card("happy_market_purple")),
        Event(EventKind.MARKET, 0, card("happy_market_yellow")),
        Event(EventKind.ROUND_STARTED, round=1),
    )
    assert game.view().coins == (3,) * 5


DEAL = stacked_deal()


def test_incomplete_deals_are_refused() -> None:
    for change, message in [
        ({"seed": -1}, "seed -1"),
        ({"seed": MAX_SEED + 1}, "seed 18446744073709551616"),
        ({"decks": (DEAL.decks[0][1:], *DEAL.decks[1:])}, "deck 1 .* 28 cards"),
        ({"decks": (DEAL.decks[0], DEAL.decks[2], DEAL.decks[1])}, "deck 2 .* 20 cards"),
        ({"decks": (*DEAL.decks[:2], (*DEAL.decks[2], DEAL.decks[2][0]))}, "deck 3 .* 18 cards"),
        ({"specials": DEAL.specials[1:]}, "3 specials"),
        ({"box": DEAL.box[1:]}, "family set"),
        ({"specials": cards("pyramid castle harbour airport")}, "family set"),
    ]:
        with pytest.raises(DealError, match=message):
            replace(DEAL, **change)  # type: ignore[arg-type]  # one field of any type
