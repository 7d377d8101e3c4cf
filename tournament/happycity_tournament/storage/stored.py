"""What the store has of a tournament beside its games."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from happycity_tournament.config import TournamentState
from happycity_tournament.games import BotProfile, FinishedGame


@dataclass(frozen=True, slots=True, kw_only=True)
class Problems:
    """What went wrong in a tournament, as it was noted last."""

    games_voided: int = 0
    """How often one of its games was voided."""
    games_unrated: int = 0
    """Finished games that are not rated, because a bot at the table is disqualified."""
    disqualified: tuple[str, ...] = ()
    """The disqualified bots, the first one first."""
    remarks: tuple[str, ...] = ()
    """What the organiser should know, a line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTournament:
    """A tournament as it was set up, and where it stands."""

    id: int
    """From 1."""
    config: dict[str, Any]
    """What it consists of, by `TournamentConfig.json`; empty if the row can't be read."""
    games_total: int
    """How many games its schedule has."""
    state: TournamentState
    created_at: float
    """Unix time in seconds."""
    request_id: str | None = None
    """That of the request by which it was made, after its caller, if it had one."""
    problems: Problems = field(default_factory=Problems)
    profiles: Mapping[str, BotProfile] = field(default_factory=dict)
    """What its bots said of themselves, by their names, of those that have connected since it began."""

    @property
    def bots(self) -> Sequence[str]:
        """The names of its bots; none if they can't be read."""
        bots = self.config.get("bots")
        return bots if isinstance(bots, list) else ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tournament is, by its stored games."""

    games: int = 0
    """Games finished."""
    decisions: int = 0
    """Decisions in them."""
    started_at: float = math.inf
    """When the first of them began, Unix time in seconds."""
    finished_at: float = -math.inf
    """When the last of them ended, Unix time in seconds."""

    @property
    def seconds(self) -> float:
        """From the first game's start to the last one's end; 0 where these aren't known."""
        return max(0.0, self.finished_at - self.started_at)

    def plus(self, game: FinishedGame) -> Progress:
        """Return the progress after one more game."""
        assert game.started_at is not None
        assert game.finished_at is not None
        return Progress(
            games=self.games + 1,
            decisions=self.decisions + game.decisions,
            started_at=min(self.started_at, game.started_at),
            finished_at=max(self.finished_at, game.finished_at),
        )
