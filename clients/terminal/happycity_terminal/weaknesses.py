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

from happycity.records.playback import Playback, Step
from happycity.records.record import loads
from happycity.text.reasons import reasons
from happycity.text.words import move_in_words
from happycity_evaluation.analysis import JudgedDecision, judged_decisions
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
SIGNIFICANCE = 0.05
"""Phases, rounds and opponents with a greater p-value, corrected, are not named."""
LEAST_EXCESS = 0.4
"""How much larger the share of the loss at random has to be than elsewhere. The planner's is larger by 0.3 in
rounds 4 and 5, whose purchases the network would make otherwise."""
MIN_GAMES = 10
"""Games with such decisions, and with others, below which nothing is said of them."""
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
_KINDS = ("phase", "round", "opponent")
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
    why: Sequence[str]
    """What speaks for the best move."""
    loss: float
    loss_at_random: float
    """What a move chosen at random would lose; 0 without an answer."""


class SeatDecisions(NamedTuple):
    """All decisions of a seat in a game."""

    opponents: frozenset[str]
    decisions: Sequence[CostlyDecision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """Decisions in which a bot loses more than in all its others, by more than chance explains."""

    kind: str
    """`phase`, `round` or `opponent`."""
    cell: str
    """The phase, the number of the round, or the bot that is at the table."""
    share: float
    """What it loses there, as a share of what moves chosen at random would."""
    share_elsewhere: float
    p_value: float
    """The probability by chance, corrected for all phases, rounds and opponents (Holm 1979)."""


class LostPlaces(NamedTuple):
    """What decisions lost, and what moves chosen at random would have."""

    chosen: float
    at_random: float


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
    excesses: Sequence[Excess]
    """Where it loses more than elsewhere, the largest share first."""
    decisions: Sequence[CostlyDecision]
    """Those that cost most, the costliest first."""

    @classmethod
    def of(cls, seats: Iterable[SeatDecisions]) -> Weaknesses:
        """Return what decisions sum up to; a stream of them is enough."""
        games, met = 0, Counter[str]()
        by_phase, at_random, by_opponent = (defaultdict[str, float](float) for _ in range(3))
        by_round = defaultdict[int, float](float)
        costliest: list[CostlyDecision] = []
        by_game: list[tuple[Mapping[_Cell, LostPlaces], frozenset[str]]] = []
        for opponents, decisions in seats:
            games += 1
            met.update(opponents)
            by_game.append((_losses_by_cell(decisions), opponents))
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
            excesses=_excesses(by_game),
            decisions=[decision for decision in costliest if decision.loss >= LEAST_LOSS],
        )


def diagnosis(
    subject: str,
    losses: Mapping[str, float],
    at_random: Mapping[str, float] | None = None,
    excesses: Sequence[Excess] = (),
) -> str:
    """Return in a sentence where most was lost, given the losses by phase, the highest first.

    The subject is the bot with its verb: "mine lost", or "mine loses" for losses a game. The phase with the
    largest loss comes first, then those in which the bot loses nearly as much as by moves `at_random`: it may
    have no idea there. Then come the phases, rounds and opponents with `excesses`.
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
    for phase in dict.fromkeys((most, *blind)):
        where = f"in {LOSSES_IN_WORDS[phase]}{', no better than at random' if phase in blind else ''}"
        if not parts:
            where = f"places{per_game} {where}, of {total:.2f} in all its decisions"
        parts.append(f"{losses[phase]:.2f} {where}")
    return "; ".join((f"{subject} {parts[0]}", *parts[1:], *_in_words(excesses)))


def _in_words(excesses: Sequence[Excess]) -> Iterator[str]:
    """Yield where a bot loses more than elsewhere: phases, rounds, opponents."""
    named: defaultdict[str, list[Excess]] = defaultdict(list)
    for excess in excesses:
        named[excess.kind].append(excess)
    words = {
        "phase": lambda cells: "in " + " and ".join(LOSSES_IN_WORDS[cell] for cell in cells),
        "round": lambda cells: (
            "in round" + ("s " if len(cells) > 1 else " ") + _ranges(sorted(map(int, cells)))
        ),
        "opponent": lambda cells: "with " + " or ".join(cells) + " at the table",
    }
    for kind, found in named.items():
        least = min(excess.share for excess in found)
        most = max(excess.share_elsewhere for excess in found)
        where = words[kind]([excess.cell for excess in found])
        yield f"more than elsewhere {where}, {least:.1f} of the loss at random instead of {most:.1f}"


def _ranges(numbers: Sequence[int]) -> str:
    """Write ascending numbers, those that follow each other as `8-12`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in ranges)


_Cell = tuple[str, str]
"""A kind and a cell, as in `Excess`; the whole game is ("game", "")."""


