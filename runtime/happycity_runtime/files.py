"""Files from any editor; files that are there as a whole or not at all, and replace others only then."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

STANDARD_OUTPUT = Path("-")
_STDOUT = 1
_ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""How a file is read that begins so; editors and shells of Windows write these."""
_ENDS = "\0\x1a"
"""What old editors put after the last line."""


def read_text(path: Path) -> str:
    """Return the text of a file that any editor may have written, with Unix line ends and no marks.

    OSError if it can't be read; UnicodeDecodeError if it is neither UTF-8 nor UTF-16 with its mark.
    """
    with open_text(path) as file:
        return file.read().rstrip(_ENDS)


def filled_lines(name: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each line of a file that isn't blank; `-` is the standard input.

    Errors are those of `read_text`.
    """
    with open_text(0 if name == "-" else Path(name)) as file:
        for number, line in enumerate(file, start=1):
            text = line.rstrip(_ENDS)
            if text.strip():
                yield f"{name}:{number}", text


def open_text(file: Path | int) -> TextIO:
    """Open a file, or an open descriptor, that any editor or shell may have written."""
    opened = open(file, "rb", closefd=not isinstance(file, int))  # noqa: SIM115 - the caller closes it
    start = opened.peek(len(codecs.BOM_UTF8))
    encoding = next((name for mark, name in _ENCODINGS.items() if start.startswith(mark)), "utf-8")
    return TextIOWrapper(opened, encoding)


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield the path to write to; what is written takes the place of `path` if no error passes.

    It is written beside that file first, also behind a symbolic link. Only its owner may read a private file.
    A device or pipe is written to itself; `-` is the standard output, which gets the whole at the end.

    Raises:
        OSError: it can't be written.
    """
    if path == STANDARD_OUTPUT and not private:
        with tempfile.TemporaryDirectory(prefix="happycity-") as folder:
            yield (whole := Path(folder) / "output")
            sys.stdout.flush()
            with whole.open("rb") as file, open(_STDOUT, "wb", closefd=False) as output:
                shutil.copyfileobj(file, output)
        return
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


@contextmanager
def private_files() -> Iterator[None]:
    """Let no other user read what this process, and those that it starts, create while the context lasts."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
