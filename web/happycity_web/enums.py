"""Values of the contract's enums as words, by which templates and addresses know them."""

from __future__ import annotations

from typing import Any


def enum_word(enum: Any, number: int) -> str:
    """Return a value's name in lower case, without the name of its enum.

    Raises:
        ValueError: the enum has no such value.
    """
    prefix: str = enum.Name(0).removesuffix("UNSPECIFIED")
    name: str = enum.Name(number)
    return name.removeprefix(prefix).lower()
