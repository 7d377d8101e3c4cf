"""Live ratings: those of the games so far, and their history."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from tests.tournament.games import finished

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate as final_rate
from happycity_tournament.ratings.live import LiveRatings, RatingHistory
from happycity_tournament.ratings.results import BotRating
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT


def game(deal: int, bots: Sequence[str], places: Sequence[int], rotation: int = 0) -> FinishedGame:
    """Make a game of which only the places matter."""
    fixture = Fixture(deal, 0, rotation, deal_seed=deal, bots=tuple(bots), bot_seeds=(0,) * len(bots))
    return finished(fixture, places=places)


def names(count: int) -> list[str]:
    return [f"bot {number}" for number in range(count)]


def rate(bots: Sequence[str], games: Sequence[FinishedGame] | Iterator[FinishedGame]) -> list[BotRating]:
    live = LiveRatings(bots)
    for result in games:
        live.add(result)
    return in_order(live)


def in_order(live: LiveRatings) -> list[BotRating]:
    """Return the lines in the order of the bots' names."""
    return sorted(live.ratings().lines, key=lambda line: line.bot)


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


def test_live_ratings_are_the_final_ones() -> None:
    """After the same games, a running tournament shows what `rate` says of its stored games."""
    games = list(plackett_luce([0, 100, 200, 300, 500], seats=4, deals=40, seed=1))
    builder = GamesBuilder(names(5))
    for result in games:
        builder.add(result)
    live = LiveRatings(names(5))
    for result in games:
        live.add(result)
    assert live.ratings().lines == final_rate(estimate_of(builder.build())).lines


def test_the_order_of_games_does_not_matter() -> None:
    """The same deals in another order give the same ratings, also if read after each game."""
    games = list(plackett_luce([0, 100, 200, 300, 500], seats=4, deals=40, seed=1))
    deals = [games[start : start + 4] for start in range(0, len(games), 4)]
    forwards = LiveRatings(names(5))
    for result in games:
        forwards.add(result)
        forwards.ratings()
    backwards = rate(names(5), [result for deal in reversed(deals) for result in deal])
    for line, other in zip(in_order(forwards), backwards, strict=True):
        assert [line.elo, line.low, line.high] == pytest.approx([other.elo, other.low, other.high])


@pytest.mark.thorough
def test_a_history_has_the_ratings_of_each_moment() -> None:
    """Its samples are those that were live after as many games, once all bots are connected."""
    games = list(plackett_luce([0, 100, 200, 300, 500], seats=4, deals=25, seed=2))
    late, often, live = RatingHistory(names(5)), RatingHistory(names(5)), LiveRatings(names(5))
    then = {}
    for number, result in enumerate(games, start=1):
        late.add(result)
        often.add(result)
        often.samples()
        live.add(result)
        if live.ratings().pools == 1:
            then[number] = [line.elo for line in in_order(live)]
    assert [number for number, _ in late.samples()] == [number for number, _ in often.samples()]
    for (number, elos), (_, others) in zip(late.samples(), often.samples(), strict=True):
        assert elos == pytest.approx(others)
        if number in then:
            assert elos == pytest.approx(then[number])
    assert len(then) > 80
    assert late.samples()[-1][1] == pytest.approx(then[len(games)], abs=1e-5)


def test_every_game_counts_at_once() -> None:
    """A rating holds a game as soon as it is added, also in the middle of a deal."""
    live = LiveRatings("ab")
    live.add(game(1, "ab", (1, 2)))
    first = in_order(live)[0].elo
    live.add(game(1, "ba", (2, 1), 1))
    assert in_order(live)[0].elo > first > MEAN_ELO


def test_the_chart_has_one_scale() -> None:
    """Everybody is in the mean all the time, also a bot that has left and one that hasn't played yet."""
    early = list(plackett_luce([0, 0, 400], seats=2, deals=30, seed=3))
    history = RatingHistory(names(4))
    for result in early:
        history.add(result)
    for deal in range(31, 91):
        history.add(game(deal, ["bot 0", "bot 3"] if deal % 2 else ["bot 1", "bot 3"], (1, 2)))
    samples = history.samples()
    assert all(np.mean(elos) == pytest.approx(MEAN_ELO) for _, elos in samples)
    before, after = ((elos[2] - elos[0]) for _, elos in (samples[20], samples[-1]))
    assert after == pytest.approx(before, abs=60)
    assert [history.takes_part("bot 3", games) for games in (30, 80)] == [False, True]


def test_unknown_bots_are_refused() -> None:
    """A game with a bot that isn't rated is an error and changes nothing."""
    live = LiveRatings("ab")
    with pytest.raises(KeyError, match="c"):
        live.add(game(1, "ac", (1, 2)))
    assert in_order(live) == rate("ab", [])
