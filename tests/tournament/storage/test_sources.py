"""Games are read from stores, record files and folders of record files; what can't be read is named."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.leagues import League

from happycity import HappyCityError
from happycity.records.record import Json
from happycity_tournament.games import FinishedGame, practice_seed
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.recorded_games import RecordedGame, game_of_record, named_record
from happycity_tournament.report.export import export_games
from happycity_tournament.standings.counted import Uncounted
from happycity_tournament.standings.rated_games import RatedGames, load_for_rating
from happycity_tournament.storage import Store, StoreError
from happycity_tournament.storage.sources import Source, SourceError, open_source

BOTS = ("ann", "bob", "cem", "dée")
OUTCOME = {"points": [9, 4], "coins": [0, 1], "inhabitants": [3, 2], "hearts": [3, 2], "ranks": [1, 2]}


def recorded_games(text: object, *, tournament: int | None = None) -> list[RecordedGame]:
    with closing(open_source(str(text), tournament=tournament)) as source:
        return list(source.games(with_records=True))


def games_of(text: object, *, tournament: int | None = None) -> list[FinishedGame]:
    return [game for game, _ in recorded_games(text, tournament=tournament)]


def rating_input(*texts: str) -> RatedGames:
    with ExitStack() as opened:
        return load_for_rating([opened.enter_context(closing(open_source(text))) for text in texts])


def write_records(store: Path, out: Path) -> Path:
    """Write the records of a store into a file."""
    with closing(open_source(str(store))) as source:
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


# What is read --------------------------------------------------------------------------------------------


def test_a_store_yields_its_games_in_the_order_of_the_schedule(tmp_path: Path) -> None:
    """Games come by round, table and rotation, whatever the order in which they ended."""
    league, url = League(BOTS, rounds=3), f"sqlite:///{tmp_path}/games.sqlite"
    games = list(league.games(1))
    with Store.create(url) as store:
        store.create_tournament(league.config, games_total=12, created_at=0.0)
        store.add_games(games[::-1])
    assert games_of(url) == [game for game, _ in games]


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


def test_forfeited_seats_of_a_record_share_the_last_place() -> None:
    """Places follow from outcome and endings, as in a store."""
    line = json.dumps(record(endings=["forfeit:timeout", "finished"]))
    assert game_of_record(line, number=1).places == (2, 1)


def test_a_bot_may_fill_several_seats_of_a_record() -> None:
    """Its name is there once for each seat."""
    assert game_of_record(json.dumps(record(bots=["ann", "ann"])), number=1).bots == ("ann", "ann")


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    """The record files of a folder are one source, in the order of their names; other files are ignored."""
    for name, seed in (("b.jsonl", 2), ("a.json", 1), ("notes.txt", 3)):
        (tmp_path / name).write_text(json.dumps(record(deal={"seed": seed})) + "\n\n")
    assert [(game.match_id, game.deal_seed) for game in games_of(tmp_path)] == [(1, 1), (2, 2)]


def test_bots_without_games_are_known(tmp_path: Path) -> None:
    """A tournament's bots are listed even if they never played."""
    url = League((*BOTS, "unmet"), playing=BOTS, rounds=1).store(tmp_path / "games.sqlite")
    with closing(open_source(url)) as source:
        assert list(dict.fromkeys(source.bots())) == [*BOTS, "unmet"]


