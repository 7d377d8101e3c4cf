"""The errors of a store, apart from it: a worker tells them from others, and keeps nothing."""

from __future__ import annotations

from happycity.errors import HappyCityError


class StoreError(HappyCityError):
    """The store can't do what is asked; the text names its URL, without the password, and what to do."""

    def __init__(self, url: str, problem: str, *, for_all: bool = False) -> None:
        super().__init__(f"database {url} {problem}")
        self.url = url
        self.problem = problem
        """What is wrong, without the URL, which concerns only the operator."""
        self.for_all = for_all
        """Whether every other request would fail in the same way, as when the disk is full."""
