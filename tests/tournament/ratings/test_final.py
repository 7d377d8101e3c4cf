"""Ratings as they are reported: the scale, intervals, differences, ranks and marks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.tournament.games import finished
from tests.tournament.ratings.tables import columns, duels
from tools.benchmarks.models import League

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import Fixture
from happycity_tournament.ratings.columns import Games, GamesBuilder, TableColumns
from happycity_tournament.ratings.estimate import estimate_of, holm, student_probabilities
from happycity_tournament.ratings.final import rate, with_difference
from happycity_tournament.ratings.likelihood import choices_of, fit
from happycity_tournament.ratings.results import LOST_ALL, WON_ALL, BotRating, Ratings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, student_quantile

LEAGUE = League([-100, -50, 0, 50, 100], luck=1.0)


def games() -> Games:
    return LEAGUE.games({4: 300}, np.random.default_rng(1))


def rated(games: Games, *, anchor: str | None = None) -> Ratings:
    return rate(estimate_of(games), anchor=anchor)


def by_bot(ratings: Ratings) -> dict[str, BotRating]:
    return {line.bot: line for line in ratings.lines}


def test_everybody_counts_in_the_mean() -> None:
    won = [*duels(30, 0, other=2, first_deal=50), *duels(30, 0, one=1, other=2, first_deal=90)]
    ratings = rated(columns([*duels(20, 20), *won], "abc"))
    assert np.mean([line.elo for line in ratings.lines]) == pytest.approx(MEAN_ELO)
    assert ratings.lines[-1].mark == LOST_ALL


def test_an_anchor_is_at_its_rating_and_changes_no_difference() -> None:
    """Intervals are then those of the differences from the anchor; the anchor itself has none."""
    by_mean, anchored = rated(games()), rated(games(), anchor="bot-1")
    anchor = by_bot(anchored)["bot-1"]
    assert (anchor.elo, anchor.low, anchor.high) == (MEAN_ELO, MEAN_ELO, MEAN_ELO)
    for line in anchored.lines:
        difference = by_mean.difference(line.bot, "bot-1")
        if difference is not None:
            expected = [MEAN_ELO + value for value in difference[:3]]
            assert [line.elo, line.low, line.high] == pytest.approx(expected)
    assert by_bot(rate(estimate_of(games()), anchor="bot-1", anchor_elo=1000))["bot-1"].elo == 1000
    with pytest.raises(KeyError, match="nobody"):
        rated(games(), anchor="nobody")


def test_intervals_are_the_sandwich_by_deal() -> None:
    """By hand: V (sum of U U' over deals, C / (C - 1) times, and the prior's) V, with Student's t."""
    played = games()
    estimate = estimate_of(played)
    fitted, table = fit(choices_of(played)), played.tables[4]
    scores = np.zeros((300, 5))
    strengths = np.exp(fitted.strengths)
    for deal, seated, places in zip(table.deals, table.bots, table.places, strict=True):
        order = seated[np.argsort(places)]
        for place, bot in enumerate(order[:-1]):
            left = order[place:]
            scores[deal, bot] += 1
            scores[deal, left] -= strengths[left] / strengths[left].sum()
    deals = np.array(
        [len({int(deal) for deal in table.deals[(table.bots == bot).any(axis=1)]}) for bot in range(5)]
    )
    scaled = scores * np.sqrt(deals / (deals - 1))
    chance = strengths / (1 + strengths)
    middle = scaled.T @ scaled + np.diag(0.5 - chance * (1 - chance))
    expected = fitted.inverse @ middle @ fitted.inverse
    assert estimate.covariance == pytest.approx(expected)
    error = ELO_PER_LOGIT * math.sqrt(expected[0, 0] + expected[3, 3] - 2 * expected[0, 3])
    difference = rate(estimate).difference("bot-0", "bot-3")
    assert difference is not None
    degrees = int(estimate.difference_errors()[1][0, 3])
    assert min(deals[[0, 3]]) - 1 <= degrees <= 299
    assert difference.high - difference.elo == pytest.approx(student_quantile(degrees) * error)


