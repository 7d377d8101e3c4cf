"""Names of the code: a reader who searches for one finds one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from tools import ROOT

PRODUCT = (
    "game",
    "runtime",
    "evaluation",
    "server",
    "tournament",
    "ladder",
    "league",
    "clients",
    "viewer",
    "web",
)
_CLASS = re.compile(r"^ *class (\w+)[(:]", re.MULTILINE)


def _modules() -> list[Path]:
    """Return the modules of the product's packages, and of tools."""
    found = [path for folder in PRODUCT for path in ROOT.glob(f"{folder}/**/happycity*/**/*.py")]
    found += ROOT.glob("tools/**/*.py")
    return [path for path in found if not path.name.endswith(("_pb2.py", "_pb2_grpc.py"))]


def test_two_classes_never_have_one_name() -> None:
    """Else a search for the word finds a class that means something else."""
    places = defaultdict(list)
    for path in _modules():
        for name in _CLASS.findall(path.read_text("utf-8")):
            places[name].append(str(path.relative_to(ROOT)))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
