"""Games are read from stores, record files and folders of record files; what can't be read is named."""

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.leagues import League

from happycity import HappyCityError, RecordError
from happycity.records.record import Json
from happycity_tournament.cli.addresses import open_sources, url_of
from happycity_tournament.games import FinishedGame, practice_seed
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.recorded_games import RecordedGame, game_of_record, named_record
from happycity_tournament.report.export import export_games
from happycity_tournament.standings.counted import Uncounted
from happycity_tournament.standings.rated_games import RatedGames, load_for_rating
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.sources import Source, SourceError, StoreSource
from happycity_tournament.storage.store import Store

BOTS = ("ann", "bob", "cem", "dée")
OUTCOME = {"points": [9, 4], "coins": [0, 1], "inhabitants": [3, 2], "hearts": [3, 2], "ranks": [1, 2]}


@contextmanager
def opened(text: object, *, tournament: int | None = None) -> Iterator[Source]:
    with open_sources([f"{text}#{tournament}" if tournament else str(text)]) as (source,):
        yield source


def recorded_games(text: object, *, tournament: int | None = None) -> list[RecordedGame]:
    with opened(text, tournament=tournament) as source:
        return list(source.games(with_records=True))


def games_of(text: object, *, tournament: int | None = None) -> list[FinishedGame]:
    return [game for game, _ in recorded_games(text, tournament=tournament)]


def rating_input(*texts: str) -> RatedGames:
    with open_sources(texts) as sources:
        return load_for_rating(sources, {})


def write_records(store: Path, out: Path) -> Path:
    with opened(store) as source:
        export_games(source, out, file_format="records")
    return out


def record(**changes: object) -> Json:
    """Make a record that can be read, with these keys changed; None takes a key away."""
    keys: Json = {
        "format": "happycity-record/1",
        "config": {"players": 2, "mode": "family", "scoring": "product"},
        "deal": {"seed": 5},
        "bots": ["ann", "bob"],
        "moves": [{"seat": 0, "move": "keep"}],
        "outcome": OUTCOME,
        "endings": ["finished", "finished"],
        **changes,
    }
    return {key: value for key, value in keys.items() if value is not None}


def file_of(folder: Path, *records: Json) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "games.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in records))
    return path


def test_a_record_file_has_what_ratings_need(played: Path, tmp_path: Path) -> None:
    """A record with the bots' names says the same of a game as the store, but not when and where."""
    stored = recorded_games(played)
    recorded = recorded_games(write_records(played, tmp_path / "games.jsonl"))
    assert len(stored) == len(recorded) == 48
    for (game, text), (other, line) in zip(stored, recorded, strict=True):
        for name in ("deal_seed", "config", "bots", "seats", "decisions"):
            assert getattr(game, name) == getattr(other, name), name
        assert game.result.copy_key == other.result.copy_key
        assert (game.tournament_id, other.tournament_id, other.position) == (1, None, None)
        assert named_record(game.bots, str(text)) == line


def test_seats_of_a_record_are_those_of_a_store() -> None:
    forfeited, twice = record(endings=["forfeit:timeout", "finished"]), record(bots=["ann", "ann"])
    assert game_of_record(json.dumps(forfeited), number=1).places == (2, 1)
    assert game_of_record(json.dumps(twice), number=1).bots == ("ann", "ann")


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "c.json").mkdir()
    with pytest.raises(SourceError, match="no record in it"):
        games_of(tmp_path)
    for name, seed in (("b.jsonl", 2), ("a.json", 1), ("notes.txt", 3)):
        (tmp_path / name).write_text(json.dumps(record(deal={"seed": seed})) + "\n\n")
    assert [(game.match_id, game.deal_seed) for game in games_of(tmp_path)] == [(1, 1), (2, 2)]


