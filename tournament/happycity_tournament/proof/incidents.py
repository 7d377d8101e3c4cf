"""What went wrong for seats of a game: that its record says only what a server can have noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from happycity import Ending, FailurePolicy, Game, IncidentKind, ReplayError, TimeControl
from happycity.records.record import Json
from happycity.records.replay import endings_of, incidents_of, movers_of


class Conditions(Protocol):
    """What a tournament or a ladder says of its games."""

    @property
    def time(self) -> TimeControl:
        """The clocks."""

    @property
    def policy(self) -> FailurePolicy:
        """What happens where a bot fails."""


def unanswered(record: Json, config: Conditions, *, faultless: Collection[str] = ()) -> set[int]:
    """Return the decisions of a game, from 1, that the fallback settled, and no bot.

    These are the ones of a late or illegal answer, and those of a seat since it was forfeited. `faultless`
    names bots for which nothing may have gone wrong.

    Raises:
        ReplayError: an incident is at a decision of another seat, an answer was late without a clock, a seat
            has more strikes than are allowed, one was forfeited without an incident or the other way round,
            or something went wrong for a faultless bot.
    """
    incidents, bots, endings = incidents_of(record), record["bots"], endings_of(record)
    movers = movers_of(record) if incidents else []
    found, strikes, forfeited = set[int](), Counter[int](), set[int]()
    for incident in incidents:
        seat, number = incident.seat, incident.decision_id
        what = f"incidents: decision {number}, {bots[seat]}: {incident.kind.value}"
        if bots[seat] in faultless:
            raise ReplayError(f"{what}: it is a bot of the benchmark, which only answers in time and legally")
        if incident.kind is IncidentKind.FORFEIT:
            forfeited.add(seat)
            found.update(later for later, mover in enumerate(movers, 1) if mover == seat and later >= number)
            continue
        if incident.kind is IncidentKind.TIMEOUT and config.time.no_clock:
            raise ReplayError(f"{what}: there was no clock")
        strikes[seat] += 1
        if not number or movers[number - 1] != seat or number in found:
            raise ReplayError(f"{what}: the seat was not asked then, or had answered")
        found.add(number)
    for seat, ending in enumerate(endings):
        if (ending is Ending.FINISHED) == (seat in forfeited):
            raise ReplayError(f"endings: {bots[seat]}: {ending.word}, which the incidents contradict")
        if strikes[seat] > (allowed := config.policy.max_strikes) + (seat in forfeited):
            raise ReplayError(f"incidents: {bots[seat]}: {strikes[seat]} strikes, {allowed} are allowed")
    return found


def with_fallback(
    positions: Iterable[Game], record: Json, policy: FailurePolicy, decisions: Collection[int]
) -> Iterator[Game]:
    """Yield the positions of a record; a ReplayError names a decision of these that isn't the fallback's."""
    for number, game in enumerate(positions, start=1):
        if number in decisions:
            expected = policy.fallback.move(game, record["deal"]["seed"], number).text
            if (move := record["moves"][number - 1].get("move")) != expected:
                raise ReplayError(f"move {number}: the fallback plays {expected}, not {move!s:.60}")
        yield game
