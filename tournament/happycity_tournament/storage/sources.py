"""Where games are read from: stores, record files, and folders of record files, in any mix.

Games are read as a stream, so a source may be larger than the memory. Reading changes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from happycity.errors import HappyCityError, RecordError
from happycity.records.record import loads
from happycity.records.replay import config_of, record_at
from happycity_runtime.files import filled_lines
from happycity_tournament.games import FinishedGame, Result
from happycity_tournament.recorded_games import (
    RecordedGame,
    check_printable,
    game_of_record,
    in_parts,
    named_record,
)
from happycity_tournament.storage.backup import check_store
from happycity_tournament.storage.database import DAMAGED, is_file
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.store import Store
from happycity_tournament.storage.stored import StoredTournament

_SQLITE_HEADER = b"SQLite format 3\0"
_RECORD_FILES = (".json", ".jsonl")
_GAMES_AT_ONCE = 200
LIST_GAMES = "tournament games"
"""The command that lists games with their ids."""


class SourceError(HappyCityError):
    """A source can't be read; the text names it and what is wrong."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")


class Source(ABC):
    """Anything that games can be read from, more than once."""

    name: str
    """The name by which people know it, without a password."""
    files: Sequence[Path] = ()
    """The files that are read."""
    luck_evaluator: str = ""
    """The digest of the evaluator by which luck is taken off the scores; empty: it isn't."""
    adjusted: int = 0
    """The games of the present reading whose luck was computed."""

    def tournaments(self) -> list[StoredTournament]:
        """Return its tournaments, oldest first; record files have none."""
        return []

    def bots(self) -> Iterator[str]:
        """Yield the names of all bots, some more than once, those first that a tournament lists."""
        return (bot for game, _ in self.games(with_records=False) for bot in game.bots)

    @abstractmethod
    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        """Yield all games: a store's in the order of their schedules, a file's in its own order."""

    def results(self, *, whole: bool = False, with_records: bool = False) -> Iterator[list[Result]]:
        """Yield what ratings take of all games in the order of `games`, some of one tournament at once.

        If they are to be `whole`, they have all that tables and reports take. Unless it is to be
        `with_records`, a store leaves out the record of a game whose packed times are enough for those.
        """
        games = self.games(with_records=whole)
        return in_parts(game.result._replace(record=record) for game, record in games)

    @abstractmethod
    def newest_games(self, *, bot: str | None = None) -> Iterator[FinishedGame]:
        """Yield all games, or those of a bot, the newest first; a store reads only what is taken."""

    @abstractmethod
    def game(self, match_id: int | None = None) -> RecordedGame:
        """Return one game with its record, without reading the others; by default the only one.

        Raises:
            SourceError: there is no game with this id, or no default.
        """

    def only_id(self, ids: Sequence[int]) -> int:
        """Return the only one of the ids of games, of which two are enough.

        Raises:
            SourceError: there is none, or there are several.
        """
        if len(ids) == 1:
            return ids[0]
        if not ids:
            raise SourceError(self.name, "there is no game in it")
        text = f"it has several games; name one by its id, which this lists: {LIST_GAMES}"
        raise SourceError(self.name, text)

    def no_game(self, match_id: int) -> SourceError:
        """Return the error of a game that isn't there."""
        return SourceError(self.name, f"it has no game {match_id}; this lists its games: {LIST_GAMES}")

    def check(self) -> None:  # noqa: B027 - what isn't a store is read as a whole anyway
        """Make sure that games are complete, which reading some may not notice; StoreError if not."""

    def close(self) -> None:  # noqa: B027 - few sources keep something open
        """Close what is open."""


