"""What is said of damaged records, as a table; see `damages.txt`."""

from __future__ import annotations

import copy
import json
from functools import reduce
from pathlib import Path
from typing import Any

from tests.game.records.test_records import SERVED, TRACED

from happycity import RecordError, ReplayError
from happycity.records.record import Json
from happycity.records.replay import metrics_of, replay, results_of

TABLE = Path(__file__).with_name("damages.txt")
READERS = (replay, results_of, metrics_of)
_WIDTH = 150
_WHOLE: Json = {**TRACED, **{part: SERVED[part] for part in ("endings", "reasons", "clock", "metrics")}}


def made_again(text: str) -> str:
    """Return the text of the table with what is said of each damage."""
    preface, *tables = text.split("\n# ")
    lines = [preface.rstrip()]
    for heading, *damages in (table.splitlines() for table in tables):
        lines += ["", f"# {heading}"]
        for damage in damages:
            if damage and not damage.startswith("    "):
                record = damaged(damage)
                lines.append(damage)
                lines += [f"    {read.__name__}: {text}" for read in READERS if (text := _said(read, record))]
    return "\n".join(lines) + "\n"


def damaged(damage: str) -> Json:
    """Return a record of whose part another value takes the place, or which lacks one."""
    record = copy.deepcopy(_WHOLE)
    path, _, value = damage.partition(" = ")
    *places, last = [_place(name) for name in path.removeprefix("without ").split(".")]
    node = reduce(lambda node, place: node[place], places, record)
    if damage.startswith("without "):
        del node[last]
    elif isinstance(node, list) and last == len(node):
        node.append(json.loads(value))
    else:
        node[last] = json.loads(value)
    return record


def _place(name: str) -> Any:
    return int(name) if name.removeprefix("-").isdecimal() else name


def _said(read: Any, record: Json) -> str:
    """Return the beginning of what is said, nothing if the record is read."""
    try:
        read(record)
    except (RecordError, ReplayError) as error:
        return f"{type(error).__name__}: {error}"[:_WIDTH]
    return ""


if __name__ == "__main__":
    TABLE.write_text(made_again(TABLE.read_text("utf-8")), "utf-8")
