"""What bots said of themselves is kept with their tournaments."""

from __future__ import annotations

from tests.tournament.games import BOTS
from tests.tournament.storage.postgres import Cluster

from happycity import BotInfo
from happycity_tournament.games import BotProfile
from happycity_tournament.storage import Store

ANN = BotProfile(BotInfo(author="Anna", version="1.0", language="Zig", description="counts é"), "zig/3")
BOB = BotProfile(BotInfo(), "")


def check_profiles(url: str) -> None:
    """Check what a store does with profiles."""
    with Store.create(url) as store:
        first, second = (
            store.create_tournament({"bots": list(BOTS)}, games_total=8, created_at=5.0) for _ in range(2)
        )
        store.set_profiles(first, {"ann": ANN, "bob": BOB})
        store.set_profiles(second, {"ann": BOB})
        store.set_profiles(first, {"bob": ANN})
        assert store.require_tournament(first).profiles == {"ann": ANN, "bob": ANN}
        assert [entry.profiles for entry in store.tournaments(10)] == [{"ann": BOB}, {"ann": ANN, "bob": ANN}]
        assert store.tournaments(1, bot="ann")[0].profiles == {"ann": BOB}
        store.delete_tournament(first)
        assert [entry.profiles for entry in store.tournaments(10)] == [{"ann": BOB}]


def test_profiles_are_kept(url: str) -> None:
    """The last words of each bot are kept, and are gone with their tournament."""
    check_profiles(url)


def test_profiles_are_kept_in_postgresql(cluster: Cluster) -> None:
    """PostgreSQL does the same."""
    check_profiles(cluster.new_database())
