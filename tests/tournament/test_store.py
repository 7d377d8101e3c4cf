"""The store in every kind of database; `test_store_sqlite` and `test_store_postgresql` are of one each."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from traceback import format_exception

import pytest
from sqlalchemy import create_engine, inspect
from tests.tournament.games import RECORD, results, single, stored, without_record

from happycity.errors import HappyCityError
from happycity_tournament.store import WAITING, Progress, Store, StoredTournament, StoreError
from happycity_tournament.tables import metadata


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


def change(url: str, *statements: str) -> None:
    """Do something to a database behind the store's back."""
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def test_a_new_store_is_empty(store: Store) -> None:
    """Opening creates the tables."""
    assert store.tournaments(10) == []
    assert store.games(10) == []
    assert store.next_game_id() == 1
    assert store.game(1) is None
    assert store.record(1) is None
    assert store.tournament(1) is None


def test_tournaments_come_back_newest_first(store: Store) -> None:
    """A tournament is stored with its configuration and state, and listed page by page."""
    ids = [store.create_tournament({"seed": 2**64 - 1, "name": "é"}, float(number)) for number in range(3)]
    store.set_state(ids[1], "running")
    found = store.tournament(ids[1])
    assert found is not None
    assert (found.config, found.state, found.created_at) == ({"seed": 2**64 - 1, "name": "é"}, "running", 1.0)
    assert [one.id for one in store.tournaments(2)] == [ids[2], ids[1]]
    assert [one.id for one in store.tournaments(2, before_id=ids[1])] == [ids[0]]
    assert store.tournaments(1)[0].state == WAITING


def test_the_state_of_no_tournament_is_an_error(store: Store) -> None:
    """A state can only be set of a tournament that exists."""
    with pytest.raises(StoreError, match="knows no tournament 5"):
        store.set_state(5, "running")


def test_a_configuration_can_be_changed(store: Store) -> None:
    """That of one tournament and no other, and nothing else of it."""
    ids = [store.create_tournament({"bots": ["ann"]}, float(number)) for number in range(2)]
    store.set_state(ids[0], "running")
    store.set_config(ids[0], {"bots": ["ann", "bob"]})
    changed, other = store.tournament(ids[0]), store.tournament(ids[1])
    assert changed is not None
    assert other is not None
    assert (changed.config, changed.state, changed.created_at) == ({"bots": ["ann", "bob"]}, "running", 0.0)
    assert other.config == {"bots": ["ann"]}
    with pytest.raises(StoreError, match="knows no tournament 5"):
        store.set_config(5, {})


def test_the_last_round_is_told_by_the_games(store: Store) -> None:
    """It is the highest of the tournament's own, and 0 without any."""
    first, second = (store.create_tournament({}, 0.0) for _ in range(2))
    assert store.last_round(first) == 0
    store.add_games([*stored(first, 1, rounds=3), single(60)])
    assert (store.last_round(first), store.last_round(second)) == (3, 0)


def test_games_come_back_as_they_were(store: Store) -> None:
    """A game is read with all its columns, and its record apart from it."""
    tournament_id = store.create_tournament({}, 0.0)
    games = [*stored(tournament_id), single(50)]
    store.add_games(games)
    for game in games:
        assert store.game(game.id) == without_record(game)
        assert store.record(game.id) == RECORD
    assert store.next_game_id() == 51


def test_games_are_listed_newest_first(store: Store) -> None:
    """Games come page by page, all of them or those of one tournament."""
    first, second = (store.create_tournament({}, 0.0) for _ in range(2))
    games = [*stored(first, 1), single(20), *stored(second, 30)]
    store.add_games(games)
    store.add_games([])
    everything = [without_record(game) for game in reversed(games)]
    assert store.games(100) == everything
    assert store.games(3, before_id=31) == everything[7:10]
    assert [game.id for game in store.games(3, tournament_id=first)] == [8, 7, 6]
    assert [game.id for game in store.games(3, 3, tournament_id=first)] == [2, 1]


