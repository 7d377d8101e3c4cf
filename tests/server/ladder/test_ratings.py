"""What is kept of the ratings while a ladder is played."""

from __future__ import annotations

from happycity_server.ladder.ratings import _History
from happycity_tournament.ladder.entries import Rating, RatingPoint

YEAR = 365 * 86400.0


def stored_history(times: list[float]) -> list[float]:
    """Return the times of the points in the store after deals of one version at these times, from 0 on."""
    history, stored = _History(), set[float]()
    for at in times:
        rating = Rating(elo=1500.0, error=10.0, deals=1)
        history.add(RatingPoint(board="2-family", version_id=1, at=at, rating=rating), first_at=0.0)
        points, replaced = history.points()
        stored.difference_update(point.at for point in replaced)
        stored.update(point.at for point in points)
    return sorted(stored)


def test_history_shows_the_first_minute_and_stays_small() -> None:
    """A version's first deals are seen at once; in a year points get rare, and the last is the newest."""
    times = [number / 2 for number in range(1, 121)]
    first_minute = stored_history(times)
    assert first_minute[-1] == times[-1]
    assert len(first_minute) > 20
    times += [float(number * 600) for number in range(1, int(YEAR / 600))]
    year = stored_history(times)
    assert year[-1] == times[-1]
    assert first_minute[:-1] == year[: len(first_minute) - 1]
    assert len(year) < 750
