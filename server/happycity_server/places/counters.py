"""What lobbies count, as messages and added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from happycity.worker.v1 import worker_service_pb2 as pb
from happycity_server.play.counters import Counters

_HIGHEST = "outbox_high_water"  # the only count of which the greatest counts, not the sum


def counters_message(counters: Counters, *, outbox_bytes: int) -> pb.Counters:
    """Write what a lobby counts."""
    values: dict[str, Any] = {entry.name: getattr(counters, entry.name) for entry in fields(counters)}
    return pb.Counters(outbox_bytes=outbox_bytes, **values)


def counters_of(message: pb.Counters) -> Counters:
    """Read what a worker counts."""
    values: dict[str, Any] = {}
    for entry in fields(Counters):
        value = getattr(message, entry.name)
        if hasattr(value, "items"):
            value = Counter(dict(value))
        elif not isinstance(value, (int, float)):
            value = list(value)
        values[entry.name] = value
    return Counters(**values)


def total(several: Iterable[Counters]) -> Counters:
    """Add up what several lobbies count."""
    sums = Counters()
    for counters in several:
        for entry in fields(Counters):
            own, value = getattr(sums, entry.name), getattr(counters, entry.name)
            if entry.name == _HIGHEST:
                value = max(own, value)
            elif isinstance(value, list):
                value = [a + b for a, b in zip(own, value, strict=True)]
            else:
                value = own + value
            setattr(sums, entry.name, value)
    return sums
