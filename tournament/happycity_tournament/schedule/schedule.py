"""What every schedule offers to the one who plays it, so that no runner needs to know the formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from happycity_tournament.games import CountedGame, Fixture
from happycity_tournament.schedule.field import Field


class Schedule(ABC):
    """The games of a tournament, stage by stage.

    A stage's games may be played all at once. Before the next stage is asked for, each of them must have
    been added or skipped; results of an earlier day may be added before the first stage. The same results,
    in whatever order they come, give the same games.
    """

    total_games: int
    """How many games there will be; a schedule that is decided by results may end with fewer."""
    draws_from_results = False
    """Whether a stage depends on the results of those before it."""

    @property
    def decided(self) -> bool:
        """Whether results have ended it, so that nothing is left to play."""
        return False

    @abstractmethod
    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield each stage's games in the order of their positions, worked out when they are asked for."""

    def add(self, result: CountedGame) -> None:  # noqa: B027 - most formats don't care for results
        """Take the result of a game, in any order."""

    def skip(self, fixture: Fixture) -> None:  # noqa: B027 - likewise
        """Note that a game has no result and never will."""


class FixedSchedule(Schedule):
    """A schedule that no result changes: one stage, and an iterable of all its games."""

    def __init__(self, field: Field, *, tables: int) -> None:
        self._field = field
        self.total_games = tables * field.games_per_deal

    @abstractmethod
    def lineups(self) -> Iterator[Iterable[Sequence[str]]]:
        """Yield the lineups of each round's tables; a round may be left without any."""

    def __iter__(self) -> Iterator[Fixture]:
        """Return all games in their order, each worked out when it is asked for."""
        for number, lineups in enumerate(self.lineups(), start=1):
            yield from self._field.round_games(lineups, number=number)

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield all games as one stage."""
        yield iter(self)
