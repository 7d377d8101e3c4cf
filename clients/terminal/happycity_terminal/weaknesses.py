"""What a bot loses over many games: by phase, round and opponent, and its costliest decisions."""

from __future__ import annotations

import heapq
import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from typing import NamedTuple

from happycity.records.playback import Playback
from happycity.records.record import loads
from happycity.text.words import move_in_words
from happycity_evaluation.analysis import judged_decisions
from happycity_evaluation.evaluator import Evaluator
from happycity_runtime.parallel import in_processes

MOST_COSTLY = 10
"""Costliest decisions that are kept."""
LEAST_LOSS = 0.005
"""Places; a smaller loss is shown as 0.00, so it is not listed."""
LEAST_BLIND_LOSS = 0.05
"""Places a game; with less to lose, choosing at random does no harm."""
RANDOM_SHARE = 0.8
"""From this share of the loss by moves at random on, a bot's moves are called no better than those; the
reference bots planner and champion lose 0.2 of it at most."""
NO_ANSWER = "no answer"
"""Stands for the phase of a decision that the fallback took, as the bot gave no legal answer in time."""
LOSSES_IN_WORDS = {
    "market": "choices of a market",
    "discard": "discards",
    "draw": "draws",
    "buy": "purchases",
    "special": "choices of a special",
    "sphinx": "copies of the Sphinx",
    NO_ANSWER: "decisions without an answer",
}
"""What losses by phase are of."""
_CHUNK = 8  # games that a process judges at once

StoredGame = tuple[int, Sequence[str], str]
"""A game's id, the bots by seat, and its record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostlyDecision:
    """A decision of a game, with its moves in words; losses are in expected places."""

    game: int
    decision: int
    """From 1, all seats of the game together."""
    seat: int
    round: int
    phase: str
    """The phase, or `NO_ANSWER`."""
    move: str
    """What was chosen."""
    best: str
    loss: float
    loss_at_random: float
    """What a move chosen at random would lose; 0 without an answer."""


class SeatDecisions(NamedTuple):
    """All decisions of a seat in a game."""

    opponents: frozenset[str]
    decisions: Sequence[CostlyDecision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weaknesses:
    """What a bot loses in expected places a game; each of its seats counts as a game."""

    games: int
    loss_by_phase: Mapping[str, float]
    """Highest loss first, as by opponent."""
    loss_at_random: Mapping[str, float]
    """By phase, what moves chosen at random would lose."""
    loss_by_round: Mapping[int, float]
    loss_by_opponent: Mapping[str, float]
    """By bot, the loss a game in the games against it."""
    decisions: Sequence[CostlyDecision]
    """Those that cost most, the costliest first."""

    @classmethod
    def of(cls, seats: Iterable[SeatDecisions]) -> Weaknesses:
        """Return what decisions sum up to; a stream of them is enough."""
        games, met = 0, Counter[str]()
        by_phase, at_random, by_opponent = (defaultdict[str, float](float) for _ in range(3))
        by_round = defaultdict[int, float](float)
        costliest: list[CostlyDecision] = []
        for opponents, decisions in seats:
            games += 1
            met.update(opponents)
            for decision in decisions:
                by_phase[decision.phase] += decision.loss
                at_random[decision.phase] += decision.loss_at_random
                by_round[decision.round] += decision.loss
                for opponent in opponents:
                    by_opponent[opponent] += decision.loss
            costliest = heapq.nlargest(MOST_COSTLY, (*costliest, *decisions), key=attrgetter("loss"))
        return cls(
            games=games,
            loss_by_phase=_most_first({phase: loss / games for phase, loss in by_phase.items()}),
            loss_at_random={phase: loss / games for phase, loss in at_random.items()},
            loss_by_round={number: loss / games for number, loss in sorted(by_round.items())},
            loss_by_opponent=_most_first({bot: loss / met[bot] for bot, loss in by_opponent.items()}),
            decisions=[decision for decision in costliest if decision.loss >= LEAST_LOSS],
        )


def diagnosis(subject: str, losses: Mapping[str, float], at_random: Mapping[str, float] | None = None) -> str:
    """Return in a sentence where most was lost, given the losses by phase, the highest first.

    The subject is the bot with its verb: "mine lost", or "mine loses" for losses a game. Phases come first in
    which the bot loses nearly as much as by moves `at_random`: it may have no idea there, although it loses
    more elsewhere, as purchases decide more than discards.
    """
    total, per_game = sum(losses.values()), " a game" if subject.endswith("loses") else ""
    if total < LEAST_LOSS:
        return f"{subject} nothing by its decisions"
    blind = [
        phase
        for phase, loss in losses.items()
        if loss >= max(LEAST_BLIND_LOSS, RANDOM_SHARE * ((at_random or {}).get(phase) or math.inf))
    ]
    most = next(iter(losses))
    parts: list[str] = []
    for phase in dict.fromkeys((*blind, most)):
        where = f"in {LOSSES_IN_WORDS[phase]}{', no better than at random' if phase in blind else ''}"
        if not parts:
            where = f"places{per_game} {where}, of {total:.2f} in all its decisions"
        parts.append(f"{losses[phase]:.2f} {where}")
    return f"{subject} {'; '.join(parts)}"


def weaknesses_of(games: Iterable[StoredGame], bot: str, *, playouts: int) -> Iterator[list[SeatDecisions]]:
    """Yield the decisions of each seat of a bot, game by game; errors are those of `positions_of`.

    The games are read as a stream, and judged by all processors.
    """
    judge = partial(_judged, bot=bot, playouts=playouts)
    return in_processes(judge, games, processes=os.cpu_count() or 1, chunk=_CHUNK)


_evaluator = cache(Evaluator)


def _judged(game: StoredGame, *, bot: str, playouts: int) -> list[SeatDecisions]:
    match_id, bots, text = game
    record = loads(text)
    playback = Playback.of_record(record, bots=bots)
    seats: dict[int, list[CostlyDecision]] = {seat: [] for seat, name in enumerate(bots) if name == bot}
    for decision in judged_decisions(record, seats, _evaluator(playouts=playouts)):
        step = playback.steps[decision.decision_id - 1]
        coins, answered = dict(step.options), playback.was_answered(step)
        chosen, best = (move_in_words(move, coins[move], bots) for move in (decision.move, decision.best))
        costly = CostlyDecision(
            game=match_id,
            decision=decision.decision_id,
            seat=decision.seat,
            round=decision.round,
            phase=str(decision.phase) if answered else NO_ANSWER,
            move=chosen,
            best=best,
            loss=decision.loss,
            loss_at_random=sum(decision.losses.values()) / len(decision.losses) if answered else 0.0,
        )
        seats[decision.seat].append(costly)
    return [SeatDecisions(frozenset(bots) - {bot}, decisions) for decisions in seats.values()]


def _most_first(losses: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(losses.items(), key=lambda entry: (-entry[1], entry[0])))
