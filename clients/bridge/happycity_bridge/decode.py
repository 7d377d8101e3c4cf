"""The lines that a program writes: one answer each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from happycity import Move
from happycity_bridge.errors import AnswerError, quoted

_KEYS = {"id", "move", "metrics"}


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """A line of a program that may be an answer."""

    line: str
    """As it was written, for messages."""
    id: int | None
    """The decision that it names, if any; without, it is for the oldest open one."""
    move: str | int
    """A move in text, or the position of one, from 0."""
    metrics: Mapping[str, float]
    """Numbers about the choice, by their names."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A line of a program that asks for something of the engine: `{"ask": ...}`."""

    line: str
    """As it was written, for messages."""
    id: int | None
    """The decision that it is about; without, the oldest open one."""
    ask: str
    keys: Mapping[str, Any]

    def number(self, name: str, most: int, *, least: int = 0) -> int:
        """Return a number of the request; AnswerError if it is not one between `least` and `most`."""
        value = self.keys[name]
        if not _is_int(value) or not least <= value <= most:
            raise AnswerError(self.line, f"whose {name!r} is not a number between {least} and {most}")
        return value


def parse_answer(line: str) -> ProgramAnswer | SearchRequest:
    """Read a request, or the text or the position of a move, bare or as `{"move": ...}`.

    An object may have `"id"` and, with a move, `"metrics"`. AnswerError if the line is something else.
    """
    value = _value(line)
    keys: dict[str, Any] = value if isinstance(value, dict) else {"move": value}
    if "ask" in keys:
        return SearchRequest(line, _id(line, keys), str(keys["ask"]), keys)
    unknown = sorted(keys.keys() - _KEYS)
    if unknown:
        raise AnswerError(line, f"whose key {quoted(unknown[0])} is unknown (known: id, move, metrics)")
    if "move" not in keys:
        raise AnswerError(line, "which has no 'move'")
    number, move, metrics = _id(line, keys), keys["move"], keys.get("metrics")
    if not isinstance(move, str) and not _is_int(move):
        raise AnswerError(line, "whose move is neither a text nor a position")
    if metrics is not None and not isinstance(metrics, dict):
        raise AnswerError(line, "whose 'metrics' are not numbers by name")
    # Which names and numbers are kept is the server's decision.
    return ProgramAnswer(
        line, number, move, {name: _number(line, name, n) for name, n in (metrics or {}).items()}
    )


def chosen_move(answer: ProgramAnswer, moves: Sequence[Move]) -> Move:
    """Return the move that an answer means; AnswerError if it is not among `moves`."""
    if isinstance(answer.move, int):
        if 0 <= answer.move < len(moves):
            return moves[answer.move]
    else:
        for move in moves:
            if move.text == answer.move:
                return move
    raise AnswerError(answer.line, "which is not a legal move", moves)


def _id(line: str, keys: Mapping[str, Any]) -> int | None:
    number = keys.get("id")
    if number is None or _is_int(number):
        return number
    raise AnswerError(line, "whose 'id' is not a number")


def _value(line: str) -> object:
    """Return a line's content: JSON, or else a bare text."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        if line.startswith(("{", "[")):
            raise AnswerError(line, "which is not JSON") from None
        return line


def _number(line: str, name: str, value: object) -> float:
    if isinstance(value, float):
        return value
    if not _is_int(value):
        raise AnswerError(line, f"whose metric {quoted(name)} is not a number")
    try:
        return float(value)
    except OverflowError:  # 1e999 is read as infinite too
        return math.inf if value > 0 else -math.inf


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
