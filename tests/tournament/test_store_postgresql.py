"""What only a store in PostgreSQL can meet with."""

import sys

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.tournament.games import single
from tests.tournament.postgres import Cluster, database_of

from happycity_tournament.store import Store, StoreError
from happycity_tournament.tables import metadata


@pytest.fixture
def url(cluster: Cluster) -> str:
    return cluster.new_database()


def test_a_claim_is_lost_with_its_connection(cluster: Cluster, url: str) -> None:
    """After the server has ended it nothing is stored any more, and another may have the store."""
    with Store(url) as first:
        first.claim()
        cluster.end_connections(database_of(url))
        with pytest.raises(StoreError, match="the claim on it is lost") as caught:
            first.check_claim()
        assert caught.value.for_all
        with pytest.raises(StoreError, match="the claim on it is lost"):
            first.add_games([single(1)])
        with Store(url) as second:
            second.claim()


def test_nothing_is_written_once_a_claim_is_lost(cluster: Cluster, url: str) -> None:
    """The first write after the loss fails too, though nobody has asked for the claim before."""
    with Store(url) as store:
        store.claim()
        cluster.end_connections(database_of(url))
        with pytest.raises(StoreError, match="has ended the connection") as caught:
            store.add_games([single(1)])
        assert caught.value.for_all
        with pytest.raises(StoreError, match="the claim on it is lost"):
            store.add_games([single(1)])
    with Store(url) as other:
        assert other.games(10) == []


def test_without_a_claim_a_lost_connection_costs_one_call(cluster: Cluster, url: str) -> None:
    """Whoever only reads goes on over a new connection."""
    with Store(url) as store:
        cluster.end_connections(database_of(url))
        with pytest.raises(StoreError, match="has ended the connection"):
            store.next_game_id()
        assert store.next_game_id() == 1


def test_whoever_may_only_read_can_open_a_store(cluster: Cluster, url: str) -> None:
    """Reports can be made by a user who can't change anything; what he tries to write is refused."""
    with Store(url) as store:
        store.add_games([single(1)])
    database = database_of(url)
    cluster.execute(
        database, f"CREATE ROLE reader_{database} LOGIN", f"GRANT pg_read_all_data TO reader_{database}"
    )
    with Store(cluster.url(database, user=f"reader_{database}")) as store:
        assert store.next_game_id() == 2
        with pytest.raises(StoreError, match="permission denied"):
            store.add_games([single(2)])


def test_a_user_without_rights_is_told(cluster: Cluster, url: str) -> None:
    """Where the tables can't be created, the error says what is missing."""
    database = database_of(url)
    cluster.execute(database, f"CREATE ROLE stranger_{database} LOGIN")
    with pytest.raises(StoreError, match="can't be written to by this user"):
        Store(cluster.url(database, user=f"stranger_{database}"))


@pytest.mark.parametrize(
    "url",
    ["postgresql+psycopg://ann:secret@127.0.0.1:1/arena", "postgresql+psycopg://ann:secret@/arena?host=/no"],
)
def test_a_server_that_is_not_there_is_told(url: str) -> None:
    """One line tells that the server can't be reached, without the password."""
    with pytest.raises(StoreError, match="can't be reached: ") as caught:
        Store(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_is_not_there_is_told(cluster: Cluster) -> None:
    """The server's own words name the database."""
    with pytest.raises(StoreError, match='database "nothing" does not exist'):
        Store(cluster.url("nothing"))


def test_a_missing_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where psycopg is not installed, the error names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"package psycopg; install happycity\[postgresql\]"):
        Store("postgresql+psycopg://ann@/arena")


def test_the_tables_suit_postgresql() -> None:
    """Tables and indexes can be told to PostgreSQL, with ids of 64 bits."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it so
    statements = [str(CreateTable(table).compile(dialect=dialect)) for table in metadata.sorted_tables]
    indexes = [index for table in metadata.sorted_tables for index in table.indexes]
    statements += [str(CreateIndex(index).compile(dialect=dialect)) for index in indexes]
    assert "id BIGSERIAL NOT NULL" in statements[1] + statements[2]
    assert len(statements) == 5
