"""How commands print for people: lines, tables, moments, and numbers with their margins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from happycity_runtime.commands import is_quiet

if TYPE_CHECKING:
    from happycity_tournament.storage.sources import Source

UNKNOWN = "-"
DAY_AND_MINUTE = "%m-%d %H:%M"
_NUMBERS = frozenset(("rank", "Elo", "95%", "above next", "after", "difference", "points", "pool", "score"))
_NUMBERS |= {"score before", "won/=/lost", "season", "p", "strikes", "deals", "games", "firsts", "forfeits"}
_NUMBERS |= {"matches", "off", "CPU s", "MB"}
"""The headings of columns with numbers, which are aligned at the right."""
_TEXTS = frozenset(("bot", "owner", "bots", "bots by mean place", "matches", "opponents", "version", "what"))
_TEXTS |= {"commitment", "about"}
"""The headings of columns whose cells may be wrapped."""
_Entry = TypeVar("_Entry")


@contextmanager
def reading_games(*sources: Source) -> Iterator[None]:
    """Show on a terminal that games are read, which may take minutes, and of how many luck was computed."""
    with Console(stderr=True, quiet=is_quiet()).status(_Reading(sources)):
        yield


class _Reading:
    """What a terminal shows of some sources while they are read."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    def __rich__(self) -> str:
        adjusted = sum(source.adjusted for source in self._sources)
        return f"reading games{f', luck of {adjusted:,} computed' if adjusted else ''}; Ctrl-C stops it"


def print_lines(console: Console, *lines: str) -> None:
    """Print lines as they are: names may look like markup, and a terminal wraps them itself."""
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def empty_table(*headings: str, compact: bool = False) -> Table:
    """Return a table without rows; what a column's heading stands for decides how it is shown.

    A compact table has no space around it, an id at its left, and states that may be wrapped.
    """
    table = Table(box=box.SIMPLE_HEAD)
    if compact:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        is_number = heading in _NUMBERS or heading.isdecimal() or (heading == "id" and not compact)
        wraps = heading in _TEXTS or (heading == "state" and compact)
        table.add_column(
            heading, justify="right" if is_number else "left", overflow="fold", no_wrap=not wraps
        )
    return table


def table_of(
    entries: Iterable[_Entry], columns: Mapping[str, Callable[[_Entry], object]], *, compact: bool = False
) -> Table:
    """Return a table with a row for each entry; the columns have their headings, and what their cells say."""
    table = empty_table(*columns, compact=compact)
    for entry in entries:
        table.add_row(*(Text(str(cell(entry))) for cell in columns.values()))
    return table


def moment_text(moment: Timestamp | float, form: str = "%Y-%m-%d %H:%M") -> str:
    """Return a message's moment, or one in Unix time, in UTC."""
    time = moment.ToDatetime() if isinstance(moment, Timestamp) else datetime.fromtimestamp(moment, UTC)
    return time.strftime(form)


def number_text(value: float, margin: float | None, digits: int, *, sign: str = "") -> str:
    """Return a number with half of its interval, if that is known; with `sign` "+" it always has one."""
    return f"{value:{sign}.{digits}f}" + ("" if margin is None else f" ±{margin:.{digits}f}")
