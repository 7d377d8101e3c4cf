"""What a store keeps, finds, refuses and survives. `test_postgresql` compares one in PostgreSQL with this."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest
from tests.tournament.games import BOTS, RECORD, single_game, stored_games, with_endings, with_records

from happycity import Ending, HappyCityError
from happycity_tournament.config import TournamentState
from happycity_tournament.games import FinishedGame
from happycity_tournament.storage import Progress, Store, StoreError, Troubles
from happycity_tournament.storage.schema import metadata

ROOT = Path(__file__).parents[3]
FINISHED, RUNNING = TournamentState.FINISHED, TournamentState.RUNNING
WAITING, UNREADABLE = TournamentState.WAITING, TournamentState.UNREADABLE


def add_tournament(store: Store, *bots: str, config: Mapping[str, Any] | None = None, **options: Any) -> int:
    """Store a tournament of these bots, by default of the made-up ones."""
    settings = {"bots": list(bots or BOTS)} if config is None else config
    return store.create_tournament(settings, **{"games_total": 8, "created_at": 5.0, **options})


def add_games(store: Store, *games: FinishedGame) -> None:
    store.add_games(with_records(games))


def change(path: Path, *statements: str) -> None:
    """Change a database behind the store's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def nothing(*found: object) -> bool:
    return found == (None,) * len(found)


def run(program: str, *, kill: bool = False) -> None:
    """Run a Python program that knows the store at `url`, to its end or until it kills itself."""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60, check=False)
    assert ended.returncode == (-signal.SIGKILL if kill else 0)


# Tournaments ---------------------------------------------------------------------------------------------


def test_a_new_store_is_empty(store: Store) -> None:
    """Opening creates the tables, and the first match has the id 1."""
    assert (store.tournaments(10), store.games(10)) == ([], [])
    assert (list(store.all_games()), list(store.bots())) == ([], [])
    assert nothing(store.tournament(1), store.tournament_state(1), store.game(1), store.record(1))
    assert store.next_match_id() == 1


def test_tournaments_come_back_newest_first(store: Store) -> None:
    """A tournament is stored with its configuration and state, and listed page by page."""
    config = {"seed": 2**64 - 1, "name": "é", "elo": 0.1}
    ids = [add_tournament(store, config=config, games_total=2**40, created_at=0.5 * n) for n in range(3)]
    store.set_state(ids[1], RUNNING)
    stored = store.tournament(ids[1])
    assert stored is not None
    assert (stored.config, stored.games_total, stored.created_at) == (config, 2**40, 0.5)
    assert (stored.state, store.tournament_state(ids[1]), stored.troubles) == (RUNNING, RUNNING, Troubles())
    assert [entry.id for entry in store.tournaments(2)] == [ids[2], ids[1]]
    assert [entry.id for entry in store.tournaments(2, ids[1])] == [ids[0]]
    assert [entry.id for entry in store.tournaments(None)] == ids[::-1]
    assert store.tournaments(1)[0].state is WAITING


def test_tournaments_are_found_by_their_state(store: Store) -> None:
    """A list may be of several states, page by page."""
    ids = [add_tournament(store) for _ in range(4)]
    store.set_state(ids[1], FINISHED)
    store.set_state(ids[3], TournamentState.INTERRUPTED)
    unfinished = {WAITING, RUNNING, TournamentState.INTERRUPTED}
    assert [entry.id for entry in store.tournaments(None, states=unfinished)] == [ids[3], ids[2], ids[0]]
    assert [entry.id for entry in store.tournaments(1, ids[3], states=unfinished)] == [ids[2]]


