"""The final ratings as they are reported."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.leagues import League, columns
from tests.tournament.games import finished

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.columns import Games, GamesBuilder, TableColumns
from happycity_tournament.ratings.comparisons import comparisons_of
from happycity_tournament.ratings.errors import MIN_UNEVEN, sandwich
from happycity_tournament.ratings.final import rate, rate_fit
from happycity_tournament.ratings.fit import fit
from happycity_tournament.ratings.results import MODEL, Ratings, ranked
from happycity_tournament.ratings.statistics import MIN_DEALS

LEAGUE = League([-100, -50, 0, 50, 100], seat_effects={4: [30, 10, -10, -30]}, deltas={2: 0.3})


def league_ratings(anchor: str | None = None) -> Ratings:
    return rate(LEAGUE.games({4: 300}, np.random.default_rng(1)), anchor=anchor)


def game(bots: str, places: tuple[int, ...], *, seed: int) -> FinishedGame:
    """Make a game of which only the places and the deal matter."""
    fixture = Fixture(1, 0, 0, deal_seed=seed, bots=tuple(bots), bot_seeds=(0,) * len(bots))
    return finished(fixture, places=places)


def test_results_become_columns() -> None:
    """Games with the same seed are one deal, whatever their places in a schedule."""
    builder = GamesBuilder("abc")
    builder.add(game("ab", (1, 2), seed=2**64 - 1))
    builder.add(game("ba", (1, 1), seed=2**64 - 1))
    builder.add(game("ab", (2, 1), seed=7))
    builder.add(game("cab", (3, 1, 1), seed=8))
    games = builder.build()
    assert games.tables[2].bots.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert games.tables[2].places.tolist() == [[1, 2], [1, 1], [2, 1]]
    assert len(np.unique(games.tables[2].deals)) == 2
    assert [(line.bot, line.games, line.deals) for line in rate(games).lines] == [
        ("a", 4, 3),
        ("b", 4, 3),
        ("c", 1, 1),
    ]
    with pytest.raises(KeyError, match="d"):
        builder.add(game("ad", (1, 2), seed=0))


def test_the_report_names_its_model() -> None:
    """Ratings of other models are on other scales, so the name is part of the result."""
    ratings = league_ratings()
    assert ratings.model == f"{MODEL}, seat effects at tables of 4"
    assert list(ratings.seat_effects) == [4]
    effects = [effect.elo for effect in ratings.seat_effects[4]]
    assert sum(effects) == pytest.approx(0)
    assert effects[0] > 0 > effects[3]
    assert list(ratings.deltas) == [2]
    assert ratings.deltas[2] == pytest.approx(0.3, abs=0.08)
    worth = ratings.duplicate_gains[4]
    assert worth is not None
    assert worth.gain == pytest.approx(1, abs=0.3)


def test_the_mean_is_the_anchor_unless_a_bot_is_named() -> None:
    """The mean, or the named bot, is at 1500; differences are the same either way."""
    by_mean, by_bot = league_ratings(), league_ratings(anchor="bot 1")
    assert np.mean([line.elo for line in by_mean.lines]) == pytest.approx(MEAN_ELO)
    assert by_bot.lines[1].elo == by_bot.lines[1].low == by_bot.lines[1].high == MEAN_ELO
    for line in by_bot.lines:
        difference = by_mean.difference(line.bot, "bot 1")
        assert difference is not None
        assert line.elo - MEAN_ELO == pytest.approx(difference.elo)
        assert line.high is not None
        assert line.high - line.elo == pytest.approx(1.96 * difference.error, rel=0.01)
    fixed = rate(LEAGUE.games({4: 300}, np.random.default_rng(1)), anchor="bot 1", anchor_elo=1000)
    assert fixed.lines[1].elo == 1000
    with pytest.raises(KeyError, match="nobody"):
        league_ratings(anchor="nobody")


def test_superiority_follows_the_difference() -> None:
    """LOS is Phi(difference / error): certain between far bots, complementary, undefined with oneself."""
    ratings = league_ratings()
    matrix = ratings.los_matrix()
    for row, bot in enumerate(LEAGUE.bots):
        for column, other in enumerate(LEAGUE.bots):
            assert matrix[row][column] == ratings.los(bot, other)
            if row == column:
                assert matrix[row][column] is None
            else:
                assert sum(filter(None, (matrix[row][column], matrix[column][row]))) == pytest.approx(1)
    assert ratings.los("bot 4", "bot 0") == pytest.approx(1, abs=1e-4)
    with pytest.raises(KeyError, match="nobody"):
        ratings.los("bot 0", "nobody")


def test_a_difference_has_less_error_than_two_bars() -> None:
    """Bots that play each other often are compared better than their bars side by side suggest."""
    table = LEAGUE.games({2: 2000}, np.random.default_rng(2)).tables[2]
    kept = (table.bots < 2).all(axis=1) | (table.deals < 60)
    duels = TableColumns(table.bots[kept], table.places[kept], table.deals[kept])
    ratings = rate(Games(LEAGUE.bots, {2: duels}))
    difference = ratings.difference("bot 0", "bot 1")
    assert difference is not None
    assert difference.error**2 < 0.5 * (ratings.covariance[0, 0] + ratings.covariance[1, 1])


def test_pools_that_never_met_are_not_compared() -> None:
    """Each has its own mean at 1500 and a number; nothing is said across."""
    games = columns(
        [((0, 1), (1, 2) if deal % 4 else (2, 1), deal) for deal in range(40)]
        + [((3, 2), (1, 2) if deal % 4 else (2, 1), 100 + deal) for deal in range(40)],
        "abcde",
    )
    ratings = rate(games)
    assert [line.pool for line in ratings.lines] == [0, 0, 1, 1, 2]
    a, b, c, d, e = (line.elo for line in ratings.lines)
    assert (a + b, c + d, e) == pytest.approx((2 * MEAN_ELO, 2 * MEAN_ELO, MEAN_ELO))
    assert a == pytest.approx(d, abs=1e-3)
    assert a > b
    assert ratings.difference("a", "c") is None
    assert ratings.los("a", "c") is None
    assert ratings.los("a", "b") is not None
    assert ratings.lines[0].low is not None
    assert ratings.lines[4].low is None
    anchored = rate(games, anchor="b")
    assert [line.elo for line in anchored.lines[1:4]] == pytest.approx([MEAN_ELO, c, d])


def test_bots_that_met_through_others_are_one_pool() -> None:
    """A chain of meetings joins its ends, whatever the table sizes."""
    chain = columns([((0, 1), (1, 2), 0), ((3, 4, 2), (1, 2, 3), 1), ((1, 3), (2, 1), 2)], "abcde")
    assert [line.pool for line in rate(chain).lines] == [0] * 5


@pytest.mark.parametrize("deals", [MIN_DEALS - 1, MIN_DEALS])
def test_too_few_deals_have_no_interval(deals: int) -> None:
    """A bot with too few deals has a rating, but no interval, no difference and no LOS; the others have."""
    rows = [((0, 1), (1, 2) if deal % 3 else (2, 1), deal) for deal in range(50)]
    for deal in range(deals):
        places = (1, 2) if deal % 2 else (2, 1)
        rows += [((2, 0), places, 100 + deal), ((2, 1), places, 100 + deal)]
    ratings, enough = rate(columns(rows, "abc")), deals >= MIN_DEALS
    assert ratings.lines[2].deals == deals
    assert (ratings.lines[2].low is not None) == enough
    assert (ratings.los("a", "c") is not None) == enough
    assert ratings.lines[0].low is not None
    assert ratings.los("a", "b") is not None
    assert (rate(columns(rows, "abc"), anchor="c").lines[0].low is not None) == enough


def test_identical_bots_are_equal() -> None:
    """Bots that play the same way win from the same cards: neither is the stronger, and there is no interval.

    100 even deals don't exclude that 3.6% of all are uneven (0.964^100 = 2.5%), which is 12 Elo: a bound of
    the error. Where all games are ties they say little, however many they are.
    """
    for places, widest in (((1, 2), 40), ((1, 1), 5000)):  # the seat decides every game, or all are ties
        highs = []
        for deals in (29, 30, 100, 400):
            rows = [((game % 2, 1 - game % 2), places, game // 2) for game in range(2 * deals)]
            estimate = fit(columns(rows, "ab"))
            ratings = rate_fit(estimate)
            assert ratings.lines[0].elo == pytest.approx(1500)
            assert ratings.lines[0].low is ratings.lines[0].high is None
            assert ratings.difference("a", "b") is None
            assert ratings.los("a", "b") == pytest.approx(0.5)
            assert ratings.model.endswith("; no interval for a, b, as nearly all of their deals were even")
            bound = comparisons_of(estimate, sandwich(estimate), even_too=True)
            highs.append(bound.highs[0, 1])
        assert 12 < highs[2] < widest
    assert highs[0] > 100


def test_a_few_uneven_deals_prove_little() -> None:
    """Two uneven deals of 60, both won, are as likely as not to be chance; ten are not."""
    for uneven, expected in ((2, (0.7, 0.9)), (10, (0.99, 1.0))):
        rows = []
        for deal in range(60):
            rows += [((0, 1), (1, 2), deal), ((1, 0), (2, 1) if deal % (60 // uneven) == 0 else (1, 2), deal)]
        los = rate(columns(rows, "ab")).los("a", "b")
        assert los is not None
        assert expected[0] < los < expected[1]


@pytest.mark.parametrize("uneven", [MIN_UNEVEN - 1, MIN_UNEVEN])
def test_intervals_rest_on_enough_uneven_deals(uneven: int) -> None:
    """With fewer there is none, and the model's line says why."""
    rows = []
    for deal in range(60):
        first, second = ((1, 2), (2, 1)) if deal % 2 else ((2, 1), (1, 2))
        rows += [((0, 1), first, deal), ((1, 0), second if deal < uneven else first, deal)]
    ratings = rate(columns(rows, "ab"))
    enough = uneven == MIN_UNEVEN
    assert [line.high is not None for line in ratings.lines] == [enough] * 2
    assert (ratings.difference("a", "b") is not None) == enough
    assert ("nearly all of their deals were even" in ratings.model) != enough


