"""Values as JSON: the same for what commands print and for what is published; and read from JSON by type."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

_T = TypeVar("_T")

DECIMALS = 4
"""Digits behind the point: more than any number here is known to."""


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
