"""The Plackett-Luce likelihood: by hand, by its definition, and against another library."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from tests.tournament.ratings.tables import columns, duels
from tools.benchmarks.models import League

from happycity_tournament.games import Result
from happycity_tournament.ratings.columns import Floats, Games, GamesBuilder
from happycity_tournament.ratings.likelihood import (
    PRIOR_GAMES,
    Choices,
    choices_of,
    derivatives,
    fit,
    game_scores,
)
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

STRENGTHS = np.array([0.3, -0.7, 1.1, 0.0, 0.4])
NO_PRIOR = 1e-6
RANKINGS = [(1, 2), (2, 1), (1, 1), (2, 1, 3), (1, 2, 2), (1, 1, 3), (1, 1, 1), (2, 4, 2, 1), (1, 2, 2, 2, 5)]


def defined(places: Sequence[int], strengths: Floats) -> float:
    """Return the log-likelihood of a game as it is defined: the mean over the orders that it stands for."""
    orders = [
        order
        for order in permutations(range(len(places)))
        if sorted(places) == [places[bot] for bot in order]
    ]
    return sum(strict(order, strengths) for order in orders) / len(orders)


def strict(order: Sequence[int], strengths: Floats) -> float:
    values = np.exp(strengths[list(order)])
    return sum(math.log(values[place] / values[place:].sum()) for place in range(len(order)))


@pytest.mark.parametrize("places", RANKINGS)
def test_the_likelihood_of_a_game_is_the_mean_over_its_orders(places: tuple[int, ...]) -> None:
    """Whatever the places: shared ones count as each order that they stand for, equally often."""
    games = columns([(tuple(range(len(places))), places, 1)], "abcde")
    assert derivatives(choices_of(games), STRENGTHS).value == pytest.approx(defined(places, STRENGTHS))


def test_the_derivatives_are_those_of_the_value() -> None:
    rows = [(tuple(range(len(places))), places, number) for number, places in enumerate(RANKINGS)]
    games = columns([*rows, ((0, 0, 1, 2), (1, 3, 2, 4), 20), ((4, 3, 4), (1, 1, 3), 21)], "abcde")
    choices, step = choices_of(games), 1e-5
    found = derivatives(choices, STRENGTHS)
    for bot, change in enumerate(step * np.eye(5)):
        after, before = (derivatives(choices, STRENGTHS + sign * change) for sign in (1, -1))
        assert (after.value - before.value) / (2 * step) == pytest.approx(found.gradient[bot], abs=1e-6)
        slopes = (before.gradient - after.gradient) / (2 * step)
        assert slopes.tolist() == pytest.approx(found.information[bot].tolist(), abs=1e-6)
    by_game = np.zeros(5)
    for table in games.tables.values():
        np.add.at(by_game, table.bots, game_scores(table, STRENGTHS))
    assert by_game.tolist() == pytest.approx(found.gradient.tolist())


def test_two_bots_follow_the_logistic_curve() -> None:
    """A bot that scores 300 of 400, shared places as half, is 400 log10(3) = 191 Elo above (Elo 1978)."""
    won, shared, lost = [((0, 1), places, 1) for places in ((1, 2), (1, 1), (2, 1))]
    for rows in ([won] * 300 + [lost] * 100, [won] * 250 + [shared] * 100 + [lost] * 50):
        one, other = fit(choices_of(columns(rows, "ab")), prior_games=NO_PRIOR).strengths
        assert ELO_PER_LOGIT * (one - other) == pytest.approx(400 * math.log10(3), abs=1e-3)


def test_the_prior_is_a_part_of_a_drawn_game_for_each_bot() -> None:
    """Against a bot of strength 0: after n wins n / (e^2x + 1) is this part of s(x) - 1/2."""
    one, other = fit(choices_of(columns([((0, 1), (1, 2), 1)] * 7, "ab"))).strengths
    assert one == pytest.approx(-other)
    assert 7 / (math.exp(2 * one) + 1) == pytest.approx(PRIOR_GAMES * (1 / (1 + math.exp(-one)) - 0.5))


@pytest.mark.nightly
def test_strict_rankings_agree_with_choix() -> None:
    """Tables of two to five seats together are one model (Maystre's choix)."""
    import choix  # noqa: PLC0415 - its import takes seconds

    games = League([-150, -70, -20, 40, 80, 120]).games(
        {2: 50, 3: 50, 4: 50, 5: 50}, np.random.default_rng(1)
    )
    rankings = [
        tuple(seated[np.argsort(places)].tolist())
        for table in games.tables.values()
        for seated, places in zip(table.bots, table.places, strict=True)
    ]
    oracle = choix.opt_rankings(6, rankings, alpha=0, tol=1e-10)
    ours = fit(choices_of(games), prior_games=NO_PRIOR).strengths
    assert (ours - ours[0]).tolist() == pytest.approx((oracle - oracle[0]).tolist(), abs=1e-5)


def test_choices_add_up() -> None:
    """Those of some games and of the others are those of all, whatever the order; equal ones are one row."""
    games = League([0, 100, 200, 300, 400]).games({2: 30, 4: 60}, np.random.default_rng(2))
    half = {2: 20, 4: 100}
    first, rest = games.between({}, half), games.between(half, {2: 60, 4: 240})
    added = Choices.none(5).plus(choices_of(rest)).plus(choices_of(first))
    whole = choices_of(games)
    assert added.taken.tolist() == whole.taken.tolist()
    assert [left.bots.tolist() for left in added.left] == [left.bots.tolist() for left in whole.left]
    assert [len(left.weights) for left in whole.left] == [10, 10, 5]
    assert fit(added).strengths.tolist() == pytest.approx(fit(whole).strengths.tolist())


def test_gumbel_noise_draws_from_the_model() -> None:
    league, bots = League(list(ELO_PER_LOGIT * STRENGTHS[:3])), np.tile(range(3), (40_000, 1))
    drawn = league.places(bots, np.zeros(bots.shape), np.random.default_rng(3))
    for order in permutations(range(3)):
        places = [order.index(bot) + 1 for bot in range(3)]
        share = (drawn == places).all(axis=1).mean()
        assert share == pytest.approx(math.exp(strict(order, STRENGTHS)), abs=0.01)


def test_luck_is_taken_off_the_scores() -> None:
    """Two bots whose 300 of 400 games owe 50 places to chance are as far apart as by 250 of 400."""
    rows = duels(300, 100)
    plain, table = columns(rows, "ab"), columns(rows, "ab").tables[2]
    lucky = replace(table, luck=np.tile([50 / 400, -50 / 400], (400, 1)))
    one, other = fit(choices_of(Games(plain.bots, {2: lucky})), prior_games=NO_PRIOR).strengths
    assert one - other == pytest.approx(math.log(250 / 150))
    assert game_scores(lucky, np.array([one, other])).sum(axis=0).tolist() == pytest.approx([0, 0], abs=1e-6)


def test_luck_of_some_games_only_is_refused() -> None:
    builder = GamesBuilder("ab")
    result = Result(1, None, None, 1, "ab", (1, 2), (9, 5), (0, 0), (), (), luck=(0.25, -0.25))
    builder.extend([result, result._replace(luck=())])
    with pytest.raises(ValueError, match="luck"):
        builder.build()