def test_tournaments_are_found_by_their_bots(store: Store) -> None:
    """Only by those that take part: not by parts of names, nor by names elsewhere in the configuration."""
    ids = [
        add_tournament(store, "ann", "x_y"),
        add_tournament(store, "anna", "x+y", "xzy"),
        add_tournament(store, config={"bots": ["bob", "cem"], "anchor": "ann"}),
        add_tournament(store, "bob", "ann"),
        add_tournament(store, config={"bots": "ann"}),
        add_tournament(store, config={"bots": 5, "other": "ann"}),
    ]
    assert [entry.id for entry in store.tournaments(None, bot="ann")] == [ids[3], ids[0]]
    assert [entry.id for entry in store.tournaments(1, bot="ann")] == [ids[3]]
    assert [entry.id for entry in store.tournaments(1, ids[3], bot="ann")] == [ids[0]]
    assert [entry.id for entry in store.tournaments(None, bot="x_y")] == [ids[0]]
    store.set_state(ids[3], FINISHED)
    assert [entry.id for entry in store.tournaments(None, bot="ann", states={FINISHED})] == [ids[3]]


def test_a_request_is_found_again(store: Store) -> None:
    """The tournament of a request id is known, and none is made for it twice."""
    add_tournament(store)
    made = add_tournament(store, request_id="a1")
    assert (store.tournament_of_request("a1"), store.tournament_of_request("a2")) == (made, None)
    with pytest.raises(StoreError, match="refuses what it holds already"):
        add_tournament(store, request_id="a1")
    assert len(store.tournaments(None)) == 2


def test_a_configuration_can_be_changed(store: Store) -> None:
    """That of one tournament changes, and nothing else of it, nor another one."""
    first, second = add_tournament(store), add_tournament(store)
    store.set_state(first, RUNNING)
    before = store.tournament(second)
    store.set_config(first, {"bots": ["eve"]}, games_total=3)
    stored = store.tournament(first)
    assert stored is not None
    assert (stored.config, stored.games_total, stored.state) == ({"bots": ["eve"]}, 3, RUNNING)
    assert store.tournament(second) == before


def test_troubles_of_a_tournament_are_kept(store: Store) -> None:
    """How many games were voided or unrated, who was disqualified, and the remarks are stored."""
    tournament_id = add_tournament(store)
    troubles = Troubles(
        games_voided=3, games_unrated=4, disqualified=("zoe", "ann"), remarks=("round 1 could not be played",)
    )
    store.set_troubles(tournament_id, troubles)
    stored = store.tournament(tournament_id)
    assert stored is not None
    assert stored.troubles == troubles


def test_changes_of_no_tournament_are_refused(store: Store) -> None:
    """Only a tournament that exists can be changed."""
    missing = "has no tournament 5"
    with pytest.raises(StoreError, match=missing):
        store.set_state(5, RUNNING)
    with pytest.raises(StoreError, match=missing):
        store.set_config(5, {}, games_total=1)
    with pytest.raises(StoreError, match=missing):
        store.set_troubles(5, Troubles())


@pytest.mark.parametrize(
    "damage",
    [
        "config = 'no JSON'",
        "config = '[1, 2]'",
        "config = '{}'",
        "config = ''",
        "state = 'of a later version'",
        "config = '5', state = '', remarks = 'nothing', disqualified = '{}'",
    ],
)
def test_a_row_that_cannot_be_read_hides_no_other(store: Store, path: Path, damage: str) -> None:
    """A tournament whose row was damaged is unreadable, and listed with all others; it can be deleted."""
    ids = [add_tournament(store) for _ in range(3)]
    change(path, f"UPDATE tournaments SET {damage} WHERE id = 2")
    assert [entry.id for entry in store.tournaments(None)] == ids[::-1]
    stored = store.tournament(2)
    assert stored is not None
    assert stored.state is UNREADABLE
    assert {entry.id for entry in store.tournaments(None, bot="ann")} >= {ids[0], ids[2]}
    store.delete_tournament(2)
    assert [entry.id for entry in store.tournaments(None)] == [3, 1]


