"""File descriptors in reserve: connections may hold all others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

SPARE_DESCRIPTORS = 4
"""File descriptors that `SpareDescriptors` keeps: replacing a file under a lock takes two."""


class SpareDescriptors:
    """File descriptors that are kept for what has to work when connections hold all others.

    Any thread may use them.
    """

    def __init__(self) -> None:
        self._kept: list[int] = []
        self._users = 0
        self._lock = Lock()
        self._keep()

    def __del__(self) -> None:
        self._let_go()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Let files be opened while the context lasts."""
        with self._lock:
            self._users += 1
            self._let_go()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._keep()

    def _keep(self) -> None:
        with suppress(OSError):  # those that are missing are taken the next time
            while len(self._kept) < SPARE_DESCRIPTORS:
                self._kept.append(os.open(os.devnull, os.O_RDONLY))

    def _let_go(self) -> None:
        while self._kept:
            os.close(self._kept.pop())
