"""Which finished games count: the one rule for standings, ratings, reports, comparisons and exports.

A game doesn't count if a seat was forfeited for a disqualified bot, if it was finished after the game that
disqualified one of its bots, if it was played after the decision of its sequential test, or for practice.
Disqualifications and decisions follow from the games before it in the order of the schedule, so the rule is
asked about the games of a tournament in this order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Self, TypeVar

from happycity import ConfigError, FailurePolicy
from happycity.text.words import plural
from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import CountedGame, Result, is_practice
from happycity_tournament.ratings.disqualifications import Disqualifications
from happycity_tournament.schedule import SprtSchedule, schedule_of

if TYPE_CHECKING:
    from happycity_tournament.storage.stored import StoredTournament

_Game = TypeVar("_Game", bound=CountedGame)


class Uncounted(Enum):
    """Why a game doesn't count."""

    PRACTICE = "practice"
    UNRATED = "unrated"
    """A bot at the table was disqualified."""
    AFTER_DECISION = "decided"
    """Its sequential test had been decided before it."""


def uncounted_text(uncounted: Mapping[Uncounted, int]) -> str:
    """Return in words how many games don't count, to follow how many do; "" if all do."""
    practice = plural(uncounted.get(Uncounted.PRACTICE, 0), "practice game")
    decided = plural(uncounted.get(Uncounted.AFTER_DECISION, 0), "game")
    texts = {
        Uncounted.UNRATED: f"{uncounted.get(Uncounted.UNRATED, 0):,} with a disqualified bot not rated",
        Uncounted.PRACTICE: f"{practice} not rated",
        Uncounted.AFTER_DECISION: f"{decided} after the decision of a test left out",
    }
    return "".join(f", {text}" for reason, text in texts.items() if uncounted.get(reason))


class CountingRule:
    """The rule for the games of one tournament."""

    def __init__(
        self,
        policy: FailurePolicy | None = None,
        *,
        test: SprtSchedule | None = None,
        adds_results: bool = False,
    ) -> None:
        """Begin without games; without a policy no bot is disqualified.

        `test` is the schedule of a sequential test, which others give the results unless the rule adds them.
        """
        self.test = test
        self._adds_results = adds_results
        self._disqualifications = Disqualifications(policy or FailurePolicy(disqualify_share=0))
        self.uncounted: Counter[Uncounted] = Counter()
        """The games so far that don't count, by the reason."""

    @classmethod
    def of(cls, config: TournamentConfig | None) -> Self:
        """Return the rule of a tournament, or that of games which belong to none."""
        if config is None:
            return cls()
        test = schedule_of(config) if config.format.kind == "sprt" else None
        return cls(config.policy, test=test if isinstance(test, SprtSchedule) else None, adds_results=True)

    @property
    def disqualified(self) -> tuple[str, ...]:
        """The bots that were disqualified by their games, the first one first."""
        return self._disqualifications.bots

    def reason(self, game: CountedGame) -> Uncounted | None:
        """Return why the next game doesn't count; None if it does."""
        reason = self._reason(game)
        if reason is not None:
            self.uncounted[reason] += 1
        return reason

    def divide(self, games: Sequence[_Game]) -> tuple[Sequence[_Game], Sequence[_Game]]:
        """Return those of the next games that count, and those that are unrated."""
        whole = self.test is None and not any(is_practice(game.deal_seed) for game in games)
        if whole and self._disqualifications.admit_all(games):
            return games, ()
        reasons = [self.reason(game) for game in games]
        counted = [game for game, reason in zip(games, reasons, strict=True) if reason is None]
        unrated = [game for game, reason in zip(games, reasons, strict=True) if reason is Uncounted.UNRATED]
        return counted, unrated

    def _reason(self, game: CountedGame) -> Uncounted | None:
        if is_practice(game.deal_seed):
            return Uncounted.PRACTICE
        if self.test is not None and self._adds_results:
            self.test.add(game)
        last = None if self.test is None else self.test.last_round
        if last is not None and game.round > last:
            return Uncounted.AFTER_DECISION
        return None if self._disqualifications.admit(game) else Uncounted.UNRATED


def configs_of(tournaments: Iterable[StoredTournament]) -> dict[int, TournamentConfig]:
    """Return the configurations that can be read, by the tournaments' ids."""
    configs = {}
    for stored in tournaments:
        with suppress(ConfigError):
            configs[stored.id] = TournamentConfig.of(stored.config)
    return configs


class CountingRules:
    """The rule for the games of a source, which come tournament by tournament."""

    def __init__(self, tournaments: Iterable[StoredTournament] = ()) -> None:
        """Begin without games; the tournaments are those of the source."""
        self.configs = configs_of(tournaments)
        """By tournament: its configuration, if it can be read."""
        self._rules: dict[int | None, CountingRule] = {}
        self._seen = set[int]()
        """The keys of the games of no tournament."""

    @property
    def uncounted(self) -> Counter[Uncounted]:
        """The games so far that don't count, by the reason."""
        return sum((rule.uncounted for rule in self._rules.values()), Counter[Uncounted]())

    @property
    def disqualified(self) -> tuple[str, ...]:
        """The bots that were disqualified in any tournament."""
        return tuple(bot for rule in self._rules.values() for bot in rule.disqualified)

    def rule(self, tournament_id: int | None) -> CountingRule:
        """Return the rule of a tournament, or of the games that belong to none."""
        if tournament_id not in self._rules:
            config = None if tournament_id is None else self.configs.get(tournament_id)
            self._rules[tournament_id] = CountingRule.of(config)
        return self._rules[tournament_id]

    def reason(self, game: CountedGame) -> Uncounted | None:
        """Return why the next game doesn't count; None if it does."""
        return self.rule(game.tournament_id).reason(game)

    def divide(self, games: Sequence[Result]) -> tuple[Sequence[Result], Sequence[Result]]:
        """Return those of the next games of a tournament that count, and those that are unrated.

        Copies of games of no tournament are left out.
        """
        tournament_id = games[0].tournament_id
        if tournament_id is None:
            games = [game for game in games if not self.is_copy(game)]
        return self.rule(tournament_id).divide(games)

    def is_copy(self, game: Result) -> bool:
        """Note a game of no tournament, and return whether a copy of it was noted before."""
        key, count = game.copy_key, len(self._seen)
        self._seen.add(key)
        return len(self._seen) == count
