"""What every schedule is to whoever plays it, so that no runner needs to know the formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

from happycity_tournament.results import Fixture, GameResult


class Schedule(Protocol):
    """The games of a tournament, stage by stage.

    A stage's games may be played all at once. Before the next stage is asked for, each of them must have
    been added or skipped; results of an earlier day may be added before the first stage. The same results,
    in whatever order they come, give the same games.
    """

    @property
    def total_games(self) -> int:
        """How many games there will be; only a sequential test may end with fewer."""

    @property
    def draws_from_results(self) -> bool:
        """Whether a stage depends on the results of those before it."""

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield each stage's games in the order of their positions, worked out when they are asked for."""

    def add(self, result: GameResult) -> None:
        """Take the result of a game."""

    def skip(self, fixture: Fixture) -> None:
        """Note that a game has no result and never will."""


class FixedSchedule(ABC):
    """A schedule that no result changes: one stage, and an iterable of all its games."""

    draws_from_results = False

    @property
    @abstractmethod
    def total_games(self) -> int:
        """How many games there are."""

    @abstractmethod
    def __iter__(self) -> Iterator[Fixture]:
        """Return all games in their order, each worked out when it is asked for."""

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield all games as one stage."""
        yield iter(self)

    def add(self, result: GameResult) -> None:  # noqa: B027 - doing nothing is what makes it fixed
        """Take a result, which changes nothing."""

    def skip(self, fixture: Fixture) -> None:  # noqa: B027 - likewise
        """Note a game without a result, which changes nothing."""
