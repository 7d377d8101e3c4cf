from __future__ import annotations

from collections.abc import Sequence

from tests.game.rules.positions import EIGHT, play, position

from happycity import EventKind, Game, Outcome, Phase, Scoring
from happycity.rules.scoring import rank


def final(*cities: str, coins: Sequence[int] = (), scoring: Scoring = Scoring.PRODUCT) -> Outcome:
    given = list(coins or [3] * len(cities))
    given[-1] -= 1  # the last move of the game gains it
    game = position(
        Phase.BUY,
        players=len(cities),
        scoring=scoring,
        round=30,
        seat=len(cities) - 1,
        coins=given,
        cities=cities,
    )
    if game.outcome is None:  # else the coin was the only legal move
        play(game, "coin")
    assert game.outcome is not None
    return game.outcome


def test_art_4_1_the_round_is_completed() -> None:
    game = position(Phase.BUY, players=3, coins=(9, 9, 9), cities=(EIGHT, "", ""), centre="hospital spa zoo")
    play(game, "build hospital")
    seats = []
    while game.outcome is None:
        seats.append(game.seat)
        game.apply(game.neutral_move)
    assert sorted(set(seats)) == [1, 2]
    assert game.round == 2

    # A game copied after a city was filled ends with the same round.
    game = position(Phase.BUY, coins=(9, 0), cities=(EIGHT,), centre="hospital spa zoo")
    play(game, "build hospital")
    twin = play(game.copy(), "keep")
    while twin.outcome is None:
        twin.apply(twin.neutral_move)
    assert twin.round == game.round == 2

    # When the last seat fills its city, nobody plays again.
    game = position(Phase.BUY, seat=1, coins=(9, 9), cities=("", EIGHT), centre="hospital spa zoo")
    play(game, "build hospital")
    assert game.outcome is not None
    assert EventKind.INCOME_PAID not in {event.kind for event in game.events}

    # A special as the tenth card ends the game like any other card.
    game = position(Phase.SPECIAL, seat=1, cities=("", EIGHT), specials="dinosaur_park")
    play(game, "take dinosaur_park")
    assert game.outcome is not None

    # With nine cards in the fullest city the next round begins.
    game = position(Phase.BUY, seat=1, cities=("", EIGHT), centre="zoo spa casino")
    play(game, "coin")
    assert game.outcome is None
    assert game.round == 3

    game = position(Phase.BUY, seat=1, cities=("", EIGHT), centre="zoo")
    play(game, "dwell house")
    assert game.outcome is not None

    # A finished game has an outcome, no legal moves and no step that waits.
    game = position(Phase.BUY, seat=1, cities=("", EIGHT), centre="zoo")
    play(game, "dwell house")
    assert game.legal_moves == ()
    assert game.phase is Phase.OVER
    assert game.view().phase is Phase.OVER


def test_art_4_2_and_4_3_points() -> None:
    outcome = final("hospital museum library unicorn_ranch", "")
    assert (outcome.inhabitants[0], outcome.hearts[0]) == (2, 2 + 1 + 3)
    # A crossed-out symbol takes one off its total.
    outcome = final("haunted_house hospital", "factory museum")
    assert outcome.inhabitants == (2 - 1, 0)
    assert outcome.hearts == (0, 2 - 1)

    # A total below 0 counts, and is reported, as 0.
    outcome = final("haunted_house museum", "factory steel_mill hospital")
    assert outcome.inhabitants == (0, 2)
    assert outcome.hearts == (2, 0)
    assert outcome.points == (0, 0)

    # In sum scoring a negative total doesn't lower the other one.
    outcome = final("haunted_house museum", "factory steel_mill hospital", scoring=Scoring.SUM)
    assert outcome.points == (2, 2)

    for scoring, points in [(Scoring.PRODUCT, (6, 0)), (Scoring.SUM, (5, 4))]:
        outcome = final("hospital museum library", "museum observatory", scoring=scoring)
        assert outcome.points == points
    # A Happy Market alone makes nothing.
    outcome = final("", "")
    assert outcome == Outcome(points=(0, 0), coins=(3, 3), inhabitants=(0, 0), hearts=(0, 0), ranks=(1, 1))


def test_art_4_4_ranks() -> None:
    # More points beat more coins.
    outcome = final("school library", "school museum", "", coins=(9, 2, 30))
    assert outcome.points == (1, 2, 0)
    assert outcome.ranks == (2, 1, 3)
    # Among players with equal points the one with more coins left is ahead.
    outcome = final("school library", "police_station town_square", coins=(4, 5))
    assert outcome.points == (1, 1)
    assert outcome.ranks == (2, 1)
    # Seats with equal points and coins share a place, and the places after it stay empty.
    outcome = final("school museum", "school library", "police_station town_square", "", coins=(3, 4, 4, 9))
    assert outcome.points == (2, 1, 1, 0)
    assert outcome.ranks == (1, 2, 2, 4)
    # The outcome's coins are the last ones, without another income.
    outcome = final("garage", "casino", coins=(4, 8))
    assert outcome.coins == (4, 8)

    # A seat's place is one more than the number of seats ahead of it.
    cases: list[tuple[list[tuple[int, ...]], tuple[int, ...]]] = [
        ([(1,), (1,), (1,)], (1, 1, 1)),
        ([(1,), (2,), (3,)], (3, 2, 1)),
        ([(5,), (5,), (1,)], (1, 1, 3)),
        ([(9, 1), (9, 2), (9, 2), (10, 0)], (4, 2, 2, 1)),
    ]
    for scores, ranks in cases:
        assert rank(scores) == ranks


def test_art_4_5_round_30_is_the_last() -> None:
    # A game that nobody has ended is over after round 30.
    game = position(Phase.BUY, seat=1, round=30, centre="zoo spa casino")
    play(game, "coin")
    assert game.outcome is not None
    assert game.round == 30

    # Round 29 is followed by round 30.
    game = position(Phase.BUY, seat=1, round=29, centre="zoo spa casino")
    play(game, "coin")
    assert game.outcome is None
    assert game.round == 30

    # Players who never buy end with the coins of 30 rounds and share the first place.
    game = Game.deal(position(Phase.BUY, players=3).config, seed=1)
    while game.outcome is None:
        game.apply(game.neutral_move)
    assert game.round == 30
    assert game.outcome.coins == (2 + 30 * 2,) * 3
    assert game.outcome.ranks == (1, 1, 1)
