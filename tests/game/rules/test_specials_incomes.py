"""Expert specials about incomes, and the order of an income phase (chapter 6, articles 6.1 and 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

from tests.game.rules.positions import card, expert, gains, next_round, play

from happycity import Event, EventKind, Game, Phase
from happycity.rules.effects import EFFECTS

CENTRE = "bank museum stadium"


def incomes(*cities: str, markets: Sequence[str]) -> tuple[int, ...]:
    """Return every seat's income, as the view shows it."""
    return expert(Phase.BUY, cities=cities, markets=markets, centre=CENTRE).view().incomes


def paid(game: Game) -> tuple[int, ...]:
    """Return the incomes of the income phase among the last events."""
    return tuple(event.coins for event in game.events if event.kind is EventKind.INCOME_PAID)


PALACE, LOUVRE, ARCADE = (
    "school library palace",
    "florist igloo zoo factory louvre",
    "florist school library arcade",
)


def test_art_6_1_the_order_of_an_income_phase() -> None:
    # Arcade comes first, then all incomes with the Louvre's, then Palace, which sees the coins of both.
    game = next_round(coins=(1, 1, 1), cities=(PALACE, LOUVRE, ARCADE), markets=("yellow", "blue", "green"))
    assert game.events[1:7] == (
        Event(EventKind.ROUND_STARTED, round=3),
        Event(EventKind.EFFECT_PAID, 2, card("arcade"), coins=2),
        Event(EventKind.INCOME_PAID, 0, coins=1),
        Event(EventKind.INCOME_PAID, 1, coins=4),
        Event(EventKind.INCOME_PAID, 2, coins=2),
        Event(EventKind.EFFECT_PAID, 1, card("louvre"), coins=2),
    )
    assert set(game.events[7:9]) == {
        Event(EventKind.EFFECT_PAID, 0, card("palace"), coins=1),
        Event(EventKind.EFFECT_PAID, 1, card("palace"), coins=-1),
    }
    assert game.view().coins == (1 + 1 + 1, 1 + 4 + 2 - 1, 1 + 2 + 2)

    # The Louvre's gain is an opponent's income, without what Arcade or Palace bring that opponent.
    game = next_round(coins=(1, 1, 1), cities=(ARCADE, LOUVRE, PALACE), markets=("green", "blue", "yellow"))
    assert (1, "louvre", 2) in gains(game)
    # The richest opponent may be the richest by the coins of an Arcade.
    game = next_round(coins=(1, 3, 1), cities=(ARCADE, "", PALACE), markets=("green", "orange", "yellow"))
    assert game.view().coins == (1 + 2 + 2 - 1, 3 + 1, 1 + 1 + 1)


