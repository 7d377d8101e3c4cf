"""What the page of a report says of single games."""

from dataclasses import replace

import pytest
from tests.tournament.leagues import League

from happycity_tournament.games import Position
from happycity_tournament.report.report import NotableGame


@pytest.mark.parametrize(
    ("position", "place"),
    [
        ((1, 0, 0), ("1", "1", "1")),
        ((5, 0, 1), ("5", "1", "2")),
        ((12, 3, 0), ("12", "4", "1")),
        (None, ("-", "-", "-")),
    ],
)
def test_rounds_tables_and_rotations_are_counted_from_1(
    position: Position | None, place: tuple[str, str, str]
) -> None:
    game, _ = next(League(("ann", "bob"), seats=2, rounds=1).games(1))
    assert NotableGame(replace(game, position=position)).place == place
