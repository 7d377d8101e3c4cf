"""The quarantine of bots that keep failing: who is disqualified, and which games count apart for that."""

from __future__ import annotations

from collections import Counter

from happycity.terms import FailurePolicy
from happycity_tournament.results import GameResult


class Quarantine:
    """Judges by the games in the order of their schedule, so that it is the same whatever ended first.

    A bot is disqualified by the game with which it has forfeited more than the policy's share of enough
    games. All its games behind that one count apart: those in which its seat was forfeited for it, and the
    few that it had finished before anybody could know.
    """

    def __init__(self, policy: FailurePolicy) -> None:
        self._policy = policy
        self._games: Counter[str] = Counter()
        self._forfeits: Counter[str] = Counter()
        self._disqualified: dict[str, None] = {}  # in the order in which it happened

    @property
    def disqualified(self) -> tuple[str, ...]:
        """The bots that failed too often, the first one first; nobody is forgiven by what it plays later."""
        return tuple(self._disqualified)

    def admits(self, result: GameResult) -> bool:
        """Take the next game; return whether it is rated, or else counts apart."""
        bots = result.fixture.bots
        # A game that was given up once, and played later, may change who is disqualified when; but what was
        # forfeited for a bot was never its play.
        if result.quarantined or not self._disqualified.keys().isdisjoint(bots):
            return False
        for seat, bot in enumerate(bots):
            self._games[bot] += 1
            self._forfeits[bot] += result.forfeited(seat)
            self._judge(bot)
        return True

    def _judge(self, bot: str) -> None:
        policy, games, forfeits = self._policy, self._games[bot], self._forfeits[bot]
        if forfeits and games >= policy.disqualify_games and forfeits > policy.disqualify_share * games:
            self._disqualified.setdefault(bot)
