"""Ratings follow from the games alone, not from their order."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from tests.tournament.games import finished

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate as rate_estimate
from happycity_tournament.ratings.results import BotRating
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT


def game(deal: int, bots: Sequence[str], places: Sequence[int], rotation: int = 0) -> FinishedGame:
    """Make a game of which only the places matter."""
    fixture = Fixture(deal, 0, rotation, deal_seed=deal, bots=tuple(bots), bot_seeds=(0,) * len(bots))
    return finished(fixture, places=places)


def names(count: int) -> list[str]:
    return [f"bot {number}" for number in range(count)]


def rate(bots: Sequence[str], games: Sequence[FinishedGame] | Iterator[FinishedGame]) -> list[BotRating]:
    """Return the ratings of games, in the order of the bots' names."""
    builder = GamesBuilder(bots)
    for result in games:
        builder.add(result)
    lines = rate_estimate(estimate_of(builder.build())).lines
    return sorted(lines, key=lambda line: line.bot)


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


def test_the_order_of_games_does_not_matter() -> None:
    """The same deals in another order give the same ratings."""
    games = list(plackett_luce([0, 100, 200, 300, 500], seats=4, deals=40, seed=1))
    deals = [games[start : start + 4] for start in range(0, len(games), 4)]
    backwards = rate(names(5), [result for deal in reversed(deals) for result in deal])
    for line, other in zip(rate(names(5), games), backwards, strict=True):
        assert [line.elo, line.low, line.high] == pytest.approx([other.elo, other.low, other.high])


@pytest.mark.thorough
def test_every_game_counts_at_once() -> None:
    """A rating holds a game as soon as it is added, also in the middle of a deal."""
    games = [game(1, "ab", (1, 2)), game(1, "ba", (2, 1), 1)]
    first, both = (rate("ab", games[:count])[0].elo for count in (1, 2))
    assert both > first > MEAN_ELO


def test_unknown_bots_are_refused() -> None:
    """A game with a bot that isn't rated is an error and changes nothing."""
    builder = GamesBuilder("ab")
    with pytest.raises(KeyError, match="c"):
        builder.add(game(1, "ac", (1, 2)))
    assert not builder.build().tables
