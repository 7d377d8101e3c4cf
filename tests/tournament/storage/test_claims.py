"""Claims: one server at a time uses a store, and processes that only look at it are in nobody's way."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.tournament.games import single_game, with_records

from happycity_tournament.storage import Store, StoreError

HOLDER = """
import sys
from happycity_tournament.storage import Store
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


@pytest.mark.usefixtures("impatient")
def test_a_store_has_one_server(url: str) -> None:
    """Of two servers only the first gets the store; readers are not affected."""
    with Store.create(url) as first, Store.create(url) as second:
        first.claim()
        with pytest.raises(StoreError, match="is in use by another server; stop that one") as caught:
            second.claim()
        assert caught.value.for_all
        assert "\n" not in str(caught.value)
        first.add_games(with_records([single_game(1)]))
        assert second.next_match_id() == 2


def test_a_claim_ends_with_its_store(url: str) -> None:
    """A server that stops leaves the store to the next one."""
    for _ in range(2):
        with Store.create(url) as store:
            store.claim()
            assert store.is_claimed()
    with Store.existing(url) as store:
        assert not store.is_claimed()


def test_a_killed_server_leaves_no_claim(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a kill the store can be claimed at once; before, it could not, and everybody could see that."""
    with claimed_elsewhere(url) as holder, Store.existing(url) as reader, Store.create(url) as store:
        assert reader.is_claimed()
        with monkeypatch.context() as patch:
            patch.setattr("happycity_tournament.storage.claims.PATIENCE_SECONDS", 0.01)
            with pytest.raises(StoreError, match="is in use by another server"):
                store.claim()
        holder.kill()
        holder.wait()
        store.claim()


def test_a_claim_waits_for_a_server_that_is_about_to_end(url: str) -> None:
    """A server that is restarted finds its predecessor's claim for a moment; it waits instead of failing."""
    with claimed_elsewhere(url) as holder, Store.create(url) as store:
        ending = threading.Timer(0.2, holder.kill)
        ending.start()
        store.claim()
        ending.join()
        store.check_claim()


def test_a_server_can_start_while_others_look(url: str) -> None:
    """Asking whether a store is claimed claims nothing: no claim fails, however often others ask."""
    Store.create(url).close()
    stop = threading.Event()
    answers: set[bool] = set()

    def ask() -> None:
        with Store.existing(url) as reader:
            while not stop.is_set():
                answers.add(reader.is_claimed())

    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        claims = 0
        while claims < 100 or answers != {True, False}:
            claims += 1
            with Store.create(url) as server:
                server.claim()
                server.check_claim()
    finally:
        stop.set()
        for reader in readers:
            reader.join()


def test_a_claim_that_is_held_is_no_error(store: Store) -> None:
    """Checking raises nothing while the claim stands, nor where there is none."""
    store.check_claim()
    store.claim()
    store.check_claim()
    store.add_games(with_records([single_game(1)]))
    store.check_claim()
