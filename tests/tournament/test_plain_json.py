"""Values as JSON: by their fields, with four decimals, and nothing that JSON doesn't have."""

import json
import math
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import pytest

from happycity.tournament.v1beta1.tournament_service_pb2 import Difference
from happycity_tournament.plain_json import plain_json


class Colour(Enum):
    RED = "red"


class Point(NamedTuple):
    x: float
    y: float | None


@dataclass(frozen=True, slots=True)
class Shape:
    colour: Colour
    corners: tuple[Point, ...]
    area: float = math.inf


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (1 / 3, 0.3333),
        (-math.inf, None),
        (math.nan, None),
        (True, True),
        (2**60, 2**60),
        (Point(2 / 3, None), {"x": 0.6667, "y": None}),
        (
            [Shape(Colour.RED, (Point(0.0, 1.0),))],
            [{"colour": "red", "corners": [{"x": 0.0, "y": 1.0}], "area": None}],
        ),
        ({Colour.RED: Counter("aab"), 3: ()}, {"red": {"a": 2, "b": 1}, "3": []}),
        ((Difference(elo=2 / 3, low=1.0),), [{"elo": 0.6667, "low": 1.0, "high": None, "los": 0.0}]),
    ],
)
def test_a_value_is_json_by_its_fields(value: Any, content: Any) -> None:
    assert plain_json(value) == content
    assert json.loads(json.dumps(plain_json(value), allow_nan=False)) == content