def test_a_deleted_tournament_is_gone_with_its_games(store: Store, path: Path) -> None:
    """Its games and records are deleted too, those of others stay, and no id is used again."""
    first, second = add_tournament(store), add_tournament(store, request_id="a1")
    add_games(store, *stored_games(first), single_game(20), *stored_games(second, 30))
    assert store.delete_tournament(second) == 8
    assert nothing(
        store.tournament(second), store.tournament_state(second), store.tournament_of_request("a1")
    )
    assert nothing(store.game(30), store.record(30))
    assert (store.results(second), store.progress(second)) == ([], Progress())
    assert [game.match_id for game in store.games(100)] == [20, *range(8, 0, -1)]
    assert store.record(1) == store.record(20) == RECORD
    assert store.delete_tournament(second) == 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM records").fetchone() == (9,)
    with Store.create(store.url) as reopened:
        assert (reopened.next_match_id(), add_tournament(reopened)) == (38, 3)
        assert reopened.delete_tournament(first) == 8
        assert reopened.next_match_id() == 38


def test_games_are_deleted_in_parts(store: Store) -> None:
    """A part has its own transaction, so that finished games of other tournaments don't wait for all."""
    number = add_tournament(store)
    add_games(store, *stored_games(number))
    assert [store.delete_games(number, limit=3) for _ in range(4)] == [3, 3, 2, 0]
    assert store.next_match_id() == 9


# Games ---------------------------------------------------------------------------------------------------


def test_games_come_back_as_they_were(store: Store) -> None:
    """A game is read with all that it consists of, and its record apart from it."""
    games = [*stored_games(add_tournament(store)), single_game(50)]
    add_games(store, *games)
    store.add_games([(single_game(60), None)])
    store.add_games([])
    for game in games:
        assert store.game(game.match_id) == game
        assert store.record(game.match_id) == RECORD
    assert store.game(60) == single_game(60)
    assert store.record(60) is None
    assert store.next_match_id() == 61


@pytest.mark.parametrize("number", [0, -1, -(2**63), 2**63, 2**64, 10**30])
def test_ids_out_of_range_are_unknown(store: Store, number: int) -> None:
    """No game or tournament has them, and asking is no error."""
    assert nothing(store.game(number), store.record(number), store.tournament(number))


def test_games_are_listed_newest_first(store: Store) -> None:
    """Games come page by page, all of them or those of one tournament."""
    first, second = add_tournament(store), add_tournament(store)
    games = [*stored_games(first, 1), single_game(20), *stored_games(second, 30)]
    add_games(store, *games)
    assert store.games(100) == games[::-1]
    assert store.games(3, 31) == games[::-1][7:10]
    assert [game.match_id for game in store.games(3, tournament_id=first)] == [8, 7, 6]
    assert [game.match_id for game in store.games(3, 3, tournament_id=first)] == [2, 1]


def test_games_are_found_by_bot_and_ending(store: Store) -> None:
    """With both, the seat that ended so must be the bot's."""
    ann_late = with_endings(single_game(3), *[Ending.TIMEOUT] * 1, *[Ending.FINISHED] * 3)
    add_games(store, single_game(1), replace(single_game(2), bots=("bob", "cem", "dee", "anna")), ann_late)

    def found(**filters: Any) -> list[int]:
        return [game.match_id for game in store.games(10, **filters)]

    assert found(bot="ann") == [3, 1]
    assert found(bot="x_y") == [3, 1]
    assert found(bot="x%y") == []
    assert found(bot="ANN") == []
    assert [game.match_id for game in store.games(1, bot="ann")] == [3]
    assert found(ending=Ending.CRASHED) == [2, 1]
    assert found(ending=Ending.FINISHED) == [3, 2, 1]
    assert found(ending=Ending.ABSENT) == []
    assert found(bot="ann", ending=Ending.RESIGNED) == [1]
    assert found(bot="ann", ending=Ending.TIMEOUT) == [3]
    assert found(bot="zoe", ending=Ending.TIMEOUT) == []
    assert [game.match_id for game in store.games(1, bot="ann", ending=Ending.FINISHED)] == [3]
    assert [game.match_id for game in store.games(1, 3, bot="ann", ending=Ending.FINISHED)] == [1]


