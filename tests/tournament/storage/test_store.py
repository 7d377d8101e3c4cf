"""What a store keeps, finds, refuses and survives, in each kind of database."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest
from sqlalchemy import inspect
from tests.tournament.games import BOTS, RECORD, single_game, stored_games, with_endings, with_records
from tests.waiting import LIMIT

from happycity import BotInfo, Ending, HappyCityError
from happycity_tournament.config import TournamentState
from happycity_tournament.games import BotProfile, FinishedGame
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.packing import unpack
from happycity_tournament.storage.schema import metadata
from happycity_tournament.storage.store import Store
from happycity_tournament.storage.stored import Problems, Progress, StoredTournament

ROOT = Path(__file__).parents[3]
FINISHED, RUNNING = TournamentState.FINISHED, TournamentState.RUNNING
WAITING, UNREADABLE = TournamentState.WAITING, TournamentState.UNREADABLE


def add_tournament(store: Store, *bots: str, config: Mapping[str, Any] | None = None, **options: Any) -> int:
    """Store a tournament of these bots, by default of the made-up ones."""
    settings = {"bots": list(bots or BOTS)} if config is None else config
    return store.create_tournament(settings, **{"games_total": 8, "created_at": 5.0, **options})


def add_games(store: Store, *games: FinishedGame) -> None:
    store.add_games(with_records(games))


def change(store: Store, *statements: str) -> None:
    """Change a database behind the store's back."""
    with store.writing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def ids(entries: list[StoredTournament] | list[FinishedGame]) -> list[int]:
    return [entry.id if isinstance(entry, StoredTournament) else entry.match_id for entry in entries]


def nothing(*found: object) -> bool:
    return found == (None,) * len(found)


def test_a_new_store_is_empty(store: Store) -> None:
    assert (store.tournaments(10), store.games(10)) == ([], [])
    assert (list(store.all_games()), list(store.bots())) == ([], [])
    assert nothing(store.tournament(1), store.game(1), store.record(1))
    assert store.next_match_id() == 1


def test_tournaments_with_one_seed_have_the_same_deals(store: Store) -> None:
    """Of others come the states in which they may still be played."""
    for seed, state in ((2**64 - 1, FINISHED), (2**64 - 1, RUNNING), (2**64 - 1, FINISHED), (7, RUNNING)):
        number = add_tournament(store, config={"seed": seed})
        store.set_state(number, state)
    assert store.states_by_deals({1, 2, 4, 5}) == {1: [FINISHED, RUNNING], 2: [RUNNING], 4: [RUNNING]}
    add_games(store, *stored_games(1)[:3])
    seed = stored_games(1)[0].deal_seed
    assert store.tournaments_of_deals({seed, 8}) == {(seed, 1)}


def test_tournaments_come_back_newest_first(store: Store) -> None:
    config = {"seed": 2**64 - 1, "name": "é", "elo": 0.1}
    for number in range(4):
        add_tournament(store, config=config, games_total=2**40, created_at=0.5 * number)
    store.set_state(2, RUNNING)
    store.set_state(4, FINISHED)
    stored = store.require_tournament(2)
    assert (stored.config, stored.games_total, stored.created_at) == (config, 2**40, 0.5)
    assert (stored.state, stored.problems) == (RUNNING, Problems())
    assert ids(store.tournaments(None)) == [4, 3, 2, 1]
    assert ids(store.tournaments(2)) == [4, 3]
    assert ids(store.tournaments(2, 2)) == [1]
    assert ids(store.tournaments(None, states={WAITING, FINISHED})) == [4, 3, 1]
    assert ids(store.tournaments(1, 4, states={WAITING, RUNNING})) == [3]


def test_tournaments_are_found_by_their_bots(store: Store) -> None:
    """Only by those that take part: not by parts of names, nor by names elsewhere in the configuration."""
    add_tournament(store, "ann", "x_y")
    add_tournament(store, "anna", "x+y", "xzy")
    for config in ({"bots": ["bob", "cem"], "anchor": "ann"}, {"bots": "ann"}, {"bots": 5, "other": "ann"}):
        add_tournament(store, config=config)
    last = add_tournament(store, "bob", "ann")
    assert ids(store.tournaments(None, bot="ann")) == [last, 1]
    assert ids(store.tournaments(1, bot="ann")) == [last]
    assert ids(store.tournaments(1, last, bot="ann")) == [1]
    assert ids(store.tournaments(None, bot="x_y")) == [1]
    store.set_state(last, FINISHED)
    assert ids(store.tournaments(None, bot="ann", states={FINISHED})) == [last]


