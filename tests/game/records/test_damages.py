"""What is said of damaged records, see `damages.txt`."""

import json
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from tests.game.records.test_records import SERVED, TRACED
from tests.tables import Table

from happycity import RecordError, ReplayError
from happycity.records.record import Json, dumps
from happycity.records.replay import metrics_of, replay, results_of

WHOLE = dumps({**TRACED, **{part: SERVED[part] for part in ("endings", "reasons", "clock", "metrics")}})
WIDTH = 150


def damaged(damage: str) -> Json:
    """Return a record of whose part another value takes the place, or which lacks one."""
    record: Json = json.loads(WHOLE)
    path, _, value = damage.partition(" = ")
    *places, last = [place_of(name) for name in path.removeprefix("without ").split(".")]
    node = reduce(lambda node, place: node[place], places, record)
    if damage.startswith("without "):
        del node[last]
    elif isinstance(node, list) and last == len(node):
        node.append(json.loads(value))
    else:
        node[last] = json.loads(value)
    return record


def place_of(name: str) -> Any:
    return int(name) if name.removeprefix("-").isdecimal() else name


def refusals(damage: str) -> Iterator[str]:
    record = damaged(damage)
    for read in (replay, results_of, metrics_of):
        try:
            read(record)
        except (RecordError, ReplayError) as error:
            yield f"{read.__name__}: {type(error).__name__}: {error}"[:WIDTH]


TABLE = Table(Path(__file__).with_name("damages.txt"), refusals)


@pytest.mark.level(2)
def test_damages_are_named_as_they_are_written() -> None:
    TABLE.check(least=150)


if __name__ == "__main__":
    TABLE.write()