def test_degrees_of_freedom_count_the_deals_of_both() -> None:
    """Two bots in the same 20 deals have 19 degrees; two that only met a third one, in 20 deals each, 39.

    In a gauntlet intervals would be too wide if the deals of one bot alone counted.
    """
    together = estimate_of(columns(duels(10, 10), "ab"))
    errors, degrees = together.difference_errors()
    assert degrees[0, 1] == 19
    assert together.margins()[0] == pytest.approx(student_quantile(19) * errors[0, 1] / 2)
    apart = columns([*duels(10, 10), *duels(10, 10, one=2, first_deal=50)], "abc")
    assert estimate_of(apart).difference_errors()[1][0, 2] == 39


def width(line: BotRating) -> float:
    assert line.low is not None
    assert line.high is not None
    return line.high - line.low


@pytest.mark.parametrize(("won", "mark"), [(0, LOST_ALL), (1, ""), (29, ""), (30, WON_ALL)])
def test_a_bot_that_won_or_lost_all_has_a_wide_interval(won: int, mark: str) -> None:
    """It is finite, it is marked, and the likely strengths are in it."""
    rows = [*duels(20, 20), *duels(won, 30 - won, one=2, first_deal=50)]
    line = by_bot(rated(columns(rows, "abc")))["c"]
    assert line.mark == mark
    assert 300 < width(line) < 1300
    if mark:
        assert max(abs(end - MEAN_ELO) for end in (line.low, line.high) if end is not None) > 600


def test_one_deal_has_no_interval() -> None:
    """It doesn't show how much deals differ: there is a rating, but neither an interval nor a difference."""
    rows = [*duels(20, 20), *duels(2, 0, one=2, first_deal=50)]
    for count, known in ((1, False), (2, True)):
        ratings = rated(columns(rows[: 40 + count], "abc"))
        assert (by_bot(ratings)["c"].low is not None) == known
        assert (ratings.difference("c", "a") is not None) == known
        assert ratings.difference("a", "b") is not None


def test_pools_that_never_met_are_not_compared() -> None:
    """Each has its own mean at 1500 and a number; a chain of meetings joins its ends."""
    rows = [*duels(30, 10), *duels(30, 10, one=3, other=2, first_deal=100)]
    ratings = rated(columns(rows, "abcde"))
    assert "".join(f"{line.bot}{line.pool}" for line in ratings.lines) == "a1b1d2c2e3"
    assert ratings.pools == 3
    a, b, d, c, e = (line.elo for line in ratings.lines)
    assert (a + b, c + d, e) == pytest.approx((2 * MEAN_ELO, 2 * MEAN_ELO, MEAN_ELO))
    assert ratings.difference("a", "c") is None
    assert [above is None for _, _, above in ratings.to_next()] == [False, True, False, True, True]
    anchored = rated(columns(rows, "abcde"), anchor="b")
    assert [line.elo for line in anchored.lines[1:4]] == pytest.approx([MEAN_ELO, d, c])
    chain = columns([((0, 1), (1, 2), 0), ((3, 4, 2), (1, 2, 3), 1), ((1, 3), (2, 1), 2)], "abcde")
    assert {line.pool for line in rated(chain).lines} == {1}


def test_differences_are_opposite_and_their_likelihoods_add_up() -> None:
    """LOS is Student's chance of the difference; all known pairs are listed, none with oneself."""
    ratings = rated(games())
    assert len(ratings.differences) == 20
    for (bot, other), difference in ratings.differences.items():
        opposite = ratings.difference(other, bot)
        assert opposite is not None
        assert difference.elo == pytest.approx(-opposite.elo)
        assert difference.low == pytest.approx(-opposite.high)
        assert difference.los + opposite.los == pytest.approx(1)
        assert (difference.los > 0.975) == (difference.low > 0)


def test_ranks_are_those_that_the_games_leave_open() -> None:
    above = [*duels(38, 2, one=2, first_deal=50), *duels(38, 2, one=2, other=1, first_deal=100)]
    lines = rated(columns([*duels(20, 20), *above], "abc")).lines
    assert [(line.bot, line.ranks) for line in lines] == [("c", "1"), ("a", "2-3"), ("b", "2-3")]


def test_many_equal_bots_are_not_ranked_by_chance() -> None:
    """Of 45 pairs some look different by chance; ranks hold for all pairs at once."""
    ratings = rated(League([0.0] * 10).games({2: 40}, np.random.default_rng(1)))
    assert max(difference.los for difference in ratings.differences.values()) > 0.98
    assert {line.ranks for line in ratings.lines} == {"1-10"}


