"""The program for seccomp, run by a small interpreter of classic BPF."""

from __future__ import annotations

import errno
import struct

import pytest

from happycity_tournament.hosted import seccomp
from happycity_tournament.hosted.seccomp import ARCHITECTURES, RULES

ALLOWED, KILLED, REFUSED, MISSING = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
NO_FAMILY = 0x50000 | errno.EAFNOSUPPORT


def judge(audit: int, number: int, *arguments: int) -> int:
    """Return what the program says of a call."""
    given = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, audit, 0, *given)
    program, at, value = list(struct.iter_unpack("=HBBI", seccomp.program())), 0, 0
    while True:
        code, true, false, constant = program[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, constant)
            case 0x54:
                value &= constant
            case 0x05:
                at += constant
            case 0x15:
                at += true if value == constant else false
            case 0x35:
                at += true if value >= constant else false
            case 0x06:
                return int(constant)
            case _:
                pytest.fail(f"unknown instruction {code:#x}")


@pytest.mark.level(3)
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_calls_of_the_table_fail(machine: str) -> None:
    """Every call of the table fails on both architectures, and all others are allowed."""
    assert RULES["clone3"].error == errno.ENOSYS
    for name, rule in RULES.items():
        if machine in rule.numbers and not (rule.allowed or rule.denied):
            assert judge(ARCHITECTURES[machine], rule.numbers[machine]) == 0x50000 | rule.error, name
    known = {rule.numbers.get(machine) for rule in RULES.values()}
    for number in set(range(seccomp.NEWEST + 1)) - known:
        assert judge(ARCHITECTURES[machine], number) == ALLOWED, number


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("clone", (0x10000000,), REFUSED),
        ("clone", (0x3D0F00,), ALLOWED),  # a thread
        ("clone", (0x11,), ALLOWED),
        ("clone", (0x80,), REFUSED),
        ("ioctl", (0, 0x5412), REFUSED),
        ("ioctl", (0, 0x541C), REFUSED),
        ("ioctl", (0, 0xFFFFFFFF00005412), REFUSED),  # of which the kernel takes 32 bits
        ("ioctl", (0, 0x5401), ALLOWED),
        ("socket", (1,), ALLOWED),
        *(("socket", (family,), NO_FAMILY) for family in (0, 2, 10, 16, 17, 40)),
        ("setsockopt", (3, 1, 7), REFUSED),
        ("setsockopt", (3, 1, 8), REFUSED),
        ("setsockopt", (3, 1, 2), ALLOWED),
        ("fcntl", (3, 1031), REFUSED),
        ("fcntl", (3, 37), REFUSED),
        ("fcntl", (3, 6), ALLOWED),  # a lock of a process, which SQLite needs
        ("mmap", (0, 0, 0, 0x21), REFUSED),
        ("mmap", (0, 0, 0, 0x22), ALLOWED),
        ("mmap", (0, 0, 0, 0x23), REFUSED),
        ("mmap", (0, 0, 0, 0x01), ALLOWED),
    ],
)
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_arguments(machine: str, name: str, arguments: tuple[int, ...], answer: int) -> None:
    """Calls that are harmless with most arguments fail with the others."""
    assert judge(ARCHITECTURES[machine], RULES[name].numbers[machine], *arguments) == answer


@pytest.mark.parametrize(
    ("audit", "number", "answer"),
    [
        (0x40000003, 1, KILLED),  # i386, which a process of x86-64 may call
        (0x40000028, 1, KILLED),  # 32-bit ARM
        (ARCHITECTURES["x86_64"], 0x40000000 + 1, KILLED),  # x32
        (ARCHITECTURES["x86_64"], seccomp.NEWEST + 1, MISSING),
        (ARCHITECTURES["aarch64"], seccomp.NEWEST + 1, MISSING),
    ],
)
def test_other_interfaces(audit: int, number: int, answer: int) -> None:
    """Other architectures end the process; calls that the table doesn't know don't exist."""
    assert judge(audit, number) == answer
