"""The system calls that a hosted bot can't make: a table, compiled into a program for the kernel's seccomp.

Languages need most system calls, and new ones with each release, so the table has those which reach beyond a
process: other processes, mounts, namespaces, keys, kernel interfaces with a long record of flaws, and memory
that no limit counts. What the table doesn't know, because it is newer, does not exist in the sandbox.
"""

from __future__ import annotations

import csv
import errno
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Architecture(NamedTuple):
    """A kind of machine: the kernel's name of it, and which column of the table has its numbers."""

    audit: int
    column: int


X86_64 = Architecture(0xC000003E, 0)
AARCH64 = Architecture(0xC00000B7, 1)
_X32 = 0x40000000
"""From here on x86-64 has the numbers of a second interface, which nothing needs."""
NEWEST = 450
"""The newest system call that this table was made with."""


class DeniedCall(NamedTuple):
    """A call that always fails."""

    numbers: tuple[int | None, int | None]
    """Its numbers on x86-64 and aarch64; None where there is none."""
    error: int
    """EPERM, or ENOSYS as on a kernel without the call, so that programs do the same by others. `clone3` is
    among these as its flags are in memory, which no filter can read."""


with Path(__file__).with_name("system_calls.csv").open(encoding="utf-8", newline="") as _table:
    CALLS: Mapping[str, DeniedCall] = {
        row["name"]: DeniedCall(
            (int(row["x86_64"]), int(row["aarch64"]) if row["aarch64"] else None),
            getattr(errno, row["error"]),
        )
        for row in csv.DictReader(_table)
    }


class ArgumentRule(NamedTuple):
    """A call that is denied by the lower 32 bits of an argument."""

    numbers: tuple[int, int]
    argument: int
    values: tuple[int, ...]
    """What the masked argument is compared with."""
    only: bool
    """Whether only these values are allowed, else all others are."""
    mask: int = 0xFFFFFFFF


# The flags are those of Linux' headers: CLONE_NEW*; TIOCSTI and TIOCLINUX; AF_UNIX, AF_INET, AF_INET6 and
# AF_NETLINK, which all belong to a network namespace, unlike AF_VSOCK; MAP_SHARED | MAP_ANONYMOUS.
ARGUMENTS: Mapping[str, ArgumentRule] = {
    "clone": ArgumentRule((56, 220), argument=0, mask=0x7E020080, values=(0,), only=True),
    "ioctl": ArgumentRule((16, 29), argument=1, values=(0x5412, 0x541C), only=False),
    "socket": ArgumentRule((41, 198), argument=0, values=(1, 2, 10, 16), only=True),
    "mmap": ArgumentRule((9, 222), argument=3, mask=0x21, values=(0x21,), only=False),
}

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
    for architecture in (X86_64, AARCH64):
        block = _block(architecture)
        # A jump reaches 255 instructions, which a block may exceed: its neighbour jumps over it.
        instructions += [(_IF_EQUAL, 1, 0, architecture.audit), (0x05, 0, 0, len(block)), *block]
    instructions.append((_RETURN, 0, 0, _KILL))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _block(architecture: Architecture) -> list[_Instruction]:
    """Return the program of one architecture."""
    column = architecture.column
    block: list[_Instruction] = [(_LOAD, 0, 0, _NUMBER_AT)]
    if architecture is X86_64:
        block += [(_IF_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    block += [(_IF_AT_LEAST, 0, 1, NEWEST + 1), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    for call in CALLS.values():
        if (number := call.numbers[column]) is not None:
            block += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | call.error)]
    for rule in ARGUMENTS.values():
        inside, outside = _ERROR | errno.EPERM, _ALLOW
        if rule.only:
            inside, outside = outside, inside
        body: list[_Instruction] = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * rule.argument), (_AND, 0, 0, rule.mask)]
        for value in rule.values:
            body += [(_IF_EQUAL, 0, 1, value), (_RETURN, 0, 0, inside)]
        body.append((_RETURN, 0, 0, outside))
        block += [(_IF_EQUAL, 0, len(body), rule.numbers[column]), *body]
    return [*block, (_RETURN, 0, 0, _ALLOW)]