@pytest.mark.parametrize("name", ["@Žofka", "@Кіт", "é"])
def test_names_of_any_script_are_found(store: Store, name: str) -> None:
    """A search by a bot or person finds names with characters beyond ASCII."""
    (game, *_) = stored_games(add_tournament(store, name, *BOTS[1:]))
    add_games(store, replace(game, bots=(name, *game.bots[1:])))
    assert [found.bots[0] for found in store.games(9, bot=name)] == [name]
    assert [found.bots[0] for found in store.tournaments(9, bot=name)] == [name]


def test_results_come_in_the_order_of_the_schedule(store: Store) -> None:
    """The results of a tournament are its games by round, table and rotation, whatever was stored first."""
    first, second = add_tournament(store), add_tournament(store)
    games = stored_games(first)
    add_games(store, *games[::-1], *stored_games(second, 100), single_game(99))
    assert store.results(first) == games
    assert store.results(77) == []


def test_all_games_come_by_tournament(store: Store) -> None:
    """Each tournament's in the order of its schedule, with or without records, then those of none."""
    first, second = add_tournament(store), add_tournament(store)
    games = [*stored_games(first, 50), *stored_games(second, 1)]
    add_games(store, single_game(20), *games[::-1])
    expected = {game.match_id: game for game in [*games, single_game(20)]}
    found = [game for game, _ in store.all_games()]
    assert {game.match_id: game for game in found} == expected
    assert [game for game in found if game.tournament_id is not None] == games
    assert list(store.all_games(tournament_id=second, with_records=True)) == with_records(games[8:])
    assert {record for _, record in store.all_games()} == {None}
    assert set(store.bots()) == {*BOTS, "zoe", "x_y"}


def test_progress_is_that_of_the_games(store: Store) -> None:
    """Games, decisions and the time from the first start to the last end are summed up."""
    tournament_id = add_tournament(store)
    assert store.progress(tournament_id) == Progress()
    assert Progress().seconds == 0.0
    games = stored_games(tournament_id)
    add_games(store, *games)
    progress = store.progress(tournament_id)
    assert progress == Progress(games=8, decisions=8 * 77, started_at=100.5, finished_at=108.0)
    assert progress.seconds == 7.5
    counted = Progress()
    for game in games[::-1]:
        counted = counted.plus(game)
    assert counted == progress


@pytest.mark.parametrize("twice", ["id", "fixture"])
def test_no_game_is_stored_twice(store: Store, twice: str) -> None:
    """A batch with a game that is there already, by id or by its place in the schedule, changes nothing."""
    games = stored_games(add_tournament(store))
    add_games(store, *games[:3])
    again = replace(games[4], match_id=3) if twice == "id" else replace(games[2], match_id=9)
    with pytest.raises(StoreError, match="refuses what it holds already") as caught:
        add_games(store, games[5], again)
    assert not caught.value.for_all
    assert [game.match_id for game in store.games(10)] == [3, 2, 1]
    assert store.record(6) is None


def test_games_of_unknown_tournaments_are_refused(store: Store) -> None:
    """A tournament must be there before its games."""
    with pytest.raises(StoreError, match="or what belongs to nothing"):
        add_games(store, *stored_games(1))


def test_errors_reveal_nothing_of_what_is_stored(store: Store) -> None:
    """A game that is refused may share its deal with others, so no log may show it by the error."""
    add_games(store, single_game(1))
    with pytest.raises(StoreError) as caught:
        add_games(store, single_game(1))
    assert str(single_game(1).deal_seed) not in "".join(format_exception(caught.value))


