"""What a bot answered to recorded decisions, compared with the record: as lines and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from happycity import Move
from happycity.match import one_line
from happycity.records.playback import Step
from happycity.records.record import Json
from happycity.text.board import Line, Style
from happycity.text.words import move_in_words
from happycity_terminal.frames import seconds


class ReplyKind(Enum):
    """How an answer compares with the record's: for programs, in words, and its mark."""

    SAME = "same", "as in the record", "="
    DIFFERS = "differs", "different", "!"
    NO_RECORDED_ANSWER = "no recorded answer", "without an answer in the record", "?"
    """The record has the fallback's move: the bot gave no legal answer in time, or was no longer asked."""
    FAILED = "failed", "failed", "!"
    """The bot gave no legal answer now."""

    def __init__(self, outcome: str, words: str, mark: str) -> None:
        self.outcome, self.words, self.mark = outcome, words, mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a bot answered to a recorded decision."""

    step: Step
    """The decision, with the move in the record."""
    was_answered: bool
    """Whether the record's move is an answer of the bot."""
    move: Move | None = None
    """What it chose; None if it failed."""
    failure: str = ""
    """How it failed."""
    think_seconds: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)

    @property
    def kind(self) -> ReplyKind:
        """How the answer compares with the record's."""
        if self.move is None:
            return ReplyKind.FAILED
        if not self.was_answered:
            return ReplyKind.NO_RECORDED_ANSWER
        return ReplyKind.SAME if self.move == self.step.move else ReplyKind.DIFFERS


def reply_line(reply: Reply, bots: Sequence[str]) -> Line:
    """Return a reply in one line: a mark, the decision, what the bot chose, and what the record has."""
    step, kind = reply.step, reply.kind
    chosen = reply.failure
    if reply.move is not None:
        metrics = [f"{one_line(name)[:32]} {value:g}" for name, value in reply.metrics.items()]
        chosen = f"{_words(step, reply.move, bots)} ({', '.join([seconds(reply.think_seconds), *metrics])})"
    beside = kind.words
    if step.move is None:
        beside = "a file has no answer to compare with"
    elif kind is not ReplyKind.SAME:
        recorded = _words(step, step.move, bots)
        beside = "the record has " + (recorded if reply.was_answered else f"no answer: played {recorded}")
    text = f"{kind.mark} decision {step.decision_id}, round {step.view.round}: {chosen}; {beside}"
    return ((text, Style.BAD if kind.mark == "!" else Style.PLAIN),)


def summary(replies: Sequence[Reply]) -> str:
    """Return in one line how many replies there are of each kind."""
    counts = {kind: sum(reply.kind is kind for reply in replies) for kind in ReplyKind}
    return ", ".join(f"{count} {kind.words}" for kind, count in counts.items() if count)


def reply_json(reply: Reply) -> Json:
    """Return a reply as JSON."""
    return {
        "decision": reply.step.decision_id,
        "round": reply.step.view.round,
        "outcome": reply.kind.outcome,
        "move": None if reply.move is None else reply.move.text,
        "failure": reply.failure or None,
        "recorded_move": None if reply.step.move is None else reply.step.move.text,
        "recorded_answer": reply.was_answered,
        "seconds": reply.think_seconds,
        "metrics": reply.metrics,
    }


def _words(step: Step, move: Move | None, bots: Sequence[str]) -> str:
    if move is None:
        return "nothing"
    return move_in_words(move, dict(step.options).get(move, 0), bots)