def test_results_come_in_schedule_order(store: Store) -> None:
    """A tournament's results are what was played, by round, table and rotation, whatever came first."""
    tournament_id, other = (store.create_tournament({}, 0.0) for _ in range(2))
    store.add_games([*stored(tournament_id)[::-1], *stored(other, 100), single(99)])
    assert store.results(tournament_id) == results()
    assert store.results(77) == []


def test_a_game_without_tournament_is_no_result() -> None:
    """A game outside of tournaments has no place in a schedule."""
    with pytest.raises(ValueError, match="game 7 belongs to no tournament"):
        _ = single(7).result


def test_progress_is_told_by_the_games(store: Store) -> None:
    """Games, decisions and the time from the first start to the last end are summed up."""
    tournament_id = store.create_tournament({}, 0.0)
    assert store.progress(tournament_id) == Progress()
    assert Progress().seconds == 0.0
    games = stored(tournament_id)
    store.add_games(games)
    told = store.progress(tournament_id)
    assert told == Progress(games=8, decisions=8 * 77, began_at=100.75, ended_at=108.0)
    assert told.seconds == 7.25
    counted = Progress()
    for game in games[::-1]:
        counted = counted.plus(game)
    assert counted == told


def test_troubles_of_a_tournament_are_kept(store: Store) -> None:
    """How many games were voided, and what a person should know, is stored with the tournament."""
    tournament_id = store.create_tournament({}, 0.0)
    store.set_troubles(tournament_id, 3, ["round 1, table 0, rotation 2 could not be played"])
    found = store.tournament(tournament_id)
    assert found is not None
    assert (found.games_voided, found.remarks) == (3, ["round 1, table 0, rotation 2 could not be played"])


def test_tournaments_are_found_by_their_state(store: Store) -> None:
    """All tournaments in one of several states come back, oldest first."""
    ids = [store.create_tournament({}, 0.0) for _ in range(4)]
    store.set_state(ids[1], "finished")
    store.set_state(ids[3], "interrupted")
    assert [one.id for one in store.tournaments_in([WAITING, "interrupted"])] == [ids[0], ids[2], ids[3]]


@pytest.mark.parametrize("twice", ["id", "fixture"])
def test_no_game_is_stored_twice(store: Store, twice: str) -> None:
    """A batch with a game that is there already, by id or by its place in the schedule, changes nothing."""
    tournament_id = store.create_tournament({}, 0.0)
    games = stored(tournament_id)
    store.add_games(games[:3])
    again = games[4] if twice == "id" else games[2]
    with pytest.raises(StoreError, match="holds this game already"):
        store.add_games([games[5], replace(again, id=3 if twice == "id" else 9)])
    assert [game.id for game in store.games(10)] == [3, 2, 1]
    assert store.record(6) is None


def test_errors_tell_nothing_of_what_is_stored(store: Store) -> None:
    """A game that is refused may share its deal with others, so no log may learn of it by the error."""
    store.add_games([single(1)])
    with pytest.raises(StoreError) as caught:
        store.add_games([single(1)])
    assert str(single(1).deal_seed) not in "".join(format_exception(caught.value))


def test_games_of_unknown_tournaments_are_refused(store: Store) -> None:
    """A tournament must be there before its games."""
    with pytest.raises(StoreError, match="knows no such tournament"):
        store.add_games(stored(1))


def test_everything_survives_reopening(url: str) -> None:
    """What was stored is there when the store is opened again."""
    with Store(url) as store:
        tournament_id = store.create_tournament({"bots": ["ann"]}, 5.0)
        store.add_games(stored(tournament_id))
    with Store(url) as store:
        assert store.results(tournament_id) == results()
        assert store.record(8) == RECORD