@pytest.mark.parametrize(
    ("damage", "read"),
    [
        ("UPDATE games SET bots = 'ann'", lambda store: store.game(1)),
        ("UPDATE records SET record = substr(record, 1, 9)", lambda store: store.record(1)),
        ("UPDATE records SET record = x'00'", lambda store: list(store.all_games(with_records=True))),
    ],
)
def test_damaged_games_are_an_error_of_the_store(
    store: Store, path: Path, damage: str, read: Callable[[Store], object]
) -> None:
    """A game or record that can't be read is not its caller's fault, and the error says what to do."""
    add_games(store, single_game(1))
    change(path, damage)
    with pytest.raises(StoreError, match="is damaged; restore a copy"):
        read(store)


# Processes and threads -----------------------------------------------------------------------------------


def test_everything_survives_reopening(url: str) -> None:
    """What was stored is there when the store is opened again."""
    with Store.create(url) as store:
        games = stored_games(add_tournament(store))
        add_games(store, *games)
    with Store.create(url) as store:
        assert store.results(1) == games
        assert store.record(8) == RECORD


def test_committed_games_survive_a_kill(url: str) -> None:
    """What `add_games` has written when it returns is there after the process is killed."""
    run(
        f"""
import os, signal
from tests.tournament.games import single_game, with_records
from happycity_tournament.storage import Store
Store.create({url!r}).add_games(with_records([single_game(7)]))
os.kill(os.getpid(), signal.SIGKILL)
""",
        kill=True,
    )
    with Store.create(url) as store:
        assert store.game(7) == single_game(7)


def test_reading_goes_on_while_another_thread_writes(store: Store) -> None:
    """Readers see the last committed state in the midst of a transaction, and neither waits for the other."""
    add_games(store, single_game(1))
    with ThreadPoolExecutor(max_workers=1) as thread, store.writing() as connection:
        connection.exec_driver_sql("DELETE FROM records")
        assert thread.submit(store.record, 1).result(timeout=10) == RECORD
    assert store.record(1) is None


def test_several_processes_may_create_a_database_at_once(url: str) -> None:
    """One of them does it, and all find it done."""
    with ThreadPoolExecutor(max_workers=4) as threads:
        for store in threads.map(Store.create, [url] * 4):
            assert store.next_match_id() == 1
            store.close()


# Databases that are no stores ----------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["moz_places (id INTEGER)", "meta (name TEXT)"])
@pytest.mark.parametrize("method", [Store.create, Store.existing])
def test_a_database_of_another_program_is_refused(
    url: str, path: Path, table: str, method: Callable[[str], Store]
) -> None:
    """Another program's database is left as it is."""
    Store.create(url).close()  # makes the folder
    change(path, *(f"DROP TABLE {entry.name}" for entry in reversed(metadata.sorted_tables)))
    change(path, f"CREATE TABLE {table}")
    with pytest.raises(StoreError, match="belongs to another program; choose an empty database"):
        method(url)
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
    assert names == [(table.partition(" ")[0],)]


@pytest.mark.parametrize("method", [Store.create, Store.existing])
def test_another_schema_is_refused(url: str, path: Path, method: Callable[[str], Store]) -> None:
    """A database of another version is not touched."""
    Store.create(url).close()
    change(path, "UPDATE meta SET value = '9'")
    with pytest.raises(StoreError, match="has schema version 9, this program knows version 1"):
        method(url)


@pytest.mark.parametrize("method", [Store.create, Store.existing])
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("happycity.db", "has no valid URL; it should read like sqlite:///"),
        ("postgresql://ann:secret@host:port/db", "has no valid URL"),
        ("foo://ann:secret@host/db", "is of an unknown kind"),
        ("oracle+oracledb://ann:secret@host/db", "needs the Python package oracledb; install it"),
    ],
)
def test_bad_urls_are_named_without_their_password(
    url: str, message: str, method: Callable[[str], Store]
) -> None:
    """A URL that can't be used is an error in one line that names it, its password hidden."""
    with pytest.raises(HappyCityError, match=message) as caught:
        method(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
