"""What to expect of a table of given bots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from benchmarks.leagues import League, columns, draw_places

from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.fit import fit
from happycity_tournament.ratings.prediction import BotPrediction, place_shares, predict
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

LEAGUE = League(
    [-150, -50, 0, 60, 140], seat_effects={4: [60, 20, -20, -60]}, deltas={2: 0.4, 3: 0.2}, luck=0.5
)


def predicted(
    bots: Sequence[str], *, deals: int = 200, seed: int = 1, seated: bool = False
) -> list[BotPrediction]:
    estimate = fit(LEAGUE.games({4: deals}, np.random.default_rng(seed)))
    return predict(estimate, sandwich(estimate), bots, seated=seated)


def test_two_bots_without_ties_have_the_odds_of_elo() -> None:
    """200 Elo are 76% (Elo 1978)."""
    shares = place_shares([200 / ELO_PER_LOGIT, 0], [0, 0], {}, seated=False)
    assert shares == pytest.approx(np.array([[0.7597, 0.2403], [0.2403, 0.7597]]), abs=1e-4)


def test_two_bots_with_ties_are_davidsons_model() -> None:
    """A tie has the weight delta sqrt(pi_1 pi_2); both are first then."""
    pi, delta = 2.0, 0.5
    total = pi + 1 + delta * math.sqrt(pi)
    shares = place_shares([math.log(pi), 0], [0, 0], {2: math.log(delta)}, seated=False)
    assert shares[:, 0] == pytest.approx([1 - 1 / total, 1 - pi / total])


@pytest.mark.parametrize("count", [3, 4, 5])
def test_probabilities_are_those_of_games_drawn_from_the_model(count: int) -> None:
    """In 40,000 games with ties every bot takes every place as often as it should."""
    strengths, deltas = np.linspace(-0.6, 0.8, count), {2: 0.4, 3: 0.2}
    effects = np.linspace(0.5, -0.5, count)
    places = draw_places(np.tile(strengths + effects, (40_000, 1)), deltas, np.random.default_rng(count))
    drawn = np.array([(places == place).mean(axis=0) for place in range(1, count + 1)]).T
    logs = {order: math.log(delta) for order, delta in deltas.items()}
    shares = place_shares(strengths.tolist(), effects.tolist(), logs, seated=True)
    assert shares == pytest.approx(drawn, abs=0.012)
    assert shares.sum(axis=1) == pytest.approx(1)


def test_unseated_bots_have_the_mean_over_all_seatings() -> None:
    """Every order of the seats is as likely."""
    strengths, effects = [0.5, 0.0, -0.3], [0.4, 0.0, -0.4]
    every = [
        place_shares(strengths, [effects[seat] for seat in seats], {}, seated=True)
        for seats in permutations(range(3))
    ]
    assert place_shares(strengths, effects, {}, seated=False) == pytest.approx(np.mean(every, axis=0))


def test_a_prediction_is_in_the_order_given_and_adds_up() -> None:
    """Places are probabilities, and without ties for the first place they would sum to 1 by column too."""
    table = predicted(["bot 3", "bot 0", "bot 4"])
    assert [entry.bot for entry in table] == ["bot 3", "bot 0", "bot 4"]
    assert table[2].first.value > table[0].first.value > table[1].first.value
    for entry in table:
        assert sum(entry.places) == pytest.approx(1)
        assert entry.place.value == pytest.approx(sum(n * share for n, share in enumerate(entry.places, 1)))
        for number in (entry.first, entry.place):
            assert number.low is not None
            assert number.high is not None
            assert number.low < number.value < number.high
    assert sum(entry.first.value for entry in table) > 1  # ties


def test_a_seat_matters_where_it_is_given() -> None:
    """The first of four seats adds 60 Elo here, the last one takes 60."""
    bots = ["bot 1", "bot 2", "bot 0", "bot 3"]
    first = {entry.bot: entry.first.value for entry in predicted(bots, seated=True)}
    last = {entry.bot: entry.first.value for entry in predicted(bots[::-1], seated=True)}
    mean = {entry.bot: entry.first.value for entry in predicted(bots)}
    assert first["bot 1"] > mean["bot 1"] > last["bot 1"]


@pytest.mark.thorough
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Of 30 tournaments at most 5 miss it."""
    league = League([-100, 0, 100, 200])
    truth = place_shares([elo / ELO_PER_LOGIT for elo in league.elos], [0] * 4, {}, seated=False)
    held = 0
    for number in range(30):
        estimate = fit(league.games({4: 60}, np.random.default_rng([2, number])))
        entry = predict(estimate, sandwich(estimate), league.bots)[2]
        assert entry.first.low is not None
        assert entry.first.high is not None
        held += entry.first.low <= truth[2, 0] <= entry.first.high
    assert held >= 25


def test_there_is_no_interval_from_few_deals() -> None:
    """The probability is there, as the rating is."""
    entry = predicted(["bot 0", "bot 1"], deals=8)[0]
    assert 0 < entry.first.value < 1
    assert entry.first.low is entry.first.high is entry.place.low is None


@pytest.mark.parametrize(
    ("bots", "error"),
    [
        (["bot 0", "nobody"], KeyError),
        (["bot 0"], ValueError),
        (["bot 0", "bot 0"], ValueError),
        (["bot 0", "bot 1", "bot 2", "bot 3", "bot 4", "bot 4"], ValueError),
    ],
)
def test_impossible_tables_are_refused(bots: list[str], error: type[Exception]) -> None:
    """A bot that isn't known, twice the same, too few or too many."""
    with pytest.raises(error):
        predicted(bots, deals=20)


def test_bots_that_never_met_have_no_common_table() -> None:
    """Their ratings can't be compared."""
    games = columns([((0, 1), (1, 2), 0), ((2, 3), (1, 2), 1)], "abcd")
    estimate = fit(games)
    with pytest.raises(ValueError, match="pools"):
        predict(estimate, sandwich(estimate), ["a", "c"])
