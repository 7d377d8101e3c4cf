"""Bots that were above, or below, all others: bounds in place of estimates."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from benchmarks.leagues import League, columns

from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.groups import groups_of

Row = tuple[Sequence[int], Sequence[int], int]


def duels(better: int, worse: int, deals: int, *, first: int = 0) -> Iterator[Row]:
    """Yield rotated deals all of which one bot wins."""
    for deal in range(first, first + deals):
        yield (better, worse), (1, 2), deal
        yield (worse, better), (2, 1), deal


def even(bots: Sequence[int], deals: int, *, first: int) -> Iterator[Row]:
    """Yield single games of two that win in turn."""
    for deal in range(first, first + deals):
        yield tuple(bots), (1, 2) if deal % 2 else (2, 1), deal


@pytest.mark.parametrize(("deals", "bound"), [(10, 277), (20, 406), (60, 602), (250, 852)])
def test_a_perfect_score_between_two_has_the_interval_of_clopper_and_pearson(deals: int, bound: int) -> None:
    """The least chance to win a game that the results leave open is 0.025^(1/games)."""
    ratings = rate(columns(list(duels(0, 1, deals)), "ab"))
    difference = ratings.difference("a", "b")
    assert difference is not None
    assert difference.low == pytest.approx(bound, abs=1)
    assert difference.high == np.inf
    best, worst = ratings.lines
    assert best.low == pytest.approx(1500 + bound / 2, abs=1)
    assert worst.high == pytest.approx(1500 - bound / 2, abs=1)
    assert best.high is worst.low is None
    assert best.elo + worst.elo == pytest.approx(3000)
    los = ratings.los("a", "b")
    assert los is not None
    assert los == pytest.approx(1 - 0.5 ** (2 * deals))


def league_with_extremes(seed: int) -> tuple[Games, Games]:
    """Return games of four bots with one that nobody beats and one that beats nobody, and without the two."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    inner: list[Row] = []
    for deal in range(28):  # too few for effects of the seats
        one, other = rng.permutation(4)[:2].tolist()
        places = (2, 3) if rng.random() < 0.5 + 0.05 * (one - other) else (3, 2)
        rows.append(((4, one, other, 5), (1, *places, 4), deal))
        inner.append(((one, other), places, deal))
    return columns(rows, "abcdef"), columns(inner, "abcdef")


def test_an_unbeaten_bot_shifts_nobody() -> None:
    """The others' ratings are those of their games alone, and their mean is 1500."""
    games, inner = league_with_extremes(1)
    ratings = rate(games)
    others = [line.elo for line in ratings.lines[:4]]
    assert np.mean(others) == pytest.approx(1500)
    assert others == pytest.approx([line.elo for line in rate(inner).lines[:4]], abs=0.001)
    best, worst = ratings.lines[4:]
    assert best.low is not None
    assert worst.high is not None
    assert best.high is worst.low is None
    assert best.elo > best.low > 1500 > worst.high > worst.elo


@pytest.mark.thorough
def test_bounds_hold_where_a_perfect_score_is_likely() -> None:
    """A bot far above others and one far below are covered by their intervals, with a bound or without."""
    league = League([1000, *np.linspace(-100, 100, 6).tolist(), -1000])
    truth = np.array(league.elos) - np.mean(league.elos[1:7])
    held, bounded = [], 0
    for seed in range(40):
        lines = rate(league.games({4: 40}, np.random.default_rng([3, seed]))).lines
        centre = 1500 if lines[0].high is None and lines[7].low is None else None
        bounded += lines[0].high is None
        for line, true in zip(lines, truth, strict=True):
            if centre is None or (line.low is None and line.high is None):
                continue
            low = -np.inf if line.low is None else line.low
            high = np.inf if line.high is None else line.high
            held.append(low <= 1500 + true <= high)
    assert bounded >= 10
    assert 0.9 <= np.mean(held) <= 1


def test_few_deals_set_nobody_apart() -> None:
    """With fewer than ten deals a perfect score has a finite rating by the prior, and no interval."""
    lines = rate(columns(list(duels(0, 1, 9)), "ab")).lines
    assert [(line.low, line.high) for line in lines] == [(None, None)] * 2
    assert 1500 < lines[0].elo < 2200


def test_a_bot_with_few_deals_joins_no_groups() -> None:
    """Who lost to an unbeaten bot, and beat others, once each, makes no estimate of a bound."""
    rows = [*even((0, 1), 20, first=0), *even((1, 2), 20, first=20), *duels(3, 0, 12, first=40)]
    few = [((3, 4), (1, 2), 60), ((4, 0), (1, 2), 61), ((2, 4), (1, 2), 62)]
    groups = groups_of(games := columns([*rows, *few], "abcde"), games.deals_played())
    assert groups.levels.tolist() == [0, 0, 0, 1, 0]
    assert rate(games).lines[3].high is None


def test_chains_of_perfect_scores_have_levels() -> None:
    """A bot above one that is above the rest is farther above; bots that never met have other pools."""
    rows = [*even((0, 1), 40, first=0), *duels(2, 0, 20, first=100), *duels(3, 2, 20, first=200)]
    rows += [*duels(1, 4, 20, first=300), *even((5, 6), 20, first=400)]
    groups = groups_of(games := columns(rows, "abcdefg"), games.deals_played())
    assert groups.levels.tolist() == [0, 0, 1, 2, -1, 0, 0]
    assert groups.pools.tolist() == [0, 0, 0, 0, 0, 1, 1]
    ratings = rate(columns(rows, "abcdefg"))
    elos = [line.elo for line in ratings.lines]
    assert elos[3] > elos[2] > 1600 > elos[0] > 1400 > elos[4]
    assert ratings.los("d", "c") == pytest.approx(1 - 0.5**40)
    certain = ratings.los("d", "e")
    assert certain is not None
    assert certain > 0.99
    assert ratings.los("d", "f") is None
    assert [(line.rank_best, line.rank_worst) for line in ratings.lines[2:5]] == [(2, 2), (1, 1), (5, 5)]


def test_bots_that_only_an_unbeaten_one_joins_are_not_compared() -> None:
    """That both lost to the same bot in all games says nothing about the two."""
    rows = [*even((0, 1), 40, first=0), *even((2, 3), 30, first=100)]
    rows += [*duels(4, 0, 20, first=200), *duels(4, 2, 20, first=300)]
    ratings = rate(columns(rows, "abcde"))
    assert [line.pool for line in ratings.lines] == [0, 0, 1, 1, 0]
    assert ratings.los("a", "c") is None


def test_an_anchor_keeps_the_bounds() -> None:
    """With an unbeaten bot as the anchor, the others have upper ends; with another one, it has a lower."""
    rows = [*even((0, 1), 40, first=0), *duels(2, 0, 20, first=100), *duels(2, 1, 20, first=200)]
    by_best = rate(columns(rows, "abc"), anchor="c", anchor_elo=2000).lines
    assert (by_best[2].low, by_best[2].elo, by_best[2].high) == (2000, 2000, 2000)
    assert by_best[0].low is None
    assert by_best[0].high is not None
    assert by_best[0].elo < by_best[0].high < 2000
    by_other = rate(columns(rows, "abc"), anchor="a").lines
    assert by_other[2].high is None
    assert by_other[2].low is not None
    assert by_other[2].low > 1700
