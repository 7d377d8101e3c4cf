"""Random rounds until the ratings are exact enough: they end by the intervals, not by the estimates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from happycity import FailurePolicy
from happycity_tournament.games import CountedGame, Fixture
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.disqualifications import Disqualifications
from happycity_tournament.ratings.estimate import Estimate, estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule
from happycity_tournament.schedule.schedule import Field, Schedule

FIRST_LOOK = 30
"""Rounds before the errors are looked at: with fewer they are known too badly to end by them."""
_LEAST_SHARE = 8
"""From one look to the next, rounds grow by an eighth at least, so that few looks are taken."""
_MOST_GROWTH = 2
"""They grow to twice as many at most, as the first errors are rough."""


class UntilErrorSchedule(Schedule):
    """A schedule of random rounds that ends when every rating's error is small enough.

    The error is half of the 95% interval that the final ratings have. It is looked at after some rounds only,
    all games of which count, so the end doesn't depend on how many games are played at once. The next look
    is after as many rounds as the error of this one needs, if errors shrink by the root of the games.
    Disqualified bots, and those whose intervals have one end, don't count.
    """

    draws_from_results = True

    def __init__(
        self, field: Field, *, rounds: int, error: float, anchor: str | None, policy: FailurePolicy
    ) -> None:
        self._field = field
        self._rounds = rounds
        self._goal = error
        self._anchor = anchor
        self._random_rounds = RandomRoundsSchedule(field, rounds=rounds)
        self.total_games = self._random_rounds.total_games
        self._results: defaultdict[int, list[CountedGame]] = defaultdict(list)
        """By round, until they are rated."""
        self._disqualifications = Disqualifications(policy)
        self._builder = GamesBuilder(field.bots)
        self._decided = False

    @property
    def decided(self) -> bool:
        """Whether the errors were small enough at the last look."""
        return self._decided

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield the rounds until the next look as one stage, until the errors are small enough."""
        lineups = self._random_rounds.lineups()
        played, look = 0, min(FIRST_LOOK, self._rounds)
        while not self._decided and played < self._rounds:
            yield (
                game
                for number in range(played + 1, look + 1)
                for game in self._field.round_games(next(lineups), number=number)
            )
            self._rate(range(played + 1, look + 1))
            error = self._error()
            if error <= self._goal:
                self._decided = True
                self.total_games = look * self._field.tables * self._field.games_per_deal
            played, look = look, min(self._rounds, next_look(look, error / self._goal))

    def add(self, result: CountedGame) -> None:
        """Take a result; its order among the others doesn't matter."""
        self._results[result.round].append(result)

    def _rate(self, rounds: Sequence[int]) -> None:
        """Count the results of these rounds in the order of the schedule."""
        for number in rounds:
            for result in sorted(self._results.pop(number, []), key=lambda one: one.position or (0, 0, 0)):
                if self._disqualifications.admit(result):
                    self._builder.extend([result])

    def _error(self) -> float:
        """Return the largest error of a bot's rating in Elo; infinite while one isn't known."""
        games = self._builder.build()
        if not games.tables:
            return math.inf
        errors = errors_of(estimate_of(games), anchor=self._anchor)
        disqualified = self._disqualifications.bots
        return max((error for bot, error in errors.items() if bot not in disqualified), default=math.inf)


def errors_of(estimate: Estimate, *, anchor: str | None = None) -> dict[str, float]:
    """Return half of each rating's interval in Elo: infinite if it isn't known.

    It is 0 for an interval with one end, as more games would hardly give it another; but if it is the anchor
    that has none, all are infinite.
    """
    bounded = anchor is None or bool(estimate.in_mean[estimate.games.bots.index(anchor)])
    return {
        line.bot: 0.0 if bounded and line.has_one_end else math.inf if line.margin is None else line.margin
        for line in rate(estimate, anchor=anchor).lines
    }


def next_look(rounds: int, excess: float) -> int:
    """Return after which round to look again, if the error after `rounds` is `excess` times the goal."""
    least = rounds + math.ceil(rounds / _LEAST_SHARE)
    most = _MOST_GROWTH * rounds
    return most if excess**2 >= _MOST_GROWTH else max(least, math.ceil(rounds * excess**2))