def test_a_request_is_found_again(store: Store) -> None:
    add_tournament(store)
    made = add_tournament(store, request_id="a1")
    assert (store.tournament_of_request("a1"), store.tournament_of_request("a2")) == (made, None)
    with pytest.raises(StoreError, match="refuses what it holds already"):
        add_tournament(store, request_id="a1")
    assert len(store.tournaments(None)) == 2


def test_changes_are_those_of_one_tournament(store: Store) -> None:
    """Its configuration and what went wrong, and nothing else; one that isn't there is refused."""
    first, second = add_tournament(store), add_tournament(store)
    store.set_state(first, RUNNING)
    before = store.tournament(second)
    problems = Problems(games_voided=3, games_unrated=4, disqualified=("zoe", "é"), remarks=("'\"",))
    store.set_config(first, {"bots": ["eve"]}, games_total=3)
    store.set_problems(first, problems)
    stored = store.require_tournament(first)
    assert (stored.config, stored.games_total, stored.state) == ({"bots": ["eve"]}, 3, RUNNING)
    assert stored.problems == problems
    assert store.tournament(second) == before
    refused: tuple[Callable[[], None], ...] = (
        lambda: store.set_state(5, RUNNING),
        lambda: store.set_config(5, {}, games_total=1),
        lambda: store.set_problems(5, Problems()),
    )
    for change_of_none in refused:
        with pytest.raises(StoreError, match="has no tournament 5"):
            change_of_none()


def test_profiles_are_kept(store: Store) -> None:
    zig = BotProfile(BotInfo(author="Anna", version="1.0", language="Zig", description="counts é"), "zig/3")
    none = BotProfile(BotInfo(), "")
    first, second = add_tournament(store), add_tournament(store)
    store.set_profiles(first, {"ann": zig, "bob": none})
    store.set_profiles(second, {"ann": none})
    store.set_profiles(first, {"bob": zig})
    assert store.require_tournament(first).profiles == {"ann": zig, "bob": zig}
    assert [entry.profiles for entry in store.tournaments(10)] == [{"ann": none}, {"ann": zig, "bob": zig}]
    assert store.tournaments(1, bot="ann")[0].profiles == {"ann": none}
    store.delete_tournament(first)
    assert [entry.profiles for entry in store.tournaments(10)] == [{"ann": none}]


def test_a_row_that_cannot_be_read_hides_no_other(store: Store) -> None:
    for damage in (
        "config = 'no JSON'",
        "config = '[1, 2]'",
        "config = '{}'",
        "config = ''",
        "state = 'of a later version'",
        "config = '5', state = '', remarks = 'nothing', disqualified = '{}'",
    ):
        first, damaged, last = (add_tournament(store) for _ in range(3))
        change(store, f"UPDATE tournaments SET {damage} WHERE id = {damaged}")
        assert ids(store.tournaments(3)) == [last, damaged, first]
        assert store.require_tournament(damaged).state is UNREADABLE
        assert {*ids(store.tournaments(None, bot="ann"))} >= {first, last}
        store.delete_tournament(damaged)
        assert ids(store.tournaments(2)) == [last, first]


def test_a_deleted_tournament_is_gone_with_its_games(store: Store) -> None:
    first, second = add_tournament(store), add_tournament(store, request_id="a1")
    add_games(store, *stored_games(first), single_game(20), *stored_games(second, 30))
    assert store.delete_tournament(second) == 8
    assert nothing(store.tournament(second), store.tournament_of_request("a1"))
    assert nothing(store.game(30), store.record(30))
    assert (store.results(second), store.progress(second)) == ([], Progress())
    assert ids(store.games(100)) == [20, *range(8, 0, -1)]
    assert store.record(1) == store.record(20) == RECORD
    assert store.delete_tournament(second) == 0
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM records").scalar() == 9
    with Store.create(store.url) as reopened:
        assert (reopened.next_match_id(), add_tournament(reopened)) == (38, 3)
        assert reopened.delete_tournament(first) == 8
        assert reopened.next_match_id() == 38


def test_games_are_deleted_in_parts(store: Store) -> None:
    """A part has its own transaction, so that finished games of others don't wait; the newest go first."""
    number = add_tournament(store)
    add_games(store, *stored_games(number))
    left = []
    while store.delete_games(number, limit=3):
        left.append(ids(store.results(number)))
    assert left == [[1, 2, 3, 4, 5], [1, 2], []]
    assert store.next_match_id() == 9


