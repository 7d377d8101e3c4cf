"""What is to be played in a match: what schedules, the ladder and organisers ask for, and places play."""

from __future__ import annotations

from dataclasses import dataclass

from happycity import Deal, FailurePolicy, TimeControl
from happycity.records.record import Json
from happycity_tournament.games import Position, is_practice


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSpec:
    """What is to be played, and by which bots."""

    deal: Deal
    bots: tuple[str, ...]
    """Names by seat; a bot may fill several seats."""
    bot_seeds: tuple[int, ...]
    """By seat."""
    time: TimeControl
    policy: FailurePolicy
    tournament_id: int = 0
    """The tournament it belongs to, or 0."""
    ladder_deal_id: int = 0
    """The deal of the ladder that it belongs to, or 0."""
    position: Position | None = None
    """Its place in the schedule of the tournament, or in the deal of the ladder: its rotation comes last."""
    own_deal: bool = False
    """Whether its deal was drawn for it alone, so that watching it tells nothing of any other match."""
    disqualified: frozenset[str] = frozenset()
    """Bots that are disqualified when the match is set up: their seats are forfeited from the start."""
    past: Json | None = None
    """The record so far of a game that was begun before a restart of the server."""
    concurrency: int = 1
    """Games of its tournament, or of the ladder, that each place plays at once."""
    with_luck: bool = False
    """Whether its record has the luck of the draws, for a sequential test that adjusts for it."""

    @property
    def practice(self) -> bool:
        """Whether it is a practice match."""
        return is_practice(self.deal.seed)
