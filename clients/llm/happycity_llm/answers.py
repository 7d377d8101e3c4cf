"""Which move an answer of a model means."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from happycity import Move

_OBJECT = re.compile(r"\{[^{}]*\}")
_SPACES = re.compile(r"[\s_]+")


@dataclass(frozen=True, slots=True)
class NoMove:
    """Why an answer is not a legal move."""

    reason: str


def move_in(answer: str, legal: Sequence[Move]) -> Move | NoMove:
    """Return the legal move that an answer names.

    The last JSON object with a "move" decides; without one, the legal move that is mentioned last, as models
    think before they decide.
    """
    said = _last_json_move(answer)
    if said is not None:
        named = move_named(said, legal)
        return named if named is not None else NoMove(f"{said[:80]!r} is not legal now")
    mentioned = _last_mentioned(answer, legal)
    return mentioned if mentioned is not None else NoMove("it names no legal move")


def move_named(text: str, legal: Sequence[Move]) -> Move | None:
    """Return the legal move that a text names, in any case, spaces and quotes; None if it names none."""
    wanted = _plain(text)
    return next((move for move in legal if _plain(str(move)) == wanted), None)


def _last_json_move(answer: str) -> str | None:
    for found in reversed(_OBJECT.findall(answer)):
        try:
            said = json.loads(found).get("move")
        except (ValueError, RecursionError):  # the latter for brackets without end
            continue
        if isinstance(said, str):
            return said
    return None


def _last_mentioned(answer: str, legal: Sequence[Move]) -> Move | None:
    text = _plain(answer)
    best, best_end = None, (-1, 0)
    for move in legal:
        name = _plain(str(move))
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            end = (found.end(), len(name))  # of two that end at one place, the longer: "take X" is no "X"
            if end > best_end:
                best, best_end = move, end
    return best


def _plain(text: str) -> str:
    """Return a text in which only what tells moves apart differs."""
    return _SPACES.sub(" ", text.casefold()).strip(" .`'\"")
