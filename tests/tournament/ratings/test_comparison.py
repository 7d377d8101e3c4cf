"""Games on the same deals before and after a change: their pairs, and the errors of the differences."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.tournament.games import BOTS, finished, fixtures_of
from tools.benchmarks.peeking import DIFFERENCES, wrong_verdicts

from happycity import Config
from happycity.records.record import FORMAT
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.comparison import Change, PairedGames, elo_difference, mean_difference
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, anytime_margin, student_margin


def games(*, rounds: int = 15, points: Sequence[int] = (40, 30, 20, 10), seed: int = 1) -> list[FinishedGame]:
    """Make the games of a tournament of four bots in which each has the same points in every game."""
    config = TournamentConfig(
        bots=BOTS, game=Config(players=4), format=RandomRounds(rounds=rounds), seed=seed
    )
    of = dict(zip(BOTS, points, strict=True))
    return [finished(fixture, points=[of[bot] for bot in fixture.bots]) for fixture in fixtures_of(config)]


def pair(before: list[FinishedGame], after: list[FinishedGame], **options: Mapping[str, str]) -> PairedGames:
    """Pair games without records."""
    return PairedGames([(game, None) for game in before], [(game, None) for game in after], **options)


def test_games_are_paired_by_deal_seats_and_opponents() -> None:
    """Games of more rounds have no counterpart, nor have those of other seeds or in which others sit."""
    before, after = games(rounds=15), games(rounds=20)
    after[0] = replace(after[0], bots=("zoe", *after[0].bots[1:]))
    paired = pair(before, after[::-1])
    assert (paired.pairs, paired.deals, paired.common_deals) == (59, 15, 15)
    assert paired.unpaired == (1, 21)
    apart = pair(games(seed=1), games(seed=2))
    assert (apart.pairs, apart.common_deals, apart.compared_bots) == (0, 0, [])


def test_a_bot_may_have_a_new_name() -> None:
    after = [
        replace(game, bots=tuple("new" if bot == "ann" else bot for bot in game.bots)) for game in games()
    ]
    assert pair(games(), after).pairs == 0
    paired = pair(games(), after, renamed={"ann": "new"})
    assert paired.pairs == 60
    assert paired.compared_bots == ["bob", "cem", "dee", "new"]


def test_a_bot_that_overtakes_another_is_better() -> None:
    """Score, points and Elo of each bot differ by what the change made of them; one deals say nothing."""
    paired = pair(games(), games(points=(40, 30, 20, 25)))
    dee, cem, ann = (paired.comparison(bot) for bot in ("dee", "cem", "ann"))
    assert (dee.score_before, dee.score_after) == pytest.approx((0, 1 / 3))
    assert (dee.points.value, dee.change, dee.elo) == (15, Change.BETTER, None)
    assert (cem.change, cem.elo, ann.change) == (Change.WORSE, None, Change.SAME)
    assert (dee.pairs, dee.deals) == (60, 15)
    few = pair(games(rounds=9), games(rounds=9, points=(1, 2, 3, 4)))
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
    score = mean_difference(before, after, deals=deals, margin=anytime_margin)
    elo = elo_difference(before, after, deals=deals, margin=anytime_margin)
    assert elo is not None
    for found, differences in ((score, after - before), (elo, slopes[1] * after - slopes[0] * before)):
        oracle = OLS(differences, np.ones(len(deals))).fit(cov_type="cluster", cov_kwds={"groups": deals})
        assert found.margin == pytest.approx(anytime_margin(30, oracle.bse[0]))
    assert score.value == pytest.approx((after - before).mean())
    odds = [mean / (1 - mean) for mean in (before.mean(), after.mean())]
    assert elo.value == pytest.approx(400 * np.log10(odds[1] / odds[0]))


@pytest.mark.level(1)
@pytest.mark.parametrize("deals", [10, 60])
def test_intervals_hold_the_truth_as_often_as_they_say(deals: int) -> None:
    """Of 2,000 simulated comparisons, 95% of the intervals hold the gain, of scores and of Elo.

    They are those for one look, as those that hold whenever one looks are too wide for it.
    """
    rng, gain, tries, hits, elo_hits = np.random.default_rng(3), 0.05, 2000, 0, 0
    truth = 400 * (np.log10(0.5 / 0.5) - np.log10(0.45 / 0.55))
    for _ in range(tries):
        before, after, numbers = scores(rng, deals=deals, gain=gain)
        score, elo = (
            mean_difference(before, after, deals=numbers, margin=student_margin),
            elo_difference(before, after, deals=numbers, margin=student_margin),
        )
        assert score.margin is not None
        assert elo is not None
        assert elo.margin is not None
        hits += abs(score.value - gain) <= score.margin
        elo_hits += abs(elo.value - truth) <= elo.margin
    assert 0.935 <= hits / tries <= 0.965
    assert 0.93 <= elo_hits / tries <= 0.97


@pytest.mark.level(1)
def test_looking_often_accuses_no_equal_bot() -> None:
    """Of 300 runs of equal bots with 20 looks, at most 5% say at some look that one of them is better.

    Intervals for a number of deals that was fixed before say so in far more.
    """
    rng, looks = np.random.default_rng(5), [20 * (look + 1) for look in range(20)]
    assert wrong_verdicts(DIFFERENCES["normal"], looks, runs=300, rng=rng, margin=anytime_margin) <= 0.05
    assert wrong_verdicts(DIFFERENCES["normal"], looks, runs=300, rng=rng, margin=student_margin) > 0.08


def recorded(seats: str, moves: str) -> str:
    lines = [{"seat": int(seat), "move": move} for seat, move in zip(seats, moves, strict=True)]
    return json.dumps({"format": FORMAT, "moves": lines})


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (("0123", "abcd"), ("0123", "abcd"), set()),
        (("0123", "abcd"), ("0123", "axyz"), {"bob"}),  # the others answer what bob did
        (("0123", "abcd"), ("012", "abc"), {"dee"}),
        (("0123", "abcd"), ("0132", "abxc"), {"cem", "dee"}),  # one of both was asked no more
        (("0123", "abcd"), None, None),
    ],
)
def test_the_first_to_choose_otherwise_has_changed(
    before: tuple[str, str], after: tuple[str, str] | None, changed: set[str] | None
) -> None:
    game = replace(games()[0], bots=BOTS)
    lines = [None if record is None else recorded(*record) for record in (before, after)]
    assert PairedGames([(game, lines[0])], [(game, lines[1])]).changed == changed
