"""Values as JSON: the same for what commands print and for what is published; and read from JSON by type."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter

_T = TypeVar("_T")

DECIMALS = 4
"""Digits behind the point: more than any number here is known to."""
_FRACTIONS = bytes.maketrans(b"123456789e", b"000000000.")
"""Maps the beginning of a fraction or exponent to `0.`."""


def adapter(kind: type[_T]) -> TypeAdapter[_T]:
    """Return what checks, reads and writes the values of a type."""
    return _adapter(kind)  # type: ignore[arg-type]  # mypy: a type of something isn't hashable


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def plain_json(value: Any) -> Any:
    """Return a value as JSON has it, by its fields if it has some; messages as `message_json` writes them.

    Numbers are rounded; infinite ones, which JSON doesn't have, are None.
    """
    if hasattr(value, "DESCRIPTOR"):
        from happycity.wire.json import message_json  # noqa: PLC0415 - many commands have no messages

        value = message_json(value)
    elif is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    match value:
        case float():
            return round(value, DECIMALS) if math.isfinite(value) else None
        case Enum():
            return value.value
        case dict():
            return {str(plain_json(key)): plain_json(entry) for key, entry in value.items()}
        case list() | tuple():
            return [plain_json(entry) for entry in value]
        case _:
            return value


def json_line(value: Any, *, sort_keys: bool = False) -> bytes:
    """Return a value as `json.dumps` writes it without spaces, in a tenth of the time where orjson does so.

    Raises:
        ValueError: keys are sorted, as for a hash, and there is a number that JSON doesn't have.
    """
    try:
        line = orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None)
    except TypeError:
        line = b"null"
    # orjson escapes fewer characters, writes some fractions in other digits, and nan as null.
    is_same = line.isascii() and b"\x7f" not in line and b"null" not in line
    if is_same and b"0." not in line.translate(_FRACTIONS):
        return line
    return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), allow_nan=not sort_keys).encode()
