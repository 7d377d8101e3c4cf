"""Sequential halving: the budget goes to the moves that may still be the best, in the same worlds."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from happycity import ConfigError, Move

_World = TypeVar("_World")

_BUDGET = re.compile(r"([1-9]\d{0,6})(ms)?")


class TrialBudget(NamedTuple):
    """What the trials for one decision may cost: a number of playouts, or a time.

    Only with a number of playouts does a bot decide alike whenever it is asked again.
    """

    playouts: int = 0
    """Playouts of all moves together. If it is 0 and `seconds` too, the best prior wins without trials."""
    seconds: float = 0.0
    """How long to try, if `playouts` is 0."""

    @classmethod
    def parse(cls, text: str) -> TrialBudget:
        """Return the budget that `text` denotes: `200` playouts, or `50ms`.

        Raises:
            ConfigError: it denotes none.
        """
        match = _BUDGET.fullmatch(text)
        if match is None:
            raise ConfigError(f"budget {text[:80]!r}: give a number of playouts, as 200, or a time, as 50ms")
        number = int(match[1])
        return cls(seconds=number / 1000) if match[2] else cls(playouts=number)


class Candidate(NamedTuple):
    """A move that may be the best."""

    move: Move
    prior: float
    """How well it is expected to do before any trial, in the units of a trial."""


def prune(moves: Sequence[Move], priors: Sequence[float], *, near: float, most: int) -> list[Candidate]:
    """Return the moves that are at most `near` behind the best one, `most` at most, the best one first."""
    order = sorted(range(len(moves)), key=priors.__getitem__, reverse=True)[:most]
    best = priors[order[0]]
    return [Candidate(moves[i], priors[i]) for i in order if priors[i] >= best - near]


def halve(
    worlds: Iterator[_World],
    candidates: Sequence[Candidate],
    trial: Callable[[_World, Sequence[Move]], list[float]],
    *,
    budget: TrialBudget,
    confidence: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Move:
    """Return the candidate that does best, by its prior and by trials in sampled worlds.

    A trial returns how well each move does in a world, from -1 to 1, and leaves the world as it is. The prior
    counts as much as `confidence` trials. Each stage spends an equal part of the budget on the candidates
    left, in the same worlds for all of them, and keeps the better half. Under a clock it stops when the time
    is over, after one world at least.
    """
    if not any(budget):
        return candidates[0].move
    left = list(candidates)
    totals = {candidate.move: candidate.prior * confidence for candidate in left}
    stages = (len(left) - 1).bit_length()
    began, tried = clock(), 0
    for stage in range(1, stages + 1):
        goal = tried + budget.playouts // (stages * len(left))
        due = began + budget.seconds * stage / stages
        while tried < goal or not tried or (not budget.playouts and clock() < due):
            moves = [candidate.move for candidate in left]
            for move, value in zip(moves, trial(next(worlds), moves), strict=True):
                totals[move] += value
            tried += 1
        left.sort(key=lambda candidate: totals[candidate.move], reverse=True)
        del left[(len(left) + 1) // 2 :]
    return left[0].move