def test_committed_games_survive_a_kill(url: str) -> None:
    """What `add_games` has written when it returns is there after the program is killed without warning."""
    program = f"""
import os, signal
from happycity_tournament.store import Store, StoredGame
store = Store({url!r})
tournament = store.create_tournament({{}}, 0.0)
store.add_games([{single(7)!r}])
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert killed.returncode == -9
    with Store(url) as store:
        assert store.game(7) == without_record(single(7))


def test_another_thread_may_use_the_store(store: Store) -> None:
    """A store opened in one thread works in another, as long as one at a time uses it."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(store.add_games, [single(1)]).result()
        assert thread.submit(store.next_game_id).result() == 2
    assert store.next_game_id() == 2


@pytest.mark.parametrize("table", ["moz_places (id INTEGER)", "meta (name TEXT)"])
def test_a_database_of_another_program_is_refused(url: str, table: str) -> None:
    """Another program's database is left as it is."""
    Store(url).close()  # makes the folder
    change(url, *(f"DROP TABLE {one.name}" for one in reversed(metadata.sorted_tables)))
    change(url, f"CREATE TABLE {table}")
    with pytest.raises(StoreError, match="belongs to another program; choose an empty database"):
        Store(url)
    engine = create_engine(url)
    assert inspect(engine).get_table_names() == [table.partition(" ")[0]]
    engine.dispose()


def test_several_programs_may_create_a_database_at_once(url: str) -> None:
    """One of them does it, and all find it done."""
    with ThreadPoolExecutor(max_workers=4) as threads:
        for store in threads.map(Store, [url] * 4):
            assert store.next_game_id() == 1
            store.close()


def test_a_damaged_record_is_told(store: Store, url: str) -> None:
    """A record that can't be unpacked is an error of the store, not of its caller."""
    store.add_games([single(1)])
    change(url, "UPDATE records SET record = substr(record, 1, 9)")
    with pytest.raises(StoreError, match="is damaged"):
        store.record(1)


# Earlier versions


def test_a_newer_schema_is_refused(url: str) -> None:
    """A database of a later version is not touched."""
    Store(url).close()
    change(url, "UPDATE meta SET value = '9'")
    with pytest.raises(StoreError, match="has schema version 9, this program knows version 2"):
        Store(url)


SCHEMA_1 = """
CREATE TABLE meta ("key" VARCHAR NOT NULL, value VARCHAR NOT NULL, PRIMARY KEY ("key"));
CREATE TABLE tournaments (
    id {serial} NOT NULL, config JSON NOT NULL, state VARCHAR NOT NULL, created_at FLOAT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE games (
    id {id} NOT NULL, tournament_id {id}, round INTEGER, "table" INTEGER, rotation INTEGER,
    deal_seed VARCHAR NOT NULL, bots JSON NOT NULL, bot_seeds JSON NOT NULL, points JSON NOT NULL,
    coins JSON NOT NULL, places JSON NOT NULL, endings JSON NOT NULL, decisions INTEGER NOT NULL,
    seconds FLOAT NOT NULL, finished_at FLOAT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT games_once UNIQUE (tournament_id, round, "table", rotation),
    FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
);
CREATE INDEX games_of_tournament ON games (tournament_id, id);
CREATE TABLE records (
    game_id {id} NOT NULL, record {bytes} NOT NULL,
    PRIMARY KEY (game_id), FOREIGN KEY(game_id) REFERENCES games (id)
);
INSERT INTO meta VALUES ('schema_version', '1');
INSERT INTO tournaments (config, state, created_at) VALUES ('{{"seed": 1}}', 'running', 5.0)
"""
"""A database as schema version 1 had it."""


@pytest.fixture
def old_url(new_url: Callable[[], str]) -> str:
    """Give the URL of a database of schema version 1."""
    url = new_url()
    if url.startswith("sqlite"):
        types = {"serial": "INTEGER", "id": "INTEGER", "bytes": "BLOB"}
        Store(url).close()  # makes the folder
        change(url, *(f"DROP TABLE {one.name}" for one in reversed(metadata.sorted_tables)))
    else:
        types = {"serial": "BIGSERIAL", "id": "BIGINT", "bytes": "BYTEA"}
    change(url, *SCHEMA_1.format(**types).split(";"))
    return url


