"""Packed records and their times."""

import json
import random
import zlib
from functools import partial

import numpy as np
import pytest

from happycity import Config, Deal, RecordError
from happycity.records.random_games import record_random_game
from happycity.records.record import Json
from happycity.records.replay import movers_of
from happycity_tournament.storage.packing import (
    LONGEST_RECORD,
    MICROS,
    pack,
    pack_with_times,
    unpack,
    unpack_times,
)


def timed_record(**others: object) -> Json:
    record = record_random_game(Deal.shuffle(Config(players=3), seed=1), random.Random(1))
    times = [2**32 - 1 - number for number in range(len(record["moves"]))]
    return {**record, "clock": {"think_us": times, "round_trip_us": [0, 1, 2]}, **others}


def test_times_are_those_of_the_record_in_each_of_its_forms() -> None:
    record = timed_record()
    expected = [movers_of(record), record["clock"]["think_us"], record["clock"]["round_trip_us"]]
    line = json.dumps(record, separators=(",", ":"))
    for form in (lambda: record, line, pack(line)):
        packed, times = pack_with_times(form)
        assert (unpack(packed), type(times)) == (line, bytes)
        assert times is not None
        movers, *micros = unpack_times(times, 3)
        assert [list(movers), *(np.frombuffer(each, MICROS).tolist() for each in micros)] == expected


@pytest.mark.parametrize(
    "others",
    [
        {"metrics": [{"decision": 1, "values": {"value": 1}}]},
        {"clock": {"think_us": [1], "round_trip_us": [0, 0, 0]}},
        {"moves": [{"seat": 3, "move": "keep"}]},
        {"clock": None},
    ],
)
def test_records_with_more_for_a_report_have_no_packed_times(others: Json) -> None:
    record = timed_record(**others)
    assert pack_with_times(partial(dict, record)) == (pack(lambda: record), None)


def test_times_of_more_than_an_hour_and_what_is_no_record_are_not_packed() -> None:
    record = timed_record()
    record["clock"]["think_us"][5] = 2**32
    for form in (lambda: record, "{", "[]", b"damaged"):
        assert pack_with_times(form)[1] is None
    del record["clock"]
    assert pack_with_times(lambda: record)[1] is None


def test_damaged_times_are_an_error() -> None:
    packed = pack_with_times(timed_record)[1]
    assert packed is not None
    times = zlib.decompress(packed)
    for damaged in (
        b"",
        b"\0",
        packed[:-9],
        packed + b"more",
        *map(zlib.compress, (b"", times[1:], b"\3" + times[1:], times[:4], bytes(LONGEST_RECORD + 2))),
    ):
        with pytest.raises(RecordError, match="times"):
            unpack_times(damaged, 3)
