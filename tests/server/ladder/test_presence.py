"""Who is there for the ladder, whatever fails meanwhile."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.tournament.storage.test_ladder import profile

from happycity_server.ladder.presence import Presence
from happycity_server.places.places import Places
from happycity_tournament.games import BotProfile
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.storage import AsyncStore, StoreError
from happycity_tournament.storage.ladder import LadderStore


class There:
    """Places, and a lobby, where certain bots are connected."""

    def __init__(self) -> None:
        self.bots: set[str] = set()
        self.house: set[str] = set()
        self.lobby = self
        self.arrival_listeners: list[Any] = []

    def connected(self) -> list[str]:
        """Return the bots."""
        return sorted(self.bots)

    def is_connected(self, bot: str) -> bool:
        """Return whether a bot is connected."""
        return bot in self.bots

    def profiles(self) -> dict[str, BotProfile]:
        """Return what the bots say of themselves."""
        return {bot: profile() for bot in self.bots}


async def test_bot_that_was_forgotten_comes_back_while_the_store_fails(store: AsyncStore) -> None:
    """It gets another version: with the one that the store has deleted it could begin no deal."""
    there, fails = There(), True

    def owner_of(bot: str) -> str:
        if bot == "eva" and fails:
            raise StoreError(store.store.url, "is out of order")
        return bot

    places = cast("Places", there)
    presence = Presence(LadderConfig(), places, store, lambda: 50.0, owner_of=owner_of)
    there.bots = {"dan"}
    await presence.refresh()
    there.bots = {"eva"}
    with pytest.raises(StoreError):
        await presence.refresh()
    there.bots, fails = {"dan", "eva"}, False
    await presence.refresh()
    stored = LadderStore(store.store).versions()
    assert {stored[version.id].bot for version in presence.versions.values()} == {"dan", "eva"}