def test_one_tournament_can_be_chosen(tmp_path: Path) -> None:
    """Games of other tournaments are left out."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        for rounds in (1, 2):
            League(BOTS, rounds=rounds).add_to(store)
    assert len(games_of(url)) == 12
    assert {game.tournament_id for game in games_of(url, tournament=2)} == {2}
    with pytest.raises(StoreError, match="has no tournament 3"):
        games_of(url, tournament=3)


def test_a_game_is_found_by_its_id(tmp_path: Path) -> None:
    """A store knows match ids, a record file the numbers of its lines; the record comes with the game."""
    url = League(BOTS, rounds=1).store(tmp_path / "games.sqlite")
    path = file_of(tmp_path / "records", record(deal={"seed": 1}), record(deal={"seed": 2}))
    for text in (url, path):
        with closing(open_source(str(text))) as source:
            (game, text_of_it) = list(source.games(with_records=True))[1]
            assert source.game(2) == (game, text_of_it)
            with pytest.raises(
                SourceError, match="it has no game 99; this lists its games: tournament games"
            ):
                source.game(99)


def test_a_game_of_another_tournament_is_not_found(tmp_path: Path) -> None:
    """A source that is one tournament of a store has its games only."""
    with Store.create(url := f"sqlite:///{tmp_path}/games.sqlite") as store:
        for _ in range(2):
            League(BOTS, rounds=1).add_to(store)
    with closing(open_source(url, tournament=2)) as source:
        assert source.game(5)[0].match_id == 5
        with pytest.raises(SourceError, match="it has no game 1;"):
            source.game(1)


def test_a_single_game_needs_no_names(tmp_path: Path) -> None:
    """A game of `happycity simulate` can be looked at: its bots are called by their seats."""
    with closing(open_source(str(file_of(tmp_path, record(bots=None))))) as source:
        game, text = source.game(1)
    assert game.bots == tuple(json.loads(str(text))["bots"]) == ("seat-1", "seat-2")


def test_file_of_something_else_has_no_games_to_choose_from(tmp_path: Path) -> None:
    """Without an id, the error says that the lines are no records, not that there are several games."""
    path = tmp_path / "notes.txt"
    path.write_text("first line\nsecond line\n")
    with closing(open_source(str(path))) as source, pytest.raises(SourceError, match=r":1: malformed record"):
        source.game()


def test_the_only_game_needs_no_id(tmp_path: Path) -> None:
    """It is clear which one is meant; among several it isn't."""
    one, two = file_of(tmp_path / "one", record()), file_of(tmp_path / "two", record(), record())
    with closing(open_source(str(one))) as source:
        assert source.game()[0].match_id == 1
    with closing(open_source(str(two))) as source, pytest.raises(SourceError, match="it has several games"):
        source.game()
    url = League(BOTS, rounds=1).store(tmp_path / "games.sqlite")
    with closing(open_source(url)) as source, pytest.raises(SourceError, match="it has several games"):
        source.game()


def test_a_source_can_be_read_twice(played: Path) -> None:
    """Names come from one reading, games from another."""
    with closing(open_source(str(played))) as source:
        assert (
            len(list(source.games(with_records=False))) == len(list(source.games(with_records=False))) == 48
        )


def test_a_source_can_be_closed_in_the_middle(played: Path) -> None:
    """An error in a game leaves the others unread, and the reader with that one error."""
    source: Source = open_source(str(played))
    games = source.games(with_records=True)
    next(games)
    source.close()
    assert list(games) == []


def test_games_are_read_as_a_stream(tmp_path: Path) -> None:
    """Two thousand games with their records, 3 MB of text, don't need a third of that at once."""
    url = League(BOTS, rounds=500).store(tmp_path / "games.sqlite")
    with closing(open_source(url)) as source:
        tracemalloc.start()
        size = sum(len(text or "") for _, text in source.games(with_records=True))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert size > 3_000_000
    assert peak < size / 3


# Copies and deals ----------------------------------------------------------------------------------------


def test_copies_of_a_game_count_once(played: Path, tmp_path: Path) -> None:
    """A store, a copy of it and its records are the same games."""
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(played.read_bytes())
    records = write_records(played, tmp_path / "games.jsonl")
    loaded = rating_input(f"sqlite:///{played}", str(copy), str(records))
    assert (loaded.count, loaded.copies) == (48, 96)
    assert loaded.games.games_played().tolist() == [48] * 4


def test_games_of_one_deal_belong_together_across_sources(tmp_path: Path) -> None:
    """The deal's seed says which games shared their cards."""
    one = file_of(tmp_path / "one", record(), record(deal={"seed": 6}))
    two = file_of(tmp_path / "two", record(bots=["bob", "ann"]))
    loaded = rating_input(str(one), str(two))
    assert loaded.count == 3
    assert estimate_of(loaded.games).deals.tolist() == [2, 2]


def test_games_with_a_disqualified_bot_are_not_rated(tmp_path: Path) -> None:
    """They are counted apart from the others."""
    path = file_of(tmp_path, record(), record(endings=["finished", "forfeit:disqualified"]))
    loaded = rating_input(str(path))
    assert (loaded.count, loaded.uncounted[Uncounted.UNRATED]) == (1, 1)


