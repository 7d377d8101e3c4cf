"""Checks of the rating model: silent where the model holds, and clear where it doesn't."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.leagues import League, columns, draw_places

from happycity_tournament.ratings.checks.bursts import bursts_of
from happycity_tournament.ratings.checks.model_checks import (
    MIN_ELO,
    ModelCheck,
    Subject,
    check_lines,
    check_model,
    holm,
)
from happycity_tournament.ratings.checks.moments import Residuals
from happycity_tournament.ratings.checks.score_test import chi2_tail
from happycity_tournament.ratings.columns import Floats, Games, TableColumns
from happycity_tournament.ratings.fit import fit
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

ELOS = np.linspace(-150, 150, 6)
LEAGUE = League(ELOS.tolist(), seat_effects={4: [30, 10, -10, -30]}, deltas={2: 0.3})
Shift = Callable[[TableColumns], Floats]


def checks_of(games: Games, *sources: str) -> dict[Subject, ModelCheck]:
    estimate = fit(games)
    return {check.subject: check for check in check_model(estimate, bursts_of(estimate), sources)}


def played(deals: dict[int, int], shift: Shift, seed: int = 1) -> Games:
    """Play deals between bots whose strengths, [game, seat] in Elo, are shifted in some of them."""
    rng = np.random.default_rng(seed)
    games = LEAGUE.games(deals, rng)
    tables = {}
    for seats, table in games.tables.items():
        strengths = (ELOS[table.bots] + shift(table)) / ELO_PER_LOGIT
        tables[seats] = replace(table, places=draw_places(strengths, {2: 0.3}, rng))
    return Games(games.bots, tables)


def rock_paper_scissors(kinds: str, deals: int) -> Games:
    """Play duels in which a bot of a kind beats the kind before it nine times in ten."""
    rng, games = np.random.default_rng(2), []
    for deal in range(deals):
        first, second = rng.permutation(len(kinds))[:2].tolist()
        ahead = ("rps".index(kinds[first]) - "rps".index(kinds[second])) % 3
        for _ in range(2):
            wins = rng.random() < (0.5, 0.9, 0.1)[ahead]
            games.append(((first, second), (1, 2) if wins else (2, 1), deal))
    return columns(games, [f"{kind}{number}" for number, kind in enumerate(kinds)])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("league", "deals"),
    [
        (LEAGUE, {4: 60}),
        (replace(LEAGUE, luck=0.7), {2: 60, 3: 40}),
        (replace(LEAGUE, seating="single"), {5: 60}),
    ],
)
def test_p_values_are_uniform_where_the_model_holds(league: League, deals: dict[int, int]) -> None:
    """Of all checks about 20% have a p-value below 0.2, half one below 0.5, and hardly any one below 0.01."""
    p_values = [
        check.p_value
        for number in range(40)
        for check in checks_of(league.games(deals, np.random.default_rng([3, number]))).values()
    ]
    # Four standard deviations of 100 and more independent p-values, three of which a run shares games with.
    assert len(p_values) >= 100
    assert 0.07 <= np.mean(np.array(p_values) < 0.2) <= 0.33
    assert 0.34 <= np.mean(np.array(p_values) < 0.5) <= 0.66
    assert np.mean(np.array(p_values) < 0.01) <= 0.04


@pytest.mark.parametrize(("kinds", "deals"), [("rps", 60), ("rpsrpsrps", 300), ("rrrrps", 300)])
def test_bots_that_beat_each_other_in_a_circle_are_named(kinds: str, deals: int) -> None:
    """Their ratings are equal, and only the check of pairs shows that their games are not."""
    checks = checks_of(rock_paper_scissors(kinds, deals))
    pairs = checks[Subject.PAIRS]
    assert pairs.failed
    largest = pairs.largest[0]
    assert largest.versus is not None
    assert "rps".index(largest.bot[0]) == ("rps".index(largest.versus[0]) + 1) % 3
    assert largest.value > 200
    (line,) = check_lines([pairs])
    assert line.startswith("check of pairs (p < 0.001): ")
    assert f"Elo stronger against {largest.versus} than the ratings say" in line


def test_a_bot_that_changes_on_the_way_is_named() -> None:
    """A new version in the second half plays 200 Elo better."""
    games = played({4: 200}, lambda table: 200 * ((table.bots == 2) & (table.deals[:, None] >= 100)))
    halves = checks_of(games)[Subject.HALVES]
    assert halves.failed
    assert (halves.largest[0].bot, halves.largest[0].versus) == ("bot 2", "the second half")
    assert halves.largest[0].value == pytest.approx(200, abs=2 * halves.largest[0].margin)


def test_bursts_of_failures_are_named() -> None:
    """A bot that fails in three series of eight deals has similar results in consecutive deals."""
    games = played({4: 200}, lambda table: -900 * ((table.bots == 3) & (table.deals[:, None] % 66 < 8)))
    check = checks_of(games)[Subject.CONSECUTIVE_DEALS]
    assert check.failed
    assert check.largest[0].bot == "bot 3"
    assert 0.1 < check.largest[0].value < 1
    assert "bot 3 has similar results in consecutive deals" in check_lines([check])[0]


def test_bursts_are_looked_for_beside_a_bot_that_never_lost() -> None:
    """Its strength has no finite estimate, and so no information."""
    rng = np.random.default_rng(1)
    bots = np.array([rng.permutation(3)[:2] for _ in range(200)])
    first = np.where(bots[:, 0] == 2, 1, np.where(bots[:, 1] == 2, 2, rng.integers(1, 3, size=200)))
    table = TableColumns(bots, np.stack([first, 3 - first], axis=1), np.arange(200) // 2)
    assert Subject.BURSTS in checks_of(Games(("a", "b", "c"), {2: table}))


def test_a_bot_with_another_strength_at_one_table_size_is_named() -> None:
    """One rating for all table sizes is wrong for it."""
    games = played(
        {2: 150, 3: 100, 5: 50}, lambda table: 250 * (table.bots == 1) * (table.bots.shape[1] == 3)
    )
    check = checks_of(games)[Subject.TABLE_SIZES]
    assert check.failed
    assert (check.largest[0].bot, check.largest[0].versus) == ("bot 1", "tables of 3")
    assert "rate the tournaments of each table size on their own" in check_lines([check])[0]


def test_one_name_for_two_programs_is_noticed() -> None:
    """The bot is 300 Elo stronger in the second of three sources."""
    games = played({4: 240}, lambda table: 300 * ((table.bots == 5) & (table.deals[:, None] // 80 == 1)))
    table = games.tables[4]
    marked = Games(games.bots, {4: replace(table, sources=table.deals // 80)})
    checks = checks_of(marked, "a", "b", "c")
    assert checks[Subject.SOURCES].failed
    assert (checks[Subject.SOURCES].largest[0].bot, checks[Subject.SOURCES].largest[0].versus) == (
        "bot 5",
        "b",
    )
    assert "--by-source bot 5" in check_lines([checks[Subject.SOURCES]])[0]
    assert not checks[Subject.HALVES].failed  # the halves are those of each source
    assert Subject.SOURCES not in checks_of(games)


def test_all_is_well_in_one_line() -> None:
    """The line says what was checked; without enough games it says that."""
    checks = list(checks_of(LEAGUE.games({4: 100}, np.random.default_rng(4))).values())
    (line,) = check_lines(checks)
    assert line.startswith(
        "checks of the model: nothing unusual in pairs, halves, consecutive deals and bursts (corrected p = "
    )
    few = tuple(checks_of(LEAGUE.games({4: 5}, np.random.default_rng(5))).values())
    assert few == ()
    assert check_lines(few) == ["checks of the model: not enough data"]


def test_a_small_deviation_is_not_pointed_out() -> None:
    """In many games a few Elo are significant, and nobody needs to know."""
    deviation = checks_of(rock_paper_scissors("rps", 60))[Subject.PAIRS].largest[0]
    check = ModelCheck(Subject.PAIRS, 3, 1e-9, 1e-9, (replace(deviation, value=MIN_ELO - 1),))
    assert not check.failed
    assert replace(check, largest=(replace(deviation, value=MIN_ELO + 1),)).failed


def test_the_estimate_of_a_deviation_is_that_of_a_fit_with_it() -> None:
    """Near 0 one Newton step is exact: a bot counted as two under two conditions has that difference."""
    games = played({4: 600}, lambda table: 20 * ((table.bots == 2) & (table.deals[:, None] >= 300)))
    residuals = Residuals(fit(games))
    halves = residuals.by_condition(residuals.halves(None), [1])
    assert halves is not None
    assert [subject.bot for subject in halves.subjects] == list(range(6))
    table = games.tables[4]
    later = np.where((table.bots == 2) & (table.deals[:, None] >= 300), 6, table.bots)
    split = fit(Games((*games.bots, "later"), {4: replace(table, bots=later)})).parameters
    assert halves.result.estimates[2] == pytest.approx(split[6] - split[2], abs=0.02)


@pytest.mark.parametrize(
    ("value", "degrees", "tail"),
    [
        (0, 3, 1), (3.8415, 1, 0.05), (0.07, 0.7, 0.656), (9.2103, 2, 0.01), (50, 120, 1), (500, 120, 0),
        (969.9, 900, 0.0524),
    ],
)  # fmt: skip
def test_the_tail_of_chi2(value: float, degrees: float, tail: float) -> None:
    """It is the value of the tables, also of degrees between whole numbers and of many."""
    assert chi2_tail(value, degrees) == pytest.approx(tail, abs=1e-3)


def test_holm_corrects_in_the_order_of_the_p_values() -> None:
    """The smallest counts for all, the largest for itself, and none is below a smaller one's."""
    assert holm([0.04, 0.01, 0.5, 0.02]) == pytest.approx([0.08, 0.04, 0.5, 0.06])
    assert holm([0.6, 0.6]) == [1, 1]
    assert holm([]) == []
