"""Ratings as they are reported: the scale, intervals, differences, ranks and marks."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.tournament.games import finished
from tests.tournament.ratings.tables import Row, columns, duels
from tools.benchmarks.models import League

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import Fixture
from happycity_tournament.ratings.columns import Games, GamesBuilder, TableColumns
from happycity_tournament.ratings.estimate import estimate_of, holm, student_probabilities
from happycity_tournament.ratings.final import rate, with_difference
from happycity_tournament.ratings.likelihood import PRIOR_GAMES, choices_of, fit
from happycity_tournament.ratings.results import LOST_ALL, WON_ALL, BotRating, Ratings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, student_quantile
from happycity_tournament.wire import ratings_message, ratings_of

LEAGUE = League([-100, -50, 0, 50, 100], luck=1.0)


def games() -> Games:
    return LEAGUE.games({4: 300}, np.random.default_rng(1))


def rated(games: Games, *, anchor: str | None = None) -> Ratings:
    return rate(estimate_of(games), anchor=anchor)


def by_bot(ratings: Ratings) -> dict[str, BotRating]:
    return {line.bot: line for line in ratings.lines}


def test_an_anchor_is_at_its_rating_and_changes_no_difference() -> None:
    """Intervals are then those of the differences from the anchor; the anchor itself has none."""
    by_mean, anchored = rated(games()), rated(games(), anchor="bot-1")
    anchor = by_bot(anchored)["bot-1"]
    assert (anchor.elo, anchor.low, anchor.high) == (MEAN_ELO, MEAN_ELO, MEAN_ELO)
    for line in anchored.lines:
        difference = by_mean.difference(line.bot, "bot-1")
        if difference is not None:
            ends = (difference.low or math.nan, difference.high or math.nan)
            expected = [MEAN_ELO + value for value in (difference.elo, *ends)]
            assert [line.elo, line.low, line.high] == pytest.approx(expected)
    assert by_bot(rate(estimate_of(games()), anchor="bot-1", anchor_elo=1000))["bot-1"].elo == 1000
    with pytest.raises(KeyError, match="nobody"):
        rated(games(), anchor="nobody")


def test_intervals_are_the_sandwich_by_deal() -> None:
    """By hand: V (sum of U U' over deals, less what the fit took, and the prior's) V, with Student's t."""
    played = games()
    estimate = estimate_of(played)
    fitted, table = fit(choices_of(played)), played.tables[4]
    scores, leverages = np.zeros((300, 5)), np.zeros(300)
    strengths = np.exp(fitted.strengths)
    for deal, seated, places in zip(table.deals, table.bots, table.places, strict=True):
        order = seated[np.argsort(places)]
        for place, bot in enumerate(order[:-1]):
            left = order[place:]
            shares = strengths[left] / strengths[left].sum()
            scores[deal, bot] += 1
            scores[deal, left] -= shares
            information = np.diag(shares) - np.outer(shares, shares)
            leverages[deal] += np.trace(information @ fitted.inverse[np.ix_(left, left)]) / 3
    moved = scores / np.sqrt(1 - leverages)[:, None] @ fitted.inverse
    chance = strengths / (1 + strengths)
    drawn = PRIOR_GAMES * (0.5 - chance)
    prior = PRIOR_GAMES * np.diag(0.5 - chance * (1 - chance)) + np.outer(drawn, drawn)
    expected = moved.T @ moved + fitted.inverse @ prior @ fitted.inverse
    assert estimate.covariance == pytest.approx(expected)
    error = ELO_PER_LOGIT * math.sqrt(expected[0, 0] + expected[3, 3] - 2 * expected[0, 3])
    difference = rate(estimate).difference("bot-0", "bot-3")
    assert difference is not None
    apart = moved[:, 0] - moved[:, 3]
    degrees = int(estimate.degrees[0, 3])
    assert degrees == int(2 * (apart**2).sum() ** 2 / (apart**4).sum())
    assert difference.margin == pytest.approx(student_quantile(degrees) * error)
    from_mean = moved[:, 0] - moved.mean(axis=1)
    degrees = int(2 * (from_mean**2).sum() ** 2 / (from_mean**4).sum())
    shares = np.eye(5)[0] - 0.2
    margin = student_quantile(degrees) * ELO_PER_LOGIT * math.sqrt(shares @ expected @ shares)
    assert by_bot(rate(estimate))["bot-0"].margin == pytest.approx(margin)


def test_degrees_of_freedom_count_the_deals_of_both() -> None:
    """Two bots in the same 20 deals have 19 degrees; two that only met a third one, in 20 deals each, 39.

    In a gauntlet intervals would be too wide if the deals of one bot alone counted.
    """
    together = estimate_of(columns(duels(10, 10), "ab"))
    assert together.degrees[0, 1] == 19
    margin = student_quantile(19) * together.difference_errors()[0, 1] / 2
    assert rate(together).lines[0].margin == pytest.approx(margin)
    apart = columns([*duels(10, 10), *duels(10, 10, one=2, first_deal=50)], "abc")
    assert estimate_of(apart).degrees[0, 2] == 39


@pytest.mark.parametrize(("upsets", "degrees"), [(1, 2), (2, 4), (5, 10)])
def test_few_upsets_are_few_degrees_of_freedom(upsets: int, degrees: int) -> None:
    """What is known of a far stronger bot are the deals that it lost, each with two degrees."""
    assert estimate_of(columns(duels(200 - upsets, upsets), "ab")).degrees[0, 1] == degrees


