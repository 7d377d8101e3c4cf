"""Bots as watchers of a tournament get them."""

from __future__ import annotations

from tests.server.play.arena import Arena


async def test_moment_of_a_waiting_decision_stays_the_same_and_goes_with_its_bot() -> None:
    """Watchers get no change while nothing changes, and a server keeps nothing of bots that are gone."""
    arena = Arena()
    anna = arena.connect("anna")
    await arena.match("anna", "anna")
    await anna.decision()
    arena.wait(2.0)
    (first,) = arena.places.activity(["anna"])
    arena.wait(1.0)
    assert list(arena.places.activity(["anna"])) == [first]
    assert first.HasField("waiting_since")
    assert anna.session.shown_waiting is not None  # nothing else holds it
    kept = [value for value in vars(arena.places).values() if isinstance(value, dict)]
    assert not any("anna" in each for each in kept)
