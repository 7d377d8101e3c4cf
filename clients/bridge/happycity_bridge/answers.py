"""What a program may write: one answer a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from happycity import Move
from happycity_bridge.errors import AnswerError

_KEYS = {"id", "move"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A line of a program that may be an answer."""

    line: str
    """As it was written, for messages."""
    id: int | None
    """The decision that it names, if any; without, it is for the oldest open one."""
    move: str | int
    """A move in text, or the position of one, from 0."""


def parse(line: str) -> Answer:
    """Read `{"move": ...}`, `{"id": ..., "move": ...}`, a position or the text of a move.

    Raises:
        AnswerError: it is none of these.
    """
    value = _value(line)
    named = value if isinstance(value, dict) else {"move": value}
    unknown = sorted(named.keys() - _KEYS)
    if unknown:
        raise AnswerError(line, f"whose {unknown[0]!r} means nothing here (known: id, move)")
    if "move" not in named:
        raise AnswerError(line, "which has no 'move'")
    return Answer(line, _id(line, named.get("id")), _move(line, named["move"]))


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


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
