"""Where offline work reads games from: stores, record files, and folders of these, in any mix.

Games are read as a stream, so a source may be larger than the memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Row, Select, make_url, select
from sqlalchemy.exc import ArgumentError

from happycity.errors import HappyCityError, RecordError
from happycity_tournament.database import Database, StoreError
from happycity_tournament.game_columns import Games, GamesBuilder
from happycity_tournament.played_games import PlayedGame, checked_names, game_of_record
from happycity_tournament.store import StoredTournament
from happycity_tournament.tables import games, records, tournaments

_SQLITE_HEADER = b"SQLite format 3\0"
_RECORD_FILES = (".json", ".jsonl")
_ROWS_AT_ONCE = 500
_LOCK_SECONDS = 10.0
_SEAT_COLUMNS = ("bots", "points", "coins", "places", "endings")


class SourceError(HappyCityError):
    """A source can't be read; the text names it and what is wrong."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source = source


class Source(Protocol):
    """Anything that games can be read from, more than once."""

    @property
    def name(self) -> str:
        """What a person calls it."""

    def tournaments(self) -> list[StoredTournament]:
        """Return the tournaments that are asked for, in the order of their ids; record files have none."""

    def bots(self) -> Iterator[str]:
        """Yield the names of all bots, some more than once, those first that a tournament lists."""

    def games(self, *, with_records: bool) -> Iterator[PlayedGame]:
        """Yield all games: a store's in the order of their schedule, a file's as they are there."""

    def close(self) -> None:
        """Let go of it."""


class StoreSource:
    """The games of a store, or of one of its tournaments."""

    def __init__(self, url: str, *, name: str | None = None, tournament: int | None = None) -> None:
        path = path_of(url)
        if path is not None and not path.exists():  # opening would create it
            raise SourceError(url, "there is no such file")
        self._database = Database(url, lock_timeout=_LOCK_SECONDS)
        self._name = name
        self._tournament = tournament
        if tournament is not None and not self.tournaments():
            self.close()
            raise StoreError(self.name, f"knows no tournament {tournament}")

    @property
    def name(self) -> str:
        """The name that was given, else the store's URL without its password."""
        return self._name or self._database.url

    def tournaments(self) -> list[StoredTournament]:
        """Return all tournaments, or the one that was asked for."""
        query = select(tournaments).order_by(tournaments.c.id)
        if self._tournament is not None:
            query = query.where(tournaments.c.id == self._tournament)
        return [StoredTournament(**row._asdict()) for row in self._rows(query)]

    def bots(self) -> Iterator[str]:
        """Yield the bots of the tournaments, then those of the games."""
        for tournament in self.tournaments():
            yield from self._checked(tournament.config.get("bots", ()))
        for (bots,) in self._rows(self._chosen(select(games.c.bots))):
            yield from self._checked(bots)

    def games(self, *, with_records: bool) -> Iterator[PlayedGame]:
        """Yield the games by tournament, round, table and rotation; those of no tournament by their ids."""
        columns = [games.c[field.name] for field in fields(PlayedGame) if field.name != "record"]
        query: Select[Any] = select(*columns)
        if with_records:
            query = select(*columns, records.c.record).outerjoin(records, records.c.game_id == games.c.id)
        order = (games.c.tournament_id, games.c.round, games.c.table, games.c.rotation, games.c.id)
        for row in self._rows(self._chosen(query).order_by(*order)):
            yield self._game(row)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _chosen(self, query: Select[Any]) -> Select[Any]:
        return query if self._tournament is None else query.where(games.c.tournament_id == self._tournament)

    def _rows(self, query: Select[Any]) -> Iterator[Row[Any]]:
        with self._database.transaction() as connection:
            yield from connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query)

    def _game(self, row: Row[Any]) -> PlayedGame:
        columns = row._asdict()
        for name in _SEAT_COLUMNS:
            columns[name] = tuple(columns[name])
        self._checked(columns["bots"])
        columns["deal_seed"] = int(columns["deal_seed"])
        if columns.get("record") is not None:
            columns["record"] = self._unpacked(columns["record"])
        return PlayedGame(**columns)

    def _unpacked(self, record: bytes) -> str:
        try:
            return zlib.decompress(record).decode()
        except (zlib.error, UnicodeDecodeError) as error:
            raise StoreError(self.name, "holds a damaged record; restore a copy of it") from error

    def _checked(self, bots: Sequence[str]) -> tuple[str, ...]:
        try:
            return checked_names(bots)
        except RecordError as error:
            raise StoreError(self.name, f"holds what no server stores: {error}") from None


