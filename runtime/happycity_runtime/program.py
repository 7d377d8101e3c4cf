"""What a program does at its start and end: garbage, standard streams, errors."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from happycity.errors import HappyCityError
from happycity_runtime.environment import read_variables_from_files


def collect_garbage_rarely() -> None:
    """Collect garbage rarely, and not at the end of this process."""
    # Imported modules stay, and games make few cycles: that saves 5%.
    gc.set_threshold(50_000, 20, 20)
    # Else the process would look through all its objects before it ends, for a tenth of a second.
    atexit.register(gc.freeze)


def open_standard_streams() -> None:
    """Open the standard streams that this process was started without, on the null device.

    Else the next file or socket would take their numbers: prints would go there, and libuv would abort.

    A standard output that is unbuffered by PYTHONUNBUFFERED is opened again with a buffer for lines: Python
    drops what the system doesn't take at once, as of a long text in a pipe while a signal comes. Characters
    that the output's encoding lacks are replaced.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - its only parameter
        else:
            if name != "stdout" or not isinstance(getattr(stream, "buffer", None), io.FileIO):
                continue
        mode, encoding = "r" if descriptor == 0 else "w", getattr(stream, "encoding", "utf-8")
        errors = getattr(stream, "errors", None)
        opened = open(descriptor, mode, 1, encoding, errors, closefd=False)  # noqa: SIM115 - it stays open
        setattr(sys, name, opened)
    if hasattr(sys.stdout, "reconfigure"):  # a title may have characters that a terminal doesn't
        sys.stdout.reconfigure(errors="replace")


def run_program(main: Callable[[], None]) -> NoReturn:
    """Run a program without a command line, and exit: bad input costs one line and status 2."""
    collect_garbage_rarely()
    try:
        read_variables_from_files(os.environ)
        main()
    except (HappyCityError, OSError) as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        sys.exit(2)
    sys.exit(0)
