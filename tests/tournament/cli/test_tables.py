"""Tables, moments and numbers of commands: one way to write each."""

from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console

from happycity_tournament.cli.tables import DAY_AND_MINUTE, empty_table, moment_text, number_text, table_of


def test_a_moment_is_in_utc_whoever_tells_it() -> None:
    for moment in (90061.9, Timestamp(seconds=90061, nanos=900_000_000)):
        assert moment_text(moment) == "1970-01-02 01:01"
        assert moment_text(moment, DAY_AND_MINUTE) == "01-02 01:01"


def test_a_number_has_its_margin_if_that_is_known() -> None:
    assert number_text(1.26, 0.333, 1) == "1.3 ±0.3"
    assert number_text(0.5, None, 3, sign="+") == "+0.500"
    assert number_text(-0.5, 0.0, 0, sign="+") == "-0 ±0"


def test_what_a_column_stands_for_decides_how_it_is_shown() -> None:
    for compact, justify in ((False, ["right", "left", "left"]), (True, ["left", "left", "left"])):
        columns = empty_table("id", "state", "bots", compact=compact).columns
        assert [column.justify for column in columns] == justify
        assert [column.no_wrap for column in columns] == [True, not compact, False]


def test_cells_are_no_markup() -> None:
    """Names come from strangers."""
    console = Console(width=40)
    with console.capture() as printed:
        console.print(table_of(["[red]ann[/red]"], {"bot": str, "games": len}))
    assert "[red]ann[/red]" in printed.get()