def test_games_come_back_as_they_were(store: Store) -> None:
    games = [*stored_games(add_tournament(store)), single_game(50)]
    add_games(store, *games)
    store.add_games([(single_game(2**63 - 2), None)])
    store.add_games([])
    for game in games:
        assert store.game(game.match_id) == game
        assert store.record(game.match_id) == RECORD
    assert store.game(2**63 - 2) == single_game(2**63 - 2)
    assert store.record(2**63 - 2) is None
    assert store.next_match_id() == 2**63 - 1


def test_ids_out_of_range_are_unknown(store: Store) -> None:
    for number in (0, -1, -(2**63), 2**63, 2**64, 10**30):
        assert nothing(store.game(number), store.record(number), store.tournament(number))


def test_games_are_listed_newest_first(store: Store) -> None:
    first, second = add_tournament(store), add_tournament(store)
    games = [*stored_games(first, 1), single_game(20), *stored_games(second, 30)]
    add_games(store, *games)
    assert store.games(100) == games[::-1]
    assert store.games(3, 31) == games[::-1][7:10]
    assert ids(store.games(3, tournament_id=first)) == [8, 7, 6]
    assert ids(store.games(3, 3, tournament_id=first)) == [2, 1]


def test_games_are_found_by_bot_and_ending(store: Store) -> None:
    """With both, the seat that ended so must be the bot's."""
    ann_late = with_endings(single_game(3), *[Ending.TIMEOUT] * 1, *[Ending.FINISHED] * 3)
    add_games(store, single_game(1), replace(single_game(2), bots=("bob", "cem", "dee", "anna")), ann_late)
    for filters, found in [
        ({"bot": "ann"}, [3, 1]),
        ({"bot": "x_y"}, [3, 1]),
        ({"bot": "x%y"}, []),
        ({"bot": "ANN"}, []),
        ({"ending": Ending.CRASHED}, [2, 1]),
        ({"ending": Ending.FINISHED}, [3, 2, 1]),
        ({"ending": Ending.ABSENT}, []),
        ({"bot": "ann", "ending": Ending.RESIGNED}, [1]),
        ({"bot": "ann", "ending": Ending.TIMEOUT}, [3]),
        ({"bot": "ann", "ending": Ending.FINISHED}, [3, 1]),
        ({"bot": "zoe", "ending": Ending.TIMEOUT}, []),
    ]:
        assert ids(store.games(10, **filters)) == found, filters  # type: ignore[arg-type]  # any of them
    assert ids(store.games(1, bot="ann")) == [3]
    assert ids(store.games(1, 3, bot="ann", ending=Ending.FINISHED)) == [1]


def test_names_of_any_script_are_found(store: Store) -> None:
    for number, name in enumerate(("@Žofka", "@Кіт", "é"), start=1):
        (game, *_) = stored_games(add_tournament(store, name, *BOTS[1:]))
        add_games(store, replace(game, match_id=number, tournament_id=number, bots=(name, *game.bots[1:])))
        assert (ids(store.games(9, bot=name)), ids(store.tournaments(9, bot=name))) == ([number], [number])


def test_results_come_in_the_order_of_the_schedule(store: Store) -> None:
    """By round, table and rotation, whatever was stored first; those of no tournament come apart."""
    first, second = add_tournament(store), add_tournament(store)
    games = [*stored_games(first, 50, rounds=3), *stored_games(second, 1)]
    add_games(store, single_game(20), *games[::-1])
    assert (store.results(first), store.results(77)) == (games[:12], [])
    found = [game for game, _ in store.all_games()]
    assert [game for game in found if game.tournament_id is not None] == games
    assert [game for game in found if game.tournament_id is None] == [single_game(20)]
    assert list(store.all_games(tournament_id=second, with_records=True)) == with_records(games[12:])
    assert {record for _, record in store.all_games()} == {None}
    assert set(store.bots()) == {*BOTS, "zoe", "x_y"}


def test_progress_is_that_of_the_games(store: Store) -> None:
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


def test_no_game_is_stored_twice(store: Store) -> None:
    games = stored_games(add_tournament(store))
    add_games(store, *games[:3])
    for again in (replace(games[4], match_id=3), replace(games[2], match_id=9)):
        with pytest.raises(StoreError, match="refuses what it holds already") as caught:
            add_games(store, games[5], again)
        assert not caught.value.for_all
        assert ids(store.games(10)) == [3, 2, 1]
        assert store.record(6) is None


