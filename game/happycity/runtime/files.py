"""Files that are there as a whole or not at all: what was under their name before stays until then."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield the path to write to; what is written takes the place of `path` if no error passes.

    It is written beside that file first, also behind a symbolic link. Only its owner may read a private file.
    A device or pipe is written to itself.

    Raises:
        OSError: it can't be written.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        yield path
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.touch(0o600 if private else 0o666)
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        error.filename = str(path)  # those of writing have none, as where the disk is full
        raise
    finally:
        partial.unlink(missing_ok=True)
