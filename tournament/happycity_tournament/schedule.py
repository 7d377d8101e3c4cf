"""Who plays whom, in which seat and on which deal: all of it fixed by the bots, the seats and one seed.

A round seats every bot at one table. A table plays its deal once in every rotation of its bots, so that
each of them holds each seat's cards once and the luck of the cards cancels (duplicate deals). Bots that
don't fill a table sit the round out; nobody sits out twice more than anybody else.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from happycity.deals import MAX_SEED, shuffled
from happycity.errors import ConfigError
from happycity_tournament.results import Fixture

SEATS = range(2, 6)

_SEED_BITS = 53  # a JSON number is a double in most languages: whole up to 2^53


def fixtures(*, bots: Sequence[str], seats: int, rounds: int, seed: int) -> Iterator[Fixture]:
    """Return all games in their order (round, table, rotation), each worked out when it is asked for.

    Raises:
        ConfigError: at once, if no tournament can be made of these numbers.
    """
    _check(bots=bots, seats=seats, rounds=rounds, seed=seed)
    return _fixtures(bots=bots, seats=seats, rounds=rounds, seed=seed)


def total_games(*, bots: Sequence[str], seats: int, rounds: int) -> int:
    """Return how many games `fixtures` will list.

    Raises:
        ConfigError: no tournament can be made of these numbers.
    """
    _check(bots=bots, seats=seats, rounds=rounds, seed=0)
    return rounds * tables_per_round(bots=len(bots), seats=seats) * seats


def tables_per_round(*, bots: int, seats: int) -> int:
    """Return how many tables so many bots fill."""
    return bots // seats


def _check(*, bots: Sequence[str], seats: int, rounds: int, seed: int) -> None:
    if seats not in SEATS:
        raise ConfigError(f"seats: {seats} is not between {SEATS[0]} and {SEATS[-1]}")
    if rounds < 1:
        raise ConfigError(f"rounds: {rounds} is less than 1")
    if not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"seed: {seed} is not between 0 and 2^64 - 1")
    twice = [bot for bot, count in Counter(bots).items() if count > 1]
    if twice:
        raise ConfigError(f"bots: {twice[0]!r} is named more than once")
    if len(bots) < seats:
        raise ConfigError(f"bots: {len(bots)} can't fill a table of {seats} seats")


def _fixtures(*, bots: Sequence[str], seats: int, rounds: int, seed: int) -> Iterator[Fixture]:
    draw = _Draw(bots=len(bots), seats=seats)
    for number in range(1, rounds + 1):
        tables = draw.next_round(random.Random(f"happycity tournament round {seed} {number}"))
        for table, company in enumerate(tables):
            names = [bots[bot] for bot in company]
            yield from _rotations(names, seed=seed, number=number, table=table)


def _rotations(names: Sequence[str], *, seed: int, number: int, table: int) -> Iterator[Fixture]:
    deal = f"{seed} {number} {table}"
    deal_seed = _derive(f"happycity deal seed {deal}")
    for rotation in range(len(names)):
        seated = (*names[rotation:], *names[:rotation])
        yield Fixture(
            round=number,
            table=table,
            rotation=rotation,
            deal_seed=deal_seed,
            bots=seated,
            bot_seeds=bot_seeds(deal, bots=seated),
        )


def bot_seeds(deal: str, *, bots: Sequence[str]) -> tuple[int, ...]:
    """Return each bot's seed, by seat, for a game on the deal that `deal` names."""
    return tuple(_derive(f"happycity bot seed {deal} {seat} {bot}") for seat, bot in enumerate(bots))


def _derive(text: str) -> int:
    """Return the seed below 2^53 that belongs to a text.

    SHA-256 has no way back and the texts begin with the kind of seed, so a bot that knows its own seed can
    only find the deal's by guessing the tournament's.
    """
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _SEED_BITS)


class _Draw:
    """Draws the rounds one after the other and remembers who played and who met whom.

    Bots are numbers from 0 here. Whoever has played least plays; among equals, those who met least sit
    together; what is then still open, chance decides.
    """

    def __init__(self, *, bots: int, seats: int) -> None:
        self._seats = seats
        self._played = [0] * bots
        self._meetings = [[0] * bots for _ in range(bots)]

    def next_round(self, rng: random.Random) -> list[list[int]]:
        """Return the bots of each table, in the order in which they sit down."""
        waiting = self._players(rng)
        tables = []
        while waiting:
            company = self._gather([waiting.pop()], candidates=waiting, size=self._seats)
            tables.append(shuffled(company, rng))
        for company in tables:
            self._remember(company)
        return tables

    def _players(self, rng: random.Random) -> list[int]:
        """Return those who don't sit out, in random order."""
        order = shuffled(range(len(self._played)), rng)
        size = len(order) - len(order) % self._seats
        if size == len(order):
            return order
        least = min(self._played)
        due = [bot for bot in order if self._played[bot] == least]
        others = [bot for bot in order if self._played[bot] > least]
        players = self._gather([], candidates=due, size=size)
        return shuffled(self._gather(players, candidates=others, size=size), rng)

    def _gather(self, company: list[int], *, candidates: list[int], size: int) -> list[int]:
        """Fill `company` up to `size` with the `candidates` that met it least, and take them from there."""
        meetings = self._meetings
        met = [sum(meetings[bot][member] for member in company) for bot in range(len(meetings))]
        while candidates and len(company) < size:
            chosen = min(candidates, key=met.__getitem__)
            candidates.remove(chosen)
            company.append(chosen)
            met = [before + more for before, more in zip(met, meetings[chosen], strict=True)]
        return company

    def _remember(self, company: Sequence[int]) -> None:
        for bot in company:
            self._played[bot] += 1
            for other in company:
                self._meetings[bot][other] += bot != other
