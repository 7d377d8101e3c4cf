"""Records as the store keeps them: a line of JSON, compressed, and apart from it the times in it."""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Callable

from happycity.errors import RecordError
from happycity.records.record import Json
from happycity.records.replay import clock_of, movers_of
from happycity_tournament.plain_json import json_line
from happycity_tournament.recorded_games import read_record

LONGEST_RECORD = 16 * 2**20
"""The most bytes of an unpacked record; a usual one has 7,000."""
_LEVEL = 3  # a record of 6.3 kB becomes 1.6 kB in 70 us

MICROS = "<u4"
"""How packed times are written, as numpy calls it: in 4 bytes, the lowest first."""
Record = Callable[[], Json] | str | bytes
"""A record to be stored: what makes it, its line of JSON, or that as `pack` has compressed it.

An unpacked record takes twenty times the memory, so it is made when it is stored, in the thread that does so.
"""


def pack(record: Record) -> bytes:
    """Return a record as the store keeps it; one that is compressed already stays as it is."""
    if isinstance(record, bytes):
        return record
    return zlib.compress(record.encode() if isinstance(record, str) else json_line(record()), _LEVEL)


def pack_with_times(record: Record) -> tuple[bytes, bytes | None]:
    """Return a record as the store keeps it, and its times, if reports need nothing else of it.

    The times are `movers_of`, a byte each, then round trips and think times of `clock_of` as `MICROS`.
    """
    if callable(record):
        content = record()
        packed = pack(lambda: content)
    else:
        packed = pack(record)
        try:
            content = read_record(record if isinstance(record, str) else unpack(packed))
        except (RecordError, ValueError, zlib.error):  # reading the record says what is wrong
            return packed, None
    return packed, None if "metrics" in content else _pack_times(content)


def _pack_times(record: Json) -> bytes | None:
    try:
        thinking, round_trips = clock_of(record)
        micros = array("I", round_trips + thinking)
        movers = bytes(movers_of(record))
    except (RecordError, OverflowError):  # more than an hour, or malformed
        return None
    if sys.byteorder == "big":
        micros.byteswap()
    return zlib.compress(movers + micros.tobytes(), _LEVEL) if thinking else None


def unpack_times(packed: bytes, seats: int) -> tuple[bytes, bytes, bytes]:
    """Return movers, think times and round trips of a game, as they are packed; RecordError if damaged."""
    try:
        times = _inflated(packed)
    except zlib.error:
        times = b""
    decisions, rest = divmod(len(times) - 4 * seats, 5)
    movers, thinking_from = times[: max(0, decisions)], decisions + 4 * seats
    if rest or not movers or movers.strip(bytes(range(seats))):
        raise RecordError("times: not those of its decisions")
    return movers, times[thinking_from:], times[decisions:thinking_from]


def unpack(packed: bytes) -> str:
    """Return the line of JSON; raise zlib.error or ValueError for anything that `pack` hasn't made."""
    return _inflated(packed).decode()


def _inflated(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(packed, LONGEST_RECORD)
    if not unpacking.eof or unpacking.unused_data:
        raise zlib.error(f"it is not a record of at most {LONGEST_RECORD} bytes")
    return content
