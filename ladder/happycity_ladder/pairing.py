"""Who plays whom in the ladder: lineups by need, of the bots that have room for a deal."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from happycity.rules.shuffling import shuffled
from happycity_ladder.beliefs import Beliefs
from happycity_ladder.entries import DealKind, NewDeal
from happycity_ladder.ladder_config import Board, LadderConfig
from happycity_tournament.ratings.columns import Flags, Floats, Ints
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

EXPLORING = 0.25
"""Share of deals with opponents by lot: where results alone choose who meets, they mislead."""
WITH_HOUSE = 0.125
"""Share of deals with a bot of the house, whose strength doesn't change: they keep the scale."""
NEW_WITH_HOUSE = 0.5
"""The same for a bot that is too uncertain for a rank: only the house tells how far it is from the anchor."""
PATIENCE = 2.0
"""Seconds for which a bot with room waits for more bots to choose from."""
TABLES = 3
"""With bots for this many tables, or with half of all bots, there is enough to choose from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A bot that is connected."""

    version: int
    bot: str
    owner: str
    house: bool
    room: int
    """Deals that it could begin now."""
    waiting_since: float
    """Since when it has this room, in Unix time."""
    wanted: Mapping[str, int] = field(default_factory=dict)
    """Rated deals that its owner asked for, by board."""
    begun: Mapping[str, int] = field(default_factory=dict)
    """Rated deals that its version has begun today, by board."""
    earlier_versions: int = 0
    """Other versions of the bot that have begun rated deals today."""


def next_pairing(entrants: Sequence[Entrant], *, now: float) -> float | None:
    """Return when there may be more deals to begin although nothing has changed; None: never."""
    times = [entrant.waiting_since + PATIENCE for entrant in entrants if entrant.room and not entrant.house]
    return min((time for time in times if time > now), default=None)


