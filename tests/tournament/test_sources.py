"""Reading games for offline work from stores, record files and folders."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from tests.tournament.stores import League

from happycity.errors import HappyCityError
from happycity.records import Json
from happycity_tournament.played_games import PlayedGame, game_of_record, record_with_bots
from happycity_tournament.sources import (
    Source,
    SourceError,
    gather,
    open_source,
    open_sources,
    open_tournament,
)
from happycity_tournament.store import Store, StoredGame, StoreError

BOTS = ("ann", "bob", "cem", "dée")


def games_of(text: object, *, tournament: int | None = None) -> list[PlayedGame]:
    with open_sources([str(text)], tournament=tournament) as (source,):
        return list(source.games(with_records=True))


def write_records(source: Path, out: Path) -> Path:
    """Write the records of a store into a file."""
    records = filter(None, map(record_with_bots, games_of(source)))
    out.write_text("".join(f"{record}\n" for record in records), encoding="utf-8")
    return out


def record(**changes: object) -> Json:
    """Make a record that can be read, with these keys changed; None takes a key away."""
    told: Json = {
        "format": "happycity-record/1",
        "config": {"players": 2, "mode": "family", "scoring": "product"},
        "deal": {"seed": 5},
        "bots": ["ann", "bob"],
        "moves": [{"seat": 0, "move": "keep"}],
        "outcome": {
            "points": [9, 4], "coins": [0, 1], "inhabitants": [3, 2], "hearts": [3, 2], "ranks": [1, 2],
        },
        "endings": ["finished", "finished"],
    }  # fmt: skip
    return {key: value for key, value in {**told, **changes}.items() if value is not None}


def file_of(tmp_path: Path, *records: Json) -> Path:
    path = tmp_path / "games.jsonl"
    path.write_text("".join(json.dumps(told) + "\n" for told in records))
    return path


# What is read --------------------------------------------------------------------------------------------


def test_a_store_tells_its_games_in_the_order_of_the_schedule(tmp_path: Path) -> None:
    """Games come by round, table and rotation, whatever the order in which they ended."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store(f"sqlite:///{tmp_path}/first.sqlite") as first:
        League(BOTS, rounds=3).add_to(first)
        stored = first.games(100)
    with Store(url) as store:
        store.create_tournament({"bots": list(BOTS)}, 0.0)
        for number, game in enumerate(stored, start=1):  # the last one first
            columns = {name: getattr(game, name) for name in game.__slots__}
            store.add_games([StoredGame(**{**columns, "id": number})])
    positions = [(game.round, game.table, game.rotation) for game in games_of(url)]
    assert positions == sorted(positions)
    assert len(positions) == 12


def test_a_record_file_tells_what_the_store_told(played: Path, tmp_path: Path) -> None:
    """Of a finished game, a record with the bots' names holds all that ratings need."""
    stored = games_of(played)
    recorded = games_of(write_records(played, tmp_path / "games.jsonl"))
    assert len(stored) == len(recorded) == 48
    for game, other in zip(stored, recorded, strict=True):
        for name in ("deal_seed", "bots", "points", "coins", "places", "endings", "decisions", "fingerprint"):
            assert getattr(game, name) == getattr(other, name), name
        assert (game.tournament_id, other.tournament_id) == (1, None)


def test_forfeited_seats_of_a_record_share_the_last_place() -> None:
    """Places follow from outcome and endings, as in a store."""
    line = json.dumps(record(endings=["forfeit:timeout", "finished"]))
    assert game_of_record(line, number=1).places == (2, 1)


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    """The record files of a folder are one source, in the order of their names; others are left alone."""
    for name, seed in (("b.jsonl", 2), ("a.json", 1), ("notes.txt", 3)):
        (tmp_path / name).write_text(json.dumps(record(deal={"seed": seed})) + "\n\n")
    assert [(game.id, game.deal_seed) for game in games_of(tmp_path)] == [(1, 1), (2, 2)]


def test_bots_without_games_are_known(tmp_path: Path) -> None:
    """A tournament's bots are listed even if they never played."""
    url = League((*BOTS, "unmet"), playing=BOTS, rounds=1).store(tmp_path / "games.sqlite")
    with open_sources([url]) as (source,):
        assert list(dict.fromkeys(source.bots())) == [*BOTS, "unmet"]


