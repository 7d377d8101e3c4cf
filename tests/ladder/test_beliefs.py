"""Ratings that follow time."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.benchmarks.ladder_year import draw_deals

from happycity_ladder import beliefs as beliefs_module
from happycity_ladder.beliefs import PRESENT_DAYS, SEASON_ERROR, Beliefs
from happycity_ladder.entries import UNANCHORED_GAP, RatedDeal, Rating
from happycity_ladder.gaussian_state import DealLikelihood
from happycity_ladder.ladder_config import LadderConfig
from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

DAY = 86400.0
CONFIG = LadderConfig()


def deal(number: int, versions: Sequence[int], places: Sequence[Sequence[int]], at: float = 1.0) -> RatedDeal:
    rankings = tuple(map(tuple, places))
    return RatedDeal(finished=number, finished_at=at, versions=tuple(versions), places=rankings)


def entered(players: int, guests: int, config: LadderConfig = CONFIG) -> Beliefs:
    """Return beliefs with the anchor, version 1, and guests from 2 on."""
    beliefs = Beliefs(players, config)
    beliefs.enter(1, 0.0, house=True, anchor=True)
    for version in range(2, guests + 2):
        beliefs.enter(version, 0.0)
    return beliefs


def played(
    beliefs: Beliefs,
    strengths: Floats,
    *,
    deals: int,
    players: int,
    seed: int,
    days: float = 0.0,
    residual: float = 1.0,
) -> None:
    """Add deals by lot of versions 1, 2, ... with these strengths, in logits."""
    rng = np.random.default_rng(seed)
    lineups = np.array([rng.permutation(len(strengths))[:players] for _ in range(deals)])
    rankings = draw_deals(strengths[lineups], residual, rng).tolist()
    for number, (lineup, places) in enumerate(zip(lineups.tolist(), rankings, strict=True), start=1):
        at = 1.0 + days * DAY * number / deals
        beliefs.add(deal(beliefs.finished + 1, [bot + 1 for bot in lineup], places, at))


def test_the_likelihood_of_a_deal_is_that_of_its_games() -> None:
    """Value, scores and information are sums over the rotations, each by the model of all ratings."""
    strengths, places = np.array([0.3, -0.2, 1.0]), [(1, 2, 2), (3, 1, 2), (1, 1, 1)]
    weights = np.exp(strengths)
    one = DealLikelihood(places[1:2]).derivatives(strengths)
    expected = math.log(weights[1] / weights.sum()) + math.log(weights[2] / (weights[0] + weights[2]))
    assert one.value == pytest.approx(expected)
    likelihood, games = DealLikelihood(places), [DealLikelihood([ranking]) for ranking in places]
    whole, parts = likelihood.derivatives(strengths), [game.derivatives(strengths) for game in games]
    assert whole.value == pytest.approx(sum(part.value for part in parts))
    scores = [game.scores(strengths) for game in games]
    assert np.allclose(likelihood.scores(strengths), np.concatenate(scores))
    assert np.allclose(whole.information, sum(part.information for part in parts))


@pytest.mark.level(2)
@pytest.mark.parametrize("players", [2, 4])
def test_errors_are_as_large_as_stated(players: int) -> None:
    """Over thirty fields of bots, errors are hardly larger than stated, and intervals hold."""
    ratios = []
    for seed in range(30):
        strengths = np.random.default_rng([9, seed]).normal(0, 1, 10)
        strengths[0] = 0.0
        beliefs = entered(players, 9)
        played(beliefs, strengths, deals=100, players=players, seed=seed)
        for version in range(2, 11):
            rating = beliefs.rating(version, 1.0)
            truth = 1500 + ELO_PER_LOGIT * strengths[version - 1]
            ratios.append((rating.elo - truth) / rating.error)
    assert 0.8 < math.sqrt(np.mean(np.square(ratios))) < 1.2
    assert np.mean(np.abs(ratios) < 1.96) > 0.92


@pytest.mark.level(1)
def test_the_dispersion_of_deals_is_learnt() -> None:
    """The same result in all rotations of a deal makes sums scatter more than independent games."""
    copied, rng = entered(4, 7), np.random.default_rng(1)
    for number in range(1, 201):
        lineup = rng.permutation(8)[:4]
        order = (rng.permutation(4) + 1).tolist()
        copied.add(deal(number, (lineup + 1).tolist(), [order] * 4))
    assert copied.dispersion > 2


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("true_drift", "least", "most"),
    [pytest.param(0.0, 1.0, 15.0, marks=pytest.mark.level(2)), (60.0, 30.0, 120.0)],
)
def test_the_drift_is_learnt(true_drift: float, least: float, most: float) -> None:
    beliefs, rng = entered(2, 7), np.random.default_rng(1)
    strengths = np.zeros(8)
    for number in range(1, 3001):
        lineup = rng.permutation(8)[:2]
        places = draw_deals(strengths[lineup][None], 1.0, rng)[0].tolist()
        beliefs.add(deal(number, (lineup + 1).tolist(), places, at=number * 70 * DAY / 3000))
        strengths[1:] += rng.normal(0, true_drift / ELO_PER_LOGIT * math.sqrt(10 / 3000), 7)
    assert least <= beliefs.drift <= most


def test_wins_and_losses_tie_a_version_to_the_anchor() -> None:
    """A version that only won isn't tied, nor is one that met only others that are not."""
    beliefs = entered(2, 3)

    def tied() -> str:
        return "".join(
            str(version) for version in (1, 2, 3, 4) if beliefs.rating(version, 1.0).gap < UNANCHORED_GAP
        )

    beliefs.add(deal(1, (2, 1), [(1, 2), (1, 2)]))
    beliefs.add(deal(2, (3, 4), [(1, 2), (2, 1)]))
    assert tied() == "1"
    beliefs.add(deal(3, (2, 1), [(1, 2), (2, 1)]))
    beliefs.add(deal(4, (2, 3), [(1, 2), (2, 1)]))
    assert tied() == "123"


