"""What only a store in PostgreSQL can meet with."""

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.tournament.games import single_game, with_records
from tests.tournament.storage.postgres import Cluster, database_of

from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.schema import metadata
from happycity_tournament.storage.store import Store


@pytest.fixture
def url(cluster: Cluster) -> str:
    return cluster.new_database()


def add(store: Store, match_id: int) -> None:
    store.add_games(with_records([single_game(match_id)]))


def test_an_index_for_few_deals_leaves_out_the_others(cluster: Cluster, url: str) -> None:
    Store.create(url).close()
    query = "SELECT indexdef FROM pg_indexes WHERE indexname = 'ladder_deals_of_challenge'"
    ((definition,),) = cluster.execute(database_of(url), query)
    assert str(definition).endswith("(challenge_id, id) WHERE (challenge_id IS NOT NULL)")


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
    Store.create(url).close()
    with Store.existing(url) as store:
        cluster.end_connections(database_of(url))
        with pytest.raises(StoreError, match="has ended the connection"):
            store.next_match_id()
        assert store.next_match_id() == 1


def test_a_user_who_may_only_read_can_read_a_store(cluster: Cluster, url: str) -> None:
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
    database = database_of(url)
    cluster.execute(database, f"CREATE ROLE stranger_{database} LOGIN")
    with pytest.raises(StoreError, match="can't be written to by this user"):
        Store.create(cluster.url(database, user=f"stranger_{database}"))


def test_a_database_that_is_not_there_is_named(cluster: Cluster) -> None:
    with pytest.raises(StoreError, match='database "nothing" does not exist'):
        Store.existing(cluster.url("nothing"))


def test_the_tables_suit_postgresql() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it so
    statements = [str(CreateTable(table).compile(dialect=dialect)) for table in metadata.sorted_tables]
    indexes = [index for table in metadata.sorted_tables for index in table.indexes]
    statements += [str(CreateIndex(index).compile(dialect=dialect)) for index in indexes]
    created = {name: text for text in statements for name in (text.split()[2],)}
    for name in ("tournaments", "ladder_deals"):
        assert "id BIGSERIAL NOT NULL" in created[name]
    assert "id BIGINT NOT NULL" in created["games"]
