"""The numbers that bots send with their answers: what of them is kept."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

MOST_METRICS = 16
"""How many of an answer are kept."""
METRIC_NAME = re.compile(r"[A-Za-z0-9._+-]{1,32}")
"""What a metric may be called."""


def kept(told: Mapping[str, float]) -> dict[str, float]:
    """Return what is kept of an answer's metrics, by name so that the order of the message doesn't matter."""
    fine = [name for name in sorted(told) if METRIC_NAME.fullmatch(name) and math.isfinite(told[name])]
    return {name: told[name] for name in fine[:MOST_METRICS]}