def _losses_by_cell(decisions: Iterable[CostlyDecision]) -> dict[_Cell, LostPlaces]:
    """Return the losses of a game by phase and round, without decisions that the fallback took."""
    sums: defaultdict[_Cell, LostPlaces] = defaultdict(lambda: LostPlaces(0.0, 0.0))
    for decision in decisions:
        if decision.phase != NO_ANSWER:
            for cell in (("game", ""), ("phase", decision.phase), ("round", str(decision.round))):
                before = sums[cell]
                sums[cell] = LostPlaces(
                    before.chosen + decision.loss, before.at_random + decision.loss_at_random
                )
    return dict(sums)


def _excesses(games: Sequence[tuple[Mapping[_Cell, LostPlaces], frozenset[str]]]) -> list[Excess]:
    """Test each phase, round and opponent against all other decisions, by games.

    The shares of the losses at random are compared, as some decisions have more to lose. The error of their
    difference is that of two ratios, linearised, whose games are independent. An opponent's decisions are all
    of the games with it.
    """
    # It imports numpy, for which other commands would wait.
    from happycity_tournament.ratings.estimate import holm

    none = LostPlaces(0.0, 0.0)
    cells = sorted({cell for losses, _ in games for cell in losses} - {("game", "")})
    rows = {cell: [losses.get(cell, none) for losses, _ in games] for cell in cells}
    totals = [losses.get(("game", ""), none) for losses, _ in games]
    for opponent in sorted({opponent for _, opponents in games for opponent in opponents}):
        inside = [opponent in opponents for _, opponents in games]
        rows["opponent", opponent] = [
            total if met else none for total, met in zip(totals, inside, strict=True)
        ]
    found = []
    for (kind, cell), inside_losses in rows.items():
        outside = [
            LostPlaces(total.chosen - own.chosen, total.at_random - own.at_random)
            for total, own in zip(totals, inside_losses, strict=True)
        ]
        tested = _compared(inside_losses, outside)
        if tested is not None:
            found.append((kind, cell, sum(own.chosen for own in inside_losses) / len(games), *tested))
    p_values = holm([p_value for *_, p_value in found]).tolist()
    excesses = [
        Excess(kind=kind, cell=cell, share=share, share_elsewhere=elsewhere, p_value=corrected)
        for (kind, cell, loss, share, elsewhere, _), corrected in zip(found, p_values, strict=True)
        if corrected < SIGNIFICANCE and share - elsewhere >= LEAST_EXCESS and loss >= LEAST_BLIND_LOSS
    ]
    return sorted(excesses, key=lambda excess: (_KINDS.index(excess.kind), -excess.share))


def _compared(
    inside: Sequence[LostPlaces], outside: Sequence[LostPlaces]
) -> tuple[float, float, float] | None:
    """Return the shares inside and outside, and the p-value that the first is larger; None if not known."""
    import numpy as np  # as above

    from happycity_tournament.ratings.estimate import student_probabilities

    shares, counted = list[float](), list[int]()
    residuals = [0.0] * len(inside)
    for losses in (inside, outside):
        at_random = sum(loss.at_random for loss in losses)
        if at_random <= 0:
            return None
        share = sum(loss.chosen for loss in losses) / at_random
        sign = -1 if shares else 1
        residuals = [
            before + sign * (loss.chosen - share * loss.at_random) / at_random
            for before, loss in zip(residuals, losses, strict=True)
        ]
        shares.append(share)
        counted.append(sum(loss.at_random > 0 for loss in losses))
    if min(counted) < MIN_GAMES:
        return None
    error = math.sqrt(sum(residual**2 for residual in residuals))
    if not error:
        return None
    difference = shares[0] - shares[1]
    p_value = student_probabilities(np.array(-difference / error), np.array(min(counted) - 1))
    return shares[0], shares[1], float(p_value)


def weaknesses_of(games: Iterable[StoredGame], bot: str, *, playouts: int) -> Iterator[list[SeatDecisions]]:
    """Yield the decisions of each seat of a bot, game by game; errors are those of `positions_of`.

    The games are read as a stream, and judged by all processors.
    """
    judge = partial(_judged, bot=bot, playouts=playouts)
    return in_processes(judge, games, processes=os.cpu_count() or 1, chunk=_CHUNK)


def why_better(step: Step, decision: JudgedDecision) -> list[str]:
    """Return what speaks for the best move of a judged decision; nothing where its loss isn't shown."""
    if decision.loss < LEAST_LOSS:
        return []
    return reasons(step.view, dict(step.options), decision.best, decision.move)


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
            why=why_better(step, decision),
            loss=decision.loss,
            loss_at_random=sum(decision.losses.values()) / len(decision.losses) if answered else 0.0,
        )
        seats[decision.seat].append(costly)
    return [SeatDecisions(frozenset(bots) - {bot}, decisions) for decisions in seats.values()]


def _most_first(losses: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(losses.items(), key=lambda entry: (-entry[1], entry[0])))
