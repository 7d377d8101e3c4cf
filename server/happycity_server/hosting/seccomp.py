"""The system calls that a hosted bot can't make: a table, compiled into a program for the kernel's seccomp.

Languages need most system calls, and new ones with each release, so the table has those which reach beyond a
process: other processes, mounts, namespaces, keys, kernel interfaces with a long record of flaws, and memory
that no limit counts. What the table doesn't know, because it is newer, does not exist in the sandbox.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass
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

# By name: the numbers on x86-64 and aarch64, None where there is none.
DENIED: dict[str, tuple[int | None, int | None]] = {
    # Other processes and their memory.
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271)},
    **{"process_madvise": (440, 440), "kcmp": (312, 272), "pidfd_getfd": (438, 438)},
    **{"move_pages": (279, 239), "migrate_pages": (256, 238), "sched_setaffinity": (203, 122)},
    # Keys of the kernel, which have no namespace.
    **{"keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218)},
    # Mounts and roots.
    **{"mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51)},
    **{"move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431)},
    **{"fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "quotactl": (179, 60)},
    **{"open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "quotactl_fd": (443, 443)},
    **{"fanotify_init": (300, 262), "swapon": (167, 224), "swapoff": (168, 225)},
    # Namespaces.
    **{"unshare": (272, 97), "setns": (308, 268)},
    # Interfaces of the kernel that few programs need.
    **{"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282)},
    **{"personality": (135, 92), "modify_ldt": (154, None), "syslog": (103, 116), "vhangup": (153, 58)},
    **{"lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "uselib": (134, None), "_sysctl": (156, None)},
    # The machine as a whole.
    **{"kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "acct": (163, 89)},
    **{"init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106)},
    **{"settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266)},
    **{"adjtimex": (159, 171), "sethostname": (170, 161), "setdomainname": (171, 162)},
    **{"iopl": (172, None), "ioperm": (173, None)},
    # Memory that outlives its process, or that no limit counts.
    **{"shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190)},
    **{"msgget": (68, 186), "mq_open": (240, 180)},
}
# These fail as on a kernel without them, so that programs do the same by other calls. The flags of `clone3`
# are in memory, which no filter can read.
ABSENT: dict[str, tuple[int | None, int | None]] = {
    **{"clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447)},
    **{"io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRule:
    """A call that is denied by the lower 32 bits of an argument."""

    numbers: tuple[int, int]
    argument: int
    mask: int = 0xFFFFFFFF
    values: tuple[int, ...]
    """What the masked argument is compared with."""
    only: bool
    """Whether only these values are allowed, else all others are."""


# The flags are those of Linux' headers: CLONE_NEW*; TIOCSTI and TIOCLINUX; AF_UNIX, AF_INET, AF_INET6 and
# AF_NETLINK, which all belong to a network namespace, unlike AF_VSOCK; MAP_SHARED | MAP_ANONYMOUS.
ARGUMENTS: dict[str, ArgumentRule] = {
    "clone": ArgumentRule(numbers=(56, 220), argument=0, mask=0x7E020080, values=(0,), only=True),
    "ioctl": ArgumentRule(numbers=(16, 29), argument=1, values=(0x5412, 0x541C), only=False),
    "socket": ArgumentRule(numbers=(41, 198), argument=0, values=(1, 2, 10, 16), only=True),
    "mmap": ArgumentRule(numbers=(9, 222), argument=3, mask=0x21, values=(0x21,), only=False),
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
    for table, error in ((DENIED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            if (number := numbers[column]) is not None:
                block += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error)]
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