def test_a_database_of_schema_version_1_is_brought_up_to_date(old_url: str) -> None:
    """What is in an old database is kept and can be used like anything new; opening again changes nothing."""
    for _ in range(2):
        with Store(old_url) as store:
            found = store.tournament(1)
            assert found == StoredTournament(1, {"seed": 1}, "running", 5.0, games_voided=0, remarks=[])
    with Store(old_url) as store:
        store.add_games(stored(1))
        store.set_troubles(1, 1, ["a remark"])
        assert store.create_tournament({}, 0.0) == 2
        assert store.results(1) == results()


def test_a_schema_that_was_brought_up_to_date_is_like_a_new_one(
    old_url: str, new_url: Callable[[], str]
) -> None:
    """Old databases end with the same columns as new ones, in the same order."""
    assert columns(old_url) == columns(new_url())


def columns(url: str) -> list[tuple[object, ...]]:
    """Open a store and return all its columns."""
    Store(url).close()
    engine = create_engine(url)
    found = inspect(engine)
    told: list[tuple[object, ...]] = [
        (table.name, column["name"], str(column["type"]), column["nullable"], column["default"])
        for table in metadata.sorted_tables
        for column in found.get_columns(table.name)
    ]
    engine.dispose()
    return told


def test_several_programs_may_bring_a_database_up_to_date_at_once(old_url: str) -> None:
    """One of them does it, and all find it done."""
    with ThreadPoolExecutor(max_workers=4) as threads:
        for store in threads.map(Store, [old_url] * 4):
            assert store.tournament(1) is not None
            store.close()


# Claims


def test_a_store_has_one_server(url: str) -> None:
    """Of two servers only the first gets the store; whoever only reads is not affected."""
    with Store(url) as first, Store(url) as second:
        first.claim()
        with pytest.raises(
            StoreError, match="is in use by another server; stop that one or choose"
        ) as caught:
            second.claim()
        assert "\n" not in str(caught.value)
        first.add_games([single(1)])
        assert second.next_game_id() == 2


def test_a_claim_ends_with_its_store(url: str) -> None:
    """A server that stops leaves the store to the next one."""
    with Store(url) as store:
        store.claim()
    with Store(url) as store:
        store.claim()


def test_a_killed_server_leaves_no_claim(url: str) -> None:
    """After a kill without warning the store can be claimed at once; before, it could not."""
    program = f"""
import sys
from happycity_tournament.store import Store
store = Store({url!r})
store.claim()
print("claimed", flush=True)
sys.stdin.read()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "claimed\n"
        with Store(url) as store:
            with pytest.raises(StoreError, match="is in use by another server"):
                store.claim()
            holder.kill()
            holder.communicate()
            store.claim()
    finally:
        holder.kill()
        holder.communicate()


def test_a_claim_that_is_held_is_no_error(store: Store) -> None:
    """Checking a claim says nothing while it stands, nor where there is none."""
    store.check_claim()
    store.claim()
    store.check_claim()
    store.add_games([single(1)])
    store.check_claim()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("happycity.db", "has no valid URL; it should read like sqlite:///"),
        ("postgresql://ann:secret@host:port/db", "has no valid URL"),
        ("foo://ann:secret@host/db", "is of an unknown kind"),
        ("oracle+oracledb://ann:secret@host/db", "needs the Python package oracledb; install it"),
    ],
)
def test_bad_urls_are_told_without_their_password(url: str, message: str) -> None:
    """A URL that can't be used gives one line that names it, its password hidden."""
    with pytest.raises(HappyCityError, match=message) as caught:
        Store(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