@pytest.mark.level(1)
def test_wins_alone_hardly_say_how_far_a_bot_is_ahead() -> None:
    """After 600 games without a loss the error is still large, and nothing overflows."""
    won, mixed = entered(2, 1), entered(2, 1)
    for number in range(1, 301):
        won.add(deal(number, (2, 1), [(1, 2), (1, 2)]))
        mixed.add(deal(number, (2, 1), [(1, 2), (2, 1)]))
    assert 2000 < won.rating(2, 1.0).elo < 3500
    assert 100 < won.rating(2, 1.0).error < 700
    assert mixed.rating(2, 1.0).error < 40


def test_a_state_continues_as_if_it_had_not_been_stored() -> None:
    one, strengths = entered(3, 6), np.linspace(-1, 1, 7)
    played(one, strengths, deals=40, players=3, seed=1, days=20)
    other = Beliefs.load(3, CONFIG, one.dump())
    assert other.dump() == one.dump()
    for beliefs in (one, other):
        played(beliefs, strengths, deals=10, players=3, seed=2)
    assert other.dump() == one.dump()
    assert other.ratings(DAY) == one.ratings(DAY)
    moved = Beliefs.load(3, LadderConfig(anchor_elo=1000), one.dump())
    assert one.ratings(1.0, [2, 99]) == {2: one.rating(2, 1.0)}
    for version, rating in one.ratings(1.0).items():
        assert moved.rating(version, 1.0).elo == pytest.approx(rating.elo - 500)


def test_a_state_that_cannot_be_read_is_refused() -> None:
    """A damaged state, or that of another table, is one error, so that its owner can add the deals again."""
    damaged = [b"", b"{}", b"[]\n", b'"a"\n', b'{"format":1,"players":2}\nx', b"\xff\n"]
    for state in (*damaged, entered(3, 3).dump()):
        with pytest.raises(ValueError, match="can't be read"):
            Beliefs.load(2, CONFIG, state)


def test_a_new_version_starts_from_the_old_one() -> None:
    """Its rating is that of the version before it, with the variance of a change added."""
    beliefs = entered(2, 3)
    played(beliefs, np.array([0.0, 1.0, 0.0, -1.0]), deals=60, players=2, seed=1)
    beliefs.enter(9, 1.0, before=2)
    old, new = beliefs.rating(2, 1.0), beliefs.rating(9, 1.0)
    assert new.elo == old.elo
    assert new.error**2 == pytest.approx(old.error**2 + CONFIG.version_change**2)
    assert new.deals == 0
    beliefs.add(deal(61, (9, 3), [(1, 2), (1, 2)]))
    assert beliefs.rating(9, 1.0).elo > beliefs.rating(2, 1.0).elo


def test_only_guests_drift() -> None:
    beliefs = entered(2, 2)
    beliefs.enter(7, 0.0, house=True)
    for number, lineup in enumerate([(1, 2), (1, 7), (2, 7)], start=1):
        beliefs.add(deal(number, lineup, [(1, 2), (2, 1)]))
    now, later = 1.0, 1.0 + 7 * DAY
    growth = {
        each: beliefs.rating(each, later).error ** 2 - beliefs.rating(each, now).error ** 2
        for each in (1, 2, 7)
    }
    assert growth == pytest.approx({1: 0.0, 2: CONFIG.drift**2, 7: 0.0})
    beliefs.add(deal(4, (1, 7), [(1, 2), (2, 1)], at=later))
    assert beliefs.rating(1, later) == Rating(elo=1500.0, error=0.0, deals=3)


