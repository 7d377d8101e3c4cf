"""Filter the numbers that bots attach to answers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

MAX_METRICS = 16
"""How many of an answer are kept."""
METRIC_NAME = re.compile(r"[A-Za-z0-9._+-]{1,32}")
"""What a metric may be called."""


def accepted(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics that are kept, by name, so that the order of the message doesn't matter."""
    fine = [name for name in sorted(metrics) if METRIC_NAME.fullmatch(name) and math.isfinite(metrics[name])]
    return {name: metrics[name] for name in fine[:MAX_METRICS]}