def test_one_tournament_can_be_chosen(tmp_path: Path) -> None:
    """Games of other tournaments, and of none, are left out."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store(url) as store:
        League(BOTS, rounds=1).add_to(store)
        League(BOTS, rounds=2).add_to(store)
    assert len(games_of(url)) == 12
    assert {game.tournament_id for game in games_of(url, tournament=2)} == {2}
    with pytest.raises(StoreError, match="knows no tournament 3"):
        games_of(url, tournament=3)
    with (
        pytest.raises(SourceError, match="holds 2 tournaments, 1 to 2; add --tournament"),
        open_tournament(url),
    ):
        pass


def test_the_only_tournament_needs_no_choice(tmp_path: Path) -> None:
    """Where there is one tournament it is the one, and where there is none all games are."""
    url = League(BOTS, rounds=1).store(tmp_path / "games.sqlite")
    with open_tournament(url) as source:
        assert [tournament.id for tournament in source.tournaments()] == [1]
    with open_tournament(str(file_of(tmp_path, record()))) as source:
        assert source.tournaments() == []


# Copies and deals ----------------------------------------------------------------------------------------


def test_copies_of_a_game_count_once(played: Path, tmp_path: Path) -> None:
    """A store, a copy of it and its records are the same games."""
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(played.read_bytes())
    records = write_records(played, tmp_path / "games.jsonl")
    with open_sources([f"sqlite:///{played}", str(copy), str(records)]) as sources:
        gathered = gather(sources)
    assert (gathered.count, gathered.copies) == (48, 96)
    assert gathered.games.games_played().tolist() == [48] * 4


def test_games_of_one_deal_belong_together_across_sources(tmp_path: Path) -> None:
    """The deal's seed tells which games shared their cards."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = file_of(tmp_path / "one", record(), record(deal={"seed": 6}))
    two = file_of(tmp_path / "two", record(bots=["bob", "ann"]))
    with open_sources([str(one), str(two)]) as sources:
        gathered = gather(sources)
    assert gathered.count == 3
    assert gathered.games.deals_played().tolist() == [2, 2]


def test_games_that_differ_in_anything_are_no_copies() -> None:
    """The fingerprint holds deal, seats, points, coins and endings."""
    outcome = record()["outcome"]
    others = (
        record(deal={"seed": 6}),
        record(bots=["bob", "ann"]),
        record(outcome={**outcome, "points": [9, 3]}),
        record(outcome={**outcome, "coins": [1, 1]}),
        record(endings=["finished", "forfeit:absent"]),
    )
    prints = {game_of_record(json.dumps(told), number=1).fingerprint for told in (record(), *others)}
    assert len(prints) == 6


def test_games_are_read_as_a_stream(tmp_path: Path) -> None:
    """Two thousand games with their records, 3 MB of text, don't need a quarter of that at once."""
    url = League(BOTS, rounds=500).store(tmp_path / "games.sqlite")
    with open_sources([url]) as (source,):
        tracemalloc.start()
        size = sum(len(game.record or "") for game in source.games(with_records=True))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert size > 3_000_000
    assert peak < size / 4


# What is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"bots": None}, "doesn't name the bots (key `bots`), so nobody can be rated by it"),
        ({"bots": ["ann"]}, "bots: 1 for 2 seats"),
        ({"bots": ["ann", 7]}, "bots: expected str, found 7"),
        ({"bots": ["ann", "ann"]}, "bots: one of ann, ann is named twice"),
        ({"bots": ["ann", "\x1b[2J"]}, "bots: '\\x1b[2J' can't be shown as a name"),
        ({"bots": ["ann", "\ud800"]}, "bots: '\\ud800' can't be shown as a name"),
        ({"format": "happycity-record/2"}, "format: 'happycity-record/2' instead of"),
        ({"endings": ["finished", "tired"]}, "endings: 'tired' is none of"),
        ({"deal": {"seed": True}}, "seed: expected int, found True"),
        ({"outcome": {"points": [1]}}, "points: 1 for 2 seats"),
        ({"config": None}, "config: expected dict, found None"),
        ({"moves": None}, "moves: expected list, found None"),
    ],
)
def test_a_malformed_record_is_named_with_its_place(tmp_path: Path, changes: Json, told: str) -> None:
    """The error says file, line and what is wrong, in one line."""
    path = file_of(tmp_path, record(), record(**changes))
    with pytest.raises(SourceError) as refused:
        games_of(path)
    assert str(refused.value).startswith(f"{path}:2: malformed record: ")
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_source_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Neither a path nor a URL of a file that is missing makes it."""
    path = tmp_path / "missing.sqlite"
    for text in (str(path), f"sqlite:///{path}"):
        with pytest.raises(SourceError, match="there is no such file"):
            open_source(text)
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no record in it"),
        (b"\x00\xff\xfe", "neither a store nor a file of records"),
        (b"SQLite format 3\0 and no more", "not a SQLite database"),
        (b"hello\n", "malformed record: not JSON"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, told: str) -> None:
    """What is neither a store nor records costs one line."""
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(HappyCityError, match=told):
        games_of(path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """A folder without record files is a mistake."""
    with pytest.raises(SourceError, match="no record in it"):
        games_of(tmp_path)


def test_record_files_know_no_tournaments(tmp_path: Path) -> None:
    """Asking for a tournament of a record file is a mistake."""
    with pytest.raises(SourceError, match="leave --tournament away"):
        games_of(file_of(tmp_path, record()), tournament=1)


def test_names_that_no_server_takes_are_refused_in_a_store_too(tmp_path: Path) -> None:
    """A store that somebody else made can't send control characters to a terminal."""
    url = League(("ann", "\x1b]0;owned\x07"), seats=2, rounds=1).store(tmp_path / "games.sqlite")
    with pytest.raises(StoreError, match="can't be shown as a name"):
        games_of(url)


def test_passwords_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source is named without its password."""
    with pytest.raises(StoreError) as refused:
        open_source("postgresql+nothing://me:secret@localhost/games")
    assert "secret" not in str(refused.value)


def test_a_source_can_be_read_twice(played: Path) -> None:
    """Names come from one reading, games from another."""
    source: Source = open_source(str(played))
    assert len(list(source.games(with_records=False))) == len(list(source.games(with_records=False))) == 48
    source.close()
