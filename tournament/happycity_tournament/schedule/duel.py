"""Duel: two bots fill all seats, deal after deal, until a sequential test has decided between them.

At tables of more than two a bot needs several seats, and so several names: a server lets a name sit at a
table once. In its first seat a bot goes by its own name, in the others by the name with `+2` and `+3` added.
Each of these must be connected, as a program of its own or as one program under several names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from happycity.errors import ConfigError
from happycity_tournament.results import Fixture, GameResult
from happycity_tournament.schedule.field import check_count, check_seats, check_seed, deal_games
from happycity_tournament.schedule.outcomes import WIN, half_points
from happycity_tournament.sprt import Sprt, SprtState, Verdict

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


def copies(bot: str, seats: int) -> tuple[str, ...]:
    """Return the names under which a bot sits at tables with so many seats, its own first."""
    return (bot, *(f"{bot}+{number}" for number in range(2, (seats + 1) // 2 + 1)))


def sprt_fixtures(*, candidate: str, base: str, seats: int, deals: int, seed: int) -> Iterator[Fixture]:
    """Return the games of so many deal blocks; a block is a round with one table.

    Raises:
        ConfigError: at once, if no test can be made of these numbers or names.
    """
    check_seats(seats)
    check_seed(seed)
    check_count("deals", deals)
    names = [*copies(candidate, seats), *copies(base, seats)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ConfigError(f"bots: {twice[0]!r} would be the name of both bots")
    return _blocks(candidate=candidate, base=base, seats=seats, deals=deals, seed=seed)


def block_score(results: Sequence[GameResult], *, candidate: str) -> float:
    """Return what the candidate scored in a deal block: the mean over its seats against the other bot's.

    A pair of seats counts 1 if the candidate's has the better place and 1/2 if they share one, so the block
    score is 0 to 1.

    Raises:
        ValueError: the candidate never met the other bot.
    """
    scored = pairs = 0
    for result in results:
        own = set(copies(candidate, len(result.places)))
        placed = list(zip(result.fixture.bots, result.places, strict=True))
        mine = [place for bot, place in placed if bot in own]
        others = [place for bot, place in placed if bot not in own]
        scored += sum(half_points(place, other) for place in mine for other in others)
        pairs += len(mine) * len(others)
    if not pairs:
        raise ValueError(f"{candidate!r} met nobody in this block")
    return scored / (WIN * pairs)


class Duel:
    """A `Schedule` that feeds a sequential test with whole blocks, in their order, and ends with it.

    Blocks that come early are held back, or short games, which end first, would bias the test; a block that
    lacks a game counts for nothing.

    Raises:
        ConfigError: no test can be made of these numbers or names.
    """

    draws_from_results = False  # only how many there are

    def __init__(self, *, candidate: str, base: str, seats: int, seed: int, sprt: Sprt) -> None:
        self._fixtures = sprt_fixtures(
            candidate=candidate, base=base, seats=seats, deals=sprt.max_blocks, seed=seed
        )
        self._candidate = candidate
        self._games_per_block = len(seatings(seats))
        self._sprt = sprt
        self._results: defaultdict[int, list[GameResult]] = defaultdict(list)
        self._settled: Counter[int] = Counter()
        """How many games of each block are added or skipped."""
        self._next = 1
        self._last_round: int | None = None
        self.bots = (*copies(candidate, seats), *copies(base, seats))
        """The names that must be connected."""

    @property
    def total_games(self) -> int:
        """How many games there will be if the test can't decide earlier."""
        return self._sprt.max_blocks * self._games_per_block

    @property
    def state(self) -> SprtState:
        """Where the test stands."""
        return self._sprt.state

    @property
    def last_round(self) -> int | None:
        """The block that decided the test; None before. Later blocks may have begun; they don't count."""
        return self._last_round

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield all games as one stage, which ends with the block before which the test was decided."""
        yield self._until_decided()

    def add(self, result: GameResult) -> None:
        """Take a result, in any order; those after the test's end change nothing."""
        self._results[result.fixture.round].append(result)
        self._settle(result.fixture)

    def skip(self, fixture: Fixture) -> None:
        """Note that a game has no result: its block won't count."""
        self._settle(fixture)

    def _until_decided(self) -> Iterator[Fixture]:
        for fixture in self._fixtures:
            if fixture.rotation == 0 and self._sprt.verdict is not Verdict.RUNNING:
                return
            yield fixture

    def _settle(self, fixture: Fixture) -> None:
        self._settled[fixture.round] += 1
        while self._settled[self._next] == self._games_per_block:
            self._count(self._results.pop(self._next, []))
            if self._last_round is None and self._sprt.verdict is not Verdict.RUNNING:
                self._last_round = self._next
            del self._settled[self._next]
            self._next += 1

    def _count(self, block: Sequence[GameResult]) -> None:
        if len(block) == self._games_per_block and self._sprt.verdict is Verdict.RUNNING:
            self._sprt.add(block_score(block, candidate=self._candidate))


def _blocks(*, candidate: str, base: str, seats: int, deals: int, seed: int) -> Iterator[Fixture]:
    seated = [_seated(seating, candidate=candidate, base=base) for seating in seatings(seats)]
    for number in range(1, deals + 1):
        yield from deal_games(iter(seated), seed=seed, number=number, table=0)


def _seated(seating: Seating, *, candidate: str, base: str) -> tuple[str, ...]:
    mine, others = iter(copies(candidate, len(seating))), iter(copies(base, len(seating)))
    return tuple(next(mine if own else others) for own in seating)
