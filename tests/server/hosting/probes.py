"""Ways out of a sandbox: each is a function that returns what it got, or raises. Run as a program of its own.

    python3 probes.py FACTS

FACTS is JSON with what there is to find outside. Each probe has a process of its own; the output is one line
of JSON with the result of each. It needs nothing but Python's own library.
"""

import ctypes
import fcntl
import json
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

Facts = dict[str, Any]
LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {  # of system calls without a function in libc: on x86-64 and aarch64
    "add_key": (248, 217),
    "clone": (56, 220),
    "clone3": (435, 435),
    "process_vm_readv": (310, 270),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "open_tree": (428, 428),
}
NEWUSER = 0x10000000


def call(name: str, *arguments: Any) -> int:
    """Make a system call, and raise if it fails."""
    number = NUMBERS[name][platform.machine() == "aarch64"]
    result: int = LIBC.syscall(
        number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments)
    )
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def libc(name: str, *arguments: Any) -> int:
    result: int = getattr(LIBC, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def network(facts: Facts) -> object:
    with socket.create_connection(("127.0.0.1", facts["port"]), timeout=5) as connected:
        return connected.recv(10).decode()


def raw_packets(facts: Facts) -> object:
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW).fileno()


def machine_sockets(facts: Facts) -> object:
    """AF_VSOCK, which reaches from a virtual machine to its host, belongs to no network namespace."""
    return socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).fileno()


def abstract_socket(facts: Facts) -> object:
    with socket.socket(socket.AF_UNIX) as connected:
        connected.connect("\0" + facts["abstract"])
        return "connected"


def socket_in_a_file(facts: Facts) -> object:
    with socket.socket(socket.AF_UNIX) as connected:
        connected.connect(facts["unix"])
        return "connected"


def files_of_another_bot(facts: Facts) -> object:
    return Path(facts["other"]).read_text()


def store(facts: Facts) -> object:
    return Path(facts["store"]).read_text()


def symbolic_link(facts: Facts) -> object:
    link = Path(facts["tmp"], "link")
    link.symlink_to(facts["other"])
    try:
        return link.read_text()
    finally:
        link.unlink()


def root_of_another_process(facts: Facts) -> object:
    return Path(f"/proc/{facts['pid']}/root{facts['other']}").read_text()


def environment_of_others(facts: Facts) -> object:
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            found = facts["secret"].encode() in path.read_bytes()
        except OSError:
            continue
        if found:
            return str(path)
    raise LookupError


def own_environment(facts: Facts) -> object:
    return next(name for name, value in os.environ.items() if facts["secret"] in value)


def inherited_files(facts: Facts) -> object:
    for number in range(3, 4096):  # a process of tests has hundreds of files open
        try:
            if os.read(number, 10):
                return number
        except OSError:
            continue
    raise LookupError


def signals(facts: Facts) -> object:
    os.kill(facts["pid"], 0)
    return "signalled"


def tracing(facts: Facts) -> object:
    return libc("ptrace", 0, 0, 0, 0)  # PTRACE_TRACEME


def memory_of_others(facts: Facts) -> object:
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    return call("process_vm_readv", os.getpid(), vector, 1, vector, 1, 0)


def keyring(facts: Facts) -> object:
    return call("add_key", b"user", b"probe", b"x", 1, -2)


def user_namespace(facts: Facts) -> object:
    return libc("unshare", NEWUSER)


def user_namespace_by_clone(facts: Facts) -> object:
    if (pid := call("clone", NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)) == 0:
        os._exit(0)
    return pid


def user_namespace_by_clone3(facts: Facts) -> object:
    arguments = struct.pack("8Q", NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    if (pid := call("clone3", arguments, len(arguments))) == 0:
        os._exit(0)
    return pid


def namespace_of_another(facts: Facts) -> object:
    descriptor = os.open(f"/proc/{facts['pid']}/ns/net", os.O_RDONLY)
    return libc("setns", descriptor, 0)


def mounting(facts: Facts) -> object:
    folder = Path(facts["tmp"], "mounted")
    folder.mkdir()
    try:
        libc("mount", b"none", str(folder).encode(), b"tmpfs", 0, None)
        return libc("umount2", str(folder).encode(), 0)
    finally:
        folder.rmdir()


def mounting_by_trees(facts: Facts) -> object:
    return call("open_tree", -100, b"/", 1)


def changing_root(facts: Facts) -> object:
    return libc("chroot", b"/")


def becoming_root(facts: Facts) -> object:
    os.setuid(0)
    return os.getuid()


def device_node(facts: Facts) -> object:
    path = Path(facts["tmp"], "memory")
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 1))
    path.unlink()
    return "made"