def test_art_6_arcade() -> None:
    # Before the income phase the owner gains 2 coins, unless the purse is empty.
    for coins, bonus in [(0, 0), (1, 2), (9, 2)]:
        game = next_round(coins=(coins, 0), cities=(ARCADE, ""), markets=("green", "blue"))
        assert game.view().coins == (coins + bonus + 2, 1)
        assert gains(game) == [(0, "arcade", 2)] * (bonus // 2)

    # The coins come again in each round.
    game = next_round(coins=(1, 0), cities=(ARCADE, ""), markets=("green", "blue"))
    rounds = [game.round] if gains(game) else []
    while game.round < 6:
        game.apply(game.neutral_move)
        rounds += [game.round] * len(gains(game))
    assert rounds == [3, 4, 5, 6]

    # Its coins are not part of the owner's income.
    assert incomes(ARCADE, "", markets=("green", "blue")) == (2, 1)


def test_art_6_louvre() -> None:
    # Along with the incomes the owner gains the highest income among all opponents.
    game = next_round(
        players=4,
        coins=(0, 0, 0, 0),
        cities=(LOUVRE, "garage", "garage offices", ""),
        markets=("blue", "yellow", "green", "purple"),
    )
    assert paid(game) == (4, 3, 5, 1)
    assert gains(game) == [(0, "louvre", 5)]
    assert game.view().coins == (9, 3, 5, 1)

    # Neither the view nor another player's special counts the gain as the owner's income.
    barber = "school library florist barber"
    view = expert(Phase.BUY, cities=(LOUVRE, barber), markets=("blue", "green"), centre=CENTRE).view()
    assert view.incomes == (4, 2 + 3)
    game = next_round(cities=(LOUVRE, "garage"), markets=("blue", "green"))
    assert paid(game) == (4, 3)

    # A Barber's 3 count among the incomes that the Louvre looks at.
    game = next_round(cities=(LOUVRE, "school library barber", "garage"), markets=("blue", "green", "yellow"))
    assert paid(game) == (4, 1 + 3, 3)
    assert gains(game) == [(0, "louvre", 4)]

    # A game continued from a view has as many gains left as the view shows.
    for left, gain in [(2, [(0, "louvre", 1)]), (1, [(0, "louvre", 1)]), (0, [])]:
        game = next_round(cities=(LOUVRE, ""), markets=("blue", "yellow"), uses=(left, 0))
        assert gains(game) == gain
        assert game.view().uses == (max(0, left - 1), 0)


def test_art_6_louvre_pays_in_exactly_two_phases() -> None:
    """The two income phases after the taking bring the gain, no third one, and the view counts them."""
    game = expert(
        Phase.SPECIAL,
        cities=("florist igloo zoo factory", "garage"),
        markets=("blue", "yellow"),
        specials="louvre",
        centre=CENTRE,
    )
    play(game, "take louvre")
    assert game.view().uses == (2, 0)
    seen = [(game.round, game.view().uses[0], 0)]
    while game.round < 6:
        game.apply(game.neutral_move)
        if paid(game):
            seen.append((game.round, game.view().uses[0], sum(coins for _, _, coins in gains(game))))
    assert seen == [(2, 2, 0), (3, 1, 3), (4, 0, 3), (5, 0, 0), (6, 0, 0)]


def palace(*coins: int, cities: Sequence[str] = ()) -> Game:
    """Return a game after an income phase; seat 0 has a Palace, and everybody but `cities` 1 income."""
    others = cities or [""] * (len(coins) - 1)
    return next_round(coins=coins, cities=(PALACE, *others), markets=("yellow",))


def test_art_6_palace() -> None:
    # After the income phase the owner takes 1 coin from the opponent who has the most.
    game = palace(0, 5, 3)
    assert sorted(gains(game)) == [(0, "palace", 1), (1, "palace", -1)]
    assert game.view().coins == (0 + 1 + 1, 5 + 1 - 1, 3 + 1)
    # On a tie each of the richest opponents loses a coin.
    game = palace(0, 4, 3, 4)
    assert sum(coins for seat, _, coins in gains(game) if seat == 0) == 2
    assert game.view().coins == (0 + 1 + 2, 4, 4, 4)
    # Who is the richest is asked when the incomes are paid.
    assert palace(0, 3, 4, cities=("garage", "")).view().coins == (2, 3 + 3 - 1, 4 + 1)
    # The owner's own coins don't matter.
    assert palace(50, 2).view().coins == (50 + 1 + 1, 2)
    # One coin is enough to be stolen.
    assert palace(0, 0).view().coins == (1 + 1, 0)
    # The richest opponent may sit opposite.
    assert palace(0, 2, 9, 2).view().coins == (2, 3, 9, 3)

    # Nothing is stolen where no opponent has a coin, which the markets' incomes prevent in a real game.
    game = expert(Phase.BUY, coins=(5, 0, 0), cities=(PALACE, "", ""), centre=CENTRE)
    steal = EFFECTS[card("palace")].after_income
    assert steal is not None
    assert [coins for _, coins in steal(game.cities, 0, 3) if coins] == []

    # The theft comes after each income phase.
    game = palace(0, 5)
    play(game, "draw 1", "draw 1", "draw 1")
    while game.round == 3:
        game.apply(game.neutral_move)
    assert [(seat, coins) for seat, _, coins in sorted(gains(game))] == [(0, 1), (1, -1)]


def test_art_6_income_per_card_of_a_colour() -> None:
    # Bowling Alley: 3 per purple card, Sushi Restaurant: 1 per blue, Bakery: 2 per green.
    #
    # The coloured market counts, and so do dwellings and cards after the special.
    for market, city, printed, extra in [
        ("purple", "florist school zoo bowling_alley", 2, 3),
        ("yellow", "florist school zoo bowling_alley", 2, 0),
        ("purple", "florist school zoo bowling_alley garage factory", 5, 9),
        ("blue", "florist school library igloo sushi_restaurant", 3, 3),
        ("yellow", "school library igloo sushi_restaurant", 2, 2),
        ("yellow", "school library igloo sushi_restaurant museum hospital", 2, 4),
        ("green", "florist school library factory bakery", 3, 2),
        ("yellow", "school library factory bakery", 2, 0),
        ("green", "florist school library factory bakery house apartment_building igloo", 4, 8),
    ]:
        assert incomes(city, "", markets=(market,))[0] == printed + extra

    # The card bought counts at once for the income to come.
    for city, move, more in [
        ("florist zoo bowling_alley", "build garage", 2 + 3),
        ("florist igloo sushi_restaurant", "build museum", 1),
        ("florist factory bakery", "dwell house", 2),
    ]:
        game = expert(
            Phase.BUY, coins=(9, 9), cities=(city, ""), markets=("blue",), centre="garage museum zoo"
        )
        before = game.view().incomes[0]
        assert play(game, move).view().incomes[0] == before + more

    # Taking a special pays no income by itself; the next income phase pays it.
    game = expert(
        Phase.SPECIAL,
        seat=1,
        cities=("", "florist school library factory igloo"),
        markets=("purple", "green"),
        specials="bakery",
        centre=CENTRE,
    )
    play(game, "take bakery")
    assert gains(game) == []
    assert paid(game) == (1, 1 + 1 + 1 + 1 + 2 * 2)


def test_art_6_escape_room() -> None:
    # 2 income with the fewest yellow cards at the table, ties included; none if anybody has fewer.
    for others, extra in [
        (("grocery", "florist"), 2),
        (("grocery shoe_shop", "florist shoe_shop bookshop"), 2),
        (("grocery", ""), 0),
        (("", ""), 0),
    ]:
        seen = incomes("school garage escape_room", *others, markets=("yellow", "blue", "green"))
        assert seen[0] == 1 + 2 + extra

    # A yellow market is a yellow card, the owner's as well as another player's.
    assert incomes("grocery school garage escape_room", "", markets=("blue", "yellow"))[0] == 4 + 2
    assert incomes("school garage escape_room", "", markets=("yellow", "blue"))[0] == 3
    # A player who sits opposite counts like a neighbour.
    seen = incomes("school garage escape_room", "grocery", "", "florist", markets=("yellow",))
    assert seen[0] == 3

    # The 2 income stop when the owner buys a yellow card more than another player has.
    game = expert(
        Phase.BUY,
        coins=(9, 9),
        cities=("school garage escape_room", "grocery"),
        markets=("yellow", "blue"),
        centre=CENTRE,
    )
    assert game.view().incomes[0] == 3 + 2
    assert play(game, "build bank").view().incomes[0] == 3 + 1


BARBER = "school library barber"  # 1 income with its market


def test_art_6_barber() -> None:
    # 3 income while everybody else's is higher than the owner's without them; none on a tie.
    for others, extra in [
        (("grocery", "florist"), 3),
        (("garage offices", "garage"), 3),
        (("grocery", ""), 0),
        (("", ""), 0),
    ]:
        assert incomes(BARBER, *others, markets=("green",))[0] == 1 + extra

    # Without the lowest income the Barber brings nothing, and can't help itself by its own 3.
    assert incomes(f"florist {BARBER}", "", markets=("green",)) == (2, 1)
    # A tie with a player who sits opposite is a tie.
    assert incomes(BARBER, "garage", "", "garage", markets=("green",))[0] == 1
    # The income phase pays the 3, even though they lift the owner above the others.
    game = next_round(coins=(0, 0), cities=(BARBER, "grocery"), markets=("green",))
    assert paid(game) == (4, 2)
    assert game.view().coins == (4, 2)
    # The Barber compares incomes with the Escape Room's 2 in them, as they are evaluated at that moment.
    escape_room = "school grocery escape_room"
    assert incomes("school library florist barber", escape_room, markets=("green", "purple")) == (2 + 3, 4)
    assert incomes("school library igloo barber", escape_room, markets=("green", "purple")) == (2, 2)


def test_art_6_greengrocer() -> None:
    # 1 income for each pair of a heart and an inhabitant; crossed-out symbols take pairs away.
    for city, printed, pairs in [
        ("school igloo zoo greengrocer", 2, 2),
        ("school igloo greengrocer", 2, 0),
        ("museum zoo greengrocer", 1, 0),
        ("school igloo house zoo hospital greengrocer", 2, 3),
        ("school igloo house zoo factory greengrocer", 3, 2),
        ("school igloo zoo haunted_house greengrocer", 3, 1),
        ("school igloo library greengrocer museum", 2, 2),
    ]:
        assert incomes(city, "", markets=("green",))[0] == printed + pairs

    # With a negative total, or two, there are no pairs and no loss either.
    for city, printed in [
        ("school igloo house grand_hotel factory steel_mill greengrocer", 6),
        ("museum haunted_house greengrocer", 2),
        ("library factory steel_mill haunted_house greengrocer", 4),
    ]:
        assert incomes(city, "", markets=("green",))[0] == printed
