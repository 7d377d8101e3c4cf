"""The system calls that a hosted bot can't make: a table, compiled into a program for the kernel's seccomp.

Languages need most system calls, and new ones with each release, so the table has those which reach beyond a
process: other processes, mounts, namespaces, keys, kernel interfaces with a long record of flaws, and memory
that no limit counts. What the table doesn't know, because it is newer, does not exist in the sandbox.
"""

from __future__ import annotations

import csv
import errno
import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The kernel's numbers of the architectures, by the columns of the table."""
MOST_FAMILIES = 64
"""More than there are address families of sockets."""
_X32 = 0x40000000
"""From here on x86-64 has the numbers of a second interface, which nothing needs."""
NEWEST = 450
"""The newest system call that this table was made with."""


class Rule(NamedTuple):
    """A call that fails, always or by the masked lower 32 bits of an argument.

    The flags in the table are those of Linux' headers: CLONE_NEW*; TIOCSTI and TIOCLINUX; AF_UNIX, AF_INET,
    AF_INET6 and AF_NETLINK, which all belong to a network namespace; MAP_SHARED | MAP_ANONYMOUS.
    """

    numbers: Mapping[str, int]
    """Its numbers on the architectures that have it."""
    error: int
    """EPERM, or ENOSYS as on a kernel without the call, so that programs do the same by others. `clone3` is
    among these as its flags are in memory, which no filter can read."""
    argument: int
    mask: int
    allowed: tuple[int, ...]
    """The only values that don't fail."""
    denied: tuple[int, ...]
    """The only values that fail."""

    @classmethod
    def of(cls, row: Mapping[str, str]) -> Self:
        """Read a row of the table; it has no values for a call that always fails."""
        numbers = {name: int(row[name]) for name in ARCHITECTURES if row[name]}
        allowed, denied = (tuple(int(value, 0) for value in row[name].split()) for name in cls._fields[-2:])
        argument, mask = (int(row[name] or "0", 0) for name in ("argument", "mask"))
        return cls(numbers, getattr(errno, row["error"]), argument, mask, allowed, denied)


with Path(__file__).with_name("system_calls.csv").open(encoding="utf-8", newline="") as _table:
    RULES: Mapping[str, Rule] = {row["name"]: Rule.of(row) for row in csv.DictReader(_table)}

# Instructions of classic BPF on the kernel's `struct seccomp_data`: its number, architecture, arguments.
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_IF_EQUAL, _IF_AT_LEAST = 0x15, 0x35
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000

_Instruction = tuple[int, int, int, int]  # code, jumps if true and false, value


def program() -> bytes:
    """Return the program as an array of the kernel's `struct sock_filter`, for both architectures.

    A call of any other architecture ends the process. The kernel remembers which numbers are always allowed,
    so the length of the program costs nothing.
    """
    instructions: list[_Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE_AT)]
    for architecture, number in ARCHITECTURES.items():
        block = _block(architecture)
        # A jump reaches 255 instructions, which a block may exceed: its neighbour jumps over it.
        instructions += [(_IF_EQUAL, 1, 0, number), (0x05, 0, 0, len(block)), *block]
    instructions.append((_RETURN, 0, 0, _KILL))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _block(architecture: str) -> list[_Instruction]:
    """Return the program of one architecture."""
    block: list[_Instruction] = [(_LOAD, 0, 0, _NUMBER_AT)]
    if architecture == "x86_64":
        block += [(_IF_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    block += [(_IF_AT_LEAST, 0, 1, NEWEST + 1), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    for rule in RULES.values():
        body: list[_Instruction] = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * rule.argument), (_AND, 0, 0, rule.mask)]
        fails, passes = (_RETURN, 0, 0, _ERROR | rule.error), (_RETURN, 0, 0, _ALLOW)
        for value in (*rule.allowed, *rule.denied):
            body += [(_IF_EQUAL, 0, 1, value), fails if rule.denied else passes]
        body.append(passes if rule.denied else fails)
        if architecture in rule.numbers:
            block += [(_IF_EQUAL, 0, len(body), rule.numbers[architecture]), *body]
    return [*block, (_RETURN, 0, 0, _ALLOW)]


def profile() -> str:
    """Return the table as a profile for OCI runtimes, in the JSON of their specification.

    Calls that are newer than the table fail or not as the runtime's own library decides.
    """
    calls = [
        {"names": [name], "action": "SCMP_ACT_ERRNO", "errnoRet": rule.error, "args": conditions}
        for name, rule in RULES.items()
        for conditions in ([*_conditions(rule)] or [[]])
    ]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": calls})


def _conditions(rule: Rule) -> Iterator[list[Mapping[str, object]]]:
    """Yield the conditions by which a call fails, each as a list of one; none if it always fails."""
    denied = [(rule.mask, value) for value in rule.denied]
    if rule.allowed == (0,):
        denied = [(1 << bit, 1 << bit) for bit in range(32) if rule.mask >> bit & 1]
    elif rule.allowed:
        denied = [(rule.mask, value) for value in range(MOST_FAMILIES) if value not in rule.allowed]
    for mask, value in denied:
        yield [{"index": rule.argument, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}]
