"""A store in PostgreSQL does what one in SQLite does, and what only PostgreSQL can meet with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.tournament.games import BOTS, single_game, stored_games, with_records
from tests.tournament.storage.postgres import Cluster, database_of
from tests.tournament.storage.test_claims import claimed_elsewhere

from happycity import Ending
from happycity_tournament.config import TournamentState
from happycity_tournament.storage import Store, StoreError, Troubles
from happycity_tournament.storage.schema import metadata

ROOT = Path(__file__).parents[3]


@pytest.fixture
def url(cluster: Cluster) -> str:
    """Return the URL of a new database."""
    return cluster.new_database()


def add(store: Store, match_id: int) -> None:
    store.add_games(with_records([single_game(match_id)]))


# The same as SQLite --------------------------------------------------------------------------------------


def refused(call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Return the problem for which a call is refused, without the database's own words."""
    with pytest.raises(StoreError) as caught:
        call(*arguments, **options)
    return str(caught.value).removeprefix(f"database {caught.value.url} ").partition(":")[0]


def observations(store: Store) -> list[object]:
    """Do everything with an empty store that a server does, and return all that can be seen of it."""
    seen: list[object] = [*everything(store), refused(store.set_state, 5, TournamentState.RUNNING)]
    config = {"bots": [*BOTS, "x_y"], "seed": 2**64 - 1, "name": "é"}
    ids = [
        store.create_tournament(
            config if number else {"bots": ["anna"]},
            games_total=2**40,
            created_at=0.1 * number,
            request_id=request,
        )
        for number, request in enumerate([None, "a1", "a2", None])
    ]
    seen += [ids, refused(store.create_tournament, {}, games_total=1, created_at=0.0, request_id="a1")]
    store.set_state(ids[1], TournamentState.FINISHED)
    store.set_config(ids[3], {"bots": ["ann", "zoe"]}, games_total=1)
    store.set_troubles(
        ids[2], Troubles(games_voided=1, games_unrated=2, disqualified=("é",), remarks=("'\"",))
    )
    first, second = stored_games(ids[1]), stored_games(ids[2], 100)
    store.add_games([*with_records([*second[::-1], *first, single_game(50)]), (single_game(2**63 - 2), None)])
    seen += everything(store)
    seen += [
        refused(store.add_games, with_records([single_game(60), single_game(50)])),
        refused(store.add_games, with_records([replace(first[0], match_id=70)])),
        refused(store.add_games, with_records(stored_games(77, 80))),
    ]
    seen += everything(store)
    seen += [
        store.delete_tournament(ids[2]),
        store.delete_tournament(ids[2]),
        store.delete_tournament(ids[0]),
    ]
    return [*seen, *everything(store)]


def everything(store: Store) -> list[object]:
    """Return what every method that reads finds."""
    numbers = (-1, 0, 1, 2, 3, 4, 5, 50, 70, 100, 2**63 - 2, 2**63)
    bots, states = (
        (None, "ann", "anna", "x_y", "zoe"),
        (None, {TournamentState.FINISHED, TournamentState.WAITING}),
    )
    return [
        store.next_match_id(),
        [(store.tournament(number), store.game(number), store.record(number)) for number in numbers],
        [store.tournament_state(number) for number in range(6)],
        [(store.progress(number), store.results(number)) for number in range(6)],
        [store.tournament_of_request(request) for request in ("a1", "a2", "a3")],
        [store.tournaments(2, 4, states=chosen, bot=bot) for chosen in states for bot in bots],
        [store.tournaments(None, states=chosen, bot=bot) for chosen in states for bot in bots],
        [store.games(5, 101, bot=bot, ending=ending) for bot in bots for ending in (None, *Ending)],
        [store.games(5, tournament_id=number, bot="ann") for number in (1, 2, 3)],
        [game for number in (1, 2, 3) for game in store.all_games(tournament_id=number, with_records=True)],
        sorted(game.match_id for game, _ in store.all_games()),
        sorted(set(store.bots())),
    ]


def test_a_store_does_the_same_as_in_sqlite(url: str, tmp_path: Path) -> None:
    """All that can be done with a store, and all that is refused, is seen alike in both databases."""
    with Store.create(url) as store, Store.create(f"sqlite:///{tmp_path}/games.sqlite") as other:
        ours, theirs = observations(store), observations(other)
    for mine, other_one in zip(ours, theirs, strict=True):
        assert mine == other_one
    with Store.existing(url) as store:
        assert everything(store) == ours[-len(everything(store)) :]


def test_committed_games_survive_a_kill(url: str) -> None:
    """What `add_games` has written when it returns is there after the process is killed."""
    program = f"""
import os, signal
from tests.tournament.games import single_game, with_records
from happycity_tournament.storage import Store
Store.create({url!r}).add_games(with_records([single_game(7)]))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60, check=False).returncode == -9
    with Store.create(url) as store:
        assert store.game(7) == single_game(7)


def test_several_processes_may_create_a_database_at_once(url: str) -> None:
    """One of them creates the tables, and all find it done."""
    with ThreadPoolExecutor(max_workers=4) as threads:
        for store in threads.map(Store.create, [url] * 4):
            assert store.next_match_id() == 1
            store.close()


def test_an_index_for_few_deals_leaves_out_the_others(cluster: Cluster, url: str) -> None:
    """It holds the deals of challenges only, as in SQLite."""
    Store.create(url).close()
    query = "SELECT indexdef FROM pg_indexes WHERE indexname = 'ladder_deals_of_challenge'"
    ((definition,),) = cluster.execute(database_of(url), query)
    assert str(definition).endswith("(challenge_id, id) WHERE (challenge_id IS NOT NULL)")


def test_databases_that_are_no_stores_are_refused(cluster: Cluster, url: str) -> None:
    """That of another program, and that of a later version, are left as they are."""
    cluster.execute(database_of(url), "CREATE TABLE moz_places (id INTEGER)")
    for method in (Store.create, Store.existing):
        assert refused(method, url) == "belongs to another program; choose an empty database"
    later = cluster.new_database()
    Store.create(later).close()
    cluster.execute(database_of(later), "UPDATE meta SET value = '9'")
    for method in (Store.create, Store.existing):
        assert refused(method, later).startswith("has schema version 9, this program knows version 1")


# Claims --------------------------------------------------------------------------------------------------


def test_a_killed_server_leaves_no_claim(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a kill the store can be claimed at once; before, it could not, and everybody could see that."""
    with claimed_elsewhere(url) as holder, Store.existing(url) as reader, Store.create(url) as store:
        assert reader.is_claimed()
        with monkeypatch.context() as patch:
            patch.setattr("happycity_tournament.storage.claims.PATIENCE_SECONDS", 0.01)
            assert refused(store.claim).startswith("is in use by another server")
        holder.kill()
        holder.wait()
        store.claim()
        store.check_claim()
        assert reader.is_claimed()
    with Store.existing(url) as reader:
        assert not reader.is_claimed()


