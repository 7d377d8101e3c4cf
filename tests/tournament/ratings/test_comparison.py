"""Games on the same deals before and after a change: their pairs, and the errors of the differences."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.tournament.games import BOTS, finished, fixtures_of

from happycity import Config
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.comparison import Change, PairedGames, elo_difference, mean_difference
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, student_quantile


def games(*, rounds: int = 15, points: Sequence[int] = (40, 30, 20, 10), seed: int = 1) -> list[FinishedGame]:
    """Make the games of a tournament of four bots in which each has the same points in every game."""
    config = TournamentConfig(
        bots=BOTS, game=Config(players=4), format=RandomRounds(rounds=rounds), seed=seed
    )
    of = dict(zip(BOTS, points, strict=True))
    return [finished(fixture, points=[of[bot] for bot in fixture.bots]) for fixture in fixtures_of(config)]


def test_games_are_paired_by_deal_seats_and_opponents() -> None:
    """Games of more rounds have no counterpart, nor have those of other seeds or in which others sit."""
    before, after = games(rounds=15), games(rounds=20)
    after[0] = replace(after[0], bots=("zoe", *after[0].bots[1:]))
    paired = PairedGames(before, after[::-1])
    assert (paired.pairs, paired.deals, paired.common_deals) == (59, 15, 15)
    assert paired.unpaired == (1, 21)
    apart = PairedGames(games(seed=1), games(seed=2))
    assert (apart.pairs, apart.common_deals, apart.compared_bots) == (0, 0, [])


def test_a_bot_may_have_a_new_name() -> None:
    after = [
        replace(game, bots=tuple("new" if bot == "ann" else bot for bot in game.bots)) for game in games()
    ]
    assert PairedGames(games(), after).pairs == 0
    paired = PairedGames(games(), after, renamed={"ann": "new"})
    assert paired.pairs == 60
    assert paired.compared_bots == ["bob", "cem", "dee", "new"]


def test_a_bot_that_overtakes_another_is_better() -> None:
    """Score, points and Elo of each bot differ by what the change made of them; one deal says nothing."""
    paired = PairedGames(games(), games(points=(40, 30, 20, 25)))
    dee, cem, ann = (paired.comparison(bot) for bot in ("dee", "cem", "ann"))
    assert (dee.score_before, dee.score_after) == pytest.approx((0, 1 / 3))
    assert (dee.points.value, dee.change, dee.elo) == (15, Change.BETTER, None)
    assert (cem.change, cem.elo, ann.change) == (Change.WORSE, None, Change.SAME)
    assert (dee.pairs, dee.deals) == (60, 15)
    few = PairedGames(games(rounds=1), games(rounds=1, points=(1, 2, 3, 4)))
    assert few.comparison("ann").change is Change.UNKNOWN


def scores(rng: np.random.Generator, *, deals: int, gain: float) -> tuple[Floats, Floats, np.ndarray]:
    """Draw pairs of scores on deals of four games, whose differences depend on the deal."""
    numbers = np.repeat(np.arange(deals), 4)
    luck = np.repeat(rng.normal(0, 0.08, deals), 4)
    before = 0.45 + 2 * luck + rng.normal(0, 0.1, 4 * deals)
    after = 0.45 + gain + luck + rng.normal(0, 0.1, 4 * deals)
    return before, after, numbers


@pytest.mark.level(2)
def test_margins_agree_with_statsmodels() -> None:
    """The mean of the differences, in Elo linearised at the means, is a regression on a constant.

    Errors are clustered by deal.
    """
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415 - its import takes seconds

    before, after, deals = scores(np.random.default_rng(1), deals=30, gain=0.05)
    slopes = [ELO_PER_LOGIT / (mean * (1 - mean)) for mean in (before.mean(), after.mean())]
    score = mean_difference(before, after, deals=deals)
    elo = elo_difference(before, after, deals=deals)
    assert elo is not None
    for found, differences in ((score, after - before), (elo, slopes[1] * after - slopes[0] * before)):
        oracle = OLS(differences, np.ones(len(deals))).fit(cov_type="cluster", cov_kwds={"groups": deals})
        assert found.margin == pytest.approx(student_quantile(29) * oracle.bse[0])
    assert score.value == pytest.approx((after - before).mean())
    odds = [mean / (1 - mean) for mean in (before.mean(), after.mean())]
    assert elo.value == pytest.approx(400 * np.log10(odds[1] / odds[0]))


@pytest.mark.level(1)
@pytest.mark.parametrize("deals", [10, 60])
def test_intervals_hold_the_truth_as_often_as_they_say(deals: int) -> None:
    """Of 2,000 simulated comparisons, 95% of the intervals hold the gain, of scores and of Elo."""
    rng, gain, tries, hits, elo_hits = np.random.default_rng(3), 0.05, 2000, 0, 0
    truth = 400 * (np.log10(0.5 / 0.5) - np.log10(0.45 / 0.55))
    for _ in range(tries):
        before, after, numbers = scores(rng, deals=deals, gain=gain)
        score, elo = (
            mean_difference(before, after, deals=numbers),
            elo_difference(before, after, deals=numbers),
        )
        assert score.margin is not None
        assert elo is not None
        assert elo.margin is not None
        hits += abs(score.value - gain) <= score.margin
        elo_hits += abs(elo.value - truth) <= elo.margin
    assert 0.935 <= hits / tries <= 0.965
    assert 0.93 <= elo_hits / tries <= 0.97
