"""Records as the store keeps them: a line of JSON, compressed."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from happycity.records.record import Json
from happycity_tournament.plain_json import json_line

LONGEST_RECORD = 16 * 2**20
"""The most bytes of an unpacked record; a usual one has 7,000."""
_LEVEL = 3  # a record of 6.3 kB becomes 1.6 kB in 70 us

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
