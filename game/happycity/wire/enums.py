"""Enums of the contract by name: a value there is called like the member here, after the enum's prefix.

So `Ending.TIMEOUT` is `ENDING_TIMEOUT`. What takes an enum takes its generated class or its descriptor.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from google.protobuf.message import Message

from happycity.errors import FieldError

_Member = TypeVar("_Member", bound=Enum)


@cache
def enum_names(enum: Any) -> Mapping[int, str]:
    """Return the names of an enum's values by their numbers, without the prefix and the unspecified value."""
    unspecified, *others = getattr(enum, "DESCRIPTOR", enum).values
    prefix = unspecified.name.removesuffix("UNSPECIFIED")
    return {value.number: value.name.removeprefix(prefix) for value in others}


@cache
def enum_number(enum: Any, member: Enum) -> Any:
    """Return the number of a member; KeyError if the contract has no value of this name."""
    return {name: number for number, name in enum_names(enum).items()}[member.name]


def enum_member(enum: Any, kind: type[_Member], number: int) -> _Member | None:
    """Return the member of `kind` with a number of the contract; None if it is unspecified or unknown."""
    return kind.__members__.get(enum_names(enum).get(number, ""))


def enum_field(message: Message, name: str, kind: type[_Member]) -> _Member:
    """Return the member of `kind` in a field of a message; FieldError if it is unspecified or unknown."""
    enum: Any = message.DESCRIPTOR.fields_by_name[name].enum_type
    number = getattr(message, name)
    member = enum_member(enum, kind, number)
    if member is None:
        _, *known = enum.values
        if len(known) == 2:
            raise FieldError(name, f"{number} is neither {known[0].name} nor {known[1].name}")
        raise FieldError(name, f"{number} is not one of {', '.join(str(each.number) for each in known)}")
    return member


def enum_word(enum: Any, number: int) -> str:
    """Return a value as a word for people and scripts; "other" for one of a newer server."""
    return enum_names(enum).get(number, "other").lower() if number else "unspecified"
