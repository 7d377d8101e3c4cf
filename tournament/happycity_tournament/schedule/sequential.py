"""A sequential test: two bots fill all seats, deal after deal, until the test has decided between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from happycity_tournament.config import Seed, SprtTest
from happycity_tournament.games import WIN, CountedGame, Fixture, half_points
from happycity_tournament.ratings.sprt import MIN_BLOCKS, Sprt, SprtPoint, SprtState, Verdict
from happycity_tournament.schedule.schedule import Schedule, deal_games

_LEAST_STAGE = 16
"""Blocks of a stage after the first; with fewer the games of a stage would not keep the bots busy."""
_STAGE_SHARE = 4
"""A stage has a quarter of the blocks before it."""

Seating = tuple[bool, ...]
"""For each seat, whether the candidate sits there."""


def seatings(seats: int) -> list[Seating]:
    """Return the seatings of a deal block: every second seat the candidate's, in all rotations, and reversed.

    That makes 2 games for two and four seats, 6 for three and 10 for five. In them each bot has each seat
    equally often, and exchanging the bots maps the block on itself: what a seat is worth cancels, and equal
    bots score 1/2 by symmetry.
    """
    first = tuple(seat % 2 == 0 and seat < seats - seats % 2 for seat in range(seats))
    rotations = [(*first[shift:], *first[:shift]) for shift in range(seats)]
    reversed_too = [one for seating in rotations for one in (seating, tuple(not seat for seat in seating))]
    return list(dict.fromkeys(reversed_too))


def block_score(results: Sequence[CountedGame], *, candidate: str) -> float:
    """Return what the candidate scored in a deal block: the mean over its seats against the other bot's.

    A pair of seats counts 1 if the candidate's has the better place and 1/2 if they share one, so the block
    score is 0 to 1. The places that the candidate's seats won by the luck of their draws, where the games
    have it, are taken off; the score may then be outside of this range, and has the same mean. ValueError if
    the candidate never met the other bot.
    """
    scored, pairs = 0.0, 0
    for result in results:
        placed = list(zip(result.bots, result.places, strict=True))
        own = [place for bot, place in placed if bot == candidate]
        others = [place for bot, place in placed if bot != candidate]
        scored += sum(half_points(place, other) for place in own for other in others)
        luck = zip(result.bots, result.recorded_luck, strict=bool(result.recorded_luck))
        # What seats of one bot win of each other cancels.
        scored -= WIN * sum(places for bot, places in luck if bot == candidate)
        pairs += len(own) * len(others)
    if not pairs:
        raise ValueError(f"{candidate!r} met nobody in this block")
    return scored / (WIN * pairs)


class SprtSchedule(Schedule):
    """A schedule that feeds a sequential test with whole blocks, in their order, and ends with it.

    Blocks that come early are held back, or short games, which end first, would bias the test; a block that
    lacks a game counts for nothing.
    """

    def __init__(self, test: SprtTest, *, seats: int, seed: Seed) -> None:
        self._test = test
        self._seats = seats
        self._seed = seed
        self.games_per_block = len(seatings(seats))
        self._sprt = Sprt(test)
        self._results: defaultdict[int, list[CountedGame]] = defaultdict(list)
        self._settled: Counter[int] = Counter()
        """How many games of each block are added or skipped."""
        self._next = 1
        self.total_games = test.max_blocks * self.games_per_block
        self.last_round: int | None = None
        """The block that decided the test; None before. Later blocks may have begun; they don't count."""

    @property
    def state(self) -> SprtState:
        """Where the test stands."""
        return self._sprt.state

    @property
    def history(self) -> tuple[SprtPoint, ...]:
        """How the test got there."""
        return self._sprt.history

    @property
    def decided(self) -> bool:
        """Whether the test is over."""
        return self._sprt.verdict is not Verdict.RUNNING

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield the blocks, ever more as one stage, until the test has decided.

        However many games are played at once, few of them are of no use when it has.
        """
        first, most = 1, self._test.max_blocks
        while first <= most and self._sprt.verdict is Verdict.RUNNING:
            blocks = MIN_BLOCKS if first == 1 else max(_LEAST_STAGE, first // _STAGE_SHARE)
            last = min(first + blocks - 1, most)
            yield self._until_decided(range(first, last + 1))
            first = last + 1

    def add(self, result: CountedGame) -> None:
        """Take a result, in any order; those after the test's end change nothing."""
        self._results[result.round].append(result)
        self._settle(result.round)

    def skip(self, fixture: Fixture) -> None:
        """Note that a game has no result: its block won't count."""
        self._settle(fixture.round)

    def _until_decided(self, blocks: range) -> Iterator[Fixture]:
        """Yield the games of deal blocks; a block is a round with one table."""
        test = self._test
        seated = [
            tuple(test.candidate if own else test.base for own in seating)
            for seating in seatings(self._seats)
        ]
        for number in blocks:
            if self._sprt.verdict is not Verdict.RUNNING:
                return
            yield from deal_games(iter(seated), seed=self._seed, number=number, table=0)

    def _settle(self, number: int) -> None:
        self._settled[number] += 1
        while self._settled[self._next] == self.games_per_block:
            block = self._results.pop(self._next, [])
            if len(block) == self.games_per_block and self._sprt.verdict is Verdict.RUNNING:
                score = block_score(block, candidate=self._test.candidate)
                if self._sprt.add(score) is not Verdict.RUNNING:
                    self.last_round = self._next
            del self._settled[self._next]
            self._next += 1
