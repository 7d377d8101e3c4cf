"""The games of sequential tests among any others: those after a test's decision don't count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from happycity_tournament.config import SprtTest, TournamentConfig
from happycity_tournament.schedule.field import deal_seed_of
from happycity_tournament.schedule.sequential import SprtSchedule

_Entry = TypeVar("_Entry")

_BLOCKS_AT_ONCE = 256


class _Game(NamedTuple):
    round: int
    bots: Sequence[str]
    places: Sequence[int]


class GamesOfTests(Generic[_Entry]):
    """Keeps games of sequential tests back, which are found by their deals, until all of them are there.

    They are known to be the games of a test by its two bots and the seeds of its deals.
    """

    def __init__(self, tournaments: Iterable[TournamentConfig]) -> None:
        """Begin without games; of the tournaments, those that are no tests don't matter."""
        self._tests = [
            _Test(config, chosen) for config in tournaments if isinstance(chosen := config.format, SprtTest)
        ]
        self._kept: list[tuple[_Test, int, _Entry]] = []
        self.left_out = 0
        """Games after decisions, once `counted` has yielded the others."""

    @property
    def expects_games(self) -> bool:
        """Whether any tournament is a test; else every game counts."""
        return bool(self._tests)

    def keep(self, bots: Sequence[str], places: Sequence[int], deal_seed: int, entry: _Entry | None) -> bool:
        """Keep a game back if it belongs to a test; one without an entry counts for the test only."""
        for test in self._tests:
            block = test.block_of(bots, deal_seed)
            if block is not None:
                test.schedule.add(_Game(block, bots, places))
                if entry is not None:
                    self._kept.append((test, block, entry))
                return True
        return False

    def counted(self) -> Iterator[_Entry]:
        """Yield the entries of the games up to the decision of their test."""
        for test, block, entry in self._kept:
            last = test.schedule.last_round
            if last is None or block <= last:
                yield entry
            else:
                self.left_out += 1


class _Test:
    def __init__(self, config: TournamentConfig, chosen: SprtTest) -> None:
        self.schedule = SprtSchedule(chosen, seats=config.game.players, seed=config.seed)
        self._bots = {chosen.candidate, chosen.base}
        self._seed, self._most = config.seed, chosen.max_blocks
        self._blocks: dict[int, int] = {}
        """By the seeds of their deals, as many as were needed so far."""

    def block_of(self, bots: Sequence[str], deal_seed: int) -> int | None:
        """Return the number of the block that a game belongs to, None if it isn't one of this test."""
        if set(bots) != self._bots:
            return None
        while deal_seed not in self._blocks and (known := len(self._blocks)) < self._most:
            for number in range(known + 1, min(known + _BLOCKS_AT_ONCE, self._most) + 1):
                self._blocks[deal_seed_of(self._seed, number, 0)] = number
        return self._blocks.get(deal_seed)
