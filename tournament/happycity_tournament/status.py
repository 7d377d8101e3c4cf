"""How far a tournament is, as its store tells it and as it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from happycity_tournament.config import TournamentConfig
from happycity_tournament.results import Fixture, Position
from happycity_tournament.standings import Standings
from happycity_tournament.store import Progress, Store, StoredGame, StoredTournament


class TournamentState(Enum):
    """Where a tournament stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    """No more of its games will ever be played."""
    INTERRUPTED = "interrupted"
    """Its host stopped; the next one on the same store goes on with it."""


UNFINISHED = frozenset({TournamentState.WAITING, TournamentState.RUNNING, TournamentState.INTERRUPTED})
"""The states in which a host that starts finds the tournaments that it goes on with."""


@dataclass(slots=True, kw_only=True)
class TournamentStatus:
    """How far a tournament is."""

    tournament_id: int
    config: TournamentConfig
    created_at: float
    """Unix time in seconds."""
    standings: Standings
    state: TournamentState = TournamentState.WAITING
    progress: Progress = field(default_factory=Progress)
    """What is stored."""
    games_voided: int = 0
    """How often one of its games was voided."""
    remarks: list[str] = field(default_factory=list)
    """What a person should know of it, a line each."""

    @classmethod
    def new(cls, tournament_id: int, config: TournamentConfig, *, created_at: float) -> Self:
        """Return the status of a tournament of which no game has been played."""
        return cls(
            tournament_id=tournament_id,
            config=config,
            created_at=created_at,
            standings=Standings(bots=config.bots, seats=config.game.players, policy=config.policy),
        )

    @property
    def over(self) -> bool:
        """Whether this host plays no more of its games."""
        return self.state not in (TournamentState.WAITING, TournamentState.RUNNING)

    @property
    def revealed(self) -> bool:
        """Whether its deals are out of play for good, so that they need not be kept secret any more."""
        return self.state in (TournamentState.FINISHED, TournamentState.STOPPED)

    def count(self, game: StoredGame) -> None:
        """Note a game that is stored."""
        self.progress = self.progress.plus(game)
        self.standings.add(game.result)


def load_status(store: Store, tournament_id: int) -> TournamentStatus | None:
    """Return a tournament that nobody plays at present as its store tells it; None if there is none."""
    stored = store.tournament(tournament_id)
    if stored is None:
        return None
    status, _ = _load(store, stored)
    status.standings.flush()
    state = TournamentState(stored.state)
    status.state = TournamentState.INTERRUPTED if state in UNFINISHED else state
    return status


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A tournament that another host left before its end."""

    status: TournamentStatus
    """The games that are stored count in it."""
    played: Mapping[Position, Fixture]
    """Those games, by their place in the schedule."""


def load_unfinished(store: Store, tournament_id: int) -> Unfinished:
    """Return an unfinished tournament in the form in which it can be gone on with.

    Raises:
        ConfigError: its configuration makes no sense.
    """
    stored = store.tournament(tournament_id)
    assert stored is not None
    status, played = _load(store, stored)
    # Games that could not be played are tried again, so what was said of them is no longer true.
    status.remarks.clear()
    return Unfinished(status=status, played=played)


def _load(store: Store, stored: StoredTournament) -> tuple[TournamentStatus, dict[Position, Fixture]]:
    status = TournamentStatus.new(stored.id, TournamentConfig.of(stored.config), created_at=stored.created_at)
    status.progress = store.progress(stored.id)
    status.games_voided = stored.games_voided
    status.remarks = list(stored.remarks)
    played = {}
    for result in store.results(stored.id):
        status.standings.add(result)
        played[result.fixture.position] = result.fixture
    return status, played
