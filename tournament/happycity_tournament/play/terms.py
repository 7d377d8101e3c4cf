"""What the games of a tournament, or of the ladder, have in common."""

from __future__ import annotations

from dataclasses import dataclass

from happycity import Config, FailurePolicy, TimeControl


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms games are played: all that they need beside their fixtures."""

    tournament_id: int
    """The tournament; 0 for the ladder, whose fixtures have the number of the deal as their round."""
    game: Config
    """The kind of game."""
    time: TimeControl
    policy: FailurePolicy
    concurrency: int
    """Games that each place plays at once."""
    disqualified: tuple[str, ...] = ()
    """The bots whose seats are forfeited from the start."""
    with_luck: bool = False
    """Whether records have the luck of their draws, for a sequential test that takes it off."""

    def ladder_deal(self, deal: int) -> int:
        """Return the deal of the ladder to which the round of a fixture belongs, 0 in a tournament."""
        return 0 if self.tournament_id else deal