def kernel_log(facts: Facts) -> object:
    return os.open("/dev/kmsg", os.O_RDONLY)


def kernel_settings(facts: Facts) -> object:
    return os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)


def hostname(facts: Facts) -> object:
    socket.sethostname(socket.gethostname())
    return "set"


def terminal_input(facts: Facts) -> object:
    _, terminal = os.openpty()
    os.setsid()
    fcntl.ioctl(terminal, 0x540E, 0)  # TIOCSCTTY
    return fcntl.ioctl(terminal, 0x5412, b"x")  # TIOCSTI


def performance_events(facts: Facts) -> object:
    return call("perf_event_open", struct.pack("IIQ", 1, 112, 0) + bytes(96), 0, -1, -1, 0)


def bpf_programs(facts: Facts) -> object:
    return call("bpf", 0, struct.pack("4I", 2, 4, 8, 1) + bytes(112), 128)


def fault_handling(facts: Facts) -> object:
    return call("userfaultfd", 1)


def asynchronous_io(facts: Facts) -> object:
    return call("io_uring_setup", 1, bytes(120))


def anonymous_files(facts: Facts) -> object:
    return os.memfd_create("probe")


def shared_memory(facts: Facts) -> object:
    return LIBC.shmctl(libc("shmget", 0, 4096, 0o1600), 0, None)


def shared_memory_files(facts: Facts) -> object:
    path = Path("/dev/shm/happycity-probe")
    path.write_text("x")
    path.unlink()
    return "written"


def uncounted_memory(facts: Facts) -> object:
    return len(mmap.mmap(-1, 1 << 20))


def uncounted_memory_of_zeros(facts: Facts) -> object:
    with open("/dev/zero", "r+b", 0) as zeros:
        return len(mmap.mmap(zeros.fileno(), 1 << 20))


def memory(facts: Facts) -> object:
    return len(bytearray(facts["memory"]))


def own_folder(facts: Facts) -> object:
    path = Path(facts["own"], "written")
    path.write_text("x")
    path.unlink()
    return "written"


def root_folder(facts: Facts) -> object:
    path = Path("/happycity-probe")
    path.write_text("x")
    path.unlink()
    return "written"


def system_folder(facts: Facts) -> object:
    path = Path("/usr/happycity-probe")
    path.write_text("x")
    path.unlink()
    return "written"


def device_folder(facts: Facts) -> object:
    path = Path("/dev/happycity-probe")
    path.write_text("x")
    path.unlink()
    return "written"


def full_disk(facts: Facts) -> object:
    paths = [Path(facts["tmp"], f"big{number}") for number in range(4)]
    try:
        return sum(path.write_bytes(bytes(20 << 20)) for path in paths)
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def large_file(facts: Facts) -> object:
    path = Path(facts["tmp"], "large")
    try:
        with path.open("wb") as file:
            file.truncate(1 << 30)
        return "written"
    finally:
        path.unlink()


def many_processes(facts: Facts) -> object:
    pids = []
    try:
        for _ in range(300):
            if (pid := os.fork()) == 0:
                time.sleep(60)
                os._exit(0)
            pids.append(pid)
        return len(pids)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def many_open_files(facts: Facts) -> object:
    return len([os.open("/dev/null", os.O_RDONLY) for _ in range(600)])


def higher_limits(facts: Facts) -> object:
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))
    return "raised"


def real_time(facts: Facts) -> object:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return "real time"


def other_processors(facts: Facts) -> object:
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return "set"


def higher_priority(facts: Facts) -> object:
    return os.nice(-1)


PROBES = {
    name: function
    for name, function in list(globals().items())
    if getattr(function, "__module__", "") == __name__ and name not in ("call", "libc")
}


def attempt(name: str, facts: Facts) -> str:
    """Try one way in a process of its own; return what it reports."""
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(reader)
        try:
            text = f"escaped: {PROBES[name](facts)}"
        except BaseException as error:  # noqa: BLE001 - every failure is a result
            text = f"failed: {error!r}"
        os.write(writer, text.encode()[:500])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        text = said.read()
    os.waitpid(pid, 0)
    return text or "failed: it was killed"


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps({name: attempt(name, given) for name in PROBES}))  # noqa: T201 - its result
