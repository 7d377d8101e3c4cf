"""Records as the store keeps them: a line of JSON, compressed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import orjson

from happycity.records.record import Json

LONGEST_RECORD = 16 * 2**20
"""The most bytes of an unpacked record; a usual one has 7,000."""
_LEVEL = 3  # a record of 6.3 kB becomes 1.6 kB in 70 us
_FRACTIONS = bytes.maketrans(b"123456789e", b"000000000.")
"""Maps the beginning of a fraction or exponent to `0.`."""

Record = Callable[[], Json] | str | bytes
"""A record to be stored: what makes it, its line of JSON, or that as `pack` has compressed it.

An unpacked record takes twenty times the memory, so it is made when it is stored, in the thread that does so.
"""


def pack(record: Record) -> bytes:
    """Return a record as the store keeps it; one that is compressed already stays as it is."""
    if isinstance(record, bytes):
        return record
    return zlib.compress(record.encode() if isinstance(record, str) else json_line(record()), _LEVEL)


def unpack(packed: bytes) -> str:
    """Return the line of JSON; raise zlib.error or ValueError for anything that `pack` hasn't made."""
    unpacking = zlib.decompressobj()
    line = unpacking.decompress(packed, LONGEST_RECORD)
    if not unpacking.eof or unpacking.unused_data:
        raise zlib.error(f"it is not a record of at most {LONGEST_RECORD} bytes")
    return line.decode()


def json_line(value: Any, *, sort_keys: bool = False) -> bytes:
    """Return a value as `json.dumps` writes it without spaces, in a tenth of the time where orjson does so.

    Raises:
        ValueError: keys are sorted, as for a hash, and there is a number that JSON doesn't have.
    """
    try:
        line = orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None)
    except TypeError:
        line = b"null"
    # orjson escapes fewer characters, writes some fractions in other digits, and nan as null.
    is_same = line.isascii() and b"\x7f" not in line and b"null" not in line
    if is_same and b"0." not in line.translate(_FRACTIONS):
        return line
    return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), allow_nan=not sort_keys).encode()
