"""Who plays whom in the ladder: lineups by need, of the bots that have room for a deal."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from happycity.rules.shuffling import shuffled
from happycity_ladder.beliefs import Beliefs
from happycity_ladder.ladder_config import Board, LadderConfig
from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

EXPLORING = 0.25
"""Share of deals with opponents by lot: where results alone choose who meets, they mislead."""
WITH_HOUSE = 0.125
"""Share of deals with a bot of the house, whose strength doesn't change: they keep the scale."""
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


@dataclass(frozen=True, slots=True)
class Lineup:
    """A deal to be played."""

    board: str
    versions: tuple[int, ...]
    """By seat of the first game."""
    wanted_by: int | None = None
    """The version whose owner asked for it."""


class Pairing:
    """Chooses rated deals.

    A table begins with the bot whose owner asked for deals, that has waited for too long, or that is known
    least. Its opponents are likely to be those of nearly the same rating, and among these the less known
    ones. Two bots of one owner never meet, nor do bots without a common place. Bots of the house fill up.
    """

    def __init__(self, config: LadderConfig) -> None:
        self._boards = config.boards

    def lineups(
        self,
        entrants: Sequence[Entrant],
        beliefs: Mapping[str, Beliefs],
        *,
        now: float,
        rng: random.Random,
        limit: int,
    ) -> list[Lineup]:
        """Return deals to begin now, the most urgent one first; each leaves its bots less room.

        Args:
            entrants: all bots that are connected, those without room too.
            beliefs: the ratings, by board.
            now: Unix time.
            rng: decides where chance does.
            limit: the number of deals at most.
        """
        call = _Call(self._boards, entrants, beliefs, now=now, rng=rng)
        return [lineup for lineup, _ in zip(call.lineups(), range(limit), strict=False)] if limit > 0 else []

    def next_call(self, entrants: Sequence[Entrant], *, now: float) -> float | None:
        """Return when `lineups` may return more although nothing has changed; None: never."""
        times = [
            entrant.waiting_since + PATIENCE for entrant in entrants if entrant.room and not entrant.house
        ]
        return min((time for time in times if time > now), default=None)


class _Call:
    """One call of the pairing: who has room still, and what is known of them."""

    def __init__(
        self,
        boards: Sequence[Board],
        entrants: Sequence[Entrant],
        beliefs: Mapping[str, Beliefs],
        *,
        now: float,
        rng: random.Random,
    ) -> None:
        self._boards = boards
        self._present = sum(not entrant.house for entrant in entrants)
        self._entrants = [entrant for entrant in entrants if entrant.room > 0]
        self._beliefs = beliefs
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
        doubt = sum(
            (np.diag(joint.covariance) for joint in self._joints.values()), np.zeros(len(self._entrants))
        )
        self._by_need = sorted(shuffled(range(len(doubt)), rng), key=(-doubt).tolist().__getitem__)
        since = [each.waiting_since for each in self._entrants]
        self._by_time = sorted(range(len(since)), key=lambda index: (since[index], index))

    def lineups(self) -> Iterator[Lineup]:
        """Yield lineups as long as there is somebody for whom to make one."""
        failed: set[int] = set()
        while (head := self._head(failed)) is not None:
            lineup = self._lineup(head)
            if lineup is None:
                failed.add(head)
            else:
                yield lineup

    def _head(self, failed: set[int]) -> int | None:
        """Return for whom to make up a table next."""
        waiting = [index for index in self._by_time if self._waits(index) and index not in failed]
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

    def _waits(self, index: int) -> bool:
        return bool(self._room[index] > 0 and not self._house[index])

    def _lineup(self, head: int) -> Lineup | None:
        """Make up a table; None if there is nobody to play with."""
        for board in self._boards_for(head):
            members = self._members(head, board)
            if members is not None:
                break
        else:
            return None
        self._room[members] -= 1
        wanted = self._wanted[head].get(board.name, 0) > 0
        if wanted:
            self._wanted[head][board.name] -= 1
        versions = shuffled((self._entrants[index].version for index in members), self._rng)
        return Lineup(board.name, tuple(versions), self._entrants[head].version if wanted else None)

    def _boards_for(self, head: int) -> list[Board]:
        """Return all boards: those that were asked for, then the others as drawn by their weights."""
        # Of exponential numbers, each is the least with a probability in proportion to its rate.
        keys = [self._rng.expovariate(board.weight) for board in self._boards]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        order.sort(key=lambda index: not self._wanted[head].get(self._boards[index].name))
        return [self._boards[index] for index in order]

    def _members(self, head: int, board: Board) -> list[int] | None:
        """Return who plays at the table, None if there are too few."""
        value = self._values(head, board)
        exploring, with_house = self._rng.random() < EXPLORING, self._rng.random() < WITH_HOUSE
        free = self._room > 0
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
