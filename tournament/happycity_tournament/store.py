"""The store: every tournament and every finished game. It is the truth; standings follow from it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Row, Select, func, insert, select, update

from happycity.records import Json
from happycity_tournament.database import Database, StoreError
from happycity_tournament.results import Fixture, GameResult
from happycity_tournament.tables import games, records, tournaments

__all__ = ["WAITING", "Progress", "Store", "StoreError", "StoredGame", "StoredTournament"]

WAITING = "waiting"
"""The state in which a tournament is created."""

_COMPRESSION = 3  # a record of 4.7 kB becomes 1.3 kB in 70 us
_SEAT_COLUMNS = ("bots", "bot_seeds", "points", "coins", "places", "endings")


@dataclass(frozen=True, slots=True)
class StoredTournament:
    """A tournament as it was set up, and where it stands."""

    id: int
    """From 1."""
    config: Json
    """What it consists of."""
    state: str
    """`waiting` at first, then what `set_state` was given."""
    created_at: float
    """Unix time in seconds."""
    games_voided: int
    """How often one of its games was voided."""
    remarks: list[str]
    """What a person should know of it, a line each."""


@dataclass(frozen=True, slots=True)
class StoredGame:
    """A finished game; all tuples are by seat. A game of no tournament has no place in a schedule."""

    id: int
    """The match id, unique in the store."""
    tournament_id: int | None
    round: int | None
    table: int | None
    rotation: int | None
    deal_seed: int
    """0 to 2^64 - 1."""
    bots: tuple[str, ...]
    bot_seeds: tuple[int, ...]
    points: tuple[int, ...]
    coins: tuple[int, ...]
    places: tuple[int, ...]
    """1 is best; equal seats share a place."""
    endings: tuple[str, ...]
    """`finished`, or `forfeit:` and the reason."""
    decisions: int
    seconds: float
    """Wall time from the game's start to its end."""
    finished_at: float
    """Unix time in seconds."""
    record: str | None
    """The game's record; None in a game that was read, see `Store.record`."""

    @classmethod
    def of(
        cls, result: GameResult, *, id: int, tournament_id: int, finished_at: float, record: str | None
    ) -> Self:
        """Make the stored form of a tournament's game."""
        fixture = result.fixture
        return cls(
            id=id,
            tournament_id=tournament_id,
            round=fixture.round,
            table=fixture.table,
            rotation=fixture.rotation,
            deal_seed=fixture.deal_seed,
            bots=fixture.bots,
            bot_seeds=fixture.bot_seeds,
            points=result.points,
            coins=result.coins,
            places=result.places,
            endings=result.endings,
            decisions=result.decisions,
            seconds=result.seconds,
            finished_at=finished_at,
            record=record,
        )

    @property
    def result(self) -> GameResult:
        """The game as a tournament counts it.

        Raises:
            ValueError: it belongs to no tournament.
        """
        if self.round is None or self.table is None or self.rotation is None:
            raise ValueError(f"game {self.id} belongs to no tournament")
        fixture = Fixture(
            round=self.round,
            table=self.table,
            rotation=self.rotation,
            deal_seed=self.deal_seed,
            bots=self.bots,
            bot_seeds=self.bot_seeds,
        )
        return GameResult(
            fixture=fixture,
            points=self.points,
            coins=self.coins,
            places=self.places,
            endings=self.endings,
            decisions=self.decisions,
            seconds=self.seconds,
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tournament is, as told by its stored games."""

    games: int = 0
    """Games finished."""
    decisions: int = 0
    """Decisions in them."""
    began_at: float = math.inf
    """When the first of them began, Unix time in seconds."""
    ended_at: float = -math.inf
    """When the last of them ended, Unix time in seconds."""

    @property
    def seconds(self) -> float:
        """From the first game's start to the last one's end; 0 without games."""
        return self.ended_at - self.began_at if self.games else 0.0

    def plus(self, game: StoredGame) -> Progress:
        """Return the progress after one more game."""
        return Progress(
            games=self.games + 1,
            decisions=self.decisions + game.decisions,
            began_at=min(self.began_at, game.finished_at - game.seconds),
            ended_at=max(self.ended_at, game.finished_at),
        )


class Store:
    """A database of tournaments and games. What a method has written when it returns survives a kill.

    Every method raises StoreError if the database can't do what is asked. Use one from one thread at a time.
    """

    def __init__(self, url: str, *, lock_timeout: float = 10.0) -> None:
        """Open a database, creating file, folder and tables as needed.

        Args:
            url: as SQLAlchemy takes it, such as `sqlite:///runs/happycity.db`.
            lock_timeout: seconds to wait while another program writes to the same SQLite file.
        """
        self._database = Database(url, lock_timeout=lock_timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The database's URL with its password hidden."""
        return self._database.url

    def claim(self) -> None:
        """Keep other servers off this database until it is closed, or until this process ends in any way.

        Whoever only opens the database is not affected.

        Raises:
            StoreError: another server has claimed it.
        """
        self._database.claim()

    def check_claim(self) -> None:
        """Make sure that no other server can have claimed this database since this process did.

        Raises:
            StoreError: the claim is lost, and nothing can be stored any more.
        """
        self._database.check_claim()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def create_tournament(self, config: Mapping[str, Any], created_at: float) -> int:
        """Store a new tournament and return its id; it is waiting.

        Args:
            config: anything that JSON can hold.
            created_at: Unix time in seconds.
        """
        row = {
            "config": dict(config),
            "state": WAITING,
            "created_at": created_at,
            "games_voided": 0,
            "remarks": [],
        }
        with self._database.transaction() as connection:
            key = connection.execute(insert(tournaments).values(row)).inserted_primary_key
        assert key is not None
        return int(key[0])

    def set_config(self, tournament_id: int, config: Mapping[str, Any]) -> None:
        """Change what a tournament consists of; its games must be those of the new configuration too."""
        self._change(tournament_id, config=dict(config))

    def set_state(self, tournament_id: int, state: str) -> None:
        """Note where a tournament stands."""
        self._change(tournament_id, state=state)

    def set_troubles(self, tournament_id: int, games_voided: int, remarks: Sequence[str]) -> None:
        """Note how many of a tournament's games were voided, and what a person should know of it."""
        self._change(tournament_id, games_voided=games_voided, remarks=list(remarks))

    def tournament(self, tournament_id: int) -> StoredTournament | None:
        """Return a tournament, None if there is none with this id."""
        found = self._rows(select(tournaments).where(tournaments.c.id == tournament_id))
        return StoredTournament(**found[0]._asdict()) if found else None

    def tournaments(self, limit: int, before_id: int | None = None) -> list[StoredTournament]:
        """Return at most `limit` tournaments, newest first, only those older than `before_id` if given."""
        query = select(tournaments).order_by(tournaments.c.id.desc()).limit(limit)
        if before_id is not None:
            query = query.where(tournaments.c.id < before_id)
        return [StoredTournament(**row._asdict()) for row in self._rows(query)]

    def tournaments_in(self, states: Collection[str]) -> list[StoredTournament]:
        """Return all tournaments that stand in one of `states`, oldest first."""
        query = select(tournaments).where(tournaments.c.state.in_(states)).order_by(tournaments.c.id)
        return [StoredTournament(**row._asdict()) for row in self._rows(query)]

    def progress(self, tournament_id: int) -> Progress:
        """Return how far a tournament is."""
        began_at = games.c.finished_at - games.c.seconds
        query = select(
            func.count(), func.sum(games.c.decisions), func.min(began_at), func.max(games.c.finished_at)
        ).where(games.c.tournament_id == tournament_id)
        totals: tuple[Any, ...] = tuple(self._rows(query)[0])
        count, decisions, first, last = totals
        if not count:
            return Progress()
        return Progress(games=count, decisions=int(decisions), began_at=first, ended_at=last)

    def add_games(self, batch: Sequence[StoredGame]) -> None:
        """Store finished games, all of them or, if one can't be stored or was before, none."""
        if not batch:
            return
        packed = [
            {"game_id": game.id, "record": zlib.compress(game.record.encode(), _COMPRESSION)}
            for game in batch
            if game.record is not None
        ]
        with self._database.transaction() as connection:
            connection.execute(insert(games), [_row(game) for game in batch])
            if packed:
                connection.execute(insert(records), packed)

    def game(self, game_id: int) -> StoredGame | None:
        """Return a game without its record, None if there is none with this id."""
        found = self._rows(select(games).where(games.c.id == game_id))
        return _game(found[0]) if found else None

    def games(
        self, limit: int, before_id: int | None = None, *, tournament_id: int | None = None
    ) -> list[StoredGame]:
        """Return at most `limit` games without their records, the highest id first.

        Args:
            limit: games at most.
            before_id: if given, only games with a lower id.
            tournament_id: if given, only games of this tournament.
        """
        query = select(games).order_by(games.c.id.desc()).limit(limit)
        if before_id is not None:
            query = query.where(games.c.id < before_id)
        if tournament_id is not None:
            query = query.where(games.c.tournament_id == tournament_id)
        return [_game(row) for row in self._rows(query)]

    def record(self, game_id: int) -> str | None:
        """Return a game's record, None if there is no such game or it was stored without one."""
        query = select(records.c.record).where(records.c.game_id == game_id)
        with self._database.transaction() as connection:
            packed = connection.scalar(query)
            return None if packed is None else zlib.decompress(packed).decode()

    def results(self, tournament_id: int) -> list[GameResult]:
        """Return all finished games of a tournament, in the order of its schedule."""
        query = (
            select(games)
            .where(games.c.tournament_id == tournament_id)
            .order_by(games.c.round, games.c.table, games.c.rotation)
        )
        return [_game(row).result for row in self._rows(query)]

    def last_round(self, tournament_id: int) -> int:
        """Return the last round of which a game is finished, 0 without any."""
        query = select(func.max(games.c.round)).where(games.c.tournament_id == tournament_id)
        return int(self._rows(query)[0][0] or 0)

    def next_game_id(self) -> int:
        """Return an id above those of all games."""
        highest = self._rows(select(func.max(games.c.id)))[0][0]
        return int(highest or 0) + 1

    def _change(self, tournament_id: int, **columns: Any) -> None:
        change = update(tournaments).where(tournaments.c.id == tournament_id).values(columns)
        with self._database.transaction() as connection:
            if connection.execute(change).rowcount != 1:
                raise StoreError(self.url, f"knows no tournament {tournament_id}")

    def _rows(self, query: Select[*tuple[Any, ...]]) -> Sequence[Row[Any]]:
        with self._database.transaction() as connection:
            return connection.execute(query).all()


def _row(game: StoredGame) -> Json:
    row = {column.name: getattr(game, column.name) for column in games.columns}
    return {**row, "deal_seed": str(game.deal_seed)}


def _game(row: Row[Any]) -> StoredGame:
    columns = row._asdict()
    for name in _SEAT_COLUMNS:
        columns[name] = tuple(columns[name])
    columns["deal_seed"] = int(columns["deal_seed"])
    return StoredGame(**columns, record=None)