def test_games_that_differ_in_anything_are_no_copies() -> None:
    """The key of copies covers deal, seats, points, coins and endings."""
    games = (
        record(),
        record(deal={"seed": 6}),
        record(bots=["bob", "ann"]),
        record(outcome={**OUTCOME, "points": [9, 3]}),
        record(outcome={**OUTCOME, "coins": [1, 1]}),
        record(endings=["finished", "forfeit:absent"]),
    )
    assert len({game_of_record(json.dumps(game), number=1).result.copy_key for game in games}) == 6


# What is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"bots": None}, "it doesn't name the bots (key `bots`)"),
        ({"bots": ["ann"]}, "bots: expected 2 names, found ['ann']"),
        ({"bots": ["ann", 7]}, "bots: 7 can't be shown as a name"),
        ({"bots": ["ann", "\x1b[2J"]}, "bots: '\\x1b[2J' can't be shown as a name"),
        ({"bots": ["ann", "\ud800"]}, "bots: '\\ud800' can't be shown as a name"),
        ({"format": "happycity-record/2"}, "format: "),
        ({"endings": ["finished", "tired"]}, "endings: "),
        ({"deal": {"seed": True}}, "deal: seed: True is not a number from 0 to 2^64 - 1"),
        ({"deal": {"seed": 2**64}}, "deal: seed: 18446744073709551616 is not a number from 0 to 2^64 - 1"),
        ({"outcome": {**OUTCOME, "points": [1]}}, "outcome: points: "),
        ({"outcome": {**OUTCOME, "points": [10**400, 1]}}, "outcome: points: "),
        ({"config": None}, "record: config: "),
        ({"moves": None}, "moves: expected a list, found None"),
        ({"moves": [{"seat": 2, "move": "keep"}]}, "move 1: there is no seat 2"),
    ],
)
def test_a_malformed_record_is_named_with_its_place(tmp_path: Path, changes: Json, problem: str) -> None:
    """The error says file, line and what is wrong, in one line of readable length."""
    path = file_of(tmp_path, record(), record(**changes))
    with pytest.raises(SourceError) as refused:
        games_of(path)
    assert str(refused.value).startswith(f"{path}:2: malformed record: {problem}")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < len(str(path)) + 250


def test_a_source_that_is_missing_is_not_made(tmp_path: Path) -> None:
    """Neither the path nor the URL of a missing file makes it."""
    path = tmp_path / "missing.sqlite"
    for text in (str(path), f"sqlite:///{path}"):
        with pytest.raises(HappyCityError, match="there is no such file"):
            open_source(text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no record in it"),
        (b"\x00\xff\xfe", "neither a store nor a file of records"),
        (b"SQLite format 3\0 and no more", "not a SQLite database"),
        (b"hello\n", "malformed record: not JSON"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    """What is neither a store nor records costs one line."""
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(HappyCityError, match=problem):
        games_of(path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """A folder without record files is a mistake."""
    with pytest.raises(SourceError, match="no record in it"):
        games_of(tmp_path)


def test_record_files_have_no_tournaments(tmp_path: Path) -> None:
    """A tournament can't be chosen among them."""
    with pytest.raises(SourceError, match="leave --tournament out"):
        games_of(file_of(tmp_path, record()), tournament=1)


def test_names_that_no_server_takes_are_refused_in_a_store_too(tmp_path: Path) -> None:
    """A store of unknown origin can't send control characters to a terminal."""
    url = League(("ann", "\x1b]0;owned\x07"), seats=2, rounds=1).store(tmp_path / "games.sqlite")
    with pytest.raises(StoreError, match="can't be shown as a name"):
        games_of(url)


def test_passwords_are_hidden() -> None:
    """A source is named without its password."""
    with pytest.raises(StoreError) as refused:
        open_source("postgresql+nothing://me:secret@localhost/games")
    assert "secret" not in str(refused.value)


def test_practice_is_not_rated(tmp_path: Path) -> None:
    """Practice games are counted and left out, whether they come from a store or from records."""
    rated, practised = record(), record(deal={"seed": practice_seed(5)})
    loaded = rating_input(str(file_of(tmp_path / "records", rated, practised)))
    assert (loaded.count, loaded.uncounted[Uncounted.PRACTICE]) == (1, 1)
    store = tmp_path / "games.sqlite"
    with Store.create(f"sqlite:///{store}") as opened:
        game = game_of_record(json.dumps(practised), number=1)
        opened.add_games([(replace(game, created_at=1.0, started_at=1.0, finished_at=2.0), None)])
    assert (rating_input(str(store)).count, rating_input(str(store)).uncounted[Uncounted.PRACTICE]) == (0, 1)
