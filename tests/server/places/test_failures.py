"""Whatever fails unexpectedly in a match, what the match held is free again, and the server stops."""

from pathlib import Path
from typing import Any

import pytest
from tests.server.api.arena import AT_ONCE, arena_with
from tests.server.harness import ended_match, outcome_of

from happycity_server.places import places
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match
from happycity_tournament.storage.async_store import AsyncStore

PARTS: dict[str, Any] = {
    "wait_for": Lobby,
    "_begin_or_wait": Lobby,
    "start": Match,
    "summary": Match,
    "finished_game": places,
    "save": AsyncStore,
}
"""What a match of absent bots calls from its creation to its end, by name, and where it is."""


def failing(*_: object, **__: object) -> Any:
    raise ArithmeticError("unexpected")


@pytest.mark.parametrize("part", PARTS)
async def test_a_match_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Who waits for it is answered, the next one is played, and the server's end waits for nothing."""
    async with arena_with(tmp_path) as arena:
        with monkeypatch.context() as patch:
            patch.setattr(PARTS[part], part, failing)
            failed = await arena.create("ann", "ben", time_control=AT_ONCE)
            ended = await outcome_of(ended_match(arena.matches, failed.match_id))
            assert ended.reason in ("", "STORE_UNAVAILABLE", "UNKNOWN_MATCH")
        again = await arena.create("ann", "ben", time_control=AT_ONCE)
        assert (await arena.finished(again.match_id)).outcome.HasField("result")
