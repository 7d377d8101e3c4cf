"""Live ratings: Elo with intervals, up to date after every game."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from tests.tournament.games import finished

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.live import LiveElo
from happycity_tournament.ratings.results import Rating
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS


def game(deal: int, bots: Sequence[str], places: Sequence[int], rotation: int = 0) -> FinishedGame:
    """Make a game of which only the places matter."""
    fixture = Fixture(deal, 0, rotation, deal_seed=deal, bots=tuple(bots), bot_seeds=(0,) * len(bots))
    return finished(fixture, places=places)


def names(count: int) -> list[str]:
    return [f"bot {number}" for number in range(count)]


def rate(bots: Sequence[str], games: Sequence[FinishedGame] | Iterator[FinishedGame]) -> list[Rating]:
    elo = LiveElo(bots)
    for result in games:
        elo.add(result)
    return elo.ratings()


def plackett_luce(
    elos: Sequence[float], *, seats: int, deals: int, luck: float = 0.0, seed: int
) -> Iterator[FinishedGame]:
    """Draw rotated games of bots with these strengths; `luck` (in logits) is what a seat's cards add."""
    rng = np.random.default_rng(seed)
    strengths = np.array(elos) / ELO_PER_LOGIT
    bots = names(len(elos))
    for deal in range(1, deals + 1):
        lineup = rng.permutation(len(elos))[:seats]
        cards = rng.normal(0, 1, seats) * luck
        for rotation in range(seats):
            seated = np.roll(lineup, -rotation)
            scores = strengths[seated] + cards + rng.gumbel(size=seats)
            places = 1 + (scores[None, :] > scores[:, None]).sum(axis=1)
            yield game(deal, [bots[bot] for bot in seated], places.tolist(), rotation)


def width(rating: Rating) -> float:
    assert rating.low is not None
    assert rating.high is not None
    return rating.high - rating.low


def wins_of_a(won: int, of: int) -> list[FinishedGame]:
    return [game(deal, "ab", (1, 2) if deal <= won else (2, 1)) for deal in range(1, of + 1)]


def test_two_bots_follow_the_logistic_curve() -> None:
    """A bot that wins 300 of 400 games is rated 400 * log10(3) = 191 points higher (Elo 1978)."""
    a, b = rate("ab", wins_of_a(300, of=400))
    assert a.elo - b.elo == pytest.approx(400 * math.log10(3), abs=1)
    assert a.elo + b.elo == pytest.approx(2 * MEAN_ELO)


def test_a_shared_place_is_half_a_win() -> None:
    """Only shared places, or as many wins as losses, leave two bots equal."""
    ties = rate("ab", [game(deal, "ab", (1, 1)) for deal in range(1, 41)])
    assert [rating.elo for rating in ties] == [MEAN_ELO, MEAN_ELO]
    split = rate("ab", wins_of_a(20, of=40))
    assert [rating.elo for rating in split] == pytest.approx([MEAN_ELO, MEAN_ELO])
    assert width(ties[0]) < width(split[0])


def test_the_order_of_games_does_not_matter() -> None:
    """The same deals in another order give the same ratings to the last bit, also if read after each game."""
    games = list(plackett_luce([0, 100, 200, 300, 500], seats=4, deals=40, seed=1))
    deals = [games[start : start + 4] for start in range(0, len(games), 4)]
    forwards = LiveElo(names(5))
    for result in games:
        forwards.add(result)
        forwards.ratings()
    assert forwards.ratings() == rate(names(5), [result for deal in reversed(deals) for result in deal])


def test_every_game_counts_at_once() -> None:
    """Elo and scores hold a game as soon as it is added, also in the middle of a deal."""
    elo = LiveElo("ab")
    elo.add(game(1, "ab", (1, 2)))
    assert elo.scores[0, 1] == 1
    first = elo.elos()
    elo.add(game(1, "ba", (2, 1), 1))
    assert elo.scores[0, 1] == 2
    assert elo.elos()[0] > first[0] > MEAN_ELO
    assert elo.elos() == [rating.elo for rating in elo.ratings()]


def test_too_few_deals_have_no_interval() -> None:
    """Below the least number of deals there is a rating but no interval, and so without any game."""
    before, after = (rate("abc", wins_of_a(3, of=count)) for count in (MIN_DEALS - 1, MIN_DEALS))
    assert [(rating.low, rating.high) for rating in before] == [(None, None)] * 3
    assert after[0].low is not None
    assert after[1].low is not None
    assert (after[2].low, after[2].high) == (None, None)
    assert [rating.elo for rating in rate("ab", [])] == [MEAN_ELO, MEAN_ELO]


@pytest.mark.parametrize("count", [2, 21])
def test_perfect_scores_stay_finite(count: int) -> None:
    """A bot that always wins and one that always loses have finite ratings, and wide intervals."""
    bots = names(count)
    seats = min(count, 4)
    games = []
    for deal in range(1, 1001):
        others = [bots[1 + (deal + step) % (count - 2)] for step in range(seats - 2)] if count > 2 else []
        games.append(game(deal, [bots[0], *others, bots[-1]], range(1, seats + 1)))
    ratings = rate(bots, games)
    assert all(math.isfinite(rating.elo) for rating in ratings)
    assert max(ratings, key=lambda rating: rating.elo).bot == bots[0]
    assert min(ratings, key=lambda rating: rating.elo).bot == bots[-1]
    assert width(ratings[0]) > 200
    assert width(ratings[-1]) > 200