def test_all_even_deals_have_an_infinite_gain() -> None:
    """Where each rotated deal is even, the worth of its games has only a lower bound."""
    rows = [((game % 2, 1 - game % 2), (1, 2) if game % 4 < 2 else (2, 1), game // 2) for game in range(240)]
    worth = rate(columns(rows, "ab")).duplicate_gains[2]
    assert worth is not None
    assert (worth.gain, worth.high) == (math.inf, math.inf)
    assert 10 < worth.low < 60
    assert worth.text == f"≥{worth.low:.2f}"


def test_a_seat_that_always_wins_has_no_effect_of_its_own() -> None:
    """An effect without a maximum is left out, and with it what it would take from the bots."""
    rng = np.random.default_rng(5)
    rows = []
    for deal in range(200):
        pair = rng.permutation(4)[:2].tolist()
        rows += [(tuple(pair), (1, 2), deal), (tuple(pair[::-1]), (1, 2), deal)]
    assert rate(columns(rows, "abcd")).seat_effects == {}


def test_seat_effects_have_errors() -> None:
    """The intervals of seat effects hold the true ones about 95% of the time."""
    held = []
    for seed in range(30):
        effects = rate(LEAGUE.games({4: 120}, np.random.default_rng([8, seed]))).seat_effects[4]
        for effect, true in zip(effects, LEAGUE.seat_effects[4], strict=True):
            assert effect.margin is not None
            held.append(abs(effect.elo - true) <= effect.margin)
    assert 0.88 <= np.mean(held) <= 0.995


@pytest.mark.thorough
def test_rank_intervals_hold_at_once() -> None:
    """Equal bots are seldom distinguished, however many pairs there are; far ones are."""
    equal = replace(LEAGUE, elos=[0] * 8)
    wrong = 0
    for seed in range(40):
        lines = rate(equal.games({4: 60}, np.random.default_rng([9, seed]))).lines
        wrong += any((line.rank_best, line.rank_worst) != (1, 8) for line in lines)
    assert wrong <= 6
    spread = rate(replace(LEAGUE, elos=[-400, 0, 0, 400]).games({4: 200}, np.random.default_rng(1))).lines
    assert [(line.rank_best, line.rank_worst) for line in spread] == [(4, 4), (2, 3), (2, 3), (1, 1)]


def test_no_bots_and_no_games() -> None:
    """Nothing to rate is no error."""
    assert rate(Games((), {})).lines == ()
    lines = rate(Games(("a", "b"), {})).lines
    assert [(line.elo, line.low, line.games, line.deals, line.pool) for line in lines] == [
        (MEAN_ELO, None, 0, 0, 0),
        (MEAN_ELO, None, 0, 0, 1),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("luck", "deals"),
    [
        (2.0, 100),
        pytest.param(0.0, 20, marks=pytest.mark.thorough),
        pytest.param(0.0, 200, marks=pytest.mark.thorough),
    ],
)
def test_intervals_cover_the_truth(luck: float, deals: int) -> None:
    """About 95% of the 95% intervals hold the rating that very many games tend to.

    The check for bursts finds some in one tournament of a hundred without any, which then has no intervals.
    """
    league = replace(LEAGUE, luck=luck)
    truth = [line.elo for line in rate(league.games({4: 20_000}, np.random.default_rng(3))).lines]
    held, false_alarms = [], 0
    for seed in range(150):
        ratings = rate(league.games({4: deals}, np.random.default_rng(seed)))
        if "came in bursts" in ratings.model:
            false_alarms += 1
            continue
        for line, elo in zip(ratings.lines, truth, strict=True):
            assert line.low is not None
            assert line.high is not None
            held.append(line.low <= elo <= line.high)
    assert false_alarms <= 3
    assert 0.92 <= np.mean(held) <= 0.98


def test_ranks_are_within_pools() -> None:
    """Bots come pool by pool and best first; equal ratings share a rank, and the next one stays empty."""
    rows = [((0, 1, 2, 3), (2, 1, 2, 4), deal) for deal in range(20)] + [((5, 4), (1, 2), 99)]
    order = ranked(rate(columns(rows, "abcdef")))
    assert [(entry.rank, entry.line.bot, entry.index) for entry in order] == [
        (1, "b", 1),
        (2, "a", 0),
        (2, "c", 2),
        (4, "d", 3),
        (1, "f", 5),
        (2, "e", 4),
    ]


def test_a_bot_in_several_seats_is_rated_against_the_others() -> None:
    """In a sequential test each bot fills half of the seats: games count for each seat, deals once."""
    rows = []
    for deal in range(60):
        places = (1, 3, 2, 4) if deal % 4 else (3, 1, 4, 2)
        rows += [
            ((0, 1, 0, 1), places, deal),
            ((1, 0, 1, 0), (3, 1, 4, 2) if deal % 4 else (1, 3, 2, 4), deal),
        ]
    ratings = rate(columns(rows, "ab"))
    new, old = ratings.lines
    assert (new.games, new.deals) == (old.games, old.deals) == (240, 60)
    assert new.elo - old.elo > 100
    assert new.low is not None
    assert new.low > MEAN_ELO > new.elo - 400
    los = ratings.los("a", "b")
    assert los is not None
    assert los > 0.99