def test_larger_errors_are_said() -> None:
    """Where results chose the games, all intervals are wider by one factor, and a note says so."""
    plain, wider = (rate(estimate_of(games()), error_factor=factor) for factor in (1.0, 1.25))
    assert plain.notes == ()
    assert "1.25" in wider.notes[0]
    for line, other in zip(plain.lines, wider.lines, strict=True):
        assert width(other) == pytest.approx(1.25 * width(line))


@pytest.mark.parametrize(("anchor", "elos"), [(None, (1520, 1480)), ("b", (1540, 1500)), ("a", (1500, 1460))])
def test_a_test_shows_one_difference(anchor: str | None, elos: tuple[float, float]) -> None:
    """What a sequential test says of its two bots takes the place of what all their games say."""
    ratings = with_difference(rated(columns(duels(30, 10), "ab"), anchor=anchor), "ab", (40.0, 10.0, 70.0))
    assert tuple(line.elo for line in ratings.lines) == pytest.approx(elos)
    difference = ratings.difference("a", "b")
    assert difference is not None
    assert difference[:3] == (40.0, 10.0, 70.0)
    one = ratings.lines[0]
    if anchor is None:
        assert (one.low, one.high) == (1505, 1535)


def test_equal_results_make_equal_ratings_in_the_given_order() -> None:
    played = games().tables[4]
    mixed = np.random.default_rng(3).permutation(len(played.deals))
    other = TableColumns(played.bots[mixed], played.places[mixed], 7 * played.deals[mixed] + 3)
    for one, two in zip(rated(games()).lines, rated(Games(LEAGUE.bots, {4: other})).lines, strict=True):
        assert (two.bot, two.deals, two.games) == (one.bot, one.deals, one.games)
        assert [two.elo, two.low, two.high] == pytest.approx([one.elo, one.low, one.high])
    even = columns([*duels(10, 10)], "ba")
    assert [line.bot for line in rated(even).lines] == ["b", "a"]


@pytest.mark.parametrize(
    ("elos", "seats", "deals"),
    [((0, 0, 0, 0, 0, 0), 4, 40), ((0, 240, 480, 720, 960, 1200), 2, 120), ((0, 400), 2, 30)],
)
def test_intervals_hold(elos: tuple[float, ...], seats: int, deals: int) -> None:
    """95% of them, of ratings as they are printed and of differences; `python -m tools coverage` has more."""
    league, rng, held = League(elos), np.random.default_rng(4), []
    truth = dict(zip(league.bots, 1500 + league.truth(seats), strict=True))
    for _ in range(60):
        ratings = rated(league.games({seats: deals}, rng))
        held += [line.low <= truth[line.bot] <= line.high for line in ratings.lines if line.low and line.high]
        held += [
            low <= truth[bot] - truth[other] <= high
            for (bot, other), (_, low, high, _) in ratings.differences.items()
            if bot < other
        ]
    assert 0.92 <= np.mean(held) <= 0.985


def test_quantiles_and_probabilities_of_students_distribution() -> None:
    """By tables; the approximations are as exact as they say."""
    assert [student_quantile(degrees) for degrees in (1, 5, 9, 30)] == pytest.approx(
        [12.706, 2.571, 2.262, 2.042], abs=0.001
    )
    values, degrees = np.array([1.833, 0.0, -2.262, 12.706]), np.array([9, 4, 9, 1])
    expected = [0.95, 0.5, 0.025, 0.975]
    assert student_probabilities(values, degrees).tolist() == pytest.approx(expected, abs=0.01)


def test_holm() -> None:
    """The smallest p-value counts once for each, the next for one less (Holm 1979)."""
    assert holm([0.04, 0.01, 0.03, 0.5]).tolist() == pytest.approx([0.09, 0.04, 0.09, 0.5])


def test_every_game_counts_at_once() -> None:
    """A rating holds a game as soon as it is added; one with a bot that isn't rated changes nothing."""
    builder, elos = GamesBuilder("ab"), [MEAN_ELO]
    for rotation, (bots, places) in enumerate(((("a", "b"), (1, 2)), (("b", "a"), (2, 1)))):
        fixture = Fixture(1, 0, rotation, deal_seed=1, bots=bots, bot_seeds=(0, 0))
        builder.extend([finished(fixture, places=places)])
        elos.append(by_bot(rated(builder.build()))["a"].elo)
        with pytest.raises(KeyError, match="c"):
            builder.extend([finished(replace(fixture, bots=("a", "c")), places=places)])
    assert elos == sorted(set(elos))
