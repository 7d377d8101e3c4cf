"""Files from any editor; files that are there as a whole or not at all, and replace others only then."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""How a file is read that begins so; editors of Windows write these."""


def read_text(path: Path) -> str:
    """Return the text of a file that any editor may have written, with Unix line ends and no marks.

    Raises:
        OSError: it can't be read.
        UnicodeDecodeError: it is not text in UTF-8, or in UTF-16 with its mark.
    """
    data = path.read_bytes()
    encoding = next((name for mark, name in _ENCODINGS.items() if data.startswith(mark)), "utf-8")
    text = data.decode(encoding).rstrip("\0\x1a")
    return text.replace("\r\n", "\n").replace("\r", "\n")


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
