"""What the server counts about itself, on the event loop."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

THINK_BOUNDS_US = (
    *(100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000),
    *(1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000),
)
"""Upper ends of the buckets of think times, in microseconds; the last bucket has none."""


LAG_BOUNDS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper ends of the buckets of the event loop's delays; the last bucket has none."""


def _counted(text: str, *, by: str = "", is_gauge: bool = False) -> Any:
    """Describe a number for people; `by` names what its keys stand for. A gauge also falls."""
    metadata = {"text": text, "by": by, "is_gauge": is_gauge}
    return field(default_factory=Counter if by else int, metadata=metadata)


@dataclass(slots=True)
class Counters:
    """Counts since the server's start. Keys are the lower-case names of reasons and kinds."""

    matches_started: int = _counted("Matches that began.")
    matches_finished: int = _counted("Matches that were finished.")
    matches_voided: Counter[str] = _counted("Voided matches.", by="reason")  # noqa: RUF009
    decisions: int = _counted("Decisions of matches that are over, forced moves not counted.")
    think_counts: list[int] = field(default_factory=lambda: [0] * (len(THINK_BOUNDS_US) + 1))
    """Decisions by think time, in the buckets of `THINK_BOUNDS_US`; only those that a bot was asked."""
    think_us: int = 0
    """The sum of those think times, in microseconds."""
    strikes: Counter[str] = _counted("Late and illegal answers.", by="kind")  # noqa: RUF009
    forfeits: Counter[str] = _counted("Seats of finished matches that were forfeited.", by="reason")  # noqa: RUF009
    streams_opened: int = _counted("Play streams that were opened.")
    streams_resumed: int = _counted("Of these, resumed ones.")
    streams_taken_over: int = _counted("Of these, those that took a name over without its resume token.")
    streams_lost: int = _counted("Play streams without a goodbye, but for the stop of the server.")
    restarts: Counter[str] = _counted("Programs of bots that were started again.", by="bot")  # noqa: RUF009
    bots_asked: int = _counted("Bots for which a decision waits.", is_gauge=True)
    overloads: int = _counted("How often the event loop was stuck.")
    overload_seconds: float = _counted("What was taken out of the clocks by that.")
    lag_counts: list[int] = field(default_factory=lambda: [0] * (len(LAG_BOUNDS_SECONDS) + 1))
    """Ticks of the event loop by how late they came, in the buckets of `LAG_BOUNDS_SECONDS`."""
    lag_seconds: float = 0.0
    """The sum of those delays."""
    outbox_bytes: int = _counted("Bytes that wait to be sent to bots.", is_gauge=True)
    outbox_high_water_bytes: int = _counted("The most that ever waited for one bot.", is_gauge=True)

    def __add__(self, other: Counters) -> Counters:
        """Return the sums of both; of the high-water marks, the greater one."""
        values: dict[str, Any] = {}
        for name in (entry.name for entry in fields(Counters)):
            own, more = getattr(self, name), getattr(other, name)
            if name == "outbox_high_water_bytes":
                values[name] = max(own, more)
            elif isinstance(own, list):
                values[name] = [a + b for a, b in zip(own, more, strict=True)]
            else:
                values[name] = own + more
        return Counters(**values)

    def add_think_times(self, times_us: Sequence[int]) -> None:
        """Count a match's decisions by the microseconds that each took; 0 where no bot was asked."""
        self.decisions += len(times_us)
        self.think_us += sum(times_us)
        # Sorting them all costs less than finding a bucket for each.
        asked = sorted(filter(None, times_us))
        counted = 0
        for bucket, bound in enumerate(THINK_BOUNDS_US):
            upto = bisect_right(asked, bound)
            self.think_counts[bucket] += upto - counted
            counted = upto
        self.think_counts[-1] += len(asked) - counted

    def add_lag(self, seconds: float, *, excess: float) -> None:
        """Count a tick of the event loop: how late it came, and what of that was taken out of the clock."""
        self.lag_counts[bisect_left(LAG_BOUNDS_SECONDS, seconds)] += 1
        self.lag_seconds += seconds
        if excess:
            self.overloads += 1
            self.overload_seconds += excess