def test_a_claim_is_of_one_database(cluster: Cluster, url: str) -> None:
    """A server on another database of the same PostgreSQL doesn't matter."""
    with Store.create(url) as store, Store.create(cluster.new_database()) as other:
        other.claim()
        assert not store.is_claimed()
        store.claim()


def test_a_claim_is_lost_with_its_connection(cluster: Cluster, url: str) -> None:
    """After PostgreSQL has ended it nothing is stored any longer, and another server may have the store."""
    with Store.create(url) as first:
        first.claim()
        cluster.end_connections(database_of(url))
        with pytest.raises(StoreError, match="the claim on it is lost") as caught:
            first.check_claim()
        assert caught.value.for_all
        with pytest.raises(StoreError, match="the claim on it is lost"):
            add(first, 1)
        with Store.create(url) as second:
            second.claim()


def test_nothing_is_written_once_a_claim_is_lost(cluster: Cluster, url: str) -> None:
    """The first write after the loss fails too, although nobody has checked the claim before."""
    with Store.create(url) as store:
        store.claim()
        cluster.end_connections(database_of(url))
        with pytest.raises(StoreError, match="has ended the connection") as caught:
            add(store, 1)
        assert caught.value.for_all
        with pytest.raises(StoreError, match="the claim on it is lost"):
            add(store, 1)
    with Store.existing(url) as other:
        assert other.games(10) == []


def test_without_a_claim_a_lost_connection_costs_one_call(cluster: Cluster, url: str) -> None:
    """A reader continues over a new connection."""
    Store.create(url).close()
    with Store.existing(url) as store:
        cluster.end_connections(database_of(url))
        with pytest.raises(StoreError, match="has ended the connection"):
            store.next_match_id()
        assert store.next_match_id() == 1


# Users and servers ---------------------------------------------------------------------------------------


def test_a_store_that_is_opened_to_read_cannot_be_written_to(url: str) -> None:
    """A method that writes fails, whatever the user may do."""
    Store.create(url).close()
    with Store.existing(url) as store, pytest.raises(StoreError, match="read-only transaction"):
        add(store, 1)


def test_a_user_who_may_only_read_can_read_a_store(cluster: Cluster, url: str) -> None:
    """Reports can be made by a user who can't change anything."""
    with Store.create(url) as store:
        add(store, 1)
    database = database_of(url)
    cluster.execute(
        database, f"CREATE ROLE reader_{database} LOGIN", f"GRANT pg_read_all_data TO reader_{database}"
    )
    with Store.existing(cluster.url(database, user=f"reader_{database}")) as store:
        assert store.next_match_id() == 2
        assert not store.is_claimed()


def test_a_user_without_rights_is_refused(cluster: Cluster, url: str) -> None:
    """Where the tables can't be created, the error says what is missing."""
    database = database_of(url)
    cluster.execute(database, f"CREATE ROLE stranger_{database} LOGIN")
    with pytest.raises(StoreError, match="can't be written to by this user"):
        Store.create(cluster.url(database, user=f"stranger_{database}"))


@pytest.mark.parametrize("method", [Store.create, Store.existing])
@pytest.mark.parametrize("host", ["127.0.0.1:1/arena", "/arena?host=/no"])
def test_a_server_that_cannot_be_reached_is_named(host: str, method: Callable[[str], Store]) -> None:
    """One line says that the server can't be reached, without the password."""
    with pytest.raises(StoreError, match="can't be reached: ") as caught:
        method(f"postgresql+psycopg://ann:secret@{host}")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_is_not_there_is_named(cluster: Cluster) -> None:
    """PostgreSQL's own words name the database."""
    with pytest.raises(StoreError, match='database "nothing" does not exist'):
        Store.existing(cluster.url("nothing"))


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where psycopg is not installed, the error names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"package psycopg; install happycity\[postgresql\]"):
        Store.create("postgresql+psycopg://ann@/arena")


def test_the_tables_suit_postgresql() -> None:
    """Tables and indexes can be written in PostgreSQL's SQL, with ids of 64 bits."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it so
    statements = [str(CreateTable(table).compile(dialect=dialect)) for table in metadata.sorted_tables]
    indexes = [index for table in metadata.sorted_tables for index in table.indexes]
    statements += [str(CreateIndex(index).compile(dialect=dialect)) for index in indexes]
    created = {name: text for text in statements for name in (text.split()[2],)}
    for name in ("tournaments", "ladder_deals"):
        assert "id BIGSERIAL NOT NULL" in created[name]
    assert "id BIGINT NOT NULL" in created["games"]
