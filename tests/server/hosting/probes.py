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
from collections.abc import Callable
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
    "io_setup": (206, 0),
    "vmsplice": (278, 75),
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


def network_of_version_6(facts: Facts) -> object:
    with socket.socket(socket.AF_INET6) as listener:
        listener.bind(("::1", 0))
        return "listens"


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
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found = facts["secret"].encode() in (process / "environ").read_bytes()
        except OSError:
            continue
        if found:
            return str(process)
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


def asynchronous_io_of_old(facts: Facts) -> object:
    return call("io_setup", 1, ctypes.create_string_buffer(8))


def pinned_pages(facts: Facts) -> object:
    """A page in a pipe, which stays when the process has no memory any more."""
    _, writer = os.pipe()
    page = ctypes.create_string_buffer(1)
    return call("vmsplice", writer, (ctypes.c_size_t * 2)(ctypes.addressof(page), 1), 1, 0)


def watches(facts: Facts) -> object:
    return libc("inotify_init1", 0)


def large_pipes(facts: Facts) -> object:
    return fcntl.fcntl(os.pipe()[0], 1031, 1 << 19)  # F_SETPIPE_SZ


def large_buffers_of_sockets(facts: Facts) -> object:
    with socket.socket(socket.AF_UNIX) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)
        return "set"


def locks_of_no_process(facts: Facts) -> object:
    with Path(facts["tmp"], "locked").open("wb") as file:
        return fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))  # F_OFD_SETLK


def lists_of_access(facts: Facts) -> object:
    """Access control lists, of up to 64 kB for each file of a /tmp in memory."""
    path = Path(facts["tmp"], "listed")
    path.touch()
    return _set_access(path)


def _set_access(path: Path) -> object:
    entries = ((1, 6), (4, 4), (32, 4))  # user, group, others
    packed = struct.pack("I", 2) + b"".join(struct.pack("HHi", *entry, -1) for entry in entries)
    os.setxattr(path, "system.posix_acl_access", packed)
    return "set"


def _change_what_is_mounted(facts: Facts, change: Callable[[Path], object]) -> object:
    """Change something of each file and folder that is mounted but /tmp, which is the bot's own."""
    error: OSError | None = None
    for path in map(Path, facts["mounted"] or _mounted()):
        try:
            return path, change(path)
        except OSError as failed:
            error = failed
    assert error is not None
    raise error


def _mounted() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [path for line in lines if (path := line.split()[4]) != "/tmp"]


def mode_of_what_is_mounted(facts: Facts) -> object:
    return _change_what_is_mounted(facts, lambda path: path.chmod(0o700))


def owner_of_what_is_mounted(facts: Facts) -> object:
    return _change_what_is_mounted(facts, lambda path: os.chown(path, os.getuid(), os.getgid()))


def times_of_what_is_mounted(facts: Facts) -> object:
    """Set the times of all but devices such as /dev/null, whose times each user of a machine may set."""

    def touch(path: Path) -> None:
        if path.is_char_device():
            raise PermissionError
        os.utime(path)

    return _change_what_is_mounted(facts, touch)


def attributes_of_what_is_mounted(facts: Facts) -> object:
    return _change_what_is_mounted(facts, lambda path: os.setxattr(path, "user.probe", b"x"))


def access_to_what_is_mounted(facts: Facts) -> object:
    return _change_what_is_mounted(facts, _set_access)


def name_of_what_is_mounted(facts: Facts) -> object:
    return _change_what_is_mounted(facts, lambda path: path.rename(path.with_name("probe")).rename(path))


def link_to_what_is_mounted(facts: Facts) -> object:
    return _change_what_is_mounted(facts, lambda path: path.with_name("probe").hardlink_to(path))


def socket_in_place_of_what_is_mounted(facts: Facts) -> object:
    def replace(path: Path) -> str:
        path.unlink()
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(str(path))
        return "replaced"

    return _change_what_is_mounted(facts, replace)


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
    if getattr(function, "__module__", "") == __name__ and name not in ("call", "libc") and name[0] != "_"
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


def scan() -> dict[int, int]:
    """Make each system call with arguments that are senseless; return the errors, negative signals if killed.

    Two are left out: `pause`, which waits, and `sync`, which writes all disks of the machine.
    """
    found = {}
    for number in [*set(range(600)) - {34, 81, 162}, *range(0x40000000, 0x40000020)]:
        if (pid := os.fork()) == 0:
            os.closerange(0, 256)
            ctypes.set_errno(0)
            LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
            os._exit(ctypes.get_errno())
        status = os.waitpid(pid, 0)[1]
        found[number] = os.waitstatus_to_exitcode(status)
    return found


if __name__ == "__main__":
    if sys.argv[1] == "scan":
        print(json.dumps(scan()))  # noqa: T201 - its result
        sys.exit()
    given = json.loads(sys.argv[1])
    print(json.dumps({name: attempt(name, given) for name in PROBES}))  # noqa: T201 - its result
