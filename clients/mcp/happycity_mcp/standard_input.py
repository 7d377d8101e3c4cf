"""A standard input that can be ended from inside: a thread that reads the real one can't be stopped."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CHUNK_BYTES = 64 * 1024
STDIN = 0


@contextmanager
def closable_stdin() -> Iterator[Callable[[], None]]:
    """Put a pipe in the place of the standard input while the context lasts; yield what closes it.

    A thread copies what arrives. It ends with the process, if the real input doesn't end before.
    """
    real = os.dup(STDIN)
    source, sink = os.pipe()
    os.dup2(source, STDIN)
    os.close(source)
    lock = threading.Lock()
    is_open = True

    def close() -> None:
        nonlocal is_open
        with lock:
            if is_open:
                is_open = False
                os.close(sink)

    def copy() -> None:
        while data := os.read(real, CHUNK_BYTES):
            with lock:
                if not is_open:
                    return
                os.write(sink, data)
        close()

    threading.Thread(target=copy, name="standard input", daemon=True).start()
    try:
        yield close
    finally:
        close()
        os.dup2(real, STDIN)