def test_a_table_goes_with_its_game(store: Store) -> None:
    """The latest state of each is kept until its game is stored, which gets the id that it had."""
    for number in range(3):
        store.put_table("one", 7, {"moves": number, "name": "Zoë"})
    store.put_table("two", None, {})
    store.put_table("three", 9, {})
    store.delete_table("three")
    states = {key: json.loads(unpack(state)) for key, state in store.tables().items()}
    assert states == {"one": {"moves": 2, "name": "Zoë"}, "two": {}}
    assert store.next_match_id() == 8
    add_games(store, single_game(7))
    assert list(store.tables()) == ["two"]


def test_errors_reveal_nothing_of_what_is_stored(store: Store) -> None:
    """A game that is refused may share its deal with others, so no log may show it by the error."""
    add_games(store, single_game(1))
    with pytest.raises(StoreError) as caught:
        add_games(store, single_game(1))
    assert str(single_game(1).deal_seed) not in "".join(format_exception(caught.value))


def test_damaged_games_are_an_error_of_the_store(store: Store) -> None:
    add_games(store, single_game(1))
    cases: dict[str, Callable[[], object]] = {
        "records SET record = substr(record, 1, 9)": lambda: store.record(1),
        "records SET record = substr(record, 1, 1)": lambda: list(store.all_games(with_records=True)),
        "games SET bots = '5'": lambda: store.game(1),
        "games SET points = '5'": lambda: list(store.whole_result_parts()),
    }
    for damage, read in cases.items():
        change(store, f"UPDATE {damage}")
        with pytest.raises(StoreError, match="is damaged; restore a copy"):
            read()


@pytest.mark.level(2)
def test_committed_games_survive_a_kill(url: str) -> None:
    program = f"""
import os, signal
from tests.tournament.games import single_game, with_records
from happycity_tournament.storage.store import Store
Store.create({url!r}).add_games(with_records([single_game(7)]))
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=LIMIT, check=False)
    assert ended.returncode == -signal.SIGKILL
    with Store.create(url) as store:
        assert (store.game(7), store.record(7)) == (single_game(7), RECORD)


def test_reading_goes_on_while_another_thread_writes(store: Store) -> None:
    """Readers see the last committed state in the midst of a transaction, and neither waits for the other."""
    add_games(store, single_game(1))
    with ThreadPoolExecutor(max_workers=1) as thread, store.writing() as connection:
        connection.exec_driver_sql("DELETE FROM records")
        assert thread.submit(store.record, 1).result(timeout=LIMIT) == RECORD
    assert store.record(1) is None


def test_several_processes_may_create_a_database_at_once(url: str) -> None:
    with ThreadPoolExecutor(max_workers=4) as threads:
        for store in threads.map(Store.create, [url] * 4):
            assert store.next_match_id() == 1
            store.close()


def test_a_store_that_is_opened_to_read_cannot_be_written_to(store: Store) -> None:
    with Store.existing(store.url) as reader, pytest.raises(StoreError, match=r"can only be read|read-only"):
        add_games(reader, single_game(60))


@pytest.mark.parametrize("table", ["moz_places (id INTEGER)", "meta (name TEXT)"])
def test_a_database_of_another_program_is_refused(url: str, table: str) -> None:
    with Store.create(url) as store:
        with store.writing() as connection:
            metadata.drop_all(connection)
        change(store, f"CREATE TABLE {table}")
        for method in (Store.create, Store.existing):
            with pytest.raises(StoreError, match="belongs to another program; choose an empty database"):
                method(url)
        with store.reading() as connection:
            assert inspect(connection).get_table_names() == [table.partition(" ")[0]]


@pytest.mark.parametrize("method", [Store.create, Store.existing])
def test_bad_urls_are_named_without_their_password(
    method: Callable[[str], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = {
        "happycity.db": "has no valid URL; it should read like sqlite:///",
        "postgresql://ann:secret@host:port/db": "has no valid URL",
        "foo://ann:secret@host/db": "is of an unknown kind",
        "oracle+oracledb://ann:secret@host/db": "needs the Python package oracledb; install it",
        "postgresql+psycopg://ann:secret@127.0.0.1:1/arena": "can't be reached: ",
        "postgresql+psycopg://ann:secret@/arena?host=/no": "can't be reached: ",
    }
    for url, message in cases.items():
        with pytest.raises(HappyCityError, match=message) as caught:
            method(url)
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"package psycopg; install it by: pip install '.*\[postgresql\]'"):
        method("postgresql+psycopg://ann@/arena")