def test_a_version_that_was_away_keeps_its_rating() -> None:
    """After a week it has no covariances any more; its rating is the same, less certain by its drift only."""
    beliefs = entered(2, 3)
    played(beliefs, np.zeros(4), deals=30, players=2, seed=1)
    before = beliefs.rating(4, 1.0)
    beliefs_drift = beliefs.drift**2 / (7 * DAY)
    later = (PRESENT_DAYS + 1) * DAY
    beliefs.enter(9, later)
    beliefs.add(deal(31, (1, 9), [(1, 2), (2, 1)], at=later))
    after = beliefs.rating(4, later)
    assert len(beliefs.dump()) < 3000
    assert after.elo == pytest.approx(before.elo)
    assert after.deals == before.deals
    assert after.error**2 == pytest.approx(before.error**2 + beliefs_drift * (later - 1.0))
    beliefs.add(deal(32, (4, 9), [(1, 2), (1, 2)], at=later))
    assert beliefs.rating(4, later).elo > after.elo


def test_many_versions_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many versions come in a week, only so many have covariances."""
    monkeypatch.setattr(beliefs_module, "MAX_PRESENT", 8)
    beliefs = entered(2, 60)
    for number in range(1, 60):
        beliefs.add(deal(number, (number + 1, number + 2), [(1, 2), (2, 1)]))
    head, _, rest = beliefs.dump().partition(b"\n")
    assert head
    assert len(rest) <= 8 * (10 + 10 * 11 // 2)
    assert all(rating.deals for version, rating in beliefs.ratings(1.0).items() if version > 1)


def test_the_end_of_a_season_makes_guests_less_certain() -> None:
    """Guests, also those that are away, gain variance; the house and the anchor don't."""
    beliefs = entered(2, 3)
    played(beliefs, np.zeros(4), deals=20, players=2, seed=1)
    before = beliefs.ratings(1.0)
    beliefs.end_season(1.0)
    for version, rating in beliefs.ratings(1.0).items():
        added = SEASON_ERROR**2 if version > 1 else 0.0
        assert rating.error**2 == pytest.approx(before[version].error ** 2 + added)
        assert rating.elo == before[version].elo
    later = (PRESENT_DAYS + 1) * DAY
    beliefs.enter(9, later)
    beliefs.add(deal(31, (1, 9), [(1, 2), (2, 1)], at=later))  # the others are away by now
    away = beliefs.rating(4, later)
    beliefs.end_season(later)
    assert beliefs.rating(4, later).error ** 2 == pytest.approx(away.error**2 + SEASON_ERROR**2)


def test_what_cannot_be_added_is_refused() -> None:
    beliefs, places = entered(2, 2), [(1, 2), (2, 1)]
    beliefs.add(deal(5, (1, 2), places))
    for number, versions, problem in [
        (5, (1, 2), "deal 5 is added after deal 5"),
        (6, (2, 2), "deal 6: 1 versions, not 2"),
        (6, (1, 77), "77"),
    ]:
        with pytest.raises((ValueError, KeyError), match=problem):
            beliefs.add(deal(number, versions, places))


def test_an_unknown_version_is_a_new_bot() -> None:
    """The pairing asks before a bot's first deal has finished."""
    beliefs = entered(2, 2)
    assert beliefs.rating(77, 0.0) == beliefs.rating(2, 0.0)
    assert beliefs.joint([77, 1], 0.0).covariance[0, 0] == pytest.approx(beliefs.rating(77, 0.0).error ** 2)


RANKINGS = st.sampled_from([(1, 2, 3), (3, 2, 1), (1, 1, 1), (1, 2, 2), (1, 1, 3)])
DEALS = st.tuples(
    st.permutations(range(1, 7)), st.lists(RANKINGS, min_size=3, max_size=3), st.floats(-1e9, 1e9)
)


@pytest.mark.level(1)
@settings(max_examples=40)
@given(results=st.lists(DEALS, max_size=8))
def test_whatever_the_results_numbers_are_finite(
    results: list[tuple[list[int], list[tuple[int, ...]], float]],
) -> None:
    """No order of results, of whatever times, makes a rating infinite or an error negative."""
    beliefs = entered(3, 5)
    for number, (order, places, at) in enumerate(results, start=1):
        beliefs.add(deal(number, order[:3], places, at))
    for rating in beliefs.ratings(1e9).values():
        assert math.isfinite(rating.elo)
        assert 0 <= rating.error < 1e5