def texts(ratings: Ratings) -> str:
    """The bots, best first, each with its interval and its difference to the next one as people read them."""
    return "; ".join(
        f"{line.bot} {line.interval_text}" + ("" if above is None else f" | {above.text}")
        for line, _, above in ratings.to_next()
    )


@pytest.mark.parametrize(
    ("won", "mark", "ends"), [(0, LOST_ALL, "≤"), (1, "", "±"), (29, "", "±"), (30, WON_ALL, "≥")]
)
def test_a_bot_that_won_or_lost_all_has_one_end(won: int, mark: str, ends: str) -> None:
    """Its interval and all its differences have one end, whatever is the anchor, and it isn't in the mean.

    Nor is one with a single upset: the mean would move by far if it hadn't happened.
    """
    played = columns([*duels(20, 20), *duels(won, 30 - won, one=2, first_deal=50)], "abc")
    ratings, anchored = rated(played), rated(played, anchor="c")
    line = by_bot(ratings)["c"]
    assert (line.mark, line.interval_text[0]) == (mark, ends)
    for other in "ab":
        difference = ratings.difference("c", other)
        assert difference is not None
        assert difference.has_one_end == bool(mark)
        assert by_bot(anchored)[other].has_one_end == bool(mark)
        assert not by_bot(ratings)[other].has_one_end
    counted = [line.elo for line in ratings.lines if line.bot != "c"]
    assert np.mean(counted) == pytest.approx(MEAN_ELO)
    assert ratings.notes == ("the mean is that of all bots but c, of which games say too little",)


def beats(bots: str, order: str, *, first_deal: int) -> list[Row]:
    """Return 30 games of two bots; `order` is such as `a>b` if one wins all, `a=b` if each wins half."""
    one, other = bots.index(order[0]), bots.index(order[2])
    won = 30 if order[1] == ">" else 15
    return duels(won, 30 - won, one=one, other=other, first_deal=first_deal)


@pytest.mark.parametrize(
    ("played", "ends"),
    [
        ("a>b", "a≥ b≤"),  # the mean is that of both
        ("a>b b>c", "a≥ b± c≤"),  # the bot in the middle is the zero point
        ("a=b c=d a>c a>d b>c b>d", "a≥ b≥ c≤ d≤"),  # nothing says how far apart the pairs are
        ("a=b b=c d=e a>d b>d c>d", "a± b± c± d≤ e≤"),  # the largest group is the zero point
        ("a=b b>c c>d d>b", "a± b± c± d±"),  # a circle bounds all
        ("a>b c>b", "a- b≤ c-"),  # two that never met, and only beat a third one
    ],
)
def test_an_interval_has_the_ends_that_games_give_it(played: str, ends: str) -> None:
    """A bot has a lower end if it was above all bots of the mean, and an upper one if they were above it."""
    bots = "".join(sorted(set(played) & set("abcde")))
    rows = [beats(bots, order, first_deal=50 * number) for number, order in enumerate(played.split())]
    lines = by_bot(rated(columns([row for part in rows for row in part], bots)))
    assert " ".join(f"{bot}{lines[bot].interval_text[0]}" for bot in bots) == ends


def test_messages_keep_the_ends() -> None:
    """An end that isn't there is absent in messages, and read back as it was."""
    ratings = rated(columns([*duels(20, 20), *duels(30, 0, one=2, first_deal=50)], "abc"))
    read = ratings_of(ratings_message(ratings))
    assert texts(read) == texts(ratings)
    assert re.fullmatch(r"c ≥\d+ \| ≥\d+; (\w ±\d+( \| \d+ ±\d+)?(; )?)*", texts(ratings))


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
        assert None not in (difference.low, difference.high)
        assert difference.low == pytest.approx(-(opposite.high or 0))
        assert difference.los + opposite.los == pytest.approx(1)
        assert (difference.los > 0.975) == (not difference.contains(0) and difference.elo > 0)


def test_ranks_are_those_that_the_games_leave_open() -> None:
    above = [*duels(38, 2, one=2, first_deal=50), *duels(38, 2, one=2, other=1, first_deal=100)]
    lines = rated(columns([*duels(20, 20), *above], "abc")).lines
    assert [(line.bot, line.ranks) for line in lines] == [("c", "1"), ("a", "2-3"), ("b", "2-3")]


def test_many_equal_bots_are_not_ranked_by_chance() -> None:
    """Of 45 pairs some look different by chance; ranks hold for all pairs at once."""
    ratings = rated(League([0.0] * 10).games({2: 40}, np.random.default_rng(1)))
    assert max(difference.los for difference in ratings.differences.values()) > 0.98
    assert {line.ranks for line in ratings.lines} == {"1-10"}


@pytest.mark.parametrize(("anchor", "elos"), [(None, (1520, 1480)), ("b", (1540, 1500)), ("a", (1500, 1460))])
def test_a_test_shows_one_difference(anchor: str | None, elos: tuple[float, float]) -> None:
    """What a sequential test says of its two bots takes the place of what all their games say."""
    ratings = with_difference(rated(columns(duels(30, 10), "ab"), anchor=anchor), "ab", (40.0, 10.0, 70.0))
    assert tuple(line.elo for line in ratings.lines) == pytest.approx(elos)
    difference = ratings.difference("a", "b")
    assert difference is not None
    assert (difference.elo, difference.low, difference.high) == (40.0, 10.0, 70.0)
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
        held += [line.contains(truth[line.bot]) for line in ratings.lines]
        held += [
            difference.contains(truth[bot] - truth[other])
            for (bot, other), difference in ratings.differences.items()
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
