"""What a program may write: one answer a line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from happycity import Move
from happycity_bridge.errors import AnswerError, shown

_KEYS = {"id", "move", "metrics"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A line of a program that may be an answer."""

    line: str
    """As it was written, for messages."""
    id: int | None
    """The decision that it names, if any; without, it is for the oldest open one."""
    move: str | int
    """A move in text, or the position of one, from 0."""
    metrics: Mapping[str, float]
    """Numbers about the choice, by their names."""


def parse(line: str) -> Answer:
    """Read `{"move": ...}`, which may have `"id"` and `"metrics"` too, a position or the text of a move.

    Raises:
        AnswerError: it is none of these.
    """
    value = _value(line)
    named = value if isinstance(value, dict) else {"move": value}
    unknown = sorted(named.keys() - _KEYS)
    if unknown:
        raise AnswerError(line, f"whose {shown(unknown[0])} means nothing here (known: id, move, metrics)")
    if "move" not in named:
        raise AnswerError(line, "which has no 'move'")
    return Answer(
        line,
        _id(line, named.get("id")),
        _move(line, named["move"]),
        _metrics(line, named.get("metrics")),
    )


def chosen(answer: Answer, moves: Sequence[Move]) -> Move:
    """Return the move that an answer means.

    Raises:
        AnswerError: it is none of `moves`.
    """
    if isinstance(answer.move, int):
        if 0 <= answer.move < len(moves):
            return moves[answer.move]
    else:
        for move in moves:
            if move.text == answer.move:
                return move
    raise AnswerError(answer.line, "which is not a legal move", moves)


def _value(line: str) -> object:
    """Return what a line says: JSON, or else a bare text."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        if line.startswith(("{", "[")):
            raise AnswerError(line, "which is not JSON") from None
        return line


def _id(line: str, value: object) -> int | None:
    if value is None or _is_int(value):
        return value
    raise AnswerError(line, "whose 'id' is not a number")


def _move(line: str, value: object) -> str | int:
    if isinstance(value, str) or _is_int(value):
        return value
    raise AnswerError(line, "whose move is neither a text nor a position")


def _metrics(line: str, value: object) -> dict[str, float]:
    """Return numbers by name. Which names and numbers are kept is for the server to say."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise AnswerError(line, "whose 'metrics' are not numbers by name")
    return {_sendable(name): _number(line, name, number) for name, number in value.items()}


def _sendable(name: str) -> str:
    """Replace what JSON may escape but no message can hold: halves of characters."""
    return name.encode(errors="replace").decode()


def _number(line: str, name: str, value: object) -> float:
    if isinstance(value, float):
        return value
    if not _is_int(value):
        raise AnswerError(line, f"whose metric {shown(name)} is not a number")
    try:
        return float(value)
    except OverflowError:  # 1e999 is read as infinite too
        return math.inf if value > 0 else -math.inf


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