@pytest.mark.level(1)
def test_one_tournament_can_be_chosen(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        for rounds in (1, 2):
            League((*BOTS, "unmet"), playing=BOTS, rounds=rounds).add_to(store)
    assert len(games_of(url)) == 12
    with opened(url, tournament=2) as source:
        assert {game.tournament_id for game, _ in source.games(with_records=False)} == {2}
        assert list(dict.fromkeys(source.bots())) == [*BOTS, "unmet"]
        assert source.game(5)[0].match_id == 5
        with pytest.raises(SourceError, match="it has no game 1;"):
            source.game(1)
    with pytest.raises(StoreError, match="has no tournament 3"):
        games_of(url, tournament=3)
    with pytest.raises(HappyCityError, match="leave #1 out"):
        games_of(file_of(tmp_path / "records", record()), tournament=1)


def test_a_game_is_found_by_its_id(tmp_path: Path) -> None:
    """A match id, or the number of a line; the only game needs none. The record comes with the game."""
    url = League(BOTS, rounds=1).store(tmp_path / "games.sqlite")
    path = file_of(tmp_path / "records", record(deal={"seed": 1}), record(deal={"seed": 2}))
    for text in (url, path):
        with opened(text) as source:
            second = list(source.games(with_records=True))[1]
            assert source.game(2) == second
            with pytest.raises(SourceError, match="no game 99; this lists its games: tournament games"):
                source.game(99)
            with pytest.raises(SourceError, match="it has several games"):
                source.game()
    with opened(file_of(tmp_path / "one", record(bots=None))) as source:
        game, record_text = source.game()
    assert game.match_id == 1
    assert game.bots == tuple(json.loads(str(record_text))["bots"]) == ("seat-1", "seat-2")  # without names
    (tmp_path / "notes.txt").write_text("first line\nsecond line\n")
    with opened(tmp_path / "notes.txt") as source, pytest.raises(RecordError, match=r":1: malformed record"):
        source.game()


def test_a_source_can_be_read_twice_and_closed_in_the_middle(played: Path) -> None:
    """Names come from one reading, games from another; an error in a game leaves the others unread."""
    source: Source = StoreSource(url_of(str(played)))
    assert [len(list(source.games(with_records=False))) for _ in range(2)] == [48, 48]
    games = source.games(with_records=True)
    next(games)
    source.close()
    assert list(games) == []


@pytest.mark.level(2)
def test_games_are_read_as_a_stream(tmp_path: Path) -> None:
    """Two thousand games with their records, 3 MB of text, don't need a third of that at once."""
    url = League(BOTS, rounds=500).store(tmp_path / "games.sqlite")
    with opened(url) as source:
        tracemalloc.start()
        size = sum(len(text or "") for _, text in source.games(with_records=True))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert size > 3_000_000
    assert peak < size / 3


def test_what_is_rated_of_records(tmp_path: Path) -> None:
    """Games with the seed of a deal shared its cards; practice and disqualified bots are counted apart."""
    disqualified = record(endings=["finished", "forfeit:disqualified"])
    practised = record(deal={"seed": practice_seed(5)})
    one = file_of(tmp_path / "one", record(), record(deal={"seed": 6}), disqualified, practised)
    two = file_of(tmp_path / "two", record(bots=["bob", "ann"]))
    loaded = rating_input(str(one), str(two))
    assert (loaded.count, loaded.uncounted) == (3, {Uncounted.UNRATED: 1, Uncounted.PRACTICE: 1})
    assert estimate_of(loaded.games).deals.tolist() == [2, 2]
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        game = game_of_record(json.dumps(practised), number=1)
        store.add_games([(replace(game, created_at=1.0, started_at=1.0, finished_at=2.0), None)])
    assert (rating_input(url).count, rating_input(url).uncounted[Uncounted.PRACTICE]) == (0, 1)


def test_games_that_differ_in_anything_are_no_copies() -> None:
    games = (
        record(),
        record(deal={"seed": 6}),
        record(bots=["bob", "ann"]),
        record(outcome={**OUTCOME, "points": [9, 3]}),
        record(outcome={**OUTCOME, "coins": [1, 1]}),
        record(endings=["finished", "forfeit:absent"]),
    )
    assert len({game_of_record(json.dumps(game), number=1).result.copy_key for game in games}) == 6


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"bots": None}, "it doesn't name the bots (key `bots`)"),
        ({"bots": ["ann"]}, "bots: expected 2 names, found ['ann']"),
        ({"bots": ["ann", 7]}, "bots: 7 can't be shown as a name"),
        ({"bots": ["ann", "\x1b[2J"]}, "bots: '\\x1b[2J' can't be shown as a name"),
        ({"bots": ["ann", "\ud800"]}, "bots: '\\ud800' can't be shown as a name"),
        ({"deal": {"seed": True}}, "deal: seed: True is not a number from 0 to 2^64 - 1"),
        ({"outcome": {**OUTCOME, "points": [10**400, 1]}}, "outcome: points: "),
        ({"config": None}, "record: config: "),
        ({"moves": None}, "record: moves: expected list, found None"),
    ],
)
def test_a_malformed_record_is_named_with_its_place(tmp_path: Path, changes: Json, problem: str) -> None:
    path = file_of(tmp_path, record(), record(**changes))
    with pytest.raises(RecordError) as refused:
        games_of(path)
    assert str(refused.value).startswith(f"{path}:2: malformed record: {problem}")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < len(str(path)) + 250


def test_a_source_that_is_missing_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "missing.sqlite"
    for text in (str(path), f"sqlite:///{path}"):
        with pytest.raises(HappyCityError, match="there is no such file"):
            games_of(text)
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content, problem in [
        (b"", "no record in it"),
        (b"\x00\xff\xfe", "neither a store nor a file of records"),
        (b"SQLite format 3\0 and no more", "not a SQLite database"),
        (b"hello\n", "malformed record: not JSON"),
    ]:
        path.write_bytes(content)
        with pytest.raises(HappyCityError, match=problem):
            games_of(path)


def test_names_that_no_server_takes_are_refused_in_a_store_too(tmp_path: Path) -> None:
    """A store of unknown origin can't send control characters to a terminal."""
    url = League(("ann", "\x1b]0;owned\x07"), seats=2, rounds=1).store(tmp_path / "games.sqlite")
    with pytest.raises(StoreError, match="can't be shown as a name"):
        games_of(url)