class PairingRound:
    """Chooses the rated deals that begin now.

    A table begins with the bot whose owner asked for deals, that has waited for too long, or that is known
    least. Its opponents are likely to be those of nearly the same rating, and among these the less known
    ones. Two bots of one owner never meet, nor do bots without a common place. Bots of the house fill up.

    A guest begins at most its quota of a day; each other version of it that plays the same day, half as many
    games as the one before. Of that, one whose rating is exact begins only a share for its own sake or for
    bots whose ratings are exact too: the rest is for those that are known less.
    """

    def __init__(
        self,
        config: LadderConfig,
        entrants: Sequence[Entrant],
        beliefs: Mapping[str, Beliefs],
        *,
        now: float,
        rng: random.Random,
    ) -> None:
        """Begin with all bots that are connected, those without room too, and the ratings by board.

        `now` is Unix time, and `rng` decides where chance does.
        """
        self._config = config
        self._boards = boards = config.boards
        self._present = sum(not entrant.house for entrant in entrants)
        self._entrants = [entrant for entrant in entrants if entrant.room > 0]
        self._now = now
        self._rng = rng
        self._joints = {
            board.name: beliefs[board.name].joint([each.version for each in self._entrants], now)
            for board in boards
        }
        owners = {
            owner: number for number, owner in enumerate(sorted({each.owner for each in self._entrants}))
        }
        self._owners: Ints = np.array([owners[each.owner] for each in self._entrants], dtype=np.int64)
        self._house = np.array([each.house for each in self._entrants], dtype=bool)
        self._room: Ints = np.array([each.room for each in self._entrants], dtype=np.int64)
        self._wanted = [dict(each.wanted) for each in self._entrants]
        self._begun = {
            board.name: np.array([each.begun.get(board.name, 0) for each in self._entrants], dtype=np.int64)
            for board in boards
        }
        self._quotas: Floats = config.quotas.games_per_day * 0.5 ** np.array(
            [each.earlier_versions for each in self._entrants], dtype=np.float64
        )
        self._is_exact = {
            board: np.diag(joint.covariance) <= config.quotas.exact_error**2
            for board, joint in self._joints.items()
        }
        doubt = sum(
            (np.diag(joint.covariance) for joint in self._joints.values()), np.zeros(len(self._entrants))
        )
        self._by_need = sorted(shuffled(range(len(doubt)), rng), key=(-doubt).tolist().__getitem__)
        since = [each.waiting_since for each in self._entrants]
        self._by_time = sorted(range(len(since)), key=lambda index: (since[index], index))

    def deals(self, limit: int) -> list[NewDeal]:
        """Return up to `limit` deals, the most urgent one first; each leaves its bots less room."""
        deals, failed = list[NewDeal](), set[int]()
        while len(deals) < limit and (head := self._head(failed)) is not None:
            deal = self._deal(head)
            if deal is None:
                failed.add(head)
            else:
                deals.append(deal)
        return deals

    def _head(self, failed: set[int]) -> int | None:
        """Return for whom to make up a table next."""
        wants = set(self._waiting().tolist()) - failed
        waiting = [index for index in self._by_time if index in wants]
        for index in waiting:
            if any(self._wanted[index].values()):
                return index
        if waiting and self._now >= self._entrants[waiting[0]].waiting_since + PATIENCE:
            return waiting[0]
        players = max(board.players for board in self._boards)
        if len(waiting) < min(TABLES * players, (self._present + 1) // 2):
            return None
        free = set(waiting)
        return next((index for index in self._by_need if index in free), None)

    def quotas_used(self) -> dict[str, int]:
        """Return the guests that have room and no deal left for their own sake, with their games of a day."""
        guests = np.flatnonzero((self._room > 0) & ~self._house)
        without = np.setdiff1d(guests, self._waiting())
        return {self._entrants[index].bot: int(self._quotas[index]) for index in without}

    def _may_begin(self, board: Board) -> Flags:
        """Return who has a deal on a board left today; bots of the house have no quota."""
        games: Ints = np.sum([each.players * self._begun[each.name] for each in self._boards], axis=0)
        may: Flags = self._house | (games + board.players <= self._quotas)
        return may

    def _wants_to_begin(self, board: Board) -> Flags:
        """Return who has a deal on a board left today for its own sake."""
        name = board.name
        games = (self._begun[name] + 1) * board.players
        has_share = games <= self._config.quotas.exact_share * self._quotas
        asked = np.array([wanted.get(name, 0) > 0 for wanted in self._wanted], dtype=bool)
        wants: Flags = self._may_begin(board) & (self._house | ~self._is_exact[name] | has_share | asked)
        return wants

    def _waiting(self) -> Ints:
        """Return the guests for whom tables are to be made: with room, and deals left for their own sake."""
        wants = np.any([self._wants_to_begin(board) for board in self._boards], axis=0)
        return np.flatnonzero((self._room > 0) & ~self._house & wants)

    def _deal(self, head: int) -> NewDeal | None:
        """Make up a table; None if there is nobody to play with."""
        for board in self._boards_for(head):
            members = self._members(head, board)
            if members is not None:
                break
        else:
            return None
        self._room[members] -= 1
        self._begun[board.name][members] += 1
        wanted = self._wanted[head].get(board.name, 0) > 0
        if wanted:
            self._wanted[head][board.name] -= 1
        entrants = [self._entrants[index] for index in shuffled(members, self._rng)]
        return NewDeal(
            board=board.name,
            kind=DealKind.RATED,
            versions=tuple(each.version for each in entrants),
            bots=tuple(each.bot for each in entrants),
            wanted_by=self._entrants[head].bot if wanted else None,
        )

    def _boards_for(self, head: int) -> list[Board]:
        """Return the boards on which it has deals left: those asked for, then others as drawn by weight."""
        # Of exponential numbers, each is the least with a probability in proportion to its rate.
        keys = [self._rng.expovariate(board.weight) for board in self._boards]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        order.sort(key=lambda index: not self._wanted[head].get(self._boards[index].name))
        boards = [self._boards[index] for index in order]
        return [board for board in boards if self._wants_to_begin(board)[head]]

    def _members(self, head: int, board: Board) -> list[int] | None:
        """Return who plays at the table, None if there are too few."""
        value = self._values(head, board)
        is_new = self._joints[board.name].covariance[head, head] > self._config.provisional_error**2
        exploring = self._rng.random() < EXPLORING
        with_house = self._rng.random() < (NEW_WITH_HOUSE if is_new else WITH_HOUSE)
        is_exact = self._is_exact[board.name][head]
        free = (self._room > 0) & (self._wants_to_begin(board) if is_exact else self._may_begin(board))
        guests = np.where(free & ~self._house, np.ones_like(value) if exploring else value, 0.0)
        guests[self._owners == self._owners[head]] = 0.0
        house = np.where(free & self._house, value, 0.0)
        members = [head]
        while len(members) < board.players:
            last = len(members) == board.players - 1
            chosen = self._draw(house) if last and with_house else None
            chosen = self._draw(guests) if chosen is None else chosen
            chosen = self._draw(house) if chosen is None else chosen
            if chosen is None:
                return None
            members.append(chosen)
            house[chosen] = 0.0
            guests[self._owners == self._owners[chosen]] = 0.0
        return members

    def _values(self, head: int, board: Board) -> Floats:
        """Return how much a game against each one would tell about their order.

        It is the information of a game, p (1 - p), times the doubt about the difference: its variance, less
        where the difference is large beside its error.
        """
        elos, covariance = self._joints[board.name]
        differences = elos - elos[head]
        variances = np.diag(covariance) + covariance[head, head] - 2 * covariance[head]
        variances = np.maximum(1.0, variances)
        information = 1 / np.cosh(differences / (2 * ELO_PER_LOGIT)) ** 2
        values: Floats = information * variances / (1 + differences**2 / variances)
        return np.maximum(values, 1e-9)  # nobody is never chosen

    def _draw(self, weights: Floats) -> int | None:
        """Draw one in proportion to the weights, None if all are 0."""
        sums = list(accumulate(weights.tolist()))
        if not sums or sums[-1] <= 0:
            return None
        drawn = int(np.searchsorted(sums, self._rng.random() * sums[-1], side="right"))
        return min(drawn, int(np.flatnonzero(weights)[-1]))
