"""Live ratings: those of the games so far, and their history."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from tests.tournament.games import finished

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.final import rate as final_rate
from happycity_tournament.ratings.history import RatingHistory
from happycity_tournament.ratings.live import LiveRatings
from happycity_tournament.ratings.results import RatedBot
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS


def game(deal: int, bots: Sequence[str], places: Sequence[int], rotation: int = 0) -> FinishedGame:
    """Make a game of which only the places matter."""
    fixture = Fixture(deal, 0, rotation, deal_seed=deal, bots=tuple(bots), bot_seeds=(0,) * len(bots))
    return finished(fixture, places=places)


def names(count: int) -> list[str]:
    return [f"bot {number}" for number in range(count)]


def rate(bots: Sequence[str], games: Sequence[FinishedGame] | Iterator[FinishedGame]) -> list[RatedBot]:
    live = LiveRatings(bots)
    for result in games:
        live.add(result)
    return live.lines()


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


def wins_of_a(won: int, of: int) -> list[FinishedGame]:
    return [game(deal, "ab", (1, 2) if deal <= won else (2, 1)) for deal in range(1, of + 1)]


def test_two_bots_follow_the_logistic_curve() -> None:
    """A bot that wins 300 of 400 games is rated 400 * log10(3) = 191 points higher (Elo 1978)."""
    a, b = rate("ab", wins_of_a(300, of=400))
    assert a.elo - b.elo == pytest.approx(400 * math.log10(3), abs=1)
    assert a.elo + b.elo == pytest.approx(2 * MEAN_ELO)


def test_live_ratings_are_the_final_ones() -> None:
    """After the same games, a running tournament shows what `rate` says of its stored games."""
    games = list(plackett_luce([0, 100, 200, 300, 500], seats=4, deals=40, seed=1))
    builder = GamesBuilder(names(5))
    for result in games:
        builder.add(result)
    final = final_rate(builder.build()).lines
    for line, expected in zip(rate(names(5), games), final, strict=True):
        assert (line.elo, line.low, line.high) == (expected.elo, expected.low, expected.high)


def test_the_order_of_games_does_not_matter() -> None:
    """The same deals in another order give the same ratings to the last bit, also if read after each game."""
    games = list(plackett_luce([0, 100, 200, 300, 500], seats=4, deals=40, seed=1))
    deals = [games[start : start + 4] for start in range(0, len(games), 4)]
    forwards = LiveRatings(names(5))
    for result in games:
        forwards.add(result)
        forwards.lines()
    assert forwards.lines() == rate(names(5), [result for deal in reversed(deals) for result in deal])


@pytest.mark.thorough
def test_a_history_has_the_ratings_of_each_moment() -> None:
    """Its samples are those that were live after as many games, whenever it is looked at."""
    games = list(plackett_luce([0, 100, 200, 300, 500], seats=4, deals=25, seed=2))
    late, often, live = RatingHistory(names(5)), RatingHistory(names(5)), LiveRatings(names(5))
    then = {}
    for number, result in enumerate(games, start=1):
        late.add(result)
        often.add(result)
        often.samples()
        live.add(result)
        then[number] = [line.elo for line in live.lines()]
    assert [number for number, _ in late.samples()] == [number for number, _ in often.samples()]
    for (number, elos), (_, others) in zip(late.samples(), often.samples(), strict=True):
        assert elos == pytest.approx(then[number], abs=0.5)  # which no picture shows
        assert others == pytest.approx(then[number], abs=0.5)
    assert late.samples()[-1][1] == pytest.approx(then[len(games)], abs=1e-5)


def test_every_game_counts_at_once() -> None:
    """A rating holds a game as soon as it is added, also in the middle of a deal."""
    live = LiveRatings("ab")
    live.add(game(1, "ab", (1, 2)))
    first = live.lines()[0].elo
    live.add(game(1, "ba", (2, 1), 1))
    assert live.lines()[0].elo > first > MEAN_ELO


def test_too_few_deals_have_no_interval() -> None:
    """Below the least number of deals there is a rating but no interval, and so without any game."""
    before, after = (rate("abc", wins_of_a(3, of=count)) for count in (MIN_DEALS - 1, MIN_DEALS))
    assert [(rating.low, rating.high) for rating in before] == [(None, None)] * 3
    assert after[0].low is not None
    assert after[1].low is not None
    assert (after[2].low, after[2].high) == (None, None)
    assert [rating.elo for rating in rate("ab", [])] == [MEAN_ELO, MEAN_ELO]


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


def test_unknown_bots_are_refused() -> None:
    """A game with a bot that isn't rated is an error and changes nothing."""
    live = LiveRatings("ab")
    with pytest.raises(KeyError, match="c"):
        live.add(game(1, "ac", (1, 2)))
    assert live.lines() == rate("ab", [])
