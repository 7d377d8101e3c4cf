"""A tournament's way through its schedule: the games that are missing, stage by stage."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from happycity import HappyCityError
from happycity_tournament.results import Fixture, GameResult

if TYPE_CHECKING:  # it is the status that knows its course
    from happycity_tournament.status import TournamentStatus


class ScheduleChangedError(HappyCityError):
    """A stored game is not the one that the schedule has in its place."""

    def __init__(self, fixture: Fixture) -> None:
        super().__init__(
            f"{fixture.place} was played by another schedule than this version makes; "
            "go on with the tournament in the version that began it"
        )
        self.fixture = fixture


class Course:
    """Hands out the games that are missing, in the order in which the standings are to count them.

    The schedule must have the results of the games that were played already.
    """

    def __init__(self, status: TournamentStatus, played: Sequence[GameResult] = ()) -> None:
        self._status = status
        self._stages = status.schedule.stages()
        self._stage: Iterator[Fixture] = iter(())
        self._played = {result.fixture.position: result.fixture for result in played}
        self._last_played = max(self._played, default=(0, 0, 0))

    def draw(self) -> bool:
        """Draw the next stage, of which `missing` then tells; return whether there is one.

        All games of the stage before must be settled. It may take some tenths of a second.
        """
        stage = next(self._stages, None)
        if stage is None:
            return False
        self._stage = self._without_given_up(stage) if self._status.schedule.draws_from_results else stage
        return True

    def catch_up(self) -> None:
        """Pass by the games that were played already, up to the first one that wasn't, or was another."""
        while self.draw():
            for fixture in self._stage:
                if self._played.get(fixture.position) != fixture:
                    self._stage = itertools.chain([fixture], self._stage)
                    return
                self._status.standings.expect(fixture)

    def missing(self) -> Iterator[Fixture]:
        """Yield the games of the stage that have not been played.

        Raises:
            ScheduleChangedError: the schedule is not the one by which the others were played.
        """
        for fixture in self._stage:
            played = self._played.get(fixture.position)
            if played is not None and played != fixture:
                raise ScheduleChangedError(played)
            self._status.standings.expect(fixture)
            if played is None:
                yield fixture

    def _without_given_up(self, stage: Iterator[Fixture]) -> Iterator[Fixture]:
        """Return a stage without the games that were given up if the next stage was drawn without them."""
        games = list(stage)
        if not games or games[-1].position >= self._last_played:
            return iter(games)
        for fixture in games:
            if fixture.position not in self._played:
                self._status.skip(fixture)
                self._status.remarks.append(
                    f"{fixture.place} could not be played; as later games depend on that, it is left out"
                )
        return (fixture for fixture in games if fixture.position in self._played)