class StoreSource(Source):
    """The games of a store, or of one of its tournaments."""

    def __init__(self, url: str, *, name: str | None = None, tournament: int | None = None) -> None:
        self._opened = ExitStack()
        self._store = self._opened.enter_context(Store.existing(url))
        self._tournament = tournament
        self.name = name or self._store.url
        path = path_of(self._store.url)
        self.files = [] if path is None else [path]
        try:
            if tournament is not None:
                self._store.require_tournament(tournament)
        except StoreError:
            self.close()
            raise

    def tournaments(self) -> list[StoredTournament]:
        """Return all tournaments, or the chosen one."""
        if self._tournament is None:
            return self._store.tournaments(None)[::-1]
        return [self._store.require_tournament(self._tournament)]

    def bots(self) -> Iterator[str]:
        """Yield the bots of the tournaments, then those of the games."""
        for tournament in self.tournaments():
            bots = tournament.config.get("bots", ())
            self._check(bots)
            yield from bots
        if self._tournament is None:
            yield from self._store.bots()

    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        """Yield the games by tournament, round, table and rotation; those of no tournament by their ids."""
        games = self._store.all_games(tournament_id=self._tournament, with_records=with_records)
        self._opened.enter_context(closing(games))  # an error may end the reading in the middle
        for game, record in games:
            self._check(game.bots)
            yield game, record

    def results(self, *, whole: bool = False, with_records: bool = False) -> Iterator[list[Result]]:
        """Yield what ratings take of the games, or `whole` ones; those `with_records` are whole."""
        parts = (
            self._store.whole_result_parts(tournament_id=self._tournament, with_records=with_records)
            if whole
            else self._store.result_parts(tournament_id=self._tournament)
        )
        self._opened.enter_context(closing(parts))
        for results in parts:
            self._check({bot for one in results for bot in one.bots})
            yield results

    def newest_games(self, *, bot: str | None = None) -> Iterator[FinishedGame]:
        """Yield the games by their ids, the highest first."""
        before_id: int | None = None
        while page := self._store.games(_GAMES_AT_ONCE, before_id, tournament_id=self._tournament, bot=bot):
            for game in page:
                self._check(game.bots)
                yield game
            before_id = page[-1].match_id

    def game(self, match_id: int | None = None) -> RecordedGame:
        """Return the game with a match id and its record; by default the only game."""
        if match_id is None:
            newest = self._store.games(2, tournament_id=self._tournament)
            match_id = self.only_id([game.match_id for game in newest])
        game = self._store.game(match_id)
        if game is None or self._tournament not in (None, game.tournament_id):
            raise self.no_game(match_id)
        self._check(game.bots)
        return game, self._store.record(match_id)

    def check(self) -> None:
        """Let SQLite check a file as a whole."""
        for path in self.files:
            check_store(path)

    def close(self) -> None:
        """Close the store; readings that have not ended end."""
        self._opened.close()

    def _check(self, bots: Iterable[str]) -> None:
        try:
            for bot in bots:
                check_printable(bot)
        except RecordError as error:
            raise StoreError(self._store.url, f"{DAMAGED}: {error}") from None


class RecordSource(Source):
    """The games of a record file, or of all record files in a folder, in the order of their names."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.files = [path]
        if path.is_dir():
            self.files = sorted(
                file for file in path.iterdir() if file.suffix in _RECORD_FILES and file.is_file()
            )

    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        """Yield the games as they come in the files, numbered from 1."""
        number = 0
        for number, (where, line) in enumerate(self._lines(), start=1):
            yield _read_game(where, line, number=number), line.strip() if with_records else None
        if not number:
            raise SourceError(self.name, "no record in it")

    def newest_games(self, *, bot: str | None = None) -> Iterator[FinishedGame]:
        """Yield the games as if the last one in the files were the newest."""
        listed = [game for game, _ in self.games(with_records=False)]
        return (game for game in reversed(listed) if bot is None or bot in game.bots)

    def game(self, match_id: int | None = None) -> RecordedGame:
        """Return the game with a number and its record; by default the only game.

        Where the record doesn't name the bots, they are called by their seats: seat-1.
        """
        lines = self._lines()
        if match_id is None:
            first = list(islice(lines, 2))
            if first:
                _with_seat_names(*first[0])  # what isn't a file of records has no games to choose from
            match_id = self.only_id(range(1, len(first) + 1))
            lines = iter(first)
        for where, line in islice(lines, match_id - 1, match_id):
            named = _with_seat_names(where, line).strip()
            return _read_game(where, named, number=match_id), named
        raise self.no_game(match_id)

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield the place and text of every line that isn't blank."""
        for path in self.files:
            try:
                yield from filled_lines(str(path))
            except UnicodeDecodeError:
                raise SourceError(str(path), "neither a store nor a file of records") from None


def _with_seat_names(where: str, line: str) -> str:
    """Return a record with names of the bots in it, those of their seats if it has none."""
    with record_at(where):
        players = config_of(loads(line)).players
        return named_record([f"seat-{number}" for number in range(1, players + 1)], line)


def _read_game(where: str, line: str, *, number: int) -> FinishedGame:
    with record_at(where):
        return game_of_record(line, number=number)


def path_of(text: str) -> Path | None:
    """Return the file or folder of a source; None if it is a database on a server or in memory."""
    if "://" not in text:
        return Path(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        return None  # opening it says what is wrong
    return Path(str(url.database)) if is_file(url) else None


def is_sqlite(path: Path) -> bool:
    """Return whether a file is a SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