def test_the_games_of_a_deal_are_one_observation() -> None:
    """Four equal games of one deal say hardly more than one game; four deals say more."""
    once = wins_of_a(30, of=50)
    repeated = [game(each.round, "ab", each.places, rotation) for each in once for rotation in range(4)]
    more_deals = wins_of_a(120, of=200)
    narrow = width(rate("ab", more_deals)[0])
    assert width(rate("ab", repeated)[0]) == pytest.approx(width(rate("ab", once)[0]), rel=0.1)
    assert width(rate("ab", once)[0]) == pytest.approx(2 * narrow, rel=0.15)


def test_the_interval_is_the_cluster_robust_one() -> None:
    """Between two bots it is 1.96 times the sandwich error, sqrt(sum U^2) / I (Liang & Zeger 1986)."""
    games = list(plackett_luce([0, 150], seats=2, deals=400, luck=1.0, seed=3))
    a, b = rate(names(2), games)
    expected = 1 / (1 + 10 ** ((b.elo - a.elo) / 400))
    scores = np.zeros(401)
    for result in games:
        scores[result.round] += result.places[result.bots.index("bot 0")] == 1
    surprises = scores[1:] - 2 * expected
    information = 800 * expected * (1 - expected)
    error = ELO_PER_LOGIT * math.sqrt(float((surprises**2).sum())) / information
    assert width(a) == pytest.approx(2 * 1.96 * error / 2, rel=0.1)


@pytest.mark.parametrize(
    "elos", [[0, 50, 100, 150, 200, 250], [0, 0, 0, 600, 600, 600], [0, 600, 650, 700, 750, 800]]
)
def test_known_strengths_are_found_again(elos: list[float]) -> None:
    """After 1000 deals each difference is found again, also where bots are hundreds of points apart."""
    ratings = rate(names(6), plackett_luce(elos, seats=4, deals=1000, seed=5))
    truth = np.array(elos) - np.mean(elos) + MEAN_ELO
    assert [rating.elo for rating in ratings] == pytest.approx(truth.tolist(), abs=45)
    assert np.mean([abs(rating.elo - elo) for rating, elo in zip(ratings, truth, strict=True)]) < 10


def test_tables_of_every_size_share_one_scale() -> None:
    """Strengths drawn at tables of two to five seats come out the same (Luce's axiom)."""
    elos = [0, 100, 200, 300, 400]
    for seats in (2, 3, 4, 5):
        ratings = rate(names(5), plackett_luce(elos, seats=seats, deals=800, seed=seats))
        assert [rating.elo for rating in ratings] == pytest.approx([elo + 1300 for elo in elos], abs=40)


@pytest.mark.thorough
@pytest.mark.parametrize(("deals", "reps"), [(12, 150), (60, 80)])
def test_intervals_cover_the_truth(deals: int, reps: int) -> None:
    """About 95% of the 95% intervals hold the true rating, with few deals as with many."""
    elos = [0, 60, 120, 180, 400]
    truth = np.array(elos) - np.mean(elos) + MEAN_ELO
    covered = [
        rating.low <= true <= rating.high
        for seed in range(reps)
        for rating, true in zip(
            rate(names(5), plackett_luce(elos, seats=4, deals=deals, seed=seed)), truth, strict=True
        )
        if rating.low is not None and rating.high is not None
    ]
    assert 0.92 <= np.mean(covered) <= 0.985


def test_shared_cards_narrow_the_interval() -> None:
    """Where the cards decide much, rotating them makes ratings more certain, and the interval narrower."""
    elos = [0, 0, 0, 0]
    rotated = list(plackett_luce(elos, seats=4, deals=200, luck=3.0, seed=9))
    as_if_independent = [game(number, result.bots, result.places) for number, result in enumerate(rotated, 1)]
    assert width(rate(names(4), rotated)[0]) < 0.7 * width(rate(names(4), as_if_independent)[0])


def test_unknown_bots_are_refused() -> None:
    """A game with a bot that isn't rated is an error and changes nothing."""
    elo = LiveElo("ab")
    with pytest.raises(KeyError, match="c"):
        elo.add(game(1, "ac", (1, 2)))
    assert elo.ratings() == rate("ab", [])


def test_a_bot_in_several_seats_is_not_compared_with_itself() -> None:
    """Each seat counts against the other bots' seats, and a deal counts once for the bot."""
    deals = 2 * MIN_DEALS
    rows = [game(deal, "abab", (1, 3, 2, 4) if deal % 4 else (3, 1, 4, 2)) for deal in range(1, deals + 1)]
    a, b = rate("ab", rows)
    assert a.elo - b.elo == pytest.approx(400 * math.log10(3), abs=10)
    assert rate("ab", rows[: MIN_DEALS - 1])[0].low is None
    assert a.low is not None
