"""Which bots are disqualified, and so which games are rated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from happycity import Ending, FailurePolicy
from happycity_tournament.games import CountedGame


class Disqualifications:
    """Judges bots by the games in the order of their schedule, so that their order of ending changes nothing.

    A bot is disqualified by the game with which it has forfeited at least the policy's share of enough games,
    or in which it was silent; a share of 0 spares all. All its games after that one are unrated: those in
    which its seat was forfeited for it, and the few that it had finished before that was known.
    """

    def __init__(self, policy: FailurePolicy) -> None:
        self._policy = policy
        self._games: Counter[str] = Counter()
        self._forfeits: Counter[str] = Counter()
        self._disqualified: dict[str, None] = {}  # in the order in which it happened

    @property
    def bots(self) -> tuple[str, ...]:
        """The disqualified bots, the first one first; later games change nothing."""
        return tuple(self._disqualified)

    def admit(self, game: CountedGame) -> bool:
        """Take the next game; return whether it is rated."""
        # A game that was given up once, and played later, may change who is disqualified when; but a seat
        # that was forfeited for a bot was never its play.
        endings = game.endings
        if Ending.DISQUALIFIED in endings or not self._disqualified.keys().isdisjoint(game.bots):
            return False
        failed: dict[str, None] = {}
        policy = self._policy
        for bot, ending in zip(game.bots, endings or [Ending.FINISHED] * len(game.bots), strict=True):
            self._games[bot] += 1
            if ending is not Ending.FINISHED:
                self._forfeits[bot] += 1
            games, forfeits = self._games[bot], self._forfeits[bot]
            too_often = games >= policy.disqualify_games and forfeits / games >= policy.disqualify_share
            if ending is Ending.SILENT or (forfeits and too_often):
                failed[bot] = None
        if policy.disqualify_share:
            self._disqualified |= failed
        return True

    def admit_all(self, games: Sequence[CountedGame]) -> bool:
        """Take the next games at once if that is certain to be the same, as all of them are rated."""
        if self._disqualified or any(game.endings for game in games):
            return False
        enough = self._policy.disqualify_games
        if any(self._games[bot] < enough for bot in self._forfeits):  # games may still make up enough
            return False
        self._games.update(chain.from_iterable(game.bots for game in games))
        return True