class RecordSource:
    """The games of a record file, or of all record files in a folder, in the order of their names."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = [path]
        if path.is_dir():
            self._files = sorted(file for file in path.iterdir() if file.suffix in _RECORD_FILES)

    @property
    def name(self) -> str:
        """The path."""
        return str(self._path)

    def tournaments(self) -> list[StoredTournament]:
        """Return nothing: a record doesn't tell its tournament."""
        return []

    def bots(self) -> Iterator[str]:
        """Yield the bots of the games."""
        for game in self.games(with_records=False):
            yield from game.bots

    def games(self, *, with_records: bool) -> Iterator[PlayedGame]:
        """Yield the games as they come in the files, numbered from 1."""
        number = 0
        for number, (where, line) in enumerate(self._lines(), start=1):
            try:
                yield game_of_record(line, number=number)
            except RecordError as error:
                raise SourceError(where, f"malformed record: {error}") from None
        if not number:
            raise SourceError(self.name, "no record in it")

    def close(self) -> None:
        """Do nothing: files are open only while they are read."""

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield the place and text of every line that isn't blank."""
        for path in self._files:
            try:
                with path.open(encoding="utf-8") as file:
                    for number, line in enumerate(file, start=1):
                        if line.strip():
                            yield f"{path}:{number}", line
            except UnicodeDecodeError:
                raise SourceError(str(path), "neither a store nor a file of records") from None


def open_source(text: str, *, tournament: int | None = None) -> Source:
    """Open a store by its URL or SQLite file, a record file, or a folder of record files.

    Args:
        text: what a person wrote.
        tournament: read only the games of this tournament; None is all games.

    Raises:
        SourceError: there is no such thing, or it holds no tournaments where one is asked for.
        StoreError: the database can't be read, or has no such tournament.
    """
    if "://" in text:
        return StoreSource(text, tournament=tournament)
    path = Path(text)
    if not path.exists():
        raise SourceError(text, "there is no such file or folder")
    if _is_sqlite(path):
        return StoreSource(f"sqlite:///{path.as_posix()}", name=text, tournament=tournament)
    if tournament is not None:
        raise SourceError(text, "record files know no tournaments; leave --tournament away")
    return RecordSource(path)


def path_of(text: str) -> Path | None:
    """Return the file or folder that a source is, None if it is none."""
    if "://" not in text:
        return Path(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        return None  # the database will say what is wrong with it
    if url.get_backend_name() != "sqlite" or url.database in {None, "", ":memory:"}:
        return None
    return Path(str(url.database))


@contextmanager
def open_sources(texts: Iterable[str], *, tournament: int | None = None) -> Iterator[list[Source]]:
    """Open sources as `open_source` does, and close them at the end."""
    with ExitStack() as opened:
        sources = []
        for text in texts:
            sources.append(open_source(text, tournament=tournament))
            opened.callback(sources[-1].close)
        yield sources


@contextmanager
def open_tournament(text: str, *, tournament: int | None = None) -> Iterator[Source]:
    """Open a source for one tournament: the one that is asked for, else the only one.

    A source without tournaments, such as a record file, is opened for all its games.

    Raises:
        SourceError: there are several, and none was asked for.
    """
    if tournament is None:
        with open_sources([text]) as (source,):
            ids = [str(found.id) for found in source.tournaments()]
        if len(ids) > 1:
            raise SourceError(text, f"holds {len(ids)} tournaments, {ids[0]} to {ids[-1]}; add --tournament")
        tournament = int(ids[0]) if ids else None
    with open_sources([text], tournament=tournament) as (source,):
        yield source


@dataclass(slots=True)
class Once:
    """Games that pass through it pass once, however many copies there are."""

    copies: int = 0
    """Games left out so far, as an equal one had passed."""

    def each(self, played: Iterable[PlayedGame]) -> Iterator[PlayedGame]:
        """Yield the games that are no copies of earlier ones; 16 bytes of each are remembered."""
        seen: set[bytes] = set()
        for game in played:
            known = len(seen)
            seen.add(game.fingerprint)
            if len(seen) > known:
                yield game
            else:
                self.copies += 1


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """The games of all sources, as ratings take them."""

    games: Games
    count: int
    """How many games these are."""
    copies: int
    """Games left out because they were there already."""
    quarantined: int
    """Games left out because a disqualified bot sat at the table."""


def gather(sources: Sequence[Source]) -> Gathered:
    """Read all games for rating, copies of a game once; games with the same deal's seed are one deal.

    Games in quarantine are known by their endings.
    """
    builder = GamesBuilder(list(dict.fromkeys(bot for source in sources for bot in source.bots())))
    once, count, quarantined = Once(), 0, 0
    for game in once.each(game for source in sources for game in source.games(with_records=False)):
        if game.quarantined:
            quarantined += 1
            continue
        builder.add(game.result(deal=0), deal=game.deal_seed)
        count += 1
    return Gathered(games=builder.build(), count=count, copies=once.copies, quarantined=quarantined)


def _is_sqlite(path: Path) -> bool:
    if path.is_dir():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
