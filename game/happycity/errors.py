"""Errors of the rules: each carries what went wrong as fields, and says it in one line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class HappyCityError(Exception):
    """The root of this project's own errors; its text is one line meant for a person."""


class ConfigError(HappyCityError):
    """A game can't be set up as asked, or something else can't be done with a value."""


class FieldError(ConfigError):
    """A value of one field can't be used."""

    def __init__(self, path: str, problem: str) -> None:
        """Name the field by its path in a request, or its name in a file or flag; "" is the value itself."""
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path, self.problem = path, problem

    def __reduce__(self) -> tuple[Any, ...]:
        """Pass fields, not the text, to another process."""
        return type(self), (self.path, self.problem)


def other_format(found: object, known: str) -> str:
    """Return what is wrong with a file whose `format` is not the one that this version reads.

    Where it is another version of the same kind, such as `happycity-record/2`, the text says what to do.
    """
    is_version = isinstance(found, str) and found.startswith(known.rpartition("/")[0] + "/")
    advice = "; use the version of happycity that wrote it" if is_version else ""
    return f"format: {found!a:.60} instead of {known!r}{advice}"


@contextmanager
def fields_named(name_of: Callable[[str], str]) -> Iterator[None]:
    """Let an error name its field as who asked knows it; an error of no field has the path ""."""
    try:
        yield
    except FieldError as error:
        raise FieldError(name_of(error.path), error.problem) from None
    except ConfigError as error:
        if not (path := name_of("")):
            raise
        raise FieldError(path, str(error)) from None


class DealError(HappyCityError):
    """Explicit card orders don't make a complete deal."""


class InvalidMoveError(HappyCityError):
    """A text is not a move in the notation of article 5.3."""

    def __init__(self, text: str) -> None:
        super().__init__(f"not a move: {text!r} (expected for example 'keep', 'build museum' or 'draw 2')")
        self.text = text


class IllegalMoveError(HappyCityError):
    """A well-formed move is not legal in this position."""

    def __init__(self, move: object, legal: Iterable[object]) -> None:
        self.move = move
        self.legal = tuple(legal)
        options = ", ".join(map(str, self.legal)) or "none, the game is over"
        super().__init__(f"illegal move: {move} (legal: {options})")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # So that a process can send it to another one.
        return (IllegalMoveError, (self.move, self.legal))


class RecordError(HappyCityError):
    """A game record is malformed: it isn't JSON, lacks a key or has a value of the wrong kind."""


class ReplayError(HappyCityError):
    """A well-formed record is of a game that the rules don't allow."""


_FEW = 20  # names fit into a line


def near_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that an unknown one may be a misspelling of, or None if none is near."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name, such as "did you mean greedy?".

    Where no known name is near, it has all of them, or of many the nearest.
    """
    names = list(known)
    if near := near_name(name, names):
        return f"did you mean {near}?"
    if len(names) > _FEW:
        return f"the nearest is {difflib.get_close_matches(name, names, n=1, cutoff=0.0)[0]}"
    return f"there are: {', '.join(names)}" if names else "there are none"
