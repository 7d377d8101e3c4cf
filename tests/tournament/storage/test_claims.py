"""Claims: one server at a time uses a store, and processes that only look at it are in nobody's way."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.tournament.games import single_game, with_records

from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.store import Store

HOLDER = """
import sys
from happycity_tournament.storage.store import Store
store = Store.create(sys.argv[1])
store.claim()
print("claimed", flush=True)
sys.stdin.read()
"""


@contextmanager
def claimed_elsewhere(url: str) -> Iterator[subprocess.Popen[str]]:
    """Let another process claim a store; it ends with the context at the latest."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "claimed\n"
            yield process
        finally:
            process.kill()


def refuse(store: Store) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("happycity_tournament.storage.claims.PATIENCE_SECONDS", 0.01)
        with pytest.raises(StoreError, match="is in use by another server; stop that one") as caught:
            store.claim()
    assert caught.value.for_all
    assert "\n" not in str(caught.value)


def test_a_store_has_one_server(url: str) -> None:
    """Of two servers only the first gets the store, until it ends; readers are not affected."""
    with Store.create(url) as first, Store.create(url) as second:
        first.check_claim()  # there is none
        assert not second.is_claimed()
        first.claim()
        refuse(second)
        first.add_games(with_records([single_game(1)]))
        first.check_claim()
        assert (second.next_match_id(), second.is_claimed()) == (2, True)
        first.close()
        second.claim()


@pytest.mark.level(2)
def test_a_killed_server_leaves_no_claim(url: str) -> None:
    """Everybody sees its claim, and a server that is restarted waits for its end instead of failing."""
    with claimed_elsewhere(url) as holder, Store.existing(url) as reader, Store.create(url) as store:
        assert reader.is_claimed()
        refuse(store)
        ending = threading.Timer(0.2, holder.kill)
        ending.start()
        store.claim()
        ending.join()
        store.check_claim()
        assert reader.is_claimed()
